"""What came of cases and of a run."""

from evalengine.results import (
    CriterionResult,
    CriterionStats,
    EvalCaseResult,
    EvalReport,
    EvalSummary,
    NodeDetail,
    NotApplicable,
    TokenUsage,
    TurnResult,
)

__all__ = [
    "CriterionResult",
    "CriterionStats",
    "EvalCaseResult",
    "EvalReport",
    "EvalSummary",
    "NodeDetail",
    "NotApplicable",
    "TokenUsage",
    "TurnResult",
]
