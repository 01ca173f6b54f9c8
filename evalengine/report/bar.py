"""The progress bar: tqdm, on a terminal's standard error, under the lines.

tqdm is imported when a bar is wanted. Its lock is a thread lock (its own would be a semaphore shared between
processes) and its monitor thread stays off: the coordinator has one thread.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from evalengine.report.stream import Glimpses


class Bar:
    """A bar of ``total`` cases."""

    def __init__(self, stream: Glimpses, total: int) -> None:
        from tqdm import tqdm

        tqdm.set_lock(threading.RLock())
        tqdm.monitor_interval = 0
        self._bar: Any = tqdm(total=total, file=stream, leave=False, dynamic_ncols=True, unit=" case")
        self._done = 0

    def advance(self, done: int, note: str) -> None:
        """Show how many cases are done; drawn at most ten times a second."""
        if self._bar is None:
            return
        with self._giving_up():
            self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(done - self._done)
            self._done = done

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Take the bar off the screen while lines are written, and draw it again under them."""
        if self._bar is not None:
            with self._giving_up():
                self._bar.clear()
        yield
        if self._bar is not None:
            with self._giving_up():
                self._bar.refresh()

    def close(self) -> None:
        """Take the bar away for good."""
        bar, self._bar = self._bar, None
        if bar is not None:
            with contextlib.suppress(OSError, ValueError):
                bar.close()

    @contextlib.contextmanager
    def _giving_up(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError):
            self._bar = None
