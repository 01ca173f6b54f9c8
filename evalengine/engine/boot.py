"""What a worker process runs first, before anything of the user is on its path.

The one module of this package that names ``evalengine_worker``; it is called in the child only.
"""

import os
import signal
import socket
import sys
from collections.abc import Mapping

INHERITED_MARK = "EVALENGINE_WORKER"
"""Set in the environment of workers: a nested evaluation can tell that it is one."""


def import_worker() -> None:
    """Import what every worker needs, in the fork server: each worker then has it for nothing."""
    import evalengine_worker.main  # noqa: F401


def run_worker(channel: socket.socket, environment: Mapping[str, str | None], script_folder: str | None) -> None:
    """Become a worker: a session of one's own, default signals, no descriptor that children could hold.

    ``environment`` has the variables that were changed to start this process, with the values they had;
    ``script_folder`` is the caller's own entry on the path, which is none of the worker's.
    """
    if script_folder in sys.path[:1]:
        del sys.path[0]
    os.setsid()
    for name in ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGTSTP", "SIGTTIN", "SIGTTOU"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, value in environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    os.environ[INHERITED_MARK] = str(os.getpid())
    # Else importing litellm, as agents do, asks the network, and waits for it where there is none.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    _leave_fork_server()
    if sys.platform.startswith("linux"):
        from evalengine.engine.platform import linux

        linux.offer_to_oom_killer()
    descriptor = channel.detach()
    os.set_inheritable(descriptor, False)

    from evalengine_worker.main import main

    main(descriptor)


def _leave_fork_server() -> None:
    """Let go of the fork server's descriptors: they would keep it alive, and agents would share it."""
    import atexit

    from multiprocess import forkserver, resource_tracker

    # The guard's end-of-process work is the fork server's alone.
    atexit._clear()  # noqa: SLF001
    server = forkserver._forkserver  # noqa: SLF001 - there is no public way to leave it
    alive, server._forkserver_alive_fd = server._forkserver_alive_fd, None  # noqa: SLF001
    server._forkserver_address = None  # noqa: SLF001
    if alive is not None:
        os.close(alive)
    tracker = resource_tracker._resource_tracker  # noqa: SLF001
    # Where an agent needs one, the library starts it anew.
    descriptor, tracker._fd = tracker._fd, None  # noqa: SLF001
    if descriptor is not None:
        os.close(descriptor)
