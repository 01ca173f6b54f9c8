"""What signals ask of a run, where the process is the command line's.

Ctrl-C, SIGTERM and SIGHUP stop the run in order, a second one stops it now, a third Ctrl-C ends the process at
once, whatever it is doing. SIGQUIT and SIGUSR1 ask where the run stands. Ctrl-Z stops the workers, too. Rules: what
the caller had ignored (``nohup``, jobs in the background of a script) stays ignored; every handler is put back.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Protocol

from evalengine.errors import ExitCode

_EXIT_CODES = {"SIGINT": ExitCode.INTERRUPTED, "SIGTERM": ExitCode.TERMINATED, "SIGHUP": ExitCode.HANGUP}
_QUESTIONS = ("SIGQUIT", "SIGUSR1")
_SUSPENSIONS = ("SIGTSTP", "SIGTTOU")
_ONE_WISH_S = 1.0
"""``timeout`` and closing terminals send a signal more than once; Ctrl-C is pressed as often as it is meant."""
_END_AT = 3

_exit = os._exit


class Listener(Protocol):
    """A run that signals reach. Only ``stop_in_order``, ``stop_now`` and ``tell_state`` come from its own loop."""

    def post(self, callback: Callable[[], None]) -> None:
        """Call back on the loop of the run, as soon as there is one."""

    def stop_in_order(self, reason: str) -> None:
        """Start no further case; those running may finish within the grace."""

    def stop_now(self) -> None:
        """Cancel what is running."""

    def kill(self) -> str:
        """Kill all workers, from within a signal handler; return where the results are that there are."""

    def tell_state(self) -> None:
        """Say what is running, and for how long."""

    def suspend(self) -> None:
        """Stop the workers, from within a signal handler."""

    def resume(self, gap_s: float) -> None:
        """Let them go on, from within a signal handler; so long this process stood still."""


class Signals:
    """The signals of one run."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._count = 0
        self._last = 0.0
        self._first: signal.Signals | None = None

    @property
    def exit_code(self) -> int | None:
        """What the process ends with where a signal stopped the run."""
        return None if self._first is None else int(_EXIT_CODES[self._first.name])

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Listen while the block runs."""
        handlers: dict[str, Callable[[int, FrameType | None], Any]] = {
            **dict.fromkeys(_EXIT_CODES, self.stop),
            **dict.fromkeys(_QUESTIONS, self._ask),
            **dict.fromkeys(_SUSPENSIONS, self._suspend),
        }
        before = {}
        try:
            for name, handler in handlers.items():
                signum = getattr(signal, name, None)
                if signum is None or signal.getsignal(signum) is signal.SIG_IGN:
                    continue
                with contextlib.suppress(ValueError):  # Not the main thread: the caller's signals are its own.
                    before[signum] = signal.signal(signum, handler)
            yield
        finally:
            for signum, former in before.items():
                signal.signal(signum, former)

    def stop(self, number: int, _frame: FrameType | None = None) -> None:
        """Take a signal that stops the run; called by its handler, in whatever thread the run is."""
        signum, now = signal.Signals(number), time.monotonic()
        if signum != signal.SIGINT and self._count and now - self._last < _ONE_WISH_S:
            return
        self._count += 1
        self._last = now
        if self._first is None:
            self._first = signum
            reason = f"{signum.name}: no further case is started"
            self._listener.post(lambda: self._listener.stop_in_order(reason))
        elif self._count >= _END_AT and signum == signal.SIGINT:
            self._end()
        else:
            self._listener.post(self._listener.stop_now)

    def _end(self) -> None:
        kept = self._listener.kill()
        with contextlib.suppress(OSError, ValueError):
            if select.select([], [2], [], 0)[1]:  # Nothing may keep the end waiting.
                os.write(2, f"\nended at once, without reports{kept}\n".encode(errors="backslashreplace"))
        _exit(self.exit_code or 1)

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self._listener.post(self._listener.tell_state)

    def _suspend(self, number: int, _frame: FrameType | None) -> None:
        """Stop as the system would have it, the workers first; go on where this process is continued."""
        handler = signal.signal(number, signal.SIG_DFL)
        self._listener.suspend()
        since = time.monotonic()
        # A group of processes that no shell looks after is not stopped by the signals of a terminal.
        os.kill(os.getpid(), number if _is_a_shells_job() else signal.SIGSTOP)
        gap_s = time.monotonic() - since
        signal.signal(number, handler)
        self._listener.resume(gap_s)


def _is_a_shells_job() -> bool:
    """Tell whether the parent is of this session and another process group, as a shell is."""
    try:
        parent = os.getppid()
        return os.getsid(parent) == os.getsid(0) and os.getpgid(parent) != os.getpgid(0)
    except OSError:
        return False
