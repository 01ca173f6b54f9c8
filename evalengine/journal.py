"""The journal of a run: a folder with every run event, a JSON line each, in the order they happened.

Who has an event appends it, writes, and only then tells it: it is in the file before anyone else hears of it.
Reading tolerates a torn last line, which is what a crash in the middle of a write leaves. Where the folder cannot
be made under the project root, a temporary one serves; where a write fails, the results that follow are kept in
memory and the trouble is told.
"""

import contextlib
import os
import secrets
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from evalengine.errors import RecordingError
from evalengine.events import CaseFinished, RunEvent, decode_event, encode_event

RUNS_FOLDER = Path(".evalengine") / "runs"
FILE_NAME = "journal.jsonl"


def _new_run_id() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"


class Journal:
    """Appends the events of one run, and gives back its results."""

    def __init__(self, folder: Path, run_id: str, temporary: bool = False) -> None:
        self.folder = folder
        self.run_id = run_id
        self.temporary = temporary
        self.path = folder / FILE_NAME
        self.trouble: str | None = None
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        self._size = 0
        self._unwritten = bytearray()
        self._pending: list[tuple[int, int]] = []
        self._results: dict[tuple[int, int], tuple[int, int]] = {}
        self._kept: dict[tuple[int, int], bytes] = {}

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
                return cls(folder, run_id)
            except OSError as error:
                journal = cls(Path(tempfile.mkdtemp(prefix="evalengine-")), run_id)
                journal.trouble = f"the journal is in {journal.folder}, not under {root}: {error}"
                return journal
        return cls(Path(tempfile.mkdtemp(prefix="evalengine-")), run_id, temporary=True)

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

    def close(self) -> None:
        """Write what is left and close the file; a temporary folder is removed."""
        self.write()
        os.close(self._file)
        if self.temporary:
            import shutil

            with contextlib.suppress(OSError):
                shutil.rmtree(self.folder)


def read_events(path: Path) -> Iterator[RunEvent]:
    """Yield the events of a journal file; a torn last line is left out.

    Raises RecordingError that names the line where anything else is not an event.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield decode_event(line)
            except msgspec.DecodeError as error:
                msg = f"{path}, line {number}: not a run event: {error}"
                raise RecordingError(msg) from None
