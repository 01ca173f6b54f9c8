"""Whether a run is in progress: its process holds a lock on the journal file for as long as it lives.

The system gives the lock back when the process ends, however it ends. Where files cannot be locked (some network
file systems, Windows), every run counts as over.
"""

import contextlib
import os
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_TRIES = 25
_BETWEEN_TRIES_S = 0.01
"""Whoever asks whether a run is in progress holds its lock for a moment."""


def take(descriptor: int) -> bool:
    """Lock an open journal; False where another process holds the lock."""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_BETWEEN_TRIES_S)
        if _lock(descriptor):
            return True
    return False


def give_back(descriptor: int) -> None:
    """Unlock a journal before it is closed: a fork of this process may hold it open."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def is_taken(path: Path) -> bool:
    """Tell whether a living process writes this journal."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return not _lock(descriptor)
        finally:
            os.close(descriptor)
    return False


def _lock(descriptor: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # The file system has no locks.
        return True
    return True
