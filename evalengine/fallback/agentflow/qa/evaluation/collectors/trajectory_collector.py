"""Collectors of the framework; evalengine collects by itself."""

from agentflow.qa.evaluation._later import COLLECTORS, not_served

__all__: list[str] = []

__getattr__ = not_served(__name__, COLLECTORS)
