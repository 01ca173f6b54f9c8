"""What must have happened by when: a worker's readiness and first start, an attempt's end, its end once cancelled.

An attempt's clock starts with its start in the worker. At its deadline it is to be cancelled, and when it does not
end within the grace, its worker to be killed. So is one that is not ready, or has not started any of its attempts,
within ``start_timeout_s``. Times are monotonic seconds without the time in which the coordinator itself stood
still: nobody is charged for it.
"""

from collections.abc import Iterator, Sequence

from evalengine.engine.alarms import Alarms
from evalengine.engine.plan import Limits, Task
from evalengine.engine.states import Attempt, IllegalFactError, Worker, WorkerState


class Deadlines:
    """The alarms of attempts and workers. A subject has one at most."""

    def __init__(self, tasks: Sequence[Task], limits: Limits) -> None:
        self._tasks = tasks
        self._limits = limits
        self._alarms: Alarms[Attempt | Worker] = Alarms()
        self._paused_s = 0.0
        self._pauses: list[tuple[float, float]] = []

    def active(self, now: float) -> float:
        """Return the time as it is counted here."""
        return now - self._paused_s

    def pause(self, gap_s: float, now: float) -> None:
        """Take that the clock stood still until now."""
        if gap_s < 0:
            raise IllegalFactError(f"a gap of {gap_s} s")
        self._paused_s += gap_s
        self._pauses.append((now - gap_s, gap_s))

    def next(self) -> float | None:
        """When something is due next, by the monotonic clock, or None."""
        first = self._alarms.first()
        return None if first is None else first + self._paused_s

    def due(self, now: float) -> Iterator[Attempt | Worker]:
        """Yield what is overdue, each once."""
        while (subject := self._alarms.pop_due(now)) is not None:
            yield subject

    def await_ready(self, worker: Worker, now: float) -> None:
        """Want a worker ready in time."""
        self._alarms.set(worker, now + self._limits.start_timeout_s)

    def await_start(self, worker: Worker, now: float) -> None:
        """Want a start, or an answer, of a worker that has attempts, none of them started, or owes one."""
        if (worker.attempts or worker.withdrawing) and not worker.started and worker.alarm_at is None:
            self._alarms.set(worker, now + self._limits.start_timeout_s)

    def keep(self, worker: Worker, now: float) -> None:
        """Take that a worker has kept its deadline; give it anew where it has another to keep."""
        worker.alarm_at = None
        self.await_start(worker, now)

    def await_end(self, attempt: Attempt, now: float) -> None:
        """Want an attempt to end in the time of its task, or once it is cancelled, in the grace."""
        grace_s, timeout_s = self._limits.grace_s, self._tasks[attempt.index].timeout_s
        self._alarms.set(attempt, now + (timeout_s if attempt.cancelled is None else grace_s))

    def paused_within(self, took_s: float, now: float) -> float:
        """Return for how much of the last so many seconds, as any other clock counts them, this one stood still."""
        paused_s = 0.0
        for at, gap_s in reversed(self._pauses):
            if now - at + paused_s >= took_s:
                break
            paused_s += gap_s
        return paused_s

    def missed(self, subject: Attempt | Worker) -> str:
        """Say what did not happen in time."""
        if isinstance(subject, Attempt) and subject.cancelled is None:
            return f"timed out after {self._tasks[subject.index].timeout_s:g} s"
        if isinstance(subject, Attempt):
            return f"a case did not end within {self._limits.grace_s:g} s of its cancellation"
        what = "was not ready" if subject.state is WorkerState.STARTING else "did not start a case"
        return f"{what} within {self._limits.start_timeout_s:g} s"
