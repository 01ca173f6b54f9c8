"""Which asyncio tasks belong to which case: those created in its context, by itself or by other tasks of it."""

import asyncio
from contextvars import ContextVar
from typing import Any

_Task = asyncio.Task
_wait = asyncio.wait
_CANCEL_WAIT_S = 0.05

Tasks = set[asyncio.Task[Any]]

current_tasks: ContextVar[Tasks | None] = ContextVar("evalengine_tasks", default=None)


def make_task(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> asyncio.Task[Any]:
    """Make a task and note whose it is; the loop's task factory."""
    task = _Task(coro, loop=loop, **options)
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
