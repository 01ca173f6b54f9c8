"""Holds ``agentflow.qa.evaluation``, served by evalengine."""

__all__: list[str] = []
