"""The end of a run on the terminal: its numbers, its gate, and where its reports are."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from evalengine.report.gate import describe_counts
from evalengine.report.paint import BOLD, GREEN, RED, YELLOW, Paint
from evalengine.report.plain_text import one_line
from evalengine.report.summary import RunDocument
from evalengine.results import EvalSummary, Status


def footer_lines(document: RunDocument, paths: Sequence[Path], paint: Paint, verbosity: int) -> Iterator[str]:
    """Yield the lines that end a run; ``verbosity`` -1 leaves the criteria, time and tokens out."""
    yield _results(document.summary, paint)
    counts = describe_counts(document.summary.status_counts)
    if document.summary.flaky:
        counts.append(f"{document.summary.flaky} passed after a retry (flaky)")
    if counts:
        yield f"  {', '.join(counts)}"
    if verbosity >= 0:
        yield from _criteria(document.summary)
        yield from _costs(document)
    if verbosity > 0:
        yield from _workers(document)
    if document.status != "complete":
        reason = f": {one_line(document.reason)}" if document.reason else ""
        yield paint(f"Run {document.status}{reason}", YELLOW)
    if document.gate.asked or (document.file_errors and not document.gate.met):
        yield paint(document.gate.text, GREEN if document.gate.met else RED)
    for path in paths:
        yield f"Report: {one_line(str(path))}"


def _results(summary: EvalSummary, paint: Paint) -> str:
    rated = summary.planned - summary.status_counts.get(Status.SKIPPED, 0)
    passed = summary.passed_cases
    text = f"Results: {passed}/{rated} passed ({summary.pass_rate:.1%})"
    return paint(paint(text, GREEN if passed == rated else RED), BOLD)


def _criteria(summary: EvalSummary) -> Iterator[str]:
    stats = summary.criterion_stats
    width = max((len(name) for name in stats), default=0)
    for name, stat in stats.items():
        parts = [f"{stat.passed}/{stat.total} passed", f"average {stat.avg_score:.2f}"] if stat.total else []
        if stat.errors:
            parts.append(f"{stat.errors} {'error' if stat.errors == 1 else 'errors'}")
        if stat.not_applicable:
            parts.append(f"does not apply to {stat.not_applicable}")
        yield f"  {one_line(name):<{width}}  {', '.join(parts)}"


def _costs(document: RunDocument) -> Iterator[str]:
    summary = document.summary
    workers = len({worker.id for worker in document.workers})
    by = f" with {workers} workers" if workers > 1 else ""
    yield f"Time: {duration(summary.wall_seconds)}{by}"
    kinds = {
        "agent": summary.agent_token_usage,
        "judge": summary.judge_token_usage,
        "simulated user": summary.simulator_token_usage,
    }
    if summary.total_token_usage.total_tokens:
        spent = [f"{name} {usage.total_tokens:,}" for name, usage in kinds.items() if usage.total_tokens]
        shares = f" ({', '.join(spent)})" if spent else ""
        yield f"Tokens: {summary.total_token_usage.total_tokens:,}{shares}"


def _workers(document: RunDocument) -> Iterator[str]:
    for worker in document.workers:
        yield f"  worker {worker.id}, pid {worker.pid or 'unknown'}: {one_line(worker.lost or 'ended as told')}"


def duration(seconds: float) -> str:
    """Return a time as people read it: ``0.42s``, ``12.3s``, ``2m 05s``, ``1h 02m``."""
    if seconds < 10:  # noqa: PLR2004 - from here on, hundredths say nothing
        return f"{seconds:.2f}s"
    if seconds < 60:  # noqa: PLR2004
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02d}m" if hours else f"{minutes}m {rest:02d}s"


def warning_lines(document: RunDocument) -> Iterator[str]:
    """Yield what a user should look at although nothing failed."""
    unchecked = document.summary.nothing_to_check
    if unchecked:
        cases = "case had" if unchecked == 1 else "cases had"
        yield f"warning: {unchecked} {cases} nothing to check: no criterion applied"
