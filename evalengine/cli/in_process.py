"""``--isolation none``: the run goes on in a program whose main thread is the worker's.

User code belongs onto the main thread there, and no coordinator may import the worker: so this program is replaced
by :mod:`evalengine_worker.debug`, which calls the command line again, as the host of its worker.
"""

import os
import sys
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from evalengine.cli.streams import settle_streams

if TYPE_CHECKING:
    from evalengine.continuing import Start
    from evalengine.engine.process import Host

PROGRAM = "evalengine_worker.debug"


class Invocation(NamedTuple):
    """How the command line was called."""

    args: list[str]
    """All of it."""
    host: "Host | None" = None
    """What carries the worker of a run in this process."""


def host_of(start: "Start", invocation: Invocation | None) -> "Host | None":
    """Return what carries the worker of a run, None where it starts processes; may leave for another program."""
    from evalengine.errors import UsageError

    host = invocation.host if invocation is not None else None
    if start.only_render:
        return None
    if not start.settings.in_process:
        if host is not None:
            raise UsageError(f"{PROGRAM} is the program of --isolation none alone: add that")
        return None
    if host is None:
        if start.continued is not None:
            start.continued.journal.close()  # The other program opens it again.
        _leave_for_debugging(sys.argv[1:] if invocation is None else invocation.args)
    return host


def _leave_for_debugging(args: list[str]) -> NoReturn:
    """Replace this program, as it was called; the working directory and the environment stay."""
    from subprocess import _args_from_interpreter_flags  # type: ignore[attr-defined]

    from evalengine.errors import EngineError

    if not sys.executable:
        raise EngineError(
            "--isolation none needs to know the Python interpreter (sys.executable), and there is none"
        )
    settle_streams()
    flags = _args_from_interpreter_flags()
    # -P: no file of the working directory takes the place of a module of ours.
    os.execv(sys.executable, [sys.executable, *flags, "-P", "-m", PROGRAM, *args])  # noqa: S606
