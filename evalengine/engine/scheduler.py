"""The scheduler: which attempt runs in which worker, and what its verdict is when its worker cannot say.

Interface first; the body follows.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from evalengine.engine.commands import Command
from evalengine.engine.facts import Fact
from evalengine.errors import EngineError
from evalengine.results import Status


class IllegalFactError(EngineError):
    """A fact that cannot be true, such as a result for an attempt that is not in flight in that worker.

    Nothing has changed. The worker that told it cannot be trusted any more: kill it, drop what else it says, and
    report it lost.
    """


class Task(NamedTuple):
    """One repeat of one case of the plan; the tasks are given in the order they are to start."""

    case: int
    repeat: int
    file: int
    timeout_s: float
    """Per attempt, from its start; ``math.inf`` for none."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for a whole run."""

    budget: int
    """How many attempts may be in flight over all workers together."""
    workers: int
    """How many worker processes there may be."""
    grace_s: float = 2.0
    """From a cancel to the kill of a worker in which the attempt has not ended."""
    start_timeout_s: float = 60.0
    """How long a worker may take to be ready, and to start one of the attempts it was sent."""
    max_failures: int | None = None
    """After so many verdicts of failed, error, timeout or crashed, no further case is started."""
    deaths_in_a_row: int = 5
    """So many workers may die one after the other without any case having started."""
    file_caps: Mapping[int, int] = {}
    """File to how many of its attempts may be in flight; it never raises the budget."""


class Counts(NamedTuple):
    """Where the run stands; the first four add up to what was planned."""

    waiting: int
    suspects: int
    """Waiting for a worker of their own."""
    in_flight: int
    settled: int
    verdicts: dict[Status, int]


class Scheduler:
    """Decides; performs nothing. ``now`` is monotonic seconds and never goes back."""

    def __init__(
        self, tasks: Sequence[Task], limits: Limits, *, ready_workers: Iterable[int] = (), next_worker: int = 0
    ) -> None:
        """Take the plan; ``ready_workers`` live already, new ones are numbered from ``next_worker`` on."""

    def start(self, now: float) -> list[Command]:
        """Give the first commands; called once, before any fact."""
        raise NotImplementedError

    def handle(self, fact: Fact, now: float) -> list[Command]:
        """Take one fact and return what is to be done, in order; raises IllegalFactError and changes nothing."""
        raise NotImplementedError

    def next_deadline(self) -> float | None:
        """When ``Ticked`` is due next, or None."""
        raise NotImplementedError

    @property
    def deaths_in_a_row(self) -> int:
        """How many workers died since a case last started: what a back-off grows with."""
        raise NotImplementedError

    def counts(self) -> Counts:
        """Return where the run stands."""
        raise NotImplementedError
