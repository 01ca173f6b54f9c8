"""Whose step the main thread is in, and for how long: who blocks the loop is known, and what others lose by it.

A callback of the loop belongs to the attempt in whose context it runs; so do its tasks' steps and its timers. What
takes longer than a moment is counted: the others in flight were robbed of that time.
"""

import asyncio
import contextlib
import functools
import heapq
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, TypeVar

from evalengine.breadcrumbs import Breadcrumbs, Mark, word_of, word_of_import

current_attempt: ContextVar[int] = ContextVar("evalengine_attempt", default=0)
"""The word of the attempt that this code runs for; 0 outside of any."""

_LONG_NS = 10_000_000
"""What no step of a well-behaved case takes."""

_now_ns = time.monotonic_ns
_handle_run = asyncio.Handle._run  # noqa: SLF001 - what it does is wanted, with something before and after
_heappush = heapq.heappush
_Result = TypeVar("_Result")


class Steps:
    """The steps of the worker's main thread, and what each attempt lost by those of others."""

    def __init__(self) -> None:
        self.crumbs = Breadcrumbs()
        self._begun = 0
        self._blocked_ns = 0
        """What all long steps took together."""
        self._not_lost: dict[int, int] = {}
        """By attempt, what of that was before it or its own."""

    def begin(self, mark: Mark) -> None:
        """Begin an attempt: this context is its own from here on, and so is the step that goes on now."""
        word = word_of(mark)
        current_attempt.set(word)
        self._not_lost[word] = self._blocked_ns
        self.enter(word)

    def end(self, mark: Mark) -> float:
        """End an attempt; return for how many seconds others kept the loop from it."""
        word = word_of(mark)
        if self.crumbs.current == word:
            self.leave(0)
        current_attempt.set(0)
        return max(0, self._blocked_ns - self._not_lost.pop(word, self._blocked_ns)) / 1e9

    def enter(self, word: int) -> None:
        """Begin a step."""
        self._begun = self.crumbs.enter(word)

    def age_s(self) -> float:
        """Return for how many seconds the main thread has been in its step."""
        return (_now_ns() - self._begun) / 1e9

    def leave(self, outer: int) -> None:
        """End a step; ``outer`` is the one around it, where user code runs the loop in a step of its own."""
        now, word = _now_ns(), self.crumbs.current
        took, self._begun = now - self._begun, now
        self.crumbs.leave(outer)
        if took > _LONG_NS:
            self._blocked_ns += took
            if word in self._not_lost:
                self._not_lost[word] += took

    @contextlib.contextmanager
    def importing(self, file: int) -> Iterator[None]:
        """Say that the main thread imports a file meanwhile."""
        self.enter(word_of_import(file))
        try:
            yield
        finally:
            self.leave(0)

    def in_thread(self, word: int, function: Callable[..., _Result], *args: Any) -> _Result:
        """Call a function in this thread, which is an attempt's meanwhile."""
        place = self.crumbs.enter_thread(word)
        try:
            return function(*args)
        finally:
            self.crumbs.leave_thread(place)


class _Stepping:
    """What a handle of the loop does before and after its callback runs."""

    __slots__ = ()
    _loop: Any
    _context: Any

    def _run(self) -> None:
        steps = self._loop.steps
        crumbs = steps.crumbs
        outer = crumbs.current
        word = self._context.get(current_attempt)
        if word:
            steps.enter(word)
        try:
            _handle_run(self)  # type: ignore[arg-type]
        finally:
            # A callback that was nobody's may have begun an attempt.
            if word or crumbs.current != outer:
                steps.leave(outer)


class _Step(_Stepping, asyncio.Handle):
    __slots__ = ()


class _TimedStep(_Stepping, asyncio.TimerHandle):
    __slots__ = ()


class SteppingLoop(asyncio.SelectorEventLoop):
    """A loop that knows whose step it is in."""

    def __init__(self) -> None:
        self.steps = Steps()
        super().__init__()

    def _call_soon(self, callback: Any, args: Any, context: Any) -> asyncio.Handle:
        handle = _Step(callback, args, self, context)
        self._ready.append(handle)  # type: ignore[attr-defined]
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Call back at a time of the loop's clock."""
        if when is None:
            msg = "when cannot be None"
            raise TypeError(msg)
        self._check_closed()  # type: ignore[attr-defined]
        timer = _TimedStep(when, callback, args, self, context)
        _heappush(self._scheduled, timer)  # type: ignore[attr-defined]
        timer._scheduled = True  # type: ignore[attr-defined]  # noqa: SLF001 - as the loop itself does
        return timer

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override]
        """Call a function in a thread of a pool, which is the attempt's meanwhile."""
        word = current_attempt.get()
        if word and (executor is None or isinstance(executor, ThreadPoolExecutor)):
            func = functools.partial(self.steps.in_thread, word, func)
        return super().run_in_executor(executor, func, *args)
