"""Discovery: each file is loaded once, by some worker; what it answers, or how it dies, is the file's outcome.

Decides which idle worker loads which file, and remembers what came of it. No I/O: it is told what happened
and says what to send; the shell keeps the clock of the deadline.
"""

from collections import deque
from collections.abc import Sequence

import msgspec

from evalengine import wire
from evalengine.engine.planning import LoadedFile
from evalengine.targets import EvalFile


class FailedFile(msgspec.Struct):
    """A file that could not be loaded."""

    error: str
    traceback: str | None = None
    output: str = ""
    configuration: bool = False


class Loading:
    """The state of discovery: files waiting, files being loaded, outcomes."""

    def __init__(self, files: Sequence[EvalFile]) -> None:
        self._files = files
        self._waiting = deque(range(len(files)))
        self._by_worker: dict[int, int] = {}
        self._cases: dict[int, list[wire.PlannedCase]] = {}
        self._late: dict[int, str] = {}
        self.loaded: dict[int, LoadedFile] = {}
        self.failed: dict[int, FailedFile] = {}

    @property
    def done(self) -> bool:
        """Whether every file has its outcome."""
        return len(self.loaded) + len(self.failed) == len(self._files)

    def assign(self, worker: int) -> wire.Load | None:
        """Give an idle worker its next file, or None where no file waits."""
        if not self._waiting or worker in self._by_worker:
            return None
        number = self._waiting.popleft()
        self._by_worker[worker] = number
        self._cases[number] = []
        file = self._files[number]
        return wire.Load(file=number, path=str(file.path), label=file.label)

    def found(self, worker: int, message: wire.CaseFound) -> None:
        """Take one case of a file that is being loaded."""
        if self.is_loading(worker, message.file):
            self._cases[message.file].append(message.case)

    def finished(self, worker: int, message: wire.FileLoaded | wire.FileFailed) -> None:
        """Take the outcome of a file that a worker loaded; of one that was given up, nothing."""
        if not self.is_loading(worker, message.file):
            return
        number = self._by_worker.pop(worker)
        if isinstance(message, wire.FileFailed):
            self.failed[number] = FailedFile(
                self._late.get(number, message.error), message.traceback, message.output, message.configuration
            )
            return
        self.loaded[number] = LoadedFile(
            spec=message.spec,
            cases=self._cases.pop(number),
            selected_ids=self._files[number].selected_ids,
            warnings=message.warnings,
            needs_model=message.needs_model,
            output=message.output,
            has_entry_point=message.has_entry_point,
        )

    def worker_lost(self, worker: int, cause: str, output: str) -> int | None:
        """Take the death of a worker; return the file it was loading, which has failed by it."""
        number = self._by_worker.pop(worker, None)
        if number is not None:
            self.failed[number] = FailedFile(f"its import ended the worker process: {cause}", output=output)
        return number

    def is_late(self, file: int, reason: str) -> None:
        """Take that a file takes too long and is interrupted: where it fails now, that is why."""
        self._late[file] = reason

    def give_up(self, error: str) -> None:
        """Let all files fail that have no outcome yet."""
        for number in [*self._waiting, *self._by_worker.values()]:
            self.failed[number] = FailedFile(error)
        self._waiting.clear()
        self._by_worker.clear()

    def describe(self) -> str:
        """Say how far discovery is."""
        return f"{len(self.loaded) + len(self.failed)} of {len(self._files)} files loaded"

    def in_progress(self) -> dict[int, str]:
        """Return the labels of the files that are being loaded, by worker."""
        return {worker: self._files[number].label for worker, number in self._by_worker.items()}

    def is_loading(self, worker: int, file: int) -> bool:
        """Tell whether a worker is still at a file."""
        return self._by_worker.get(worker) == file
