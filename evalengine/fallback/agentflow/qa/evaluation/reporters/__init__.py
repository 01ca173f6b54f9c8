"""Reporters of the framework; evalengine reports by itself."""

from agentflow.qa.evaluation._later import REPORTERS, not_served

__all__: list[str] = []

__getattr__ = not_served(__name__, REPORTERS)
