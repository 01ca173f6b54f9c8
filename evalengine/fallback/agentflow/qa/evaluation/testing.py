"""The framework's helpers for tests."""

from agentflow.qa.evaluation._later import TESTING, not_served

__all__: list[str] = []

__getattr__ = not_served(__name__, TESTING)
