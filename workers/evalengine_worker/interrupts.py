"""The soft interrupt: a signal raises in the main thread, where an overdue case keeps it from everybody else.

It is raised into user code alone, and only into a step of the attempt that the coordinator has named: never into
the engine, another case, or a step that has just begun. Where user code takes the signal away, or swallows what is
raised, the coordinator goes on to its next means.
"""

import signal
from types import FrameType

from evalengine.breadcrumbs import INTERRUPT_SIGNAL, is_import
from evalengine_worker import failures, stacks
from evalengine_worker.steps import Steps, current_attempt
from evalengine_worker.tasks import current_tasks

_SHORTEST_S = 0.05
"""A step that has just begun is not what blocks the loop."""


class Interrupted(BaseException):
    """Raised in a case that does not give the loop back though its time is over, or in an import."""


class Interrupts:
    """Raises at the coordinator's signal, and keeps what the stack was."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._stacks: dict[int, str] = {}
        """By attempt that was interrupted, where it was."""

    def install(self) -> None:
        """Listen to the signal."""
        if INTERRUPT_SIGNAL is not None:
            signal.signal(INTERRUPT_SIGNAL, self._interrupt)

    def taken(self, word: int) -> str | None:
        """Return, once, where an attempt was when it was interrupted; None for one that was not."""
        return self._stacks.pop(word, None)

    def _interrupt(self, _signum: int, frame: FrameType | None) -> None:
        crumbs = self._steps.crumbs
        word = crumbs.current
        if not word or word != crumbs.wanted or self._steps.age_s() < _SHORTEST_S:
            return
        is_own = is_import(word) or (current_attempt.get() == word and current_tasks.get() is not None)
        if not is_own or not _may_be_raised_in(frame):
            return
        crumbs.note_interrupt(word)
        if not is_import(word):
            self._stacks[word] = stacks.of_frame(frame)
        raise Interrupted("importing it took too long" if is_import(word) else "its time was over")


def _may_be_raised_in(frame: FrameType | None) -> bool:
    """Tell whether a frame is user code, or of the standard library called by it, and not within asyncio."""
    while frame is not None:
        filename = frame.f_code.co_filename
        if failures.is_ours(filename) or stacks.is_asyncio(filename):
            return False
        if not stacks.is_stdlib(filename):
            return True
        frame = frame.f_back
    return False
