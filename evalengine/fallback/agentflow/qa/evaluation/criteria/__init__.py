"""Criteria as classes, and what own criteria are made with."""

from agentflow.qa.evaluation._later import MODEL_CRITERIA, not_served
from evalengine.criteria.custom import (
    BaseCriterion,
    CompositeCriterion,
    SyncCriterion,
    WeightedCriterion,
    criterion,
)
from evalengine.criteria.objects import (
    ContainsKeywordsCriterion,
    ExactMatchCriterion,
    NodeOrderMatchCriterion,
    ResponseMatchCriterion,
    RougeMatchCriterion,
    ToolNameMatchCriterion,
    TrajectoryMatchCriterion,
)
from evalengine.results import NotApplicable

__all__ = [
    "BaseCriterion",
    "CompositeCriterion",
    "ContainsKeywordsCriterion",
    "ExactMatchCriterion",
    "NodeOrderMatchCriterion",
    "NotApplicable",
    "ResponseMatchCriterion",
    "RougeMatchCriterion",
    "SyncCriterion",
    "ToolNameMatchCriterion",
    "TrajectoryMatchCriterion",
    "WeightedCriterion",
    "criterion",
]

__getattr__ = not_served(__name__, MODEL_CRITERIA | {"CRITERIA_REGISTRY"})
