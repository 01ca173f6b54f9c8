"""What workers leave behind in files of the run's folder: their output, what they had begun and what finished."""

import contextlib
import os
from pathlib import Path

import msgspec

from evalengine import result_log, start_marks, wire
from evalengine.wire import RunKey

_TAIL_BYTES = 16 * 1024
_LAST_WORDS = b"Fatal Python error"
"""How the interpreter begins what it says of a deadly signal."""


class Traces:
    """The files of the workers of one run."""

    def __init__(self, run_folder: Path) -> None:
        self._folder = run_folder / "workers"
        self._folder.mkdir(exist_ok=True)

    def log_path(self, worker: int) -> Path:
        """Return where a worker's process prints to."""
        return self._folder / f"worker-{worker}.log"

    def marks_path(self, worker: int) -> Path | None:
        """Make the file of a worker's start marks; None where it cannot be made: its frames must do."""
        path = self._folder / f"worker-{worker}.starts"
        try:
            start_marks.make_file(path)
        except OSError:
            return None
        return path

    def last_words(self, worker: int) -> str:
        """Return the end of what a worker's process printed, from the interpreter's last words on if there are."""
        try:
            with self.log_path(worker).open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _TAIL_BYTES))
                tail = file.read()
        except OSError:
            return ""
        return tail[max(0, tail.rfind(_LAST_WORDS)) :].decode(errors="replace")

    def begun(self, worker: int) -> list[RunKey]:
        """Return the attempts that a worker has marked as begun, the latest ones that are over among them."""
        return [RunKey(*mark) for mark in start_marks.read(self._folder / f"worker-{worker}.starts")]

    def results_path(self, worker: int) -> Path:
        """Return where a worker keeps what it finished."""
        return self._folder / f"worker-{worker}.results"

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
        for path in (self._folder / f"worker-{worker}.starts", self.results_path(worker)):
            with contextlib.suppress(OSError):
                path.unlink()
