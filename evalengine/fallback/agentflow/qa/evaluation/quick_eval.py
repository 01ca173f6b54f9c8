"""The framework's runner in a few lines."""

from agentflow.qa.evaluation._later import RUNNERS, not_served

__all__: list[str] = []

__getattr__ = not_served(__name__, RUNNERS)
