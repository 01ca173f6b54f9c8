"""Exceptions of user code, as text: one line, and a traceback without the engine's own frames.

Nothing an exception does can hurt: its ``str`` may raise, its chain may be endless, its text may be huge.
"""

import importlib
import os
import traceback
from typing import NamedTuple

import evalengine
from evalengine_worker import namespaces
from evalengine_worker.plain import clean_text

MOST_TRACEBACK_CHARACTERS = 64 * 1024
_MOST_LINE_CHARACTERS = 2000
_MOST_CHAINED = 10
_MOST_FRAMES = 100

_OURS = (
    os.path.dirname(os.path.abspath(__file__)) + os.sep,  # noqa: PTH100, PTH120 - strings, as in frames
    os.path.dirname(os.path.abspath(evalengine.__file__)) + os.sep,  # noqa: PTH100, PTH120
)
_MACHINERY = ("<frozen importlib", "<frozen runpy", importlib.__file__)


class Failure(NamedTuple):
    """What is told of an exception."""

    error: str
    """``TypeName: message``, one line."""
    traceback: str | None


class PlainlyToldError(Exception):
    """An error of a case that the engine itself found: its message says it all, and no user code raised."""


def message(error: BaseException) -> str:
    """Return what an exception says, on one line; the empty string where it says nothing."""
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - an exception's own str is user code
        text = "<its message cannot be read>"
    return " ".join(clean_text(text, _MOST_LINE_CHARACTERS).split())


def one_line(error: BaseException) -> str:
    """Return ``TypeName: message`` on one line."""
    name, text = type(error).__name__, message(error)
    return f"{name}: {text}" if text else name


def describe(error: BaseException) -> Failure:
    """Return the line and the traceback of an exception."""
    if isinstance(error, PlainlyToldError):
        return Failure(message(error), None)
    with namespaces.own_modules():
        return Failure(one_line(error), _bounded(_formatted(error)))


def _formatted(error: BaseException) -> str:
    parts: list[str] = []
    link: BaseException | None = error
    seen: set[int] = set()
    while link is not None and len(seen) < _MOST_CHAINED and id(link) not in seen:
        seen.add(id(link))
        parts.append(_formatted_one(link))
        link, joint = _before(link)
        if link is not None:
            parts.append(joint)
    return "".join(reversed(parts))


def _before(error: BaseException) -> tuple[BaseException | None, str]:
    if error.__cause__ is not None:
        return error.__cause__, "\nThe above exception was the direct cause of the following exception:\n\n"
    if error.__context__ is not None and not error.__suppress_context__:
        return error.__context__, "\nDuring handling of the above exception, another exception occurred:\n\n"
    return None, ""


def _formatted_one(error: BaseException) -> str:
    try:
        full = traceback.TracebackException(
            type(error), error, error.__traceback__, limit=-_MOST_FRAMES, compact=True
        )
        full.stack[:] = [frame for frame in full.stack if not is_ours(frame.filename)]
        return "".join(full.format(chain=False))
    except Exception:  # noqa: BLE001 - formatting runs the exception's own code
        return f"{one_line(error)}\n"


def is_ours(filename: str) -> bool:
    """Tell whether a frame's file is the engine's or the import machinery's."""
    return (filename.startswith(_OURS) and "fallback" not in filename) or filename.startswith(_MACHINERY)


def _bounded(text: str) -> str:
    text = clean_text(text, len(text))
    if len(text) <= MOST_TRACEBACK_CHARACTERS:
        return text
    half = MOST_TRACEBACK_CHARACTERS // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"
