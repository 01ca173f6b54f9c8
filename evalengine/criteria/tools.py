"""Criteria that compare what an agent did: tool names, tool calls in sequence, visited nodes.

The expectations of all turns are joined and compared with the whole conversation, since builders put them all on
the first turn. Nothing expected is nothing to compare, unless a turn states that no tool may be called.

- ``tool_name_match``: share of the expected names that were called, as a multiset.
- ``trajectory`` and ``node_order``: EXACT, matched positions over the longer sequence; IN_ORDER, longest common
  subsequence over expected; ANY_ORDER, best assignment over expected. Extras cost only in EXACT.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from evalengine.cases import EvalCase, ToolCall
from evalengine.config import REPORTED_NAMES, CriterionConfig, MatchType
from evalengine.criteria import sequences, wording
from evalengine.results import CriterionResult, ExecutionResult, NotApplicable

Outcome = CriterionResult | NotApplicable


def expected_calls(case: EvalCase) -> list[ToolCall]:
    """Return the tool calls that all turns of a case expect, joined."""
    return [call for turn in case.conversation for call in turn.expected_tool_trajectory]


def expected_nodes(case: EvalCase) -> list[str]:
    """Return the nodes that all turns of a case expect, joined."""
    return [node for turn in case.conversation for node in turn.expected_node_order]


def tool_name_match(config: CriterionConfig, execution: ExecutionResult, case: EvalCase) -> Outcome:
    """Score the share of expected tool names that were called."""
    name = REPORTED_NAMES["tool_name_match"]
    expected = [call.name for call in expected_calls(case)]
    actual = execution.get_tool_names()
    details: dict[str, Any] = {
        "expected_names": wording.trim(expected),
        "actual_names": wording.trim(actual),
    }
    if not expected:
        return _without_expectation(name, config, execution, case, details)
    found = Counter(expected) & Counter(actual)
    missing = list((Counter(expected) - found).elements())
    details["missing"] = wording.trim(missing)
    details["reason"] = wording.line(
        f"expected {wording.names(expected)}; called {wording.names(actual)}"
        + (f"; missing {', '.join(missing)}" if missing else "")
    )
    return CriterionResult.success(name, found.total() / len(expected), config.threshold, details)


def trajectory(config: CriterionConfig, execution: ExecutionResult, case: EvalCase) -> Outcome:
    """Score the sequence of tool calls; with ``check_args`` the arguments that the case states, too."""
    name = REPORTED_NAMES["trajectory"]
    mode = MatchType(config.match_type)
    expected, actual = expected_calls(case), execution.tool_calls
    details: dict[str, Any] = {
        "actual_trajectory": wording.describe_calls(actual),
        "expected_trajectory": wording.describe_calls(expected),
        "match_type": mode.value,
        "check_args": config.check_args,
    }
    if not expected:
        return _without_expectation(name, config, execution, case, details)
    fits = _fits_with_args if config.check_args else _fits_by_name
    score = _share(mode, expected, actual, fits)
    details["reason"] = wording.line(_calls_reason(mode, expected, actual, with_args=config.check_args))
    return CriterionResult.success(name, score, config.threshold, details)


def node_order(config: CriterionConfig, execution: ExecutionResult, case: EvalCase) -> Outcome:
    """Score the sequence of visited nodes."""
    name = REPORTED_NAMES["node_order"]
    mode = MatchType(config.match_type)
    expected, actual = expected_nodes(case), execution.node_visits
    if not expected:
        return NotApplicable(criterion=name, threshold=config.threshold, reason="the case expects no nodes")
    score = _share_of_names(mode, expected, actual)
    details = {
        "reason": wording.line(f"expected nodes {wording.names(expected)}; visited {wording.names(actual)}"),
        "actual_node_order": wording.trim(actual),
        "expected_node_order": wording.trim(expected),
        "match_type": mode.value,
    }
    return CriterionResult.success(name, score, config.threshold, details)


def _without_expectation(
    name: str, config: CriterionConfig, execution: ExecutionResult, case: EvalCase, details: dict[str, Any]
) -> Outcome:
    """Score a case that names no tools: by whether it forbids them, where it does."""
    if not any(turn.expects_no_tools for turn in case.conversation):
        return NotApplicable(criterion=name, threshold=config.threshold, reason="the case states no tools")
    called = execution.get_tool_names()
    details["reason"] = wording.line(f"expected no tool call; called {wording.names(called)}")
    return CriterionResult.success(name, 0.0 if called else 1.0, config.threshold, details)


def _fits_by_name(actual: ToolCall, expected: ToolCall) -> bool:
    return actual.name == expected.name


def _fits_with_args(actual: ToolCall, expected: ToolCall) -> bool:
    return actual.matches(expected, check_args=True)


def _share(
    mode: MatchType, expected: list[ToolCall], actual: list[ToolCall], fits: sequences.Fits[ToolCall]
) -> float:
    if fits is _fits_by_name:
        return _share_of_names(mode, [call.name for call in expected], [call.name for call in actual])
    if mode == MatchType.EXACT:
        return sequences.matched_positions(expected, actual, fits) / max(len(expected), len(actual))
    if mode == MatchType.IN_ORDER:
        return sequences.fitting_subsequence(expected, actual, fits) / len(expected)
    assigned = sequences.assign(expected, actual, fits)
    return (len(expected) - assigned.count(None)) / len(expected)


def _share_of_names(mode: MatchType, expected: Sequence[str], actual: Sequence[str]) -> float:
    if mode == MatchType.EXACT:
        return sequences.matched_positions(expected, actual, str.__eq__) / max(len(expected), len(actual))
    if mode == MatchType.IN_ORDER:
        return sequences.common_subsequence(expected, actual) / len(expected)
    return (Counter(expected) & Counter(actual)).total() / len(expected)


def _calls_reason(mode: MatchType, expected: list[ToolCall], actual: list[ToolCall], *, with_args: bool) -> str:
    """Say what was expected and called, and first of all whose arguments differ."""
    differing = _differing_args(mode, expected, actual) if with_args else []
    if differing:
        more = f" ({len(differing) - 1} more differ)" if len(differing) > 1 else ""
        return differing[0] + more
    wanted = [wording.call_text(call, with_args=with_args) for call in expected]
    called = [wording.call_text(call, with_args=with_args) for call in actual]
    return f"expected calls {wording.names(wanted)}; got {wording.names(called)}"


def _differing_args(mode: MatchType, expected: list[ToolCall], actual: list[ToolCall]) -> list[str]:
    """Name the expected calls whose tool was called, but with other arguments than stated."""
    if mode == MatchType.EXACT:
        pairs = list(zip(expected, actual, strict=False))
    else:
        pairs = _leftover_pairs(expected, actual)
    return [
        wording.args_difference(wanted, got)
        for wanted, got in pairs
        if _fits_by_name(got, wanted) and not _fits_with_args(got, wanted)
    ]


def _leftover_pairs(expected: list[ToolCall], actual: list[ToolCall]) -> list[tuple[ToolCall, ToolCall]]:
    """Pair by name the expected calls that nothing fits with the actual calls that fit nothing."""
    assigned = sequences.assign(expected, actual, _fits_with_args)
    unmet = [wanted for wanted, place in zip(expected, assigned, strict=True) if place is None]
    used = {place for place in assigned if place is not None}
    spare = [got for place, got in enumerate(actual) if place not in used]
    by_name = sequences.assign(unmet, spare, _fits_by_name)
    return [(wanted, spare[place]) for wanted, place in zip(unmet, by_name, strict=True) if place is not None]
