"""The states of attempts and workers, and the table of what may follow what.

A step that the table does not have is impossible: :class:`IllegalFactError`, and nothing has changed.

An attempt is ``STANDBY`` while it waits in a worker for a slot, ``DISPATCHED`` when it has one, ``RUNNING`` from
the worker's word that it began. Cancelled before that word it is ``RECALLED``, after it ``CANCELLING``. A result,
whenever it comes, ends it. Waiting in line is no state here: such a case has no attempt yet.

A worker is ``STARTING``, ``READY`` for attempts, ``DRAINING`` (finishes what it has), or ``KILLED`` (told to die,
its loss not reported yet; what it says until then counts). One that was released or lost is forgotten.
"""

from enum import Enum, auto

from evalengine.errors import EngineError
from evalengine.results import Status
from evalengine.wire import RunKey


class IllegalFactError(EngineError):
    """A fact that cannot be true, such as a result for an attempt that is not in flight in that worker.

    Nothing has changed. The worker that told it cannot be trusted any more: kill it, drop what else it says, and
    report it lost.
    """


class AttemptState(Enum):
    """Where an attempt stands."""

    STANDBY = auto()
    DISPATCHED = auto()
    RUNNING = auto()
    RECALLED = auto()
    CANCELLING = auto()
    ENDED = auto()


class AttemptStep(Enum):
    """What can happen to an attempt."""

    ENTER = auto()
    START = auto()
    CANCEL = auto()
    FINISH = auto()


class WorkerState(Enum):
    """Where a living worker stands."""

    STARTING = auto()
    READY = auto()
    DRAINING = auto()
    KILLED = auto()


class WorkerStep(Enum):
    """What can happen to a living worker."""

    GET_READY = auto()
    SPOIL = auto()
    KILL = auto()


ATTEMPT_TABLE = {
    (AttemptState.STANDBY, AttemptStep.ENTER): AttemptState.DISPATCHED,
    (AttemptState.DISPATCHED, AttemptStep.START): AttemptState.RUNNING,
    (AttemptState.DISPATCHED, AttemptStep.CANCEL): AttemptState.RECALLED,
    (AttemptState.DISPATCHED, AttemptStep.FINISH): AttemptState.ENDED,
    (AttemptState.RUNNING, AttemptStep.CANCEL): AttemptState.CANCELLING,
    (AttemptState.RUNNING, AttemptStep.FINISH): AttemptState.ENDED,
    # It began before it read the cancel.
    (AttemptState.RECALLED, AttemptStep.START): AttemptState.CANCELLING,
    (AttemptState.RECALLED, AttemptStep.FINISH): AttemptState.ENDED,
    (AttemptState.CANCELLING, AttemptStep.FINISH): AttemptState.ENDED,
}

WORKER_TABLE = {
    (WorkerState.STARTING, WorkerStep.GET_READY): WorkerState.READY,
    (WorkerState.STARTING, WorkerStep.KILL): WorkerState.KILLED,
    (WorkerState.READY, WorkerStep.SPOIL): WorkerState.DRAINING,
    (WorkerState.READY, WorkerStep.KILL): WorkerState.KILLED,
    (WorkerState.DRAINING, WorkerStep.SPOIL): WorkerState.DRAINING,
    (WorkerState.DRAINING, WorkerStep.KILL): WorkerState.KILLED,
    # Said before the kill reached it.
    (WorkerState.KILLED, WorkerStep.GET_READY): WorkerState.KILLED,
    (WorkerState.KILLED, WorkerStep.SPOIL): WorkerState.KILLED,
}


class Attempt:
    """An attempt in flight, or standing by."""

    __slots__ = ("alarm_at", "cancelled", "hangs", "index", "key", "state", "worker")

    def __init__(
        self, index: int, key: RunKey, worker: "Worker", state: AttemptState = AttemptState.DISPATCHED
    ) -> None:
        self.index = index
        """The place of its task in the plan."""
        self.key = key
        self.worker = worker
        self.state = state
        self.cancelled: Status | None = None
        """The verdict it was cancelled for: ``timeout`` or ``not_run``."""
        self.hangs = False
        """Whether its worker has told that it goes on though it was cancelled."""
        self.alarm_at: float | None = None
        """When its time, or its grace, is over."""

    @property
    def started(self) -> bool:
        """Whether its worker has said that it began."""
        return self.state in (AttemptState.RUNNING, AttemptState.CANCELLING)

    @property
    def overdue(self) -> bool:
        """Whether it has had all its time."""
        return self.cancelled is Status.TIMEOUT

    def step(self, step: AttemptStep) -> None:
        """Go on to the next state; raises IllegalFactError where the table has none."""
        after = ATTEMPT_TABLE.get((self.state, step))
        if after is None:
            raise IllegalFactError(f"{step.name} of {self.key}, which is {self.state.name}")
        self.state = after


class Worker:
    """A living worker."""

    __slots__ = (
        "alarm_at",
        "alone",
        "attempts",
        "cancelling",
        "ever_started",
        "id",
        "is_importing",
        "leftovers",
        "standby",
        "started",
        "state",
        "used",
        "withdrawing",
    )

    def __init__(self, worker: int, *, alone: bool = False) -> None:
        self.id = worker
        self.alone = alone
        """Whether it is there for one suspect."""
        self.state = WorkerState.STARTING
        self.attempts: dict[tuple[int, int], Attempt] = {}
        """What is in flight in it, by case and repeat, in the order it was sent."""
        self.standby: dict[tuple[int, int], Attempt] = {}
        """What stands by in it, in the order it was sent."""
        self.withdrawing = False
        """Whether it was asked to give that back and has not answered."""
        self.started = 0
        """How many of its attempts have begun."""
        self.cancelling = 0
        """How many of its attempts are cancelled."""
        self.ever_started = False
        self.used = False
        """Whether it was ever sent an attempt."""
        self.leftovers = 0
        """How much of earlier cases lives on in it, by its last word."""
        self.is_importing = False
        """Whether it was importing a file when it was lost."""
        self.alarm_at: float | None = None
        """When it must have become ready, or have started one of its attempts."""

    def step(self, step: WorkerStep) -> None:
        """Go on to the next state; raises IllegalFactError where the table has none."""
        after = WORKER_TABLE.get((self.state, step))
        if after is None:
            raise IllegalFactError(f"{step.name} of worker {self.id}, which is {self.state.name}")
        self.state = after

    def find(self, key: RunKey) -> Attempt:
        """Return the attempt in flight here; raises IllegalFactError for any other."""
        attempt = self.attempts.get(key[:2])
        if attempt is None or attempt.key != key:
            raise IllegalFactError(f"{key} is not in flight in worker {self.id}")
        return attempt

    def find_waiting(self, key: RunKey) -> Attempt | None:
        """Return the attempt that stands by here, None for any other."""
        attempt = self.standby.get(key[:2])
        return attempt if attempt is not None and attempt.key == key else None
