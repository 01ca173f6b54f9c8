"""What the template of the HTML page shows of a run: numbers already put into words."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from evalengine.report.criteria_text import SOURCE_WORDS, describe_criterion
from evalengine.report.footer import duration
from evalengine.report.plain_text import printable
from evalengine.report.summary import RunDocument
from evalengine.results import Status


class Card(NamedTuple):
    """A number of the summary; ``kind`` is its style."""

    title: str
    value: str
    kind: str = ""
    note: str = ""


class Share(NamedTuple):
    """A piece of the bar of statuses, in percent of its width."""

    status: str
    start: str
    width: str
    cases: int


class View(NamedTuple):
    """What the template is given beside the document itself."""

    title: str
    when: str
    cards: list[Card]
    shares: list[Share]
    files: list[dict[str, Any]]
    settings: list[tuple[str, str, str]]


def view_of(document: RunDocument) -> View:
    """Put a run into words for the page."""
    return View(
        title=printable(document.eval_set_name or document.eval_set_id or "Evaluation"),
        when=datetime.fromtimestamp(document.timestamp).astimezone().strftime("%Y-%m-%d %H:%M:%S %z"),
        cards=list(_cards(document)),
        shares=list(_shares(document)),
        files=[_file(file.model_dump()) for file in document.files],
        settings=list(_settings(document.settings)),
    )


def _cards(document: RunDocument) -> Iterator[Card]:
    summary = document.summary
    counts = summary.status_counts
    rated = summary.planned - counts.get(Status.SKIPPED, 0)
    yield Card("Pass rate", f"{summary.pass_rate:.1%}", "rate", f"{summary.passed_cases} of {rated}")
    note = f"{document.deselected} deselected" if document.deselected else ""
    yield Card("Planned", f"{summary.planned:,}", note=note)
    for status in Status:
        count = counts.get(status, 0)
        title = status.replace("_", " ").capitalize()
        yield Card(title, f"{count:,}", f"status {status}" + ("" if count else " none"))
    yield Card("Duration", duration(summary.wall_seconds), note=f"{duration(summary.avg_duration_seconds)} a case")
    yield _tokens(document)


def _tokens(document: RunDocument) -> Card:
    summary = document.summary
    kinds = (
        ("judge", summary.judge_token_usage.total_tokens),
        ("simulated user", summary.simulator_token_usage.total_tokens),
    )
    note = ", ".join(f"{name} {tokens:,}" for name, tokens in kinds if tokens)
    total = summary.total_token_usage.total_tokens
    return Card("Tokens", _compact(total), "" if total else "none", note)


def _compact(count: int) -> str:
    """Write a number in the width of a card."""
    if count >= 1_000_000:  # noqa: PLR2004
        return f"{count / 1_000_000:,.1f} M"
    return f"{count:,}" if count < 100_000 else f"{count / 1000:.0f} k"  # noqa: PLR2004


def _shares(document: RunDocument) -> Iterator[Share]:
    planned = document.summary.planned
    start = 0.0
    for status in Status:
        count = document.summary.status_counts.get(status, 0)
        if count:
            width = 100 * count / planned
            yield Share(status.value, f"{start:.3f}%", f"{width:.3f}%", count)
            start += width


def _file(file: dict[str, Any]) -> dict[str, Any]:
    criteria = {name: describe_criterion(name, config) for name, config in file["criteria"].items()}
    return {**file, "source": SOURCE_WORDS.get(file["source"], file["source"]), "criteria": criteria}


def _settings(settings: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name, entry in settings.items():
        if isinstance(entry, Mapping):
            yield name, _setting(entry.get("value")), str(entry.get("source", ""))


def _setting(value: Any) -> str:
    if value is None or value == []:
        return "not set"
    return value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
