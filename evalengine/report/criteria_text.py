"""Which criteria judge which files, and who said so, in a few lines however many files there are."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from evalengine.config import DEFAULT_JUDGE_MODEL, MODEL_CRITERIA, field_name
from evalengine.errors import ConfigurationError
from evalengine.events import FileDiscovered
from evalengine.report.plain_text import one_line

SOURCE_WORDS: Mapping[str, str] = {"builtin": "built-in defaults", "confeval": "confeval.py", "file": "the file"}
"""How the sources of criteria are named to people; any other is named as it is."""

_MATCHED = frozenset({"trajectory", "node_order"})
_FILES = 3
_GROUPS = 8


class _Group(NamedTuple):
    source: str
    criteria: Mapping[str, Mapping[str, Any]]
    files: list[str]


def criteria_lines(files: Sequence[FileDiscovered], *, whole: bool = False) -> Iterator[str]:
    """Yield a block for each distinct set of criteria, naming its files; ``whole`` leaves nothing out."""
    groups = _grouped(files)
    shown = groups if whole else groups[:_GROUPS]
    for group in shown:
        yield f"Criteria  {_names(group.files, whole)}  (source: {SOURCE_WORDS.get(group.source, group.source)})"
        yield from _criteria(group.criteria)
    if len(groups) > len(shown):
        yield f"… and {len(groups) - len(shown)} more sets of criteria"


def _grouped(files: Sequence[FileDiscovered]) -> list[_Group]:
    groups: dict[bytes, _Group] = {}
    for file in files:
        if file.skipped:
            continue
        key = msgspec.json.encode((file.source, file.criteria), enc_hook=str)
        groups.setdefault(key, _Group(file.source, file.criteria, [])).files.append(one_line(file.label))
    return list(groups.values())


def _names(files: list[str], whole: bool) -> str:
    if whole or len(files) <= _FILES:
        return ", ".join(files)
    return f"{', '.join(files[:_FILES])} and {len(files) - _FILES} more"


def _criteria(criteria: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    if not criteria:
        yield "  none: a case passes if its agent runs"
    width = max((len(name) for name in criteria), default=0)
    for name, config in criteria.items():
        yield f"  {one_line(name):<{width}}  {describe_criterion(name, config)}"


def describe_criterion(name: str, config: Mapping[str, Any]) -> str:
    """Say how a criterion scores: ``≥ 0.60  IN_ORDER  with arguments``."""
    threshold = config.get("threshold")
    parts = [f"≥ {threshold:.2f}" if isinstance(threshold, int | float) else "own threshold"]
    field = _field(name)
    if field in _MATCHED or (field is None and config.get("match_type")):
        parts.append(str(config.get("match_type", "EXACT")))
    if config.get("check_args"):
        parts.append("with arguments")
    if judge := _judge(field, config):
        parts.append(f"judge {one_line(judge)}")
    if keywords := config.get("keywords"):
        parts.append(f"keywords {', '.join(one_line(str(word)) for word in keywords[:5])}")
    return "  ".join(parts)


def _field(name: str) -> str | None:
    try:
        return field_name(name)
    except ConfigurationError:
        return None


def _judge(field: str | None, config: Mapping[str, Any]) -> str | None:
    judge = config.get("judge") or config.get("judge_model")
    if field in MODEL_CRITERIA:
        return str(judge or DEFAULT_JUDGE_MODEL)
    if field == "response_match":
        return str(judge or "lexical")
    return None
