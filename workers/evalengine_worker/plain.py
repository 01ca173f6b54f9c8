"""Any value of user code, as bounded plain data that JSON and msgpack can carry.

Strings, finite numbers, booleans, None, lists and string-keyed dicts stay what they are; everything else becomes
one of them, and what was lost on the way is told once per conversion. No ``repr`` is ever called: it is user
code that may raise, sleep, or return a gigabyte.
"""

import base64
import contextlib
import dataclasses
import math
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

import msgspec

MOST_STRING_CHARACTERS = 1024 * 1024
MOST_TOTAL_CHARACTERS = 16 * 1024 * 1024
MOST_VALUES = 100_000
MOST_DEPTH = 100
_LARGEST_INTEGER = 2**63


def clean_text(text: str, most: int = MOST_STRING_CHARACTERS) -> str:
    """Return text that UTF-8 can carry, cut with a mark where it is longer than ``most`` characters."""
    if type(text) is not str:
        text = str.__str__(text)
    if len(text) > most:
        text = f"{text[:most]}... [{len(text) - most} more characters]"
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def type_name(value: Any) -> str:
    """Return the type of a value as a user knows it: ``threading.Lock``, ``str``."""
    kind = type(value)
    module, name = getattr(kind, "__module__", ""), getattr(kind, "__qualname__", "object")
    return name if module in ("builtins", "__main__", "") else f"{module}.{name}"


class Plain:
    """Converts values within one budget; ``losses`` says, in words, what could not be kept."""

    def __init__(self) -> None:
        self.losses: dict[str, None] = {}
        self._values_left = MOST_VALUES
        self._characters_left = MOST_TOTAL_CHARACTERS

    def convert(self, value: Any) -> Any:
        """Return the value as plain data, sharing nothing that can be changed with it."""
        return self._convert(value, 0)

    def mapping(self, value: Any) -> dict[str, Any]:
        """Return a mapping as plain data; anything else under the key ``value``."""
        plain = self._convert(value, 0)
        return plain if isinstance(plain, dict) else {"value": plain}

    def text(self, value: str) -> str:
        """Return a string as plain text."""
        if len(value) > MOST_STRING_CHARACTERS:
            self.losses[f"a text of {len(value)} characters was cut"] = None
        clean = clean_text(value, min(MOST_STRING_CHARACTERS, max(self._characters_left, 0)))
        self._characters_left -= len(clean)
        return clean

    def _convert(self, value: Any, depth: int) -> Any:  # noqa: PLR0911 - a table, the frequent kinds first
        kind = type(value)
        if kind is str:
            return self.text(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if -_LARGEST_INTEGER <= value < _LARGEST_INTEGER else self._large(value)
        if kind is float:
            return value if math.isfinite(value) else self._not_finite(value)
        self._values_left -= 1
        if depth >= MOST_DEPTH:
            return self._lost("a value nested too deeply was cut", "<nested too deeply>")
        if self._values_left < 0:
            return self._lost(f"only the first {MOST_VALUES} values were kept", "<left out>")
        if kind is dict:
            return self._dict(value, depth)
        if kind is list or kind is tuple:
            return self._list(value, depth)
        return self._other(value, depth)

    def _lost(self, loss: str, mark: str) -> str:
        self.losses[loss] = None
        return mark

    def _not_finite(self, value: float) -> str:
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"

    def _large(self, value: int) -> str:
        bits = value.bit_length()
        return str(value) if bits <= 4096 else f"<integer of {bits} bits>"  # noqa: PLR2004 - str() of more may raise

    def _dict(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        for key, item in list(value.items()):
            if self._values_left < 0:
                self._lost(f"only the first {MOST_VALUES} values were kept", "")
                break
            plain[self._key(key, depth)] = self._convert(item, depth + 1)
        return plain

    def _key(self, key: Any, depth: int) -> str:
        if isinstance(key, str):
            return clean_text(key)
        plain = self._convert(key, depth + 1)
        return plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()

    def _list(self, value: Any, depth: int) -> list[Any]:
        plain: list[Any] = []
        for item in value:
            if self._values_left < 0:
                self._lost(f"only the first {MOST_VALUES} values were kept", "")
                break
            plain.append(self._convert(item, depth + 1))
            if len(plain) >= MOST_VALUES:
                self._values_left = -1
        return plain

    def _other(self, value: Any, depth: int) -> Any:
        with contextlib.suppress(Exception):  # The value's own methods are user code.
            for kinds, convert in _CONVERSIONS:
                if isinstance(value, kinds):
                    return convert(self, value, depth)
            structured = _fields(value)
            if structured is not None:
                return self._convert(structured, depth + 1)
        name = clean_text(type_name(value), 200)
        return self._lost(f"a value of type {name} is shown by its type only", f"<{name} object>")


def _fields(value: Any) -> Any:
    """Return the fields of a structured value: dataclass, msgspec struct, pydantic model, numpy scalar or array."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    if isinstance(value, msgspec.Struct):
        return {name: getattr(value, name) for name in value.__struct_fields__}
    if callable(dump := getattr(value, "model_dump", None)):
        return dump()
    if type(value).__module__.partition(".")[0] == "numpy" and callable(to_list := getattr(value, "tolist", None)):
        return to_list()
    return None


def _bytes(_: Plain, value: bytes, __: int) -> dict[str, Any]:
    return {"base64": base64.b64encode(bytes(value)[:MOST_STRING_CHARACTERS]).decode(), "bytes": len(value)}


_CONVERSIONS: list[tuple[tuple[type, ...], Callable[[Plain, Any, int], Any]]] = [
    ((Enum,), lambda plain, value, depth: plain._convert(value.value, depth + 1)),  # noqa: SLF001
    ((str,), lambda plain, value, _: plain.text(str.__str__(value))),
    ((int,), lambda plain, value, depth: plain._convert(int.__int__(value), depth + 1)),  # noqa: SLF001
    ((float,), lambda plain, value, depth: plain._convert(float.__float__(value), depth + 1)),  # noqa: SLF001
    ((bytes, bytearray, memoryview), _bytes),
    ((Mapping,), lambda plain, value, depth: plain._dict(value, depth)),  # noqa: SLF001
    ((list, tuple, AbstractSet), lambda plain, value, depth: plain._list(value, depth)),  # noqa: SLF001
    ((datetime, date, time), lambda _, value, __: value.isoformat()),
    ((timedelta,), lambda _, value, __: value.total_seconds()),
    ((Decimal, UUID, PurePath), lambda plain, value, _: plain.text(str(value))),
]
