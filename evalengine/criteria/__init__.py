"""Criteria: pure scoring of an execution against what a case expects."""

from evalengine.criteria.checks import check
from evalengine.criteria.scoring import is_costly, needs_model, score

__all__ = ["check", "is_costly", "needs_model", "score"]
