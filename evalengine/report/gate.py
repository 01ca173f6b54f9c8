"""The gate of a run: whether its results are good enough, and in which words that is said.

Rules: a file that could not be loaded fails the gate whatever the rate. A threshold, where set, decides alone;
without one, or with ``fail_on_any``, every case that was not skipped must have passed. Skipped cases are never
rated, so a run of nothing but skipped cases meets its gate.
"""

from collections.abc import Mapping

from evalengine.errors import ExitCode
from evalengine.records import Record
from evalengine.results import EvalSummary, Status

_NOUNS = {
    Status.FAILED: ("failed", "failed"),
    Status.ERROR: ("error", "errors"),
    Status.TIMEOUT: ("timed out", "timed out"),
    Status.CRASHED: ("crashed", "crashed"),
    Status.SKIPPED: ("skipped", "skipped"),
    Status.NOT_RUN: ("not run", "not run"),
}


class Gate(Record, kw_only=True):
    """What the gate said: ``text`` is one line, ``exit_code`` what a complete run ends with."""

    met: bool
    text: str
    exit_code: int
    asked: bool = False
    """Whether someone set a threshold or ``fail_on_any``."""


def verdict(summary: EvalSummary, file_errors: int, threshold: float | None, fail_on_any: bool = False) -> Gate:
    """Judge a run by its counts. ``threshold`` is the least pass rate, in [0, 1]."""
    counts = summary.status_counts
    rated = summary.planned - counts.get(Status.SKIPPED, 0)
    passed = summary.passed_cases
    if threshold is None:
        good, claim = passed == rated, f"{passed}/{rated} passed"
    else:
        good = summary.pass_rate >= threshold or rated == 0
        claim = f"{passed}/{rated} {'≥' if good else '<'} {_rate(threshold)}"
    parts = [claim, *describe_counts(counts, leave_out=(Status.SKIPPED,))]
    if good and fail_on_any and passed != rated:
        good = False
        parts.append("and every case must pass")
    if file_errors:
        good = False
        parts.append(f"{file_errors} {'file' if file_errors == 1 else 'files'} could not be loaded")
    return Gate(
        met=good,
        text=f"gate {'met' if good else 'not met'}: {', '.join(parts)}",
        exit_code=ExitCode.OK if good else ExitCode.GATE_NOT_MET,
        asked=threshold is not None or fail_on_any,
    )


def describe_counts(counts: Mapping[str, int], leave_out: tuple[Status, ...] = ()) -> list[str]:
    """Name every status but ``passed`` that occurred: ``["2 failed", "1 error"]``."""
    return [
        f"{count} {singular if count == 1 else plural}"
        for status, (singular, plural) in _NOUNS.items()
        if status not in leave_out and (count := counts.get(status.value, 0))
    ]


def _rate(threshold: float) -> str:
    short = f"{threshold:.2f}"
    return short if float(short) == threshold else f"{threshold:g}"
