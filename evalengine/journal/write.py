"""The journal of a run as its coordinator writes it: what was appended is in the file before anyone hears of it.

Where the folder cannot be made under the project root, a temporary one serves; where a write fails, the results
that follow are kept in memory and the trouble is told. A run that is continued goes on in its own file: a torn end
is cut off first, and what has a verdict is written again as a reference to where its result stands. The file is
locked as long as the run is in progress.
"""

import contextlib
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from evalengine.errors import RecordingError, UsageError
from evalengine.events import CaseFinished, CaseKept, RunEvent, encode_event
from evalengine.journal import lock
from evalengine.journal.past import Past, Verdict, read_past
from evalengine.journal.read import FILE_NAME, Line, header_line

RUNS_FOLDER = Path(".evalengine") / "runs"


def _new_run_id() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"


class Journal:
    """Appends the events of one run, and gives back its results."""

    def __init__(self, folder: Path, run_id: str, descriptor: int, size: int = 0) -> None:
        """Go on at ``size`` bytes in the open file of a run."""
        self.folder = folder
        self.run_id = run_id
        self.temporary = False
        self.path = folder / FILE_NAME
        self.trouble: str | None = None
        self._file = descriptor
        self._size = self._size_at_start = size
        self._unwritten = bytearray()
        self._pending: list[tuple[int, int]] = []
        self._results: dict[tuple[int, int], tuple[int, int]] = {}
        self._kept: dict[tuple[int, int], bytes] = {}

    @classmethod
    def _new(cls, folder: Path, run_id: str, root: Path | None) -> "Journal":
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        journal = cls(folder, run_id, os.open(folder / FILE_NAME, flags, 0o644))
        lock.take(journal._file)
        journal._write_header(root)
        return journal

    def _write_header(self, root: Path | None) -> None:
        self._unwritten += header_line(self.run_id, "" if root is None else os.path.realpath(root))
        self.write()

    @classmethod
    def create(cls, root: Path | None) -> "Journal":
        """Start the journal of a new run under a project root; without one, in a temporary folder."""
        run_id = _new_run_id()
        if root is not None:
            try:
                folder = root / RUNS_FOLDER / run_id
                folder.mkdir(parents=True)
                ignore = root / RUNS_FOLDER.parent / ".gitignore"
                if not ignore.exists():
                    ignore.write_text("*\n", encoding="ascii")
                return cls._new(folder, run_id, root)
            except OSError as error:
                journal = cls._new(Path(tempfile.mkdtemp(prefix="evalengine-")), run_id, root)
                journal.trouble = f"the journal is in {journal.folder}, not under {root}: {error}"
                return journal
        journal = cls._new(Path(tempfile.mkdtemp(prefix="evalengine-")), run_id, None)
        journal.temporary = True
        return journal

    @classmethod
    def reopen(cls, folder: Path, root: Path) -> tuple["Journal", Past]:
        """Open the journal of a run to continue it, its torn end cut off, and read what the run has come to.

        Raises UsageError where the run is in progress, UnreadableJournalError where the journal cannot be read,
        RecordingError where it cannot be written.
        """
        path = folder / FILE_NAME
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise RecordingError(f"the journal {path} cannot be opened: {error.strerror}") from None
        try:
            past = _locked_past(descriptor, path)
            os.ftruncate(descriptor, past.size)
        except BaseException:
            os.close(descriptor)
            raise
        journal = cls(folder, folder.name, descriptor, past.size)
        if past.header is None:
            journal._write_header(root)
        return journal, past

    def append(self, event: RunEvent) -> None:
        """Take one event; it is in the file after the next :meth:`write`."""
        line = encode_event(event)
        if isinstance(event, CaseFinished):
            # The result is the last field of its line.
            length = len(bytes(event.result))
            end = self._size + len(self._unwritten) + len(line) - 1
            key = (event.case, event.repeat)
            self._results[key] = (end - length, length)
            self._pending.append(key)
        self._unwritten += line
        self._unwritten += b"\n"

    def keep(self, case: int, repeat: int, verdict: Verdict) -> CaseFinished:
        """Let a case have a verdict that stands in this file already; return it as an event to be told."""
        self._results[case, repeat] = (verdict.offset, verdict.length)
        kept = kept_verdict(case, repeat, verdict)
        self.append(kept)
        return finished_again(kept, os.pread(self._file, verdict.length, verdict.offset))

    def adopt(self, past: Past, found: Iterable[CaseFinished]) -> None:
        """Add verdicts that were given before the run was cut off and had not reached its journal.

        Of a case that has a verdict the journal's own counts. To be called on what :meth:`reopen` returned, before
        anything else is appended: numbers of cases are those of the plan that was cut off.
        """
        for event in found:
            if event.case in past.planned and (event.case, event.repeat) not in past.settled:
                start = self._size
                self.append(event)
                self.write()
                past.take(Line(event, start, self._size - start))

    def write(self) -> None:
        """Put in the file what was appended; where that fails, keep its results in memory and say so."""
        if not self._unwritten:
            return
        written = 0
        try:
            # A full disk first writes a part, and only then says so.
            while written < len(self._unwritten):
                written += os.pwrite(self._file, memoryview(self._unwritten)[written:], self._size + written)
            self._size += written
        except OSError as error:
            self.trouble = f"{self.path} cannot be written: {error}; results are kept in memory"
            self._keep_pending()
        self._unwritten = bytearray()
        self._pending.clear()

    def _keep_pending(self) -> None:
        for key in self._pending:
            offset, length = self._results[key]
            start = offset - self._size
            self._kept[key] = bytes(self._unwritten[start : start + length])
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, self._size)

    def results(self, keys: Iterable[tuple[int, int]]) -> Iterator[bytes]:
        """Yield the JSON of each result, in the order of the given (case, repeat) keys."""
        self.write()
        for key in keys:
            if key in self._kept:
                yield self._kept[key]
                continue
            offset, length = self._results[key]
            yield os.pread(self._file, length, offset)

    def withdraw(self) -> None:
        """Leave no trace of a run, or of the part that continued one, that could not mean anything."""
        self._unwritten.clear()
        self._pending.clear()
        if self._size_at_start:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size_at_start)
            self._size = self._size_at_start
        else:
            self.temporary = True

    def close(self) -> None:
        """Write what is left and close the file; a temporary folder is removed."""
        self.write()
        lock.give_back(self._file)
        os.close(self._file)
        if self.temporary:
            with contextlib.suppress(OSError):
                shutil.rmtree(self.folder)


def kept_verdict(case: int, repeat: int, verdict: Verdict) -> CaseKept:
    """Return the event that refers to a verdict by its place."""
    return CaseKept(
        case=case,
        repeat=repeat,
        attempt=verdict.attempt,
        label=verdict.label,
        status=verdict.status,
        duration_s=verdict.duration_s,
        worker=verdict.worker,
        offset=verdict.offset,
        length=verdict.length,
    )


def finished_again(kept: CaseKept, result: bytes) -> CaseFinished:
    """Return the verdict that a CaseKept refers to."""
    return CaseFinished(
        at=kept.at,
        case=kept.case,
        repeat=kept.repeat,
        attempt=kept.attempt,
        label=kept.label,
        status=kept.status,
        duration_s=kept.duration_s,
        worker=kept.worker,
        kept=True,
        result=msgspec.Raw(result),
    )


def _locked_past(descriptor: int, path: Path) -> Past:
    if not lock.take(descriptor):
        raise UsageError(f"run {path.parent.name} is in progress{_by_whom(path)}: wait for its end")
    if not path.exists():
        raise RecordingError(f"{path} was removed in this moment")
    return read_past(path)


def _by_whom(path: Path) -> str:
    with contextlib.suppress(RecordingError, OSError):
        started = read_past(path).started
        if started is not None and started.pid is not None:
            return f" (process {started.pid})"
    return ""
