"""One way into all criteria that need no model: by the config field's name."""

from collections.abc import Callable, Mapping

from evalengine.cases import EvalCase
from evalengine.config import FRAMEWORK_DEFAULT_MODEL, MODEL_CRITERIA, CriterionConfig, field_name
from evalengine.criteria import rouge, text, tools
from evalengine.errors import ConfigurationError
from evalengine.results import CriterionResult, ExecutionResult, NotApplicable

Outcome = CriterionResult | NotApplicable

_SCORERS: Mapping[str, Callable[[CriterionConfig, ExecutionResult, EvalCase], Outcome]] = {
    "tool_name_match": tools.tool_name_match,
    "trajectory": tools.trajectory,
    "node_order": tools.node_order,
    "response_match": text.response_match,
    "rouge_match": text.rouge_match,
    "contains_keywords": text.contains_keywords,
    "exact_match": text.exact_match,
}

_COSTLY_CHARS = 100_000
"""Texts of so many characters take some 10 ms to compare."""

_COSTLY_PAIRS = 20_000
"""So many pairs of calls, with their arguments, take some 10 ms to compare."""


def score(field: str, config: CriterionConfig, execution: ExecutionResult, case: EvalCase) -> Outcome:
    """Score an execution by a built-in criterion, named by its config field.

    Pure, and the same for the same input. Raises ConfigurationError for a criterion that needs a model.
    """
    scorer = _SCORERS.get(field)
    if scorer is None:
        msg = f"criterion {field_name(field)} needs a model, and no model client is configured"
        raise ConfigurationError(msg)
    return scorer(config, execution, case)


def is_costly(field: str, execution: ExecutionResult, case: EvalCase) -> bool:
    """Tell whether scoring may take longer than an event loop should wait: it belongs in a thread."""
    if field == "trajectory":
        return len(tools.expected_calls(case)) * len(execution.tool_calls) > _COSTLY_PAIRS
    if field == "rouge_match" and not rouge.is_loaded():
        return True
    if field in ("rouge_match", "response_match", "contains_keywords"):
        said = sum(len(turn.agent_response) for turn in execution.turns) or len(execution.actual_response)
        return said + sum(len(turn.expected) for turn in text.stated_turns(execution, case)) > _COSTLY_CHARS
    return False


def needs_model(field: str, config: CriterionConfig, judge_model: str | None = None) -> bool:
    """Tell whether a criterion scores by a model.

    ``judge_model`` is what the command line, agentflow.json or the environment names. The model that the
    framework fills in by itself counts as not configured.
    """
    if field in MODEL_CRITERIA:
        return True
    if field != "response_match":
        return False
    return bool(judge_model) or config.judge_model not in (None, "", FRAMEWORK_DEFAULT_MODEL)
