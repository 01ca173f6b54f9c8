"""Synchronous user code runs in a thread of its own, in a copy of the case's context.

For a debugger it has the main thread, where the loop is one that can call it there.

A thread cannot be cancelled. Cancelling the task that waits for one takes effect when the thread has ended: until
then the case is not over, and nobody is told that it were.
"""

import asyncio
import contextlib
import contextvars
import functools
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from evalengine_worker.steps import current_attempt

THREAD_NAME = "evalengine-case"

_Thread = threading.Thread


class _NotAwaited(threading.Event):
    """A thread's start that its starter does not wait for: the loop has other cases to run meanwhile."""

    def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002
        """Say at once that it started; it is set when it has."""
        return True


class Outcome(NamedTuple):
    """What a call came to: a value, or the exception it raised, of whatever kind."""

    value: Any = None
    error: BaseException | None = None


class _ThreadEnd(asyncio.Future[Outcome]):
    """The end of a thread, which no cancellation hastens."""

    def cancel(self, msg: Any | None = None) -> bool:  # noqa: ARG002
        """Refuse: the waiting task is cancelled when the thread has ended."""
        return False


async def run_in_thread(function: Callable[..., Any], *args: Any) -> Outcome:
    """Call a function in a new thread and return its outcome; an exception is an outcome, never raised here."""
    loop = asyncio.get_running_loop()
    end = _ThreadEnd(loop=loop)
    context = contextvars.copy_context()
    steps: Any = getattr(loop, "steps", None)
    call_in_thread = call if steps is None else functools.partial(steps.in_thread, current_attempt.get(), call)

    def work() -> None:
        outcome: Outcome = call_in_thread(context.run, function, *args)
        with contextlib.suppress(RuntimeError):  # The loop may be closed: the process is ending.
            loop.call_soon_threadsafe(_settle, end, outcome)

    aside = getattr(loop, "call_aside", None)
    if aside is not None:  # This loop has the main thread for it.
        aside(work)
        return await end
    thread = _Thread(target=work, name=THREAD_NAME, daemon=True)
    thread._started = _NotAwaited()  # type: ignore[attr-defined]  # noqa: SLF001 - there is no public way
    thread.start()
    return await end


def _settle(end: _ThreadEnd, outcome: Outcome) -> None:
    if not end.done():
        end.set_result(outcome)


def call(function: Callable[..., Any], *args: Any) -> Outcome:
    """Call a function; whatever it raises is its outcome."""
    try:
        return Outcome(function(*args))
    except BaseException as error:  # noqa: BLE001 - SystemExit of an agent is the error of its case
        return Outcome(error=error)
