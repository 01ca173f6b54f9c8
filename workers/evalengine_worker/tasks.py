"""Which asyncio tasks belong to which case: those created in its context, by itself or by other tasks of it.

A case that asks for all tasks (usually to cancel them) gets its own: ``asyncio.all_tasks`` is replaced.
"""

import asyncio
import time
from contextvars import Context, ContextVar, copy_context
from typing import Any

from evalengine_worker.steps import SteppingLoop

_monotonic = time.monotonic
_wait = asyncio.wait
_Task = asyncio.Task
_all_tasks = asyncio.all_tasks
_CANCEL_WAIT_S = 0.05

Tasks = set[asyncio.Task[Any]]

current_tasks: ContextVar[Tasks | None] = ContextVar("evalengine_tasks", default=None)


class WorkerLoop(SteppingLoop):
    """The worker's loop: it notes whose each task is, whatever task factory user code sets.

    Timers go by the clock there was at the start, also where user code freezes or replaces ``time.monotonic``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.time = _monotonic  # type: ignore[method-assign]
        self._context = copy_context()

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        """Create a task, and note its owner."""
        task: asyncio.Task[Any] = super().create_task(coro, **options)
        context = options.get("context")
        owner = current_tasks.get() if context is None else context.get(current_tasks)
        if owner is not None:
            owner.add(task)
            task.add_done_callback(owner.discard)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Tell of an exception that nobody took to the case whose task it was, whatever runs when it is noticed."""
        task = context.get("task") or context.get("future")
        if task is None:
            super().call_exception_handler(context)
            return
        # Before Python 3.12 a task does not tell its context: it is told to no case.
        own = task.get_context() if hasattr(task, "get_context") else self._context
        own.copy().run(super().call_exception_handler, context)

    def settings(self) -> tuple[Any, Any, bool]:
        """Return what user code may set of a loop."""
        return self.get_task_factory(), self.get_exception_handler(), self.get_debug()

    def restore(self, settings: tuple[Any, Any, bool]) -> None:
        """Set it to what it was."""
        factory, handler, debug = settings
        self.set_task_factory(factory)
        self.set_exception_handler(handler)
        self.set_debug(debug)

    def create_own_task(self, coro: Any, context: Context) -> asyncio.Task[Any]:
        """Create a task of the engine itself, whatever task factory user code has set."""
        return _Task(coro, loop=self, context=context)


def all_tasks(loop: asyncio.AbstractEventLoop | None = None) -> set[asyncio.Task[Any]]:
    """Return the unfinished tasks of a loop: of the worker's, within a case, only those of the case."""
    found, owned = _all_tasks(loop), current_tasks.get()
    if owned is None:
        return found
    asking = asyncio.current_task() if asyncio._get_running_loop() is not None else None  # noqa: SLF001
    return {
        task for task in found if task in owned or task is asking or not isinstance(task.get_loop(), WorkerLoop)
    }


def keep_apart() -> None:
    """Let cases see no tasks but their own."""
    asyncio.all_tasks = asyncio.tasks.all_tasks = all_tasks


async def cancel_all(tasks: Tasks) -> tuple[int, int]:
    """Cancel what a case left running; return how many tasks there were, and how many would not end."""
    left = [task for task in tasks if not task.done()]
    if not left:
        return 0, 0
    for task in left:
        task.cancel()
    _, stubborn = await _wait(left, timeout=_CANCEL_WAIT_S)
    for task in left:
        if task.done() and not task.cancelled():
            task.exception()  # Seen: not to be reported as never retrieved.
    return len(left), len(stubborn)
