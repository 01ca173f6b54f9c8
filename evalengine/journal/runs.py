"""The runs of a project root: which there are, which one is meant, and which go.

The last run is the one whose journal was written last. A run in progress is never removed, neither is one that was
cut off or interrupted, for as long as somebody may yet want to continue it; both by the pruning after each run, and
the first by anything.
"""

import contextlib
import os
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec

from evalengine.errors import DiscoveryError, RecordingError, UsageError
from evalengine.events import RunFinished, RunStarted, decode_event
from evalengine.journal import lock
from evalengine.journal.past import Past, read_past
from evalengine.journal.read import FILE_NAME, read_lines
from evalengine.journal.write import RUNS_FOLDER, Journal

LAST = "last"
"""What the last run may be called."""
DEFAULT_KEPT = 50
UNFINISHED_FOR_S = 7 * 24 * 3600.0
"""How long a run that did not come to its end is safe from pruning."""
_OVER = {"complete", "stopped"}
_SHOWN = 5

_wall_clock = time.time


class RunFolder(NamedTuple):
    """A run by its folder."""

    id: str
    path: Path
    touched_at: float
    """When its journal was last written, in seconds since the epoch."""

    @property
    def journal(self) -> Path:
        """The file."""
        return self.path / FILE_NAME

    @property
    def in_progress(self) -> bool:
        """Whether its process lives."""
        return lock.is_taken(self.journal)


class Continued(NamedTuple):
    """A run that is opened to be continued, and what it has come to."""

    journal: Journal
    past: Past


class Overview(msgspec.Struct, kw_only=True):
    """A run in a line."""

    id: str
    status: str
    """A run's status, or ``in progress``, ``cut off``, ``unreadable``."""
    began_at: float | None = None
    planned: int | None = None
    """None where it was not known yet."""
    counts: dict[str, int] = {}
    command: dict[str, object] = {}
    problem: str = ""
    """Why the journal cannot be read."""


def runs_of(root: Path) -> list[RunFolder]:
    """Return the runs under a root, the last one first; unreadable ones are among them."""
    found = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(root / RUNS_FOLDER):
            with contextlib.suppress(OSError):
                written = (Path(entry.path) / FILE_NAME).stat().st_mtime
                found.append(RunFolder(entry.name, Path(entry.path), written))
    return sorted(found, key=lambda run: (run.touched_at, run.id), reverse=True)


def find_run(root: Path, name: str) -> RunFolder | None:
    """Return the run of that id, or whose id alone begins so; ``last`` is the last one, None where there is none.

    Raises DiscoveryError where no run is called so, UsageError where several are.
    """
    runs = runs_of(root)
    if name == LAST:
        return runs[0] if runs else None
    found = [run for run in runs if run.id == name] or [run for run in runs if name and run.id.startswith(name)]
    if len(found) > 1:
        raise UsageError(f"{name!r} may be any of {_named(found)}: write more of the id")
    if not found:
        known = f"; known: {_named(runs)}" if runs else ": no run was made here"
        raise DiscoveryError(f"no run {name!r} under {root / RUNS_FOLDER}{known}")
    return found[0]


def _named(runs: list[RunFolder]) -> str:
    more = f" and {len(runs) - _SHOWN} more" if len(runs) > _SHOWN else ""
    return ", ".join(run.id for run in runs[:_SHOWN]) + more


def is_of(past: Past, root: Path) -> bool:
    """Tell whether a run is of this project root, and not of another whose folder was copied here."""
    return past.header is None or past.header.root == os.path.realpath(root)


def reopen(run: RunFolder, root: Path) -> Continued:
    """Open a run of this root to continue it.

    Raises UsageError where it is in progress or of another root, RecordingError where its journal cannot be read or
    written.
    """
    journal, past = Journal.reopen(run.path, root)
    if past.header is not None and not is_of(past, root):
        journal.close()
        raise UsageError(f"run {run.id} is of another project, {past.header.root}: it cannot be continued here")
    return Continued(journal, past)


def read_run(run: RunFolder) -> Past:
    """Read what a run has come to; raises RecordingError that says what is wrong with its journal."""
    try:
        return read_past(run.journal)
    except OSError as error:
        raise RecordingError(f"{run.journal} cannot be read: {error.strerror or error}") from None


def overview(run: RunFolder) -> Overview:
    """Return a run in a line; one that cannot be read says why."""
    in_progress = run.in_progress
    try:
        return _at_a_glance(run) or _looked_through(run, in_progress=in_progress)
    except RecordingError as error:
        return Overview(id=run.id, status="unreadable", problem=str(error))


def _at_a_glance(run: RunFolder) -> Overview | None:
    """Tell a run that ended in its first part by the first lines and the last, or return None."""
    end = _end(run)
    if end is None or end.part > 1 or not end.counts:
        return None
    with contextlib.suppress(OSError):
        first = next(read_lines(run.journal), None)
        if first is not None and isinstance(first.event, RunStarted):
            return Overview(
                id=run.id,
                status=end.status,
                began_at=first.event.at,
                planned=sum(end.counts.values()) or None,
                counts=end.counts,
                command=_command(first.event),
            )
    return None


def _looked_through(run: RunFolder, *, in_progress: bool) -> Overview:
    past = read_run(run)
    counts = Counter(status.value for _, _, status in past.outcomes())
    return Overview(
        id=run.id,
        status="in progress" if in_progress else past.status,
        began_at=past.began_at,
        planned=sum(counts.values()) if past.plan is not None else None,
        counts=dict(counts),
        command=_command(past.started),
    )


def _command(started: RunStarted | None) -> dict[str, object]:
    if started is None:
        return {}
    return started.command | ({} if started.only is None else {"last_failed": True})


# Removing


def remove(run: RunFolder) -> bool:
    """Remove a run with all its files; False where it is in progress, and stays."""
    try:
        descriptor = os.open(run.journal, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # Held until it is gone, so that nobody continues what is being removed.
        if not lock.take(descriptor):
            return False
        shutil.rmtree(run.path, ignore_errors=True)
        return not run.path.exists()
    finally:
        os.close(descriptor)


def prune(root: Path, kept: int) -> list[str]:
    """Remove the oldest runs beyond ``kept``, but none that may yet be continued; return their ids."""
    runs = runs_of(root)
    if len(runs) <= kept:
        return []
    now = _wall_clock()
    removed, over = [], 0
    for run in runs:
        if now - run.touched_at < UNFINISHED_FOR_S and _status(run) not in _OVER:
            continue
        over += 1
        if over > kept and remove(run):
            removed.append(run.id)
    return removed


def _status(run: RunFolder) -> str:
    """Return how a run ended, without reading all of its journal."""
    end = _end(run)
    return "cut off" if end is None else end.status


def _end(run: RunFolder) -> RunFinished | None:
    """Return the last event of a journal where it is the end of the run."""
    with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
        with run.journal.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            lines = file.read().splitlines(keepends=True)
        if lines and lines[-1].endswith(b"\n"):
            event = decode_event(lines[-1])
            return event if isinstance(event, RunFinished) else None
    return None


_TAIL_BYTES = 8192
"""Longer than any end of a run."""
