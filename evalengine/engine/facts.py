"""What the scheduler is told: facts, in past tense, each handed in with the monotonic time it became known."""

import msgspec

from evalengine.results import Status
from evalengine.wire import RunKey


class _Fact(msgspec.Struct, frozen=True):
    """A fact changes the scheduler's state, or is refused and changes nothing."""


class WorkerReady(_Fact, frozen=True):
    """A worker's process has started and waits for commands."""

    worker: int


class AttemptStarted(_Fact, frozen=True):
    """An attempt has begun in that worker: its clock runs from here."""

    worker: int
    key: RunKey


class AttemptFinished(_Fact, frozen=True):
    """A worker has sent the result of an attempt."""

    worker: int
    key: RunKey
    status: Status
    leftovers: int = 0
    """How many tasks, threads and child processes of finished cases live on in the worker."""
    next: RunKey | None = None
    """The attempt that stood by in the worker and has taken this one's slot."""
    took_s: float = 0.0
    """How long it ran, by the worker's clock."""
    robbed_s: float = 0.0
    """For how much of that others kept the worker's loop from it."""


class StandbyReturned(_Fact, frozen=True):
    """A worker has given back what stood by in it; the rest has taken slots meanwhile."""

    worker: int
    keys: list[RunKey]


class AttemptAnswered(_Fact, frozen=True):
    """A worker has told where an attempt is that was cancelled and had every chance to end: it hangs itself.

    Optional; it sharpens blame for hangs.
    """

    worker: int
    key: RunKey


class WorkerSpoiled(_Fact, frozen=True):
    """A case has left the worker's process in a state in which no further case should start. Optional."""

    worker: int


class WorkerLost(_Fact, frozen=True):
    """A worker's process has died, was killed, or could not be started.

    To be handed in once nothing more can come from it: its socket is drained, what it had finished is settled.
    After a ``Kill`` it must be handed in within bounded time, even for a process that cannot die.
    """

    worker: int
    cause: str
    """In words: ``killed by SIGSEGV``, ``exited with 3``."""
    proven: RunKey | None = None
    """The attempt that the dying thread, or the thread that blocked the process, is proven to have been running; of
    one that is over by now nobody in flight is to blame."""
    prime: RunKey | None = None
    """The attempt whose step the main thread was in, where nothing is proven: suspected first."""
    is_importing: bool = False
    """Whether its main thread was importing a file: what it ran of attempts need not be what ended it."""


class Ticked(_Fact, frozen=True):
    """Time has passed; due at ``Scheduler.next_deadline()``, harmless at any other time."""


class ClockPaused(_Fact, frozen=True):
    """The coordinator itself was not running for so long (suspended, stopped): no case is charged for it."""

    gap_s: float


class StopRequested(_Fact, frozen=True):
    """No further case may start; what runs may finish."""

    reason: str


class StopNowRequested(_Fact, frozen=True):
    """No further case may start, and what runs is cancelled: its verdict is ``not_run``."""

    reason: str


WorkerFact = (
    WorkerReady | AttemptStarted | AttemptFinished | StandbyReturned | AttemptAnswered | WorkerSpoiled | WorkerLost
)
"""What becomes known of a worker."""

Fact = WorkerFact | Ticked | ClockPaused | StopRequested | StopNowRequested
