"""What eval files import: cases, configurations, presets, criteria and results, served by evalengine."""

from agentflow.qa.evaluation._later import ALL, not_served
from evalengine.authoring import EvalPresets, EvalSetBuilder
from evalengine.cases import (
    ConversationScenario,
    EvalCase,
    EvalSet,
    Invocation,
    MessageContent,
    SessionInput,
    StepType,
    ToolCall,
    TrajectoryStep,
)
from evalengine.config import (
    CriteriaConfig,
    CriterionConfig,
    EvalConfig,
    MatchType,
    ReporterConfig,
    Rubric,
    UserSimulatorConfig,
)
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
from evalengine.results import (
    CriterionResult,
    CriterionStats,
    EvalCaseResult,
    EvalReport,
    EvalSummary,
    ExecutionResult,
    NodeDetail,
    NodeResponseData,
    NotApplicable,
    TokenUsage,
    TurnResult,
)

__all__ = [
    "BaseCriterion",
    "CompositeCriterion",
    "ContainsKeywordsCriterion",
    "ConversationScenario",
    "CriteriaConfig",
    "CriterionConfig",
    "CriterionResult",
    "CriterionStats",
    "EvalCase",
    "EvalCaseResult",
    "EvalConfig",
    "EvalPresets",
    "EvalReport",
    "EvalSet",
    "EvalSetBuilder",
    "EvalSummary",
    "ExactMatchCriterion",
    "ExecutionResult",
    "Invocation",
    "MatchType",
    "MessageContent",
    "NodeDetail",
    "NodeOrderMatchCriterion",
    "NodeResponseData",
    "NotApplicable",
    "ReporterConfig",
    "ResponseMatchCriterion",
    "RougeMatchCriterion",
    "Rubric",
    "SessionInput",
    "StepType",
    "SyncCriterion",
    "TokenUsage",
    "ToolCall",
    "ToolNameMatchCriterion",
    "TrajectoryMatchCriterion",
    "TrajectoryStep",
    "TurnResult",
    "UserSimulatorConfig",
    "WeightedCriterion",
    "criterion",
]

__getattr__ = not_served(__name__, ALL)
