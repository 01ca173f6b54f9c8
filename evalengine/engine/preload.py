"""What the fork server imports before it forks: the worker's modules, and the guard.

The guard ends every process that a run started, whatever became of the coordinator: the fork server adopts the
orphans among its descendants, is told of the coordinator's death by the kernel (and, slower, by the end of its
pipe), and kills its children until none is left. It must end single-threaded, since forking with threads is not
safe; and it must not raise anything, since the fork server would die of it.
"""

import atexit
import gc
import os
import signal
import sys
import time
import warnings
from typing import Any

problem: str | None = None
"""Why the worker's modules could not be imported here; a worker then imports them itself, and says so."""

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
    if not sys.platform.startswith("linux"):
        return
    from evalengine.engine.platform import linux

    # An adopted child that ends is no news to the fork server, which would print a warning for it.
    warnings.filterwarnings("ignore", message="forkserver: waitpid returned unexpected pid")
    linux.adopt_orphans()
    signal.signal(signal.SIGTERM, _on_parent_death)
    linux.signal_when_parent_dies(signal.SIGTERM)
    atexit.register(_end_descendants)


def _import_worker() -> str | None:
    try:
        from evalengine.engine import boot

        boot.import_worker()
    except BaseException as error:  # noqa: BLE001 - the fork server dies of anything else than ImportError
        return f"{type(error).__name__}: {error}"
    return None


def in_fork_server() -> bool:
    """Tell whether this process is a fork server, and not one that merely imports this module."""
    return "multiprocess.forkserver" in sys.modules and sys.argv[:1] == ["-c"]


if in_fork_server():
    problem = _import_worker()
    _become_guard()
    # Workers share what is imported here and never free it: their collector need not walk through it, nor touch
    # pages that would have to be copied then.
    gc.collect()
    gc.freeze()
