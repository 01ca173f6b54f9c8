"""What finished cases left running in this process: threads and child processes.

What an import started belongs to the project. Idle threads of pools are no leftovers, whoever's the pool is.
"""

import asyncio
import os
import threading
from concurrent.futures import thread as pools

from evalengine_worker.threads import THREAD_NAME

# asyncio has a thread for each child process on some systems; the child itself is counted.
_OURS = (THREAD_NAME, "asyncio-waitpid-")
_open = open


class Leftovers:
    """Counts what runs beyond the engine's own and what imports started."""

    def __init__(self) -> None:
        self._threads: set[threading.Thread] = set()
        self._children: set[int] = set()
        self.learn((set(), set()))

    def running(self) -> tuple[set[threading.Thread], set[int]]:
        """Return the threads and child processes that there are."""
        return set(threading.enumerate()), set(_children()) if _has_children() else set()

    def learn(self, before: tuple[set[threading.Thread], set[int]]) -> None:
        """Take for the project's own what runs now and did not before: an import has started it."""
        threads, children = self.running()
        self._threads |= threads - before[0]
        self._children |= children - before[1]

    def threads(self) -> int:
        """Return how many threads run that neither the engine, an import, nor a pool started."""
        if threading.active_count() <= 1:
            return 0
        pooled = getattr(pools, "_threads_queues", {})
        return sum(
            thread not in self._threads and thread not in pooled and not thread.name.startswith(_OURS)
            for thread in threading.enumerate()
        )

    def children(self) -> int:
        """Return how many child processes are alive that no import started."""
        if not _has_children():
            return 0
        return sum(pid not in self._children and _is_alive(pid) for pid in _children())


def busy_pool_threads(loop: asyncio.AbstractEventLoop) -> int:
    """Return how many threads of the loop's default pool are at work, as far as can be known.

    A thread that has just given its result may still count, so ask only where a call may have been abandoned.
    """
    pool = getattr(loop, "_default_executor", None)
    idle = getattr(getattr(pool, "_idle_semaphore", None), "_value", None)
    threads = getattr(pool, "_threads", None)
    return max(0, len(threads) - idle) if threads is not None and idle is not None else 0


def _has_children() -> bool:
    """Tell whether this process has child processes, alive or not yet waited for; takes a microsecond."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except (OSError, AttributeError):
        return False
    return True


def _children() -> list[int]:
    """Return the process ids of children of any thread; none where the system does not tell."""
    found: list[int] = []
    try:
        for thread in os.listdir("/proc/self/task"):  # noqa: PTH208 - names are enough
            with _open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    except (OSError, ValueError):
        pass
    return found


def _is_alive(pid: int) -> bool:
    try:
        with _open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except (OSError, IndexError):
        return False
