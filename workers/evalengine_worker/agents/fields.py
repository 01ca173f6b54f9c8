"""Reading fields of what agents return, mapping or object alike, whatever its attributes do."""

import json
from collections.abc import Mapping
from typing import Any


def get(value: Any, name: str) -> Any:
    """Return the item or attribute of that name; None where there is none, it raises, or it is a method."""
    if type(value) is dict:
        return value.get(name)
    try:
        found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    except Exception:  # noqa: BLE001 - properties are user code
        return None
    return None if callable(found) and not isinstance(value, Mapping) else found


def is_text(value: Any) -> bool:
    """Tell whether a value is a string."""
    return isinstance(value, str)


def to_arguments(value: Any) -> Any:
    """Return the arguments of a tool call; JSON text is decoded where it is an object's."""
    if not isinstance(value, str):
        return value
    try:
        decoded = json.loads(value) if value.strip() else {}
    except ValueError:
        return value
    return decoded if isinstance(decoded, dict) else value
