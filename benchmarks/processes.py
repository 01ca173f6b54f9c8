"""What a run started, found by a variable of its environment, wherever it went: Linux alone."""

import contextlib
import os
import signal
import time
from pathlib import Path

from benchmarks.project import MARK

_LOOK_S = 0.05


def marked(mark: str) -> dict[int, str]:
    """Return the living processes of a mark: their command lines by their ids."""
    wanted = f"{MARK}={mark}".encode()
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0") and not _is_dead(folder):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                found[int(folder.name)] = command
    return found


def left_after(mark: str, seconds: float) -> dict[int, str]:
    """Return what is still alive of a mark after so many seconds, at once where nothing is; kill it."""
    end = time.monotonic() + seconds
    while (left := marked(mark)) and time.monotonic() < end:
        time.sleep(_LOOK_S)
    kill(mark)
    return left


def kill(mark: str) -> None:
    """Kill all processes of a mark, and what they start meanwhile."""
    while left := marked(mark):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_S)


def _is_dead(folder: Path) -> bool:
    return (folder / "stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
