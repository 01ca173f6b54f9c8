"""Where code hangs, as text: the stacks of a case's tasks and of its thread, without the engine's own frames."""

import asyncio
import gc
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from types import AsyncGeneratorType, FrameType
from typing import Any

from evalengine_worker import failures, namespaces, steps
from evalengine_worker.plain import clean_text

_MOST_FRAMES = 50
_MOST_TASKS = 10
_MOST_AWAITED = 200
_MOST_CHARACTERS = 16 * 1024

_ASYNCIO = os.path.dirname(os.path.abspath(asyncio.__file__)) + os.sep  # noqa: PTH100, PTH120 - strings, as in frames
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep  # noqa: PTH100, PTH120
_SITE = tuple(os.path.join(_STDLIB, name) + os.sep for name in ("site-packages", "dist-packages"))  # noqa: PTH118
_BENEATH = steps.__file__
"""What stands beneath a step of the loop is no matter of the case."""
_WAYS_ON = (("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom"), ("ag_frame", "ag_await"))


def is_stdlib(filename: str) -> bool:
    """Tell whether a frame's file is of the standard library."""
    return filename.startswith("<frozen ") or (filename.startswith(_STDLIB) and not filename.startswith(_SITE))


def is_asyncio(filename: str) -> bool:
    """Tell whether a frame's file is of asyncio."""
    return filename.startswith(_ASYNCIO)


def of_frame(frame: FrameType | None) -> str:
    """Return the stack that ends in a frame; the empty string where nothing of the user's is in it."""
    frames = [(each, each.f_lineno) for each in _outwards(frame)]
    frames.reverse()
    return _formatted(frames)


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None and frame.f_code.co_filename != _BENEATH:
        yield frame
        frame = frame.f_back


def of_attempt(task: asyncio.Task[Any] | None, tasks: Iterable[asyncio.Task[Any]], thread: int | None) -> str:
    """Return where an attempt is: its task, the tasks that it started, its thread."""
    try:
        stacks = [_of_task(task)] if task is not None else []
        own = [other for other in tasks if other is not task and not other.done()]
        stacks += [
            f"Task {other.get_name()}:\n{stack}" for other in own[:_MOST_TASKS] if (stack := _of_task(other))
        ]
        if thread is not None:
            stacks.append(of_frame(sys._current_frames().get(thread)))  # noqa: SLF001 - there is no public way
        return "\n".join(stack for stack in stacks if stack)
    except Exception as error:  # noqa: BLE001 - user code may have broken what is looked at
        return f"its stack cannot be read: {failures.one_line(error)}"


def _of_task(task: asyncio.Task[Any]) -> str:
    awaited: Any = task.get_coro()
    frames: list[tuple[FrameType, int]] = []
    for _ in range(_MOST_AWAITED):
        if type(awaited).__name__.startswith("async_generator_"):
            # It does not say which generator it goes on with.
            awaited = next(
                (each for each in gc.get_referents(awaited) if isinstance(each, AsyncGeneratorType)), None
            )
        names = next((names for names in _WAYS_ON if hasattr(awaited, names[0])), None)
        if names is None:
            break
        frame, awaited = getattr(awaited, names[0]), getattr(awaited, names[1], None)
        if frame is not None:
            frames.append((frame, frame.f_lineno))
    return _formatted(frames)


def _formatted(frames: list[tuple[FrameType, int]]) -> str:
    """Format frames, the innermost last, without ours and without the machinery beneath them."""
    theirs = [each for each in frames if not failures.is_ours(each[0].f_code.co_filename)]
    while theirs and is_stdlib(theirs[0][0].f_code.co_filename):
        del theirs[0]
    if not theirs:
        return ""
    with namespaces.own_modules():
        summary = traceback.StackSummary.extract(iter(theirs[-_MOST_FRAMES:]))
        lines = "".join(summary.format())
    return clean_text(f"Stack (most recent call last):\n{lines}", _MOST_CHARACTERS)
