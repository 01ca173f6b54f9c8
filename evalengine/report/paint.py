"""Colours of the terminal, or none."""

from collections.abc import Mapping
from typing import TextIO

from evalengine.results import Status

RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN = "31", "32", "33", "34", "35", "36"
BOLD, DIM = "1", "2"

STATUS_STYLE: Mapping[Status, str] = {
    Status.PASSED: GREEN,
    Status.FAILED: RED,
    Status.ERROR: MAGENTA,
    Status.TIMEOUT: YELLOW,
    Status.CRASHED: MAGENTA,
    Status.SKIPPED: CYAN,
    Status.NOT_RUN: DIM,
}

STATUS_WORD: Mapping[Status, str] = {status: status.value.replace("_", " ").upper() for status in Status}
"""How a status stands in a case line; the longest has seven letters."""


class Paint:
    """Puts a style on a text where colours are on."""

    __slots__ = ("on",)

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, text: str, style: str) -> str:
        """Return the text in this style."""
        return f"\x1b[{style}m{text}\x1b[0m" if self.on and text else text


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a stream is a terminal; a closed one is none."""
    try:
        return stream is not None and stream.isatty()
    except (OSError, ValueError):
        return False


def wants_color(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Decide on colours where nobody said: FORCE_COLOR, NO_COLOR and TERM=dumb, else only on a terminal."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return is_terminal(stream) and environ.get("TERM") != "dumb"
