"""A run in one process: the coordinator in a thread, the worker on the main thread.

A debugger (``breakpoint()``, pdb, that of an editor) finds user code on the main thread, and the terminal as it is.
The one module of the worker's package that knows the coordinator: it imports all of it before the project comes
onto the path, and calls the command line in a thread.
"""

import atexit
import bdb
import faulthandler
import importlib
import os
import pkgutil
import sys
import threading
from concurrent.futures import thread as pools
from typing import Any

import evalengine
from evalengine.cli.main import main as command_line
from evalengine.cli.streams import settle_streams
from evalengine.engine.boot import INHERITED_MARK
from evalengine_worker.host import Host

_FAILED = 3
_PROGRAM = "evalengine_worker.debug"
_NOT_IMPORTED = ("evalengine.fallback", "evalengine.__main__", "evalengine.engine.preload")

_exit = os._exit


def main(args: list[str]) -> int:
    """Run the command line with its cases in this process; return its exit code. May end the process itself."""
    _import_coordinator()
    _hide_main_module()
    os.environ[INHERITED_MARK] = str(os.getpid())
    if sys.stderr is not None:
        faulthandler.enable()
    host = Host()
    _end_never_well()
    _stop_at_quit(host)
    threading.Thread(target=_coordinate, args=(host, args), name="evalengine-coordinator", daemon=True).start()
    code = host.serve()
    _end_with_threads(code)
    return code


def _import_coordinator() -> None:
    for module in pkgutil.walk_packages(evalengine.__path__, "evalengine."):
        if not module.name.startswith(_NOT_IMPORTED):
            importlib.import_module(module.name)
    importlib.import_module("jinja2")


def _hide_main_module() -> None:
    """Let processes that agents start not run this module again."""
    module = sys.modules["__main__"]
    if getattr(module.__spec__, "name", None) == _PROGRAM:
        module.__spec__ = module.__file__ = None


def _coordinate(host: Host, args: list[str]) -> None:
    code = _FAILED
    try:
        code = command_line(args, host)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else _FAILED
    finally:
        host.over(code)


def _end_never_well() -> None:
    """Let a case that ends this process not end it with success: the run's gate was not met."""
    pid = os.getpid()

    def leave(status: int) -> None:
        _exit(status if os.getpid() != pid else _FAILED)

    os._exit = leave  # type: ignore[assignment]


def _stop_at_quit(host: Host) -> None:
    """Let ``q`` in a debugger stop the run: else the next case would stop at the same breakpoint."""
    original = bdb.Bdb.set_quit

    def set_quit(self: Any) -> None:
        original(self)
        host.quit()

    bdb.Bdb.set_quit = set_quit  # type: ignore[method-assign]


def _end_with_threads(code: int) -> None:
    """End here where a case left a thread that the interpreter would wait for."""
    pooled = getattr(pools, "_threads_queues", {})
    left = [each for each in threading.enumerate() if not each.daemon and each not in pooled]
    if len(left) > 1:
        atexit._run_exitfuncs()  # noqa: SLF001 - as the interpreter does
        settle_streams()
        _exit(code)
