"""Conversations that a simulated user leads."""

from agentflow.qa.evaluation._later import SIMULATORS, not_served
from evalengine.cases import ConversationScenario

__all__ = ["ConversationScenario"]

__getattr__ = not_served(__name__, SIMULATORS)
