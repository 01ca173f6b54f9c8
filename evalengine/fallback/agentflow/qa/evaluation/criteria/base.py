"""What own criteria are made with."""

from evalengine.criteria.custom import (
    BaseCriterion,
    CompositeCriterion,
    SyncCriterion,
    WeightedCriterion,
    criterion,
)
from evalengine.results import CriterionResult, NotApplicable

__all__ = [
    "BaseCriterion",
    "CompositeCriterion",
    "CriterionResult",
    "NotApplicable",
    "SyncCriterion",
    "WeightedCriterion",
    "criterion",
]
