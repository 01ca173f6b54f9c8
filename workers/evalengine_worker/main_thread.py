"""A loop that lets synchronous user code have the main thread, for a debugger.

What is called aside runs between two turns of the loop, which stands still meanwhile: user code finds no running
loop around it and may start one of its own, as it may in the thread it has otherwise.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from evalengine_worker.tasks import WorkerLoop


class MainThreadLoop(WorkerLoop):
    """Calls functions aside, on the thread that it runs on itself."""

    def __init__(self) -> None:
        self._calls: deque[Callable[[], None]] = deque()
        self._is_told_to_stop = False
        super().__init__()

    def call_aside(self, function: Callable[[], None]) -> None:
        """Call a function, which raises nothing, as soon as this turn of the loop is over."""
        self._calls.append(function)
        super().stop()

    def stop(self) -> None:
        """Stop after this turn, and after what is to be called aside."""
        self._is_told_to_stop = True
        super().stop()

    def run_forever(self) -> None:
        """Run until told to stop."""
        try:
            while True:
                self._run_calls()
                if self._is_told_to_stop:
                    return
                super().run_forever()
        finally:
            self._is_told_to_stop = False

    def _run_calls(self) -> None:
        while self._calls:
            function = self._calls.popleft()
            asyncio.set_event_loop(None)
            try:
                function()
            finally:
                asyncio.set_event_loop(self)
