"""What is known of each task of a plan: its attempts so far, the losses it was present at, its verdict.

A verdict of error, timeout or crashed does not stand while the task may be retried; when the run stops before it
was, the last one stands after all.
"""

from collections.abc import Iterable, Mapping, Sequence

from evalengine.engine.commands import Accept, Command, Retry, Settle, Stand
from evalengine.engine.incidents import Incident, Incidents
from evalengine.engine.plan import Task
from evalengine.results import ERROR_STATUSES, Status
from evalengine.wire import RunKey

_FAILURES = ERROR_STATUSES | {Status.FAILED}


class Ledger:
    """Tasks by their places in the plan. What is settled costs nothing any more but its count."""

    def __init__(self, tasks: Sequence[Task], retries: int) -> None:
        """Take the tasks, and how often each may be retried."""
        self._tasks = tasks
        self._retries = retries
        self._next_attempts: dict[int, int] = {}
        """The number of the next attempt, where it is not the first."""
        self._failed: dict[int, list[tuple[RunKey, Status]]] = {}
        """The attempts whose verdicts did not stand."""
        self._unstarted_losses: dict[int, int] = {}
        self._incidents = Incidents()
        self.verdicts = dict.fromkeys(Status, 0)
        self.settled = 0

    @property
    def failures(self) -> int:
        """How many verdicts count against a limit of failures."""
        return sum(self.verdicts[status] for status in _FAILURES)

    @property
    def unstarted_losses(self) -> Mapping[int, int]:
        """How many workers a task was in that were lost before anything in them had started."""
        return self._unstarted_losses

    def next_key(self, index: int) -> RunKey:
        """Return the name of a task's next attempt."""
        task = self._tasks[index]
        return RunKey(task.case, task.repeat, self._next_attempts.get(index, 1))

    def came_to_nothing(self, index: int, key: RunKey, suspected_of: Incident | None) -> None:
        """Note that a task waits again after an attempt, as a suspect of a loss or as a bystander."""
        self._next_attempts[index] = key.attempt + 1
        if suspected_of is not None:
            self._incidents.suspect(index, key, suspected_of)

    def lost_unstarted(self, indexes: Iterable[int]) -> None:
        """Note for all tasks of a lost worker that nothing in it had started."""
        for index in indexes:
            self._unstarted_losses[index] = self._unstarted_losses.get(index, 0) + 1

    def conclude(
        self, index: int, verdict: Accept | Settle, *, blamed: bool, may_retry: bool
    ) -> tuple[list[Command], bool]:
        """Take an attempt's verdict; return what is to be done, and whether the task waits again.

        ``blamed`` is said of one whose worker was lost with it.
        """
        failed = self._failed.get(index, [])
        if may_retry and verdict.status in ERROR_STATUSES and len(failed) < self._retries:
            self._failed[index] = [*failed, (verdict.key, verdict.status)]
            self._next_attempts[index] = verdict.key.attempt + 1
            return [Retry(verdict), *self._close(index, blamed=blamed)], True
        return [verdict, *self._record(index, verdict.status, blamed=blamed)], False

    def cleared_by(self, index: int) -> list[int]:
        """Return the tasks that nobody suspects any more, now that this one lost its worker alone."""
        return self._incidents.convict(index)

    def give_up(self, index: int, reason: str) -> list[Command]:
        """Settle a task that will not run any more: by what its last attempt came to, if there was one."""
        if index in self._failed:
            key, status = self._failed[index][-1]
            return [Stand(key, status), *self._record(index, status)]
        verdict = Settle(self.next_key(index), Status.NOT_RUN, reason)
        return [verdict, *self._record(index, Status.NOT_RUN)]

    def _record(self, index: int, status: Status, *, blamed: bool = False) -> list[Command]:
        self.verdicts[status] += 1
        self.settled += 1
        self._next_attempts.pop(index, None)
        self._failed.pop(index, None)
        return self._close(index, blamed=blamed)

    def _close(self, index: int, *, blamed: bool) -> list[Command]:
        """Close what the task was suspected of; a loss that turned out to be nobody's is reported."""
        self._unstarted_losses.pop(index, None)
        report = None if blamed else self._incidents.acquit(index)
        return [] if report is None else [report]
