"""The living workers: how many there should be, and which of them takes the next attempt.

Workers are few (one or two a core), so questions about them are answered by looking at each.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from math import ceil

from evalengine.engine.states import Attempt, IllegalFactError, Worker, WorkerState

_MOST_STANDBY = 32
"""In one worker: as many as may end before the coordinator can send more."""


class Fleet:
    """The workers that were neither released nor lost."""

    def __init__(self, most: int, parallel: int, next_worker: int, *, single_use: bool = False) -> None:
        """Make a fleet of at most ``most`` workers, for at most ``parallel`` attempts at once.

        With ``single_use`` a worker gets one attempt in its life, and those there are already get none.
        """
        self._single_use = single_use
        self._workers: dict[int, Worker] = {}
        self._seats = min(most, parallel)
        """How many workers can be kept busy."""
        self._share = ceil(parallel / self._seats) if self._seats else 0
        self._next_worker = next_worker

    def take_over(self, numbers: Iterable[int], state: WorkerState) -> None:
        """Add workers that live already, or that are starting."""
        for number in numbers:
            self._workers[number] = Worker(number)
            self._workers[number].state = state
            self._workers[number].used = self._single_use
            self._next_worker = max(self._next_worker, number + 1)

    @property
    def free_seats(self) -> int:
        """How many more workers can be kept busy."""
        return max(0, self._seats - len(self._workers))

    def surplus(self) -> list[Worker]:
        """Return the workers beyond those that can be kept busy."""
        return list(self._workers.values())[self._seats :]

    def add(self, *, alone: bool) -> Worker:
        """Add a worker that is starting."""
        worker = self._workers[self._next_worker] = Worker(self._next_worker, alone=alone)
        self._next_worker += 1
        return worker

    def starting(self) -> list[Worker]:
        """Return the workers that are not ready yet."""
        return [worker for worker in self._workers.values() if worker.state is WorkerState.STARTING]

    def remove(self, worker: Worker) -> None:
        """Forget a worker."""
        del self._workers[worker.id]

    def find(self, number: int) -> Worker | None:
        """Return the worker; None for one that is forgotten; raises IllegalFactError for one that never was."""
        worker = self._workers.get(number)
        if worker is None and not 0 <= number < self._next_worker:
            raise IllegalFactError(f"there never was a worker {number}")
        return worker

    def attempts(self) -> Iterator[Attempt]:
        """Iterate over all that is in flight."""
        return chain.from_iterable(worker.attempts.values() for worker in self._workers.values())

    def standing_by(self) -> int:
        """How many attempts wait in workers."""
        return sum(len(worker.standby) for worker in self._workers.values())

    def holders(self) -> list[Worker]:
        """Return the living workers in which attempts stand by, and that were not asked to give them back."""
        return [
            worker
            for worker in self._workers.values()
            if worker.standby and not worker.withdrawing and worker.state is not WorkerState.KILLED
        ]

    def neediest(self) -> Worker | None:
        """Return the worker that most lacks attempts standing by: one for each in flight is enough."""
        if self._single_use or any(each.state is WorkerState.STARTING for each in self._workers.values()):
            return None
        able = [
            worker
            for worker in self._workers.values()
            if worker.state is WorkerState.READY
            and not (worker.alone or worker.cancelling or worker.withdrawing)
            and len(worker.standby) < min(len(worker.attempts), _MOST_STANDBY)
        ]
        return max(able, key=lambda worker: len(worker.attempts) - len(worker.standby), default=None)

    def own(self) -> Worker | None:
        """Return a worker that is ready for its one suspect."""
        return next((worker for worker in self._unused() if worker.state is WorkerState.READY), None)

    def freest(self, *, share_with_starting: bool) -> Worker | None:
        """Return the ready worker with the fewest attempts, the lowest id among equals, a cancelling one last.

        With ``share_with_starting``, and while workers are starting, one that has its even share takes no more.
        """
        shared = [
            worker for worker in self._workers.values() if not (worker.alone or (self._single_use and worker.used))
        ]
        ready = [worker for worker in shared if worker.state is WorkerState.READY]
        if share_with_starting and any(not worker.alone for worker in self.starting()):
            ready = [worker for worker in ready if len(worker.attempts) < self._share]
        return min(ready, key=_load, default=None)

    def unneeded(self, *, cases_wait: bool, stopping: bool) -> list[Worker]:
        """Return the workers that have nothing to do and will get nothing."""
        idle = [worker for worker in self._workers.values() if not (worker.attempts or worker.standby)]
        return [
            worker
            for worker in idle
            if worker.state is WorkerState.DRAINING
            or (
                worker.state is not WorkerState.KILLED and (stopping or not self._has_prospects(worker, cases_wait))
            )
        ]

    def _has_prospects(self, worker: Worker, cases_wait: bool) -> bool:
        if worker.alone:
            return not worker.used
        return cases_wait and not (self._single_use and worker.used)

    def wanted(self, suspects: int, waiting: int) -> list[bool]:
        """Return what workers to start, ``True`` for one of a suspect's own: those first, then replacements."""
        alone = suspects - sum(1 for _ in self._unused())
        return ([True] * alone + [False] * min(self._seats, waiting))[: self.free_seats]

    def _unused(self) -> Iterator[Worker]:
        return (worker for worker in self._workers.values() if worker.alone and not worker.used)


def _load(worker: Worker) -> tuple[bool, int, int]:
    return worker.cancelling > 0, len(worker.attempts), worker.id
