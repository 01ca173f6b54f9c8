"""What only Linux has: subreapers, parent-death signals, the list of a process's children."""

import contextlib
import ctypes
import os
import signal
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def _prctl(option: int, value: int) -> bool:
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return bool(libc.prctl(option, value, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def adopt_orphans() -> bool:
    """Become the parent of descendants whose own parent dies; tell whether the kernel does that."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def signal_when_parent_dies(signum: int) -> bool:
    """Ask for a signal at the death of the thread that started this process."""
    return _prctl(_PR_SET_PDEATHSIG, signum)


def offer_to_oom_killer() -> None:
    """Let the kernel pick this process before the coordinator when memory runs out."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")


def children() -> list[int]:
    """Return the process ids of the direct children of this process."""
    try:
        text = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
        return [int(pid) for pid in text.split()]
    except OSError:
        return [pid for pid in _all_processes() if _parent_of(pid) == os.getpid()]


def threads() -> int:
    """Return how many threads this process has, those of libraries included; 1 where nobody knows."""
    try:
        return len(os.listdir("/proc/self/task"))  # noqa: PTH208 - no Path of each is needed
    except OSError:
        return 1


def _all_processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _parent_of(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return None


def kill(pid: int) -> None:
    """Kill a process, where it is still there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def thread_times(pid: int) -> dict[int, int]:
    """Return how much processor time each thread of a process has used, in ticks; nothing where it is not told."""
    times: dict[int, int] = {}
    with contextlib.suppress(OSError):
        for folder in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
                times[int(folder.name)] = int(fields[11]) + int(fields[12])
    return times


def catches(pid: int, signum: int) -> bool:
    """Tell whether a process has a handler for a signal; True where it is not told."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
        return bool(int(text.partition("SigCgt:")[2].split()[0], 16) >> (signum - 1) & 1)
    except (OSError, IndexError, ValueError):
        return True
