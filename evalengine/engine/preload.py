"""What the fork server imports before it forks: the worker's modules, and the guard.

The guard ends every process that a run started, whatever became of the coordinator: the fork server adopts the
orphans among its descendants, is told of the coordinator's death by the kernel (and, slower, by the end of its
pipe), and kills its children until none is left. It must end single-threaded, since forking with threads is not
safe; and it must not raise anything, since the fork server would die of it.
"""

import atexit
import contextlib
import gc
import os
import signal
import sys
import time
import warnings
from typing import Any

_NOT_FOR_IT = ("SIGHUP", "SIGQUIT", "SIGUSR1", "SIGTSTP", "SIGTTIN", "SIGTTOU")
"""Signals of a terminal or to the whole process group: the coordinator heeds them, and the guard outlives it."""

_GIVE_UP_S = 5.0


def _end_descendants(*_: Any) -> None:
    """Kill children, and those that their death makes our children, until none is left."""
    from evalengine.engine.platform import linux

    give_up = time.monotonic() + _GIVE_UP_S
    while time.monotonic() < give_up:
        for pid in linux.children():
            linux.kill(pid)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


_coordinator = os.getppid()


def _on_parent_death(*_: Any) -> None:
    """End everything; a SIGTERM while the coordinator lives was sent to its whole process group, and is its own."""
    if os.getppid() != _coordinator:
        _end_descendants()
        os._exit(0)


def _become_guard() -> None:
    for name in _NOT_FOR_IT:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    if not sys.platform.startswith("linux"):
        return
    from evalengine.engine.platform import linux

    # An adopted child that ends is no news to the fork server, which would print a warning for it.
    warnings.filterwarnings("ignore", message="forkserver: waitpid returned unexpected pid")
    linux.adopt_orphans()
    signal.signal(signal.SIGTERM, _on_parent_death)
    linux.signal_when_parent_dies(signal.SIGTERM)
    atexit.register(_end_descendants)


def _import_worker() -> None:
    from evalengine.engine import boot

    boot.import_worker()


def require_one_thread() -> None:
    """End this process where it has more than one thread: to fork is not safe then, and workers are spawned."""
    if sys.platform.startswith("linux"):
        from evalengine.engine.platform import linux

        if linux.threads() > 1:
            os._exit(1)


def in_fork_server() -> bool:
    """Tell whether this process is a fork server, and not one that merely imports this module."""
    return "multiprocess.forkserver" in sys.modules and sys.argv[:1] == ["-c"]


if in_fork_server():
    # The fork server would die of what is raised here; a worker imports it again, and says what is wrong.
    with contextlib.suppress(BaseException):
        _import_worker()
    _become_guard()
    # Workers share what is imported here and never free it: their collector need not walk through it, nor touch
    # pages that would have to be copied then.
    gc.collect()
    gc.freeze()
    require_one_thread()
