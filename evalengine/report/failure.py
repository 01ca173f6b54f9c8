"""Why a case did not pass, in at most a screen: what was expected against what came.

Rules: only what the failing criteria looked at is compared; every text of the case goes through ``plain_text``;
every list and text has a bound, the report file has the rest.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalengine.report.paint import BOLD, DIM, GREEN, RED, STATUS_STYLE, STATUS_WORD, Paint
from evalengine.report.plain_text import around, clip, difference, head, indented, one_line, tail, wrapped
from evalengine.results import CriterionResult, EvalCaseResult, Status

TOOL_CRITERIA = frozenset({"tool_name_match_score", "tool_trajectory_avg_score"})
NODE_CRITERIA = frozenset({"node_order_score"})

_TEXT = 300
"""Characters of an expected or actual text."""
_TURNS = 3
_CRITERIA = 8
_TRACEBACK_LINES = 10
_OUTPUT_LINES = 10


def render_failure(result: EvalCaseResult, paint: Paint, label: str) -> list[str]:
    """Return the lines that tell why a case did not pass."""
    status = paint(STATUS_WORD[result.status], STATUS_STYLE[result.status])
    title = f"{paint(one_line(label), BOLD)}  {status}  {result.duration_seconds:.2f}s"
    body = [*_error(result), *_criteria(result, paint), *_comparison(result, paint)]
    return [title, *indented(body, "  "), *_attachments(result)]


def render_file_error(file: str, error: str, traceback: str | None, output: str, paint: Paint) -> list[str]:
    """Return the lines that tell why an eval file could not be loaded."""
    title = f"{paint(one_line(file), BOLD)}  {paint('could not be loaded', RED)}"
    lines = [title, f"  {clip(one_line(error), _TEXT)}"]
    lines += _section("traceback", traceback or "", _TRACEBACK_LINES)
    return lines + _section("output", output, _OUTPUT_LINES)


def _error(result: EvalCaseResult) -> list[str]:
    return wrapped(result.error, 100, 4) if result.error else []


def _attachments(result: EvalCaseResult) -> list[str]:
    lines = [f"  note: {clip(one_line(note), _TEXT)}" for note in result.notes[:3]]
    # An exception's last lines say what happened; a dying interpreter's first ones do.
    first = result.status is Status.CRASHED
    lines += _section("traceback", result.traceback or "", _TRACEBACK_LINES, first=first)
    return lines + _section("output", result.output, _OUTPUT_LINES)


def _section(title: str, text: str, count: int, *, first: bool = False) -> list[str]:
    if not text.strip():
        return []
    shown = head(text, count) if first else tail(text, count)
    return [f"  {title}", *indented([clip(line, 200) for line in shown], "    | ")]


def _criteria(result: EvalCaseResult, paint: Paint) -> Iterator[str]:
    failing = result.failed_criteria
    width = max((len(criterion.criterion) for criterion in failing), default=0)
    for criterion in failing[:_CRITERIA]:
        yield f"{one_line(criterion.criterion):<{width}}  {score_text(criterion, paint)}"
    if len(failing) > _CRITERIA:
        yield f"… and {len(failing) - _CRITERIA} more criteria"


def score_text(criterion: CriterionResult, paint: Paint) -> str:
    """Return ``0.50 < 1.00  reason`` of a criterion, or its error."""
    if criterion.error is not None:
        return paint(f"error: {clip(one_line(criterion.error), _TEXT)}", RED)
    compared = f"{criterion.score:.2f} {'≥' if criterion.passed else '<'} {criterion.threshold:.2f}"
    reason = _reason(criterion)
    text = paint(compared, GREEN if criterion.passed else RED)
    return f"{text}  {clip(one_line(reason), _TEXT)}" if reason else text


def _reason(criterion: CriterionResult) -> str:
    details = criterion.details
    for key in ("reason", "reasoning"):
        if isinstance(details.get(key), str) and details[key]:
            return str(details[key])
    missing = details.get("missing")
    return f"missing: {', '.join(map(str, missing))}" if isinstance(missing, list) and missing else ""


def _comparison(result: EvalCaseResult, paint: Paint) -> Iterator[str]:
    failing = {criterion.criterion: criterion for criterion in result.failed_criteria if not criterion.is_error}
    tools, nodes = failing.keys() & TOOL_CRITERIA, failing.keys() & NODE_CRITERIA
    if tools:
        checked = any(failing[name].details.get("check_args") for name in tools)
        yield from _tools(result, checked, paint)
    if nodes:
        expected = [str(node) for turn in result.expected for node in turn.get("nodes") or ()]
        yield from _pair("nodes", _path(expected), _path(result.node_visits), paint)
    if failing.keys() - TOOL_CRITERIA - NODE_CRITERIA:
        yield from _responses(result, paint)


def _tools(result: EvalCaseResult, with_args: bool, paint: Paint) -> list[str]:
    expected = [call for turn in result.expected for call in turn.get("tools") or ()]
    actual = [{"name": call.name, "args": call.args} for call in result.actual_tool_calls]
    return _pair(
        "tools",
        _path([call_text(call, with_args) for call in expected]),
        _path([call_text(call, with_args) for call in actual]),
        paint,
    )


def call_text(call: Any, with_args: bool = True) -> str:
    """Return a tool call as it would be written: ``book_flight(to="Paris")``."""
    if not isinstance(call, Mapping):
        return str(call)
    name, args = str(call.get("name", "")), call.get("args") or {}
    if not with_args or not isinstance(args, Mapping):
        return name
    return f"{name}({', '.join(f'{key}={_value(value)}' for key, value in args.items())})"


def _value(value: Any) -> str:
    return clip(json.dumps(value, ensure_ascii=False, default=str), 80)


def _path(steps: Sequence[str]) -> str:
    return " → ".join(steps) if steps else "none"


def _responses(result: EvalCaseResult, paint: Paint) -> Iterator[str]:
    stated = [(number, turn) for number, turn in enumerate(result.expected) if turn.get("response")]
    if not stated:
        yield from _pair("response", None, result.actual_response, paint)
        return
    answers = _answers(result)
    wrong = [(number, turn) for number, turn in stated if not _same(turn["response"], answers.get(number, ""))]
    for number, turn in (wrong or stated)[:_TURNS]:
        title = f"turn {number + 1}" if len(result.expected) > 1 else "response"
        if asked := turn.get("user_input"):
            yield paint(f"asked     {clip(one_line(str(asked)), 160)}", DIM)
        yield from _pair(title, str(turn["response"]), answers.get(number, ""), paint)
    if len(wrong) > _TURNS:
        yield f"… and {len(wrong) - _TURNS} more turns"


def _answers(result: EvalCaseResult) -> dict[int, str]:
    if result.turn_results:
        return {turn.turn_index: turn.agent_response for turn in result.turn_results}
    return {max(len(result.expected) - 1, 0): result.actual_response}


def _same(expected: Any, actual: str) -> bool:
    return str(expected).split() == actual.split()


def _pair(title: str, expected: str | None, actual: str, paint: Paint) -> list[str]:
    position = difference(expected or "", actual)
    lines = []
    if expected is not None:
        lines.append(f"{title:<8}  expected  {paint(_excerpt(expected, position), GREEN)}")
        title = ""
    lines.append(f"{title:<8}  actual    {paint(_excerpt(actual, position), RED)}")
    return lines


def _excerpt(text: str, position: int) -> str:
    if len(text) > _TEXT:
        text = around(text, position, _TEXT)
    return one_line(text.strip()) or "(empty)"
