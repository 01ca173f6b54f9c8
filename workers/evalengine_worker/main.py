"""The entry of a worker process: claim the standard streams, make a loop, serve, end.

Everything the worker will need is imported by importing this module: afterwards the user's project comes first on
``sys.path``. What is heavy or rare (``rouge_score``) is imported when it is needed.
"""

import asyncio
import faulthandler  # noqa: F401 - imported before the project is on the path
import os
import signal
from typing import Any

import evalengine._version
import evalengine.authoring
import evalengine.foreign  # noqa: F401 - eval files need these at once
from evalengine_worker.capture import Streams, close_stdin
from evalengine_worker.link import BROKEN
from evalengine_worker.loop import Worker
from evalengine_worker.tasks import WorkerLoop, current_tasks, keep_apart

_exit = os._exit


def main(descriptor: int) -> None:
    """Serve the coordinator at the other end of a socket, given by its descriptor. Never returns."""
    try:
        close_stdin()
        signal.signal(signal.SIGINT, _interrupt)
        streams = Streams()
        loop = WorkerLoop()
        asyncio.set_event_loop(loop)
        keep_apart()
        Worker(descriptor, loop, streams).serve()
    except BaseException:  # noqa: BLE001 - the last word of a worker that is broken
        import traceback

        os.write(2, traceback.format_exc().encode(errors="backslashreplace"))
        _exit(BROKEN)
    _exit(0)


def _interrupt(*_: Any) -> None:
    """Raise what Python raises at SIGINT, in the code of a case; elsewhere it would tear the engine's own work."""
    if current_tasks.get() is not None:
        raise KeyboardInterrupt
