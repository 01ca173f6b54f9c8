"""Configurations of eval files."""

from evalengine.config import (
    FRAMEWORK_DEFAULT_MODEL as DEFAULT_JUDGE_MODEL,
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

__all__ = [
    "DEFAULT_JUDGE_MODEL",
    "CriteriaConfig",
    "CriterionConfig",
    "EvalConfig",
    "MatchType",
    "ReporterConfig",
    "Rubric",
    "UserSimulatorConfig",
]
