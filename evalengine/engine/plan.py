"""What a scheduler is given to run, and within which limits."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from evalengine.results import Status

GRACE_S = 2.0
START_TIMEOUT_S = 15.0
"""How long the start of a process may take, without the import of a file."""


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
    grace_s: float = GRACE_S
    """From a cancel to the kill of a worker in which the attempt has not ended."""
    start_timeout_s: float = 60.0 + START_TIMEOUT_S
    """How long a worker may take to be ready, and then to start one of the attempts it was sent, the import of
    their file included."""
    single_use: bool = False
    """Whether each attempt gets a fresh worker of its own."""
    retries: int = 0
    """How often a case may run again after an attempt that ended in error, timeout or crashed."""
    max_failures: int | None = None
    """After so many verdicts of failed, error, timeout or crashed, no further case is started."""
    deaths_in_a_row: int = 5
    """So many workers may die one after the other without any case having started."""
    file_caps: Mapping[int, int] = {}
    """File to how many of its attempts may be in flight; it never raises the budget."""

    def __post_init__(self) -> None:
        if min(self.budget, self.workers, self.deaths_in_a_row, *self.file_caps.values()) < 1:
            raise ValueError(f"limits must be at least 1: {self}")


class Counts(NamedTuple):
    """Where a run stands; the first four add up to what was planned."""

    waiting: int
    suspects: int
    """Waiting for a worker of their own."""
    in_flight: int
    settled: int
    verdicts: dict[Status, int]


def most_in_flight(tasks: Sequence[Task], limits: Limits) -> int:
    """Return how many attempts can be in flight at once: the budget, or fewer tasks, or what the caps allow."""
    tasks_of = Counter(task.file for task in tasks)
    return min(
        limits.budget, sum(min(count, limits.file_caps.get(file, count)) for file, count in tasks_of.items())
    )
