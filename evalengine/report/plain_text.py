"""Text of strangers made fit for a terminal: no escape sequences, no controls, known width.

Rules: terminal sequences are taken out; any other control character, and every character that reorders text
(bidirectional overrides and isolates), is shown as its escape, so that what is printed is what is there.
"""

import re
import textwrap
import unicodedata

_SEQUENCES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC, DCS and the other strings
    r"|[ -/]*[0-~])"  # two-character sequences
    r"|\x9b[0-?]*[ -/]*[@-~]"  # CSI of eight-bit terminals
)
_REORDERING = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_CONTROLS = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff{_REORDERING}]")


def _escaped(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")


def printable(text: str) -> str:
    """Return the text without terminal sequences, controls escaped; line ends and tabs stay."""
    if text.isprintable():
        return text
    return _CONTROLS.sub(_escaped, _SEQUENCES.sub("", text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    r"""Return the text as one printable line; line ends and tabs are shown as ``\n`` and ``\t``."""
    if text.isprintable():
        return text
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def lines_of(text: str) -> list[str]:
    """Return the printable lines of a text, tabs expanded, without blank lines around them."""
    return [line.expandtabs(4).rstrip() for line in printable(text).strip("\n").split("\n")] if text else []


def tail(text: str, count: int) -> list[str]:
    """Return the last lines of a text, the first of them saying how many were left out."""
    lines = lines_of(text)
    left_out = len(lines) - count
    return lines if left_out <= 0 else [f"… {left_out} lines left out", *lines[left_out:]]


def head(text: str, count: int) -> list[str]:
    """Return the first lines of a text, then a line saying how many were left out."""
    lines = lines_of(text)
    left_out = len(lines) - count
    return lines if left_out <= 0 else [*lines[:count], f"… {left_out} lines left out"]


def clip(text: str, limit: int) -> str:
    """Return at most ``limit`` characters, the cut marked."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def columns(text: str) -> int:
    """Return how many columns a terminal needs: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(character) for character in text)


def _columns_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pad(text: str, width: int) -> str:
    """Fill a text up to ``width`` columns; a longer one stays whole."""
    return text + " " * (width - columns(text))


def around(text: str, position: int, limit: int) -> str:
    """Return ``limit`` characters of a long text in which ``position`` can be seen, the cuts marked."""
    start = max(0, min(position - limit // 3, len(text) - limit))
    head, end = ("…" if start else ""), start + limit
    return f"{head}{text[start:end]}{'…' if end < len(text) else ''}"


def difference(one: str, other: str) -> int:
    """Return where two texts begin to differ."""
    for position, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return position
    return min(len(one), len(other))


def indented(lines: list[str], prefix: str) -> list[str]:
    """Put a prefix before each line."""
    return [(prefix + line).rstrip() for line in lines]


def wrapped(text: str, width: int, limit: int) -> list[str]:
    """Break a text into at most ``limit`` lines of ``width``, the cut marked."""
    lines = [piece for line in lines_of(text) for piece in (textwrap.wrap(line, width) or [""])]
    return lines if len(lines) <= limit else [*lines[: limit - 1], clip(lines[limit - 1] + " …", width + 2)]
