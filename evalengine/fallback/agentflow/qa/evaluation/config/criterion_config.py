"""Configurations of single criteria."""

from evalengine.config import CriterionConfig, Rubric

__all__ = ["CriterionConfig", "Rubric"]
