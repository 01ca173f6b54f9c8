"""The built-in criteria as classes, for code that lists or combines them as objects."""

from collections.abc import Sequence

import msgspec

from evalengine.cases import EvalCase
from evalengine.config import CriterionConfig, field_name
from evalengine.criteria.custom import Outcome, SyncCriterion
from evalengine.criteria.scoring import score
from evalengine.results import ExecutionResult


class _BuiltIn(SyncCriterion):
    """Scores by the built-in criterion that is reported under ``name``."""

    def evaluate_sync(self, actual: ExecutionResult, expected: EvalCase) -> Outcome:
        """Score; gives NotApplicable where the case has nothing to compare."""
        return score(field_name(self.name), self.config, actual, expected)


class ToolNameMatchCriterion(_BuiltIn):
    """The share of expected tool names that were called."""

    name = "tool_name_match_score"
    description = "Compares the names of tools"


class TrajectoryMatchCriterion(_BuiltIn):
    """The sequence of tool calls."""

    name = "tool_trajectory_avg_score"
    description = "Compares the sequence of tool calls"


class NodeOrderMatchCriterion(_BuiltIn):
    """The sequence of visited nodes."""

    name = "node_order_score"
    description = "Compares the sequence of nodes"


class ResponseMatchCriterion(_BuiltIn):
    """The response's words against the expected ones."""

    name = "response_match_score"
    description = "Judges whether the response says what was expected"


class RougeMatchCriterion(_BuiltIn):
    """ROUGE-1 F1 of the response."""

    name = "rouge_match"
    description = "Compares the response by ROUGE-1"


class ExactMatchCriterion(_BuiltIn):
    """The response, character by character."""

    name = "exact_match"
    description = "Compares the response as it is"


class ContainsKeywordsCriterion(_BuiltIn):
    """The share of keywords in the response; those of the config win over ``keywords``."""

    name = "contains_keywords"
    description = "Looks for keywords in the response"

    def __init__(self, keywords: Sequence[str] | None = None, config: CriterionConfig | None = None) -> None:
        config = config or CriterionConfig()
        if not config.keywords:
            config = msgspec.structs.replace(config, keywords=list(keywords or ()))
        super().__init__(config)

    @property
    def keywords(self) -> list[str]:
        """The keywords it looks for."""
        return self.config.keywords
