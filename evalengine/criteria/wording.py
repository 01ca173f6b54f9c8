"""How scores are explained: one short line of expected against actual, and values cut to a readable length.

The whole response and all tool calls stand in the case's result; the details of a criterion repeat what fits.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from evalengine.cases import ToolCall

MAX_TEXT_CHARS = 2_000
MAX_ITEMS = 100
_MAX_QUOTE_CHARS = 120
_MAX_REASON_CHARS = 500
_MAX_DEPTH = 6


def clip(text: str, limit: int = MAX_TEXT_CHARS) -> str:
    """Return the text, or its beginning and how much was left out."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"


def quote(text: str) -> str:
    """Return the text in quotes on one line, cut short."""
    return repr(clip(text, _MAX_QUOTE_CHARS))


def line(text: str) -> str:
    """Return a reason on one line, cut short."""
    return clip(" ".join(text.split()), _MAX_REASON_CHARS)


def trim(value: Any, depth: int = 0) -> Any:
    """Return plain data with long texts, long lists and deep nesting cut."""
    if isinstance(value, str):
        return clip(value)
    if isinstance(value, Mapping):
        if depth >= _MAX_DEPTH:
            return {"…": f"{len(value)} more"} if value else {}
        shown = {str(key): trim(item, depth + 1) for key, item in list(value.items())[:MAX_ITEMS]}
        return shown | ({"…": f"{len(value) - MAX_ITEMS} more"} if len(value) > MAX_ITEMS else {})
    if isinstance(value, list | tuple):
        if depth >= _MAX_DEPTH:
            return [f"… {len(value)} more"] if value else []
        shown_items = [trim(item, depth + 1) for item in value[:MAX_ITEMS]]
        return shown_items + ([f"… {len(value) - MAX_ITEMS} more"] if len(value) > MAX_ITEMS else [])
    return value


def describe_calls(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """Return calls as they stand in a result's details; of a very long list, the beginning."""
    return [
        {"name": call.name, "args": trim(call.args), "call_id": call.call_id, "result": trim(call.result)}
        for call in calls[:MAX_ITEMS]
    ]


def names(items: Sequence[str]) -> str:
    """Return names as a reader writes a sequence: ``a → b → c``."""
    if not items:
        return "none"
    shown = " → ".join(clip(item, _MAX_QUOTE_CHARS) for item in items[:12])
    return shown if len(items) <= 12 else f"{shown} → … ({len(items) - 12} more)"  # noqa: PLR2004 - one line


def call_text(call: ToolCall, *, with_args: bool) -> str:
    """Return a call as ``name(key='value')``, or its name alone."""
    if not with_args:
        return call.name
    args = ", ".join(f"{key}={clip(repr(value), 60)}" for key, value in call.args.items())
    return f"{call.name}({args})"


def args_difference(expected: ToolCall, actual: ToolCall) -> str:
    """Say which stated arguments differ: ``book_flight: destination expected 'Bergen', got 'Oslo'``."""
    parts = []
    for key, wanted in expected.args.items():
        if key not in actual.args:
            parts.append(f"{key} expected {clip(repr(wanted), 60)}, got none")
        elif actual.args[key] != wanted:
            parts.append(f"{key} expected {clip(repr(wanted), 60)}, got {clip(repr(actual.args[key]), 60)}")
    return f"{expected.name}: {'; '.join(parts)}"
