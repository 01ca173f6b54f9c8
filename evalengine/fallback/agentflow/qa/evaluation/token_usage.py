"""Counts of tokens."""

from evalengine.results import TokenUsage

__all__ = ["TokenUsage"]
