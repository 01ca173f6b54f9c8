"""Criteria that compare what an agent said."""

from evalengine.criteria.objects import (
    ContainsKeywordsCriterion,
    ExactMatchCriterion,
    ResponseMatchCriterion,
    RougeMatchCriterion,
)

__all__ = ["ContainsKeywordsCriterion", "ExactMatchCriterion", "ResponseMatchCriterion", "RougeMatchCriterion"]
