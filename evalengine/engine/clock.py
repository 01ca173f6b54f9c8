"""The clock of a run: monotonic seconds, without those in which the coordinator itself was not running.

A process that is stopped (Ctrl-Z, SIGSTOP), or whose machine is, keeps no appointments, and its workers' cases are
not to blame for it. Rules: a tick that comes far too late, or a message after so long a silence, is a pause; it is
told before anything else is done with the time. A machine that sleeps stops the monotonic clock by itself.
"""

from asyncio import TimerHandle  # noqa: TC003 - an annotation like any other
from collections.abc import Callable
from typing import Any

TICK_S = 0.25
_TOLERANCE_S = 1.0
"""What a busy machine may be late."""


class Alarm:
    """A callback at a time of the run's clock."""

    def __init__(self, clock: "RunClock", when: float, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._when = when
        self._callback = callback
        self._timer: TimerHandle = clock.loop.call_later(when - clock.now(), self._ring)

    def _ring(self) -> None:
        self._clock.look()
        left_s = self._when - self._clock.now()
        if left_s > 0.001:  # noqa: PLR2004 - pauses have put it off
            self._timer = self._clock.loop.call_later(left_s, self._ring)
        else:
            self._callback()

    def cancel(self) -> None:
        """Let it never ring."""
        self._timer.cancel()


class RunClock:
    """Time without pauses. ``on_pause`` hears of each pause in seconds, ``on_tick`` of each tick."""

    def __init__(
        self, loop: Any, *, on_pause: Callable[[float], None], on_tick: Callable[[], None] = lambda: None
    ) -> None:
        self.loop = loop
        self._on_pause = on_pause
        self._on_tick = on_tick
        self._seen = loop.time()
        self._skipped_s = 0.0
        self._paused_s = 0.0
        self._pauses: list[tuple[float, float]] = []
        """When each was noticed, by the loop's clock, and how long it was."""
        self._timer: TimerHandle | None = None

    def now(self) -> float:
        """Return the time, as far as pauses are known."""
        return float(self.loop.time()) - self._paused_s

    def passed_s(self, since: float) -> float:
        """Return how many seconds without pauses have passed since a time of the loop's own clock."""
        paused_s = sum(gap_s for at, gap_s in self._pauses if at > since)
        return float(self.loop.time()) - since - paused_s

    def start(self) -> None:
        """Tick from now on."""
        self._seen = self.loop.time()
        self._timer = self.loop.call_later(TICK_S, self._tick)

    def stop(self) -> None:
        """Tick no longer."""
        if self._timer is not None:
            self._timer.cancel()

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Alarm:
        """Call back after so many seconds in which this process was running."""
        return Alarm(self, self.now() + delay_s, callback)

    def skip(self, gap_s: float) -> None:
        """Take off a pause that is known; it is told at the next look. May be called by a signal handler."""
        self._skipped_s += gap_s
        self._seen += gap_s

    def look(self) -> None:
        """Find out whether there was a pause, and tell of it."""
        if self._timer is None:
            return
        seen, self._seen = self._seen, self.loop.time()
        late_s = self._seen - seen - TICK_S
        gap_s, self._skipped_s = self._skipped_s, 0.0
        if late_s > _TOLERANCE_S:
            gap_s += late_s
        if gap_s > 0:
            self._paused_s += gap_s
            self._pauses.append((self._seen, gap_s))
            self._on_pause(gap_s)

    def _tick(self) -> None:
        self.look()
        self._timer = self.loop.call_later(TICK_S, self._tick)
        self._on_tick()
