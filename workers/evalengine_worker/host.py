"""The process of ``--isolation none``: it carries the worker on its main thread, the coordinator on another.

To the coordinator it is what starts workers, and the one worker it starts is a process without an id. Signals
arrive on the main thread: Ctrl-C belongs to a debugger that has a prompt; else it stops the run as ever, and what
runs is cancelled at once. Rules: nothing here ends the process while the coordinator is alive, but a case does.
"""

import asyncio
import contextlib
import contextvars
import os
import queue
import signal
import socket
import termios
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from evalengine import wire
from evalengine.breadcrumbs import is_import
from evalengine.errors import EngineError
from evalengine.results import Status
from evalengine_worker import namespaces
from evalengine_worker.hygiene import is_debugger
from evalengine_worker.link import BROKEN
from evalengine_worker.loop import Worker
from evalengine_worker.main_thread import MainThreadLoop
from evalengine_worker.own_streams import OwnStreams
from evalengine_worker.tasks import current_tasks, keep_apart

_STOPPING = ("SIGINT", "SIGTERM", "SIGHUP")
_INTERRUPTED = 128

_exit = os._exit
_getpid = os.getpid


class DebuggedWorker(Worker):
    """A worker in the process of its coordinator, which it must not end."""

    def __init__(self, descriptor: int, loop: MainThreadLoop, leave: Callable[[int], NoReturn]) -> None:
        super().__init__(descriptor, loop, OwnStreams())
        self._leave = leave
        self._link.leave = leave

    def give_up(self, reason: str) -> None:
        """Cancel what runs, which counts as not run; called by a signal handler, which wakes no loop by itself."""
        for attempt in list(self._running.values()):
            attempt.cancel(wire.CancelCase(*attempt.command.key, Status.NOT_RUN.value, reason))
        self._loop.call_soon_threadsafe(_wake)

    def break_off(self, error: BaseException) -> None:
        """Serve no longer: user code has made this process unfit for it; never returns."""
        traceback.print_exception(error)
        self._leave(BROKEN)


class CarriedWorker:
    """What the coordinator has in place of a process; ``sentinel`` becomes readable at its end."""

    pid = None

    def __init__(self, on_killed: Callable[[], None]) -> None:
        self.exitcode: int | None = None
        self.sentinel, self._writer = os.pipe()
        self._on_killed = on_killed

    def end(self, code: int) -> None:
        """Take that the worker has ended."""
        if self.exitcode is None:
            self.exitcode = code
            # Not by closing it: a fork that a case made may have it, too.
            os.write(self._writer, b"\0")

    def kill(self) -> None:
        """Wait for the worker no longer, whatever its thread does."""
        self._on_killed()
        self.end(-signal.SIGKILL)

    def close(self) -> None:
        """Give the descriptors back."""
        os.close(self._writer)
        os.close(self.sentinel)


class Host:
    """Carries one worker; ``serve`` has the main thread, all else but signals is called by the coordinator."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[int | socket.socket] = queue.SimpleQueue()
        """The channel of the worker to carry, then the exit code of the coordinator."""
        self._pid = _getpid()
        self._heed: Callable[[int], None] | None = None
        self._carried: CarriedWorker | None = None
        self._worker: DebuggedWorker | None = None
        self._loop: MainThreadLoop | None = None
        self._is_abandoned = False
        self._terminal: list[Any] | None = None
        """How the terminal was set."""

    # What the coordinator calls

    def listen(self, heed: Callable[[int], None]) -> None:
        """Hand each signal on that would stop the run, from now on."""
        self._heed = heed

    def start(self, channel: socket.socket, name: str) -> CarriedWorker:  # noqa: ARG002 - it has no name
        """Start the worker on the main thread; raises EngineError for a second one."""
        if self._carried is not None:
            raise EngineError("with --isolation none there is one worker, and it has ended")
        self._carried = CarriedWorker(self._abandon)
        self._tasks.put(channel.dup())
        return self._carried

    def close(self) -> None:
        """Keep nothing: the process ends with its coordinator."""

    def _abandon(self) -> None:
        self._is_abandoned = True

    def over(self, code: int) -> None:
        """Take that the coordinator has ended with this exit code; the process ends even if the worker does not."""
        if self._is_abandoned:
            self._restore_terminal()
            _exit(code)
        self._tasks.put(code)

    # The main thread

    def serve(self) -> int:
        """Carry the worker, and wait until the coordinator has ended; return its exit code."""
        if os.isatty(0):
            self._terminal = termios.tcgetattr(0)
        for name in _STOPPING:
            signum = getattr(signal, name, None)
            if signum is not None and signal.getsignal(signum) is not signal.SIG_IGN:
                signal.signal(signum, self._signalled)
        task = self._tasks.get()
        if isinstance(task, int):
            return task
        self._carry(task.detach())
        # The coordinator makes its reports now, and the engine's own names are its.
        with namespaces.own_modules():
            self._ended(0)
            return self._wait()

    def _wait(self) -> int:
        while not isinstance(task := self._tasks.get(), int):
            task.close()
        return task

    def _ended(self, code: int) -> None:
        assert self._carried is not None
        self._carried.end(code)

    def _carry(self, descriptor: int) -> None:
        self._loop = MainThreadLoop()
        asyncio.set_event_loop(self._loop)
        keep_apart()
        try:
            self._worker = DebuggedWorker(descriptor, self._loop, self._leave)
            self._worker.serve()
        except KeyboardInterrupt:  # In an import, for which nobody waits any more.
            self._leave(BROKEN)
        except BaseException:  # noqa: BLE001 - whatever it is, the coordinator must hear that nobody serves
            traceback.print_exc()
            self._leave(BROKEN)
        self._worker = None

    def _leave(self, code: int) -> NoReturn:
        """End the worker for good; in a fork that user code made, the process."""
        if _getpid() != self._pid:
            _exit(code)
        self._ended(code)
        _exit(self._wait())

    def _restore_terminal(self) -> None:
        """Give the terminal back as it was: a prompt that is left alone may have set it otherwise."""
        if self._terminal is not None:
            with contextlib.suppress(OSError):
                termios.tcsetattr(0, termios.TCSADRAIN, self._terminal)

    # Stopping

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        """Stop the run, and raise in the user code that runs; at a debugger's prompt only that."""
        if _getpid() != self._pid or (number == signal.SIGINT and _is_at_prompt(frame)):
            raise KeyboardInterrupt
        self._stop(number)
        if self._runs_user_code():
            raise KeyboardInterrupt

    def quit(self) -> None:
        """Stop the run as Ctrl-C does: somebody told the debugger to quit."""
        if self._runs_user_code() and _getpid() == self._pid:
            self._stop(signal.SIGINT)

    def _stop(self, number: int) -> None:
        if self._heed is None:  # Nothing has begun.
            with contextlib.suppress(OSError):
                os.write(2, b"\ninterrupted\n")
            _exit(_INTERRUPTED + number)
        contextvars.Context().run(self._heed, number)
        if self._worker is not None:
            self._worker.give_up(f"{signal.Signals(number).name}: no further case is started")

    def _runs_user_code(self) -> bool:
        importing = self._loop is not None and is_import(self._loop.steps.crumbs.current)
        return importing or current_tasks.get() is not None


def _wake() -> None:
    """Do nothing but let the loop run."""


def _is_at_prompt(frame: FrameType | None) -> bool:
    """Tell whether a debugger waits for a command, or carries one out."""
    while frame is not None:
        if frame.f_code.co_name == "cmdloop" and is_debugger(frame.f_locals.get("self")):
            return True
        frame = frame.f_back
    return False
