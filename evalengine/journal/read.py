"""Reading a journal file: its header, then an event a line, each with its place in the file.

The first line is the header: the format's version, the run and its root. A last line without its end is what a
crash in the middle of a write leaves; it is not read. Everything else that is not as written is an error that says
what the file is: damaged, of something else, or of a newer version.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from evalengine.errors import UnreadableJournalError
from evalengine.events import RunEvent, decode_event

FILE_NAME = "journal.jsonl"
VERSION = 1
"""Of the format. Grows when an old reader could not make sense of a file; new fields leave it as it is."""


class Header(msgspec.Struct, kw_only=True):
    """The first line of a journal."""

    evalengine_journal: int
    """The version of the format."""
    run_id: str
    root: str = ""
    """The project root; empty where the run has none."""


class Line(NamedTuple):
    """An event and where its line stands; ``length`` counts the line's end."""

    event: RunEvent
    start: int
    length: int


def header_line(run_id: str, root: str) -> bytes:
    """Return the first line of a new journal."""
    return msgspec.json.encode(Header(evalengine_journal=VERSION, run_id=run_id, root=root)) + b"\n"


_decode_header = msgspec.json.Decoder(Header).decode


def read_header(path: Path) -> Header | None:
    """Return the header; None where the run was ended before it could write one.

    Raises UnreadableJournalError for a file that is not ours or of a newer version, OSError.
    """
    with path.open("rb") as file:
        return _header(file, path)


def read_lines(path: Path, start: int = 0) -> Iterator[Line]:
    """Yield the events of a journal with their places; from byte ``start`` on, which begins a line.

    Raises UnreadableJournalError that says what is wrong, and in which line; OSError.
    """
    with path.open("rb") as file:
        if _header(file, path) is None:
            return
        at, number = file.tell(), 1
        if start > at:
            file.seek(start)
            at = start
        for line in file:
            number += 1
            if not line.endswith(b"\n"):
                return
            yield Line(_event(line, path, number, start), at, len(line))
            at += len(line)


def read_events(path: Path) -> Iterator[RunEvent]:
    """Yield the events of a journal file; a torn last line is left out."""
    for line in read_lines(path):
        yield line.event


def _header(file: BinaryIO, path: Path) -> Header | None:
    line = file.readline(64 * 1024)
    try:
        header = _decode_header(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Only the beginning of a header can be torn; anything else was never one.
        if not line.endswith(b"\n") and _could_begin_a_header(line):
            return None
        raise UnreadableJournalError(f"{path} is no journal of evalengine: its first line is no header") from None
    if header.evalengine_journal > VERSION:
        raise UnreadableJournalError(
            f"{path} was written by a newer evalengine (journal version {header.evalengine_journal}, this one "
            f"reads up to {VERSION}): update evalengine, or start a new run"
        )
    return header if line.endswith(b"\n") else None


_BEGINNING = b'{"evalengine_journal":'


def _could_begin_a_header(line: bytes) -> bool:
    length = min(len(line), len(_BEGINNING))
    return line[:length] == _BEGINNING[:length]


def _event(line: bytes, path: Path, number: int, start: int) -> RunEvent:
    try:
        return decode_event(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        where = f"line {number}" + (f" after byte {start}" if start else "")
        msg = f"{path}, {where}: not a run event, the journal is damaged ({error}); start a new run"
        raise UnreadableJournalError(msg) from None
