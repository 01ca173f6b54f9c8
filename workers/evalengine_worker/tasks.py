"""Which asyncio tasks belong to which case: those created in its context, by itself or by other tasks of it."""

import asyncio
import time
from contextvars import ContextVar
from typing import Any

_monotonic = time.monotonic
_wait = asyncio.wait
_CANCEL_WAIT_S = 0.05

Tasks = set[asyncio.Task[Any]]

current_tasks: ContextVar[Tasks | None] = ContextVar("evalengine_tasks", default=None)


class WorkerLoop(asyncio.SelectorEventLoop):
    """The worker's loop: it notes whose each task is, whatever task factory user code sets.

    Timers go by the clock there was at the start, also where user code freezes or replaces ``time.monotonic``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.time = _monotonic  # type: ignore[method-assign]

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        """Create a task, and note its owner."""
        task: asyncio.Task[Any] = super().create_task(coro, **options)
        context = options.get("context")
        owner = current_tasks.get() if context is None else context.get(current_tasks)
        if owner is not None:
            owner.add(task)
            task.add_done_callback(owner.discard)
        return task


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
