"""The rungs between the cancellation of an overdue attempt and the kill of its worker.

The worker was told to cancel it. If the attempt is what runs on the worker's main thread, a signal raises in it
there (a quarter of the grace later, and again). Then the worker is asked for the stack of what hangs, by message
and by signal: the one is answered by a loop that lives, the other also where C code runs. Last comes the kill,
before which it is looked at who blocks the worker, so that nobody else is charged.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from evalengine import wire
from evalengine.breadcrumbs import INTERRUPT_SIGNAL, STACKS_SIGNAL, Trail, word_of, word_of_import
from evalengine.engine.autopsy import Block, size_of
from evalengine.engine.plan import GRACE_S
from evalengine.engine.platform import linux
from evalengine.engine.pool import Pool
from evalengine.engine.traces import Traces
from evalengine.wire import RunKey

_INTERRUPT_AT = (0.25, 0.45)
"""Parts of the grace after which an attempt is interrupted."""
_ASK_AT = 0.6
"""The part of it after which the worker is asked for stacks: what is answered then shows that its loop lives."""
_FEWEST_TICKS = 3
_MOST_OF_THE_TIME = 0.5


class _Look(NamedTuple):
    """What was seen of a worker when it was asked for stacks."""

    at: float
    log_start: int
    times: dict[int, int]


class Ladder:
    """Climbs for each overdue attempt; keeps the coordinator's time."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        pool: Pool,
        traces: Traces,
        passed_s: Callable[[float], float],
        import_timeout_s: float,
    ) -> None:
        """Make a ladder; ``passed_s`` says for how long the coordinator has been running since a time."""
        self._passed_s = passed_s
        self._import_timeout_s = import_timeout_s
        self._loop = loop
        self._pool = pool
        self._traces = traces
        self._looks: dict[int, _Look] = {}
        self._blocks: dict[int, Block] = {}

    def climb(self, worker: int, key: RunKey, grace_s: float, is_running: Callable[[int, RunKey], bool]) -> None:
        """Begin at the cancellation of an attempt; nothing more happens once it runs no longer."""
        for part in _INTERRUPT_AT:
            self._loop.call_later(part * grace_s, self._interrupt, worker, key, is_running)
        self._loop.call_later(_ASK_AT * grace_s, self._ask, worker, key, grace_s, is_running)

    def _interrupt(self, worker: int, key: RunKey, is_running: Callable[[int, RunKey], bool]) -> None:
        """Interrupt the attempt where it keeps the main thread; or one that is over, and keeps it all the same."""
        current = self._traces.trail(worker).current
        if current is None or not is_running(worker, key):
            return
        blocking = RunKey(*current)
        if blocking == key or not is_running(worker, blocking):
            self._interrupt_in(worker, word_of(blocking))

    def interrupt_import(self, worker: int, file: int) -> None:
        """Interrupt the import of a file, where it is what the main thread does."""
        if self._traces.trail(worker).importing == file:
            self._interrupt_in(worker, word_of_import(file))

    def watch_import(self, worker: int) -> None:
        """End an import that takes too long while a worker has cases: softly, then with the worker."""
        trail = self._traces.trail(worker)
        over_s = self._passed_s(trail.since_s) - self._import_timeout_s
        if trail.importing is None or over_s < 0:
            return
        if over_s < GRACE_S:
            self._interrupt_in(worker, word_of_import(trail.importing))
        else:
            self.kill(worker, f"its import of a file took longer than {self._import_timeout_s:g} s")

    def _interrupt_in(self, worker: int, word: int) -> None:
        if self._traces.ask_to_interrupt(worker, word):
            self._signal(worker, INTERRUPT_SIGNAL)

    def _ask(self, worker: int, key: RunKey, grace_s: float, is_running: Callable[[int, RunKey], bool]) -> None:
        if not is_running(worker, key):
            return
        self._pool.send(worker, wire.TellStack(*key))
        self._pool.flush()
        if worker not in self._looks or self._loop.time() > self._looks[worker].at + grace_s:
            log_start = size_of(self._traces.log_path(worker))
            self._looks[worker] = _Look(self._loop.time(), log_start, self._times(worker))
            self._signal(worker, STACKS_SIGNAL)

    def kill(self, worker: int, reason: str) -> None:
        """Kill a worker, after a look at who blocks it."""
        look = self._looks.get(worker)
        if look is not None:
            key = blocking_attempt(
                self._traces.trail(worker), look.at, self._pool.pid(worker), look.times, self._times(worker)
            )
            self._blocks[worker] = Block(key, look.log_start)
        self._pool.kill(worker, reason)

    def block(self, worker: int) -> Block | None:
        """Return, once, what was seen when a worker was killed."""
        self._looks.pop(worker, None)
        return self._blocks.pop(worker, None)

    def _times(self, worker: int) -> dict[int, int]:
        pid = self._pool.pid(worker)
        return {} if pid is None else linux.thread_times(pid)

    def _signal(self, worker: int, signum: int | None) -> None:
        """Send a signal where the worker still listens to it: user code may have put its default back."""
        pid = self._pool.pid(worker)
        if signum is not None and pid is not None and linux.catches(pid, signum):
            self._pool.signal(worker, signum)


def blocking_attempt(
    trail: Trail, since: float, main: int | None, before: dict[int, int], after: dict[int, int]
) -> RunKey | None:
    """Return the attempt that has kept the main thread busy since, where that is certain.

    Its step must not have ended since, and it must have been interrupted in vain, or have used most of the
    process's time: else another thread may hold the interpreter, and the attempt that waits for it is innocent.
    """
    if trail.current is None or trail.since_s > since:
        return None
    used = {thread: ticks - before.get(thread, 0) for thread, ticks in after.items()}
    own = used.get(main or 0, 0)
    is_busy = own >= _FEWEST_TICKS and own > _MOST_OF_THE_TIME * sum(used.values())
    return RunKey(*trail.current) if is_busy or trail.raised == trail.current else None
