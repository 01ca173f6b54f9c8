"""What workers leave behind in files of the run's folder: output, breadcrumbs, what they had begun and finished."""

import contextlib
import os
from pathlib import Path

import msgspec

from evalengine import breadcrumbs, result_log, start_marks, wire
from evalengine.wire import RunKey

_TAIL_BYTES = 512 * 1024
"""Enough for the stacks of a hundred threads, which is how many the interpreter writes at most."""


class Traces:
    """The files of the workers of one run."""

    def __init__(self, run_folder: Path) -> None:
        self._folder = run_folder / "workers"
        self._folder.mkdir(exist_ok=True)

    def log_path(self, worker: int) -> Path:
        """Return where a worker's process prints to."""
        return self._path(worker, "log")

    def _path(self, worker: int, kind: str) -> Path:
        return self._folder / f"worker-{worker}.{kind}"

    def marks_path(self, worker: int) -> Path | None:
        """Make the file of a worker's start marks; None where it cannot be made: its frames must do."""
        path = self._path(worker, "starts")
        try:
            start_marks.make_file(path)
        except OSError:
            return None
        return path

    def crumbs_path(self, worker: int) -> Path | None:
        """Make the file of a worker's breadcrumbs; None where it cannot be made: nobody is proven guilty then."""
        path = self._path(worker, "crumbs")
        try:
            breadcrumbs.make_file(path)
        except OSError:
            return None
        return path

    def trail(self, worker: int) -> breadcrumbs.Trail:
        """Return whose code a worker runs, or ran when it died."""
        return breadcrumbs.read(self._path(worker, "crumbs"))

    def ask_to_interrupt(self, worker: int, word: int) -> bool:
        """Let a worker know what its main thread is to be interrupted in; the signal must follow."""
        return breadcrumbs.ask_to_interrupt(self._path(worker, "crumbs"), word)

    def log_tail(self, worker: int, start: int = 0) -> str:
        """Return the end of what a worker's process printed since its log had ``start`` bytes."""
        try:
            with self.log_path(worker).open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(start, size - _TAIL_BYTES))
                return file.read().decode(errors="replace")
        except OSError:
            return ""

    def begun(self, worker: int) -> list[RunKey]:
        """Return the attempts that a worker has marked as begun, the latest ones that are over among them."""
        return [RunKey(*mark) for mark in start_marks.read(self._path(worker, "starts"))]

    def results_path(self, worker: int) -> Path:
        """Return where a worker keeps what it finished."""
        return self._path(worker, "results")

    def finished(self, worker: int) -> list[wire.Finished]:
        """Return what a worker finished last, of all that it kept."""
        messages = []
        for payload in result_log.read(self.results_path(worker)):
            with contextlib.suppress(msgspec.MsgspecError):
                message = wire.decode_message(payload)
                if isinstance(message, wire.Finished):
                    messages.append(message)
        return messages

    def left_behind(self) -> list[int]:
        """Return the workers that kept results which nobody removed: those of a coordinator that was killed."""
        stems = [path.stem.removeprefix("worker-") for path in self._folder.glob("worker-*.results")]
        return sorted(int(stem) for stem in stems if stem.isdecimal())

    def forget(self, worker: int) -> None:
        """Remove what was of use until the end of a worker: all but its output."""
        for kind in ("starts", "results", "crumbs"):
            with contextlib.suppress(OSError):
                self._path(worker, kind).unlink()
