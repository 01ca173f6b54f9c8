"""The scheduler: which attempt runs in which worker, and what the verdict is when no worker can say it.

It performs nothing and reads no clock: facts go in with the monotonic time, commands come out, to be performed in
their order. The states and what may follow what are a table in ``states.py``; who is to blame for a lost worker is
decided in ``blame.py``; the rules of the whole are these.

*Slots.* An attempt is in flight from its ``Dispatch`` until its verdict, or until it waits again. No more than
``budget`` are ever in flight, nor more of a file than its cap. A free slot takes the next case of the plan whose
file has room, and gives it to the ready worker with the fewest in flight (the lowest id among equals; one that is
just cancelling something last). So in a sequential run cases start in the plan's order, and no worker idles while
a case waits and a slot is free. While workers of the run are still starting, a ready one takes no more than its
even share: four long cases for two workers are two for each, not four for the first.

*Workers.* ``start`` asks for as many as can be kept busy. A lost one is replaced, and an idle one kept, only while
cases wait.

*Verdicts.* Every task gets exactly one: ``Accept`` of what the worker sent, or ``Settle`` by the engine. What comes
first counts: a worker's result settles the case with the result's own status, also after its deadline and after the
``Kill`` of its worker, for the engine gives its own verdict only when the worker's loss is reported. What a lost or
released worker still says is ignored, and so is everything after ``EndRun``.

*Time.* An attempt's clock starts with its start in the worker. At its deadline it is cancelled; when it does not
end within the grace, its worker is killed. A worker that is not ready, or has not started any of its attempts,
within ``start_timeout_s`` is killed too.

*Suspects.* A case that may have killed its worker runs again, alone, in a fresh worker of its own that is released
afterwards; such workers take the place of lost ones, before replacements for the others do. It counts in the
budget. If no suspect of a loss dies again, ``ReportLoss`` says so when the last of them has its verdict.

*Deaths in a row.* ``deaths_in_a_row`` workers that die without a case having started since, and without a case
being to blame, fail the engine, once nothing is in flight that may yet go on.

*Stopping.* After ``StopRequested``, or ``max_failures``, nothing starts; what waits is settled as ``not_run`` when
nothing is in flight any more. ``StopNowRequested`` cancels what runs, too.
"""

from collections import deque
from collections.abc import Iterable, Sequence

from evalengine.engine import commands, facts
from evalengine.engine.alarms import Alarms
from evalengine.engine.blame import VERDICTS, Outcome, explain, judge
from evalengine.engine.fleet import Fleet
from evalengine.engine.incidents import Incident, Incidents
from evalengine.engine.plan import Counts, Limits, Task, most_in_flight
from evalengine.engine.states import (
    Attempt,
    AttemptState,
    AttemptStep,
    IllegalFactError,
    Worker,
    WorkerState,
    WorkerStep,
)
from evalengine.engine.waiting import WaitingLine
from evalengine.results import ERROR_STATUSES, Status
from evalengine.wire import RunKey

__all__ = ["Counts", "IllegalFactError", "Limits", "Scheduler", "Task"]

_FAILURES = ERROR_STATUSES | {Status.FAILED}


class Scheduler:
    """Decides; performs nothing. ``now`` is monotonic seconds and never goes back."""

    def __init__(
        self,
        tasks: Sequence[Task],
        limits: Limits,
        *,
        ready_workers: Iterable[int] = (),
        starting_workers: Iterable[int] = (),
        next_worker: int = 0,
    ) -> None:
        """Take the plan, and the workers there are; new ones are numbered from ``next_worker`` on."""
        self._tasks = tasks
        self._limits = limits
        self._line = WaitingLine([task.file for task in tasks], limits.file_caps)
        self._suspects: deque[int] = deque()
        self._fleet = Fleet(limits.workers, most_in_flight(tasks, limits), next_worker)
        self._fleet.take_over(ready_workers, WorkerState.READY)
        self._fleet.take_over(starting_workers, WorkerState.STARTING)
        self._in_flight = 0
        self._verdicts = dict.fromkeys(Status, 0)
        self._settled = 0
        self._attempts: dict[int, int] = {}
        """By place in the plan, the number of the next attempt, where it is not the first."""
        self._unstarted_losses: dict[int, int] = {}
        self._incidents = Incidents()
        self._alarms: Alarms[Attempt | Worker] = Alarms()
        self._paused_s = 0.0
        self._deaths = 0
        self._stop_reason: str | None = None
        self._over = False
        self._commands: list[commands.Command] = []

    def start(self, now: float) -> list[commands.Command]:
        """Give the first commands; called once, before any fact but a request to stop."""
        if self._over:
            return []
        for worker in self._fleet.surplus():
            self._release(worker)
        for worker in self._fleet.starting():
            self._alarms.set(worker, now + self._limits.start_timeout_s)
        for _ in range(self._fleet.free_seats):
            self._spawn(now, alone=False)
        return self._advance(now)

    def handle(self, fact: facts.Fact, now: float) -> list[commands.Command]:
        """Take one fact and return what is to be done, in order.

        Raises IllegalFactError, and changes nothing, for a fact that cannot be true.
        """
        if self._over:
            return []
        self._take(fact, now - self._paused_s)
        return self._advance(now - self._paused_s)

    def next_deadline(self) -> float | None:
        """When ``Ticked`` is due next, or None."""
        first = None if self._over else self._alarms.first()
        return None if first is None else first + self._paused_s

    @property
    def deaths_in_a_row(self) -> int:
        """How many workers died since a case last started: what a back-off grows with."""
        return self._deaths

    @property
    def stop_reason(self) -> str | None:
        """Why no further case starts, or None."""
        return self._stop_reason

    def counts(self) -> Counts:
        """Return where the run stands."""
        return Counts(len(self._line), len(self._suspects), self._in_flight, self._settled, dict(self._verdicts))

    # Facts

    def _take(self, fact: facts.Fact, now: float) -> None:
        match fact:
            case facts.Ticked():
                self._tick(now)
            case facts.ClockPaused(gap_s):
                self._pause(gap_s)
            case facts.StopRequested(reason):
                self._stop(reason)
            case facts.StopNowRequested(reason):
                self._stop_now(reason, now)
            case _:
                worker = self._fleet.find(fact.worker)
                if worker is not None:
                    self._take_word(worker, fact, now)
                    worker.heard_at = now

    def _take_word(self, worker: Worker, fact: facts.WorkerFact, now: float) -> None:
        match fact:
            case facts.AttemptStarted():
                self._start_attempt(worker, fact.key, now)
            case facts.AttemptFinished():
                self._finish_attempt(worker, fact, now)
            case facts.WorkerReady():
                worker.step(WorkerStep.GET_READY)
                worker.alarm_at = None
            case facts.WorkerSpoiled():
                worker.step(WorkerStep.SPOIL)
            case facts.WorkerLost():
                self._lose_worker(worker, fact.cause, fact.proven)
            case facts.WorkerAnswered():
                pass

    def _start_attempt(self, worker: Worker, key: RunKey, now: float) -> None:
        attempt = worker.find(key)
        attempt.step(AttemptStep.START)
        worker.started += 1
        worker.ever_started = True
        worker.alarm_at = None
        self._deaths = 0
        if attempt.state is AttemptState.RUNNING:
            self._alarms.set(attempt, now + self._tasks[attempt.index].timeout_s)

    def _finish_attempt(self, worker: Worker, fact: facts.AttemptFinished, now: float) -> None:
        attempt = worker.find(fact.key)
        started = attempt.started
        attempt.step(AttemptStep.FINISH)
        worker.started -= started
        worker.cancelling -= attempt.cancelled is not None
        worker.leftovers = fact.leftovers
        del worker.attempts[fact.key[:2]]
        self._take_off(attempt)
        worker.alarm_at = None
        self._watch_start(worker, now)
        self._commands.append(commands.Accept(worker.id, fact.key, fact.status))
        self._record(attempt.index, fact.status)

    def _lose_worker(self, worker: Worker, cause: str, proven: RunKey | None) -> None:
        stopping = self._stop_reason is not None
        outcomes = judge(worker, proven, self._limits.grace_s, self._unstarted_losses, stopping=stopping)
        self._fleet.remove(worker)
        worker.alarm_at = None
        self._count_death(worker, outcomes)
        incident = Incident(worker.id, cause)
        for attempt, outcome in outcomes:
            self._take_off(attempt)
            if outcome in VERDICTS:
                self._settle(attempt, VERDICTS[outcome], incident)
            else:
                self._requeue(attempt, incident, alone=outcome is Outcome.SUSPECT)

    def _tick(self, now: float) -> None:
        while (subject := self._alarms.pop_due(now)) is not None:
            if isinstance(subject, Worker):
                self._worker_overdue(subject)
            else:
                self._attempt_overdue(subject, now)

    def _pause(self, gap_s: float) -> None:
        if gap_s < 0:
            raise IllegalFactError(f"a gap of {gap_s} s")
        self._paused_s += gap_s

    def _stop(self, reason: str) -> None:
        if self._stop_reason is None:
            self._stop_reason = reason
            self._commands.append(commands.AnnounceStop(reason))

    def _stop_now(self, reason: str, now: float) -> None:
        self._stop(reason)
        for attempt in self._fleet.attempts():
            if attempt.cancelled is None and attempt.worker.state is not WorkerState.KILLED:
                self._cancel(attempt, Status.NOT_RUN, reason, now)

    def _attempt_overdue(self, attempt: Attempt, now: float) -> None:
        if attempt.worker.state is WorkerState.KILLED:
            return
        if attempt.state is AttemptState.RUNNING:
            timeout_s = self._tasks[attempt.index].timeout_s
            self._cancel(attempt, Status.TIMEOUT, f"timed out after {timeout_s:g} s", now)
        else:
            grace_s = self._limits.grace_s
            self._kill(attempt.worker, f"a case did not end within {grace_s:g} s of its cancellation")

    def _worker_overdue(self, worker: Worker) -> None:
        what = "was not ready" if worker.state is WorkerState.STARTING else "did not start a case"
        self._kill(worker, f"{what} within {self._limits.start_timeout_s:g} s")

    def _cancel(self, attempt: Attempt, status: Status, reason: str, now: float) -> None:
        attempt.step(AttemptStep.CANCEL)
        attempt.cancelled = status
        attempt.cancelled_at = now
        attempt.worker.cancelling += 1
        self._alarms.set(attempt, now + self._limits.grace_s)
        self._commands.append(commands.Cancel(attempt.worker.id, attempt.key, status, reason))

    def _kill(self, worker: Worker, reason: str) -> None:
        worker.step(WorkerStep.KILL)
        worker.alarm_at = None
        self._commands.append(commands.Kill(worker.id, reason))

    def _count_death(self, worker: Worker, outcomes: list[tuple[Attempt, Outcome]]) -> None:
        verdicts = [outcome for _, outcome in outcomes]
        if Outcome.CRASHED in verdicts or Outcome.TIMEOUT in verdicts:
            self._deaths = 0
        elif not worker.ever_started:
            self._deaths += 1
        if not worker.started:
            for attempt, _ in outcomes:
                self._unstarted_losses[attempt.index] = self._unstarted_losses.get(attempt.index, 0) + 1

    def _settle(self, attempt: Attempt, status: Status, incident: Incident) -> None:
        """Give an attempt whose worker was lost its verdict."""
        waited_s = self._tasks[attempt.index].timeout_s if attempt.overdue else self._limits.start_timeout_s
        reason = self._stop_reason if status is Status.NOT_RUN else None
        reason = reason or explain(attempt, status, waited_s, incident.cause)
        self._commands.append(commands.Settle(attempt.key, status, reason, incident.worker))
        self._record(attempt.index, status, blamed=status is not Status.NOT_RUN)

    def _requeue(self, attempt: Attempt, incident: Incident, *, alone: bool) -> None:
        """Let the case of an attempt whose worker was lost wait again."""
        self._attempts[attempt.index] = attempt.key.attempt + 1
        self._commands.append(commands.Requeue(attempt.key, f"its worker was lost: {incident.cause}", alone))
        if alone:
            self._incidents.suspect(attempt.index, attempt.key, incident)
            self._suspects.append(attempt.index)
        else:
            self._line.add(attempt.index)

    def _record(self, index: int, status: Status, *, blamed: bool = False) -> None:
        self._verdicts[status] += 1
        self._settled += 1
        self._attempts.pop(index, None)
        self._unstarted_losses.pop(index, None)
        report = self._incidents.close(index, blamed=blamed)
        if report is not None:
            self._commands.append(report)

    def _take_off(self, attempt: Attempt) -> None:
        """Free the slot of an attempt."""
        attempt.alarm_at = None
        self._in_flight -= 1
        self._line.leave(attempt.index)

    # What is done next

    def _advance(self, now: float) -> list[commands.Command]:
        self._heed_max_failures()
        stopping = self._stop_reason is not None
        while not stopping and self._in_flight < self._limits.budget:
            if not (self._send_suspect(now) or self._send_next(now)):
                break
        for worker in self._fleet.unneeded(cases_wait=len(self._line) > 0, stopping=stopping):
            self._release(worker)
        if not stopping and self._deaths < self._limits.deaths_in_a_row:
            for alone in self._fleet.wanted(len(self._suspects), len(self._line)):
                self._spawn(now, alone=alone)
        if self._in_flight == 0:
            self._wind_up()
        done, self._commands = self._commands, []
        return done

    def _heed_max_failures(self) -> None:
        most = self._limits.max_failures
        if most is None or self._stop_reason is not None or not self._waits():
            return
        if sum(self._verdicts[status] for status in _FAILURES) >= most:
            self._stop(f"stopped after {most} failure{'s' if most > 1 else ''}")

    def _waits(self) -> int:
        return len(self._line) + len(self._suspects)

    def _send_suspect(self, now: float) -> bool:
        """Send a suspect to a worker of its own, if there is one and a slot of its file."""
        worker = self._fleet.own() if self._suspects else None
        index = next((index for index in self._suspects if self._line.has_room(index)), None)
        if worker is None or index is None:
            return False
        self._suspects.remove(index)
        self._line.enter(index)
        self._send(index, worker, now)
        return True

    def _send_next(self, now: float) -> bool:
        """Send the next case of the plan to the freest worker, if there is one of each."""
        # Workers that keep dying are not waited for.
        worker = self._fleet.freest(share_with_starting=self._deaths == 0) if len(self._line) else None
        index = self._line.take() if worker is not None else None
        if worker is None or index is None:
            return False
        self._send(index, worker, now)
        return True

    def _send(self, index: int, worker: Worker, now: float) -> None:
        task = self._tasks[index]
        key = RunKey(task.case, task.repeat, self._attempts.get(index, 1))
        worker.attempts[key[:2]] = Attempt(index, key, worker)
        worker.used = True
        self._in_flight += 1
        self._watch_start(worker, now)
        self._commands.append(commands.Dispatch(worker.id, key, task.file))

    def _watch_start(self, worker: Worker, now: float) -> None:
        """Set the alarm of a worker that has attempts, none of them started."""
        if worker.attempts and not worker.started and worker.alarm_at is None:
            self._alarms.set(worker, now + self._limits.start_timeout_s)

    def _spawn(self, now: float, *, alone: bool) -> None:
        worker = self._fleet.add(alone=alone)
        self._alarms.set(worker, now + self._limits.start_timeout_s)
        self._commands.append(commands.Spawn(worker.id, alone))

    def _release(self, worker: Worker) -> None:
        worker.alarm_at = None
        self._fleet.remove(worker)
        self._commands.append(commands.Release(worker.id))

    def _wind_up(self) -> None:
        """With nothing in flight: fail, settle what may not start any more, end."""
        if self._waits() and self._stop_reason is None and self._deaths >= self._limits.deaths_in_a_row:
            self._stop_reason = f"{self._deaths} workers in a row died before any case started"
            self._commands.append(commands.FailEngine(self._stop_reason))
        if self._stop_reason is not None:
            self._settle_waiting(self._stop_reason)
        if self._waits():
            return
        for worker in self._fleet.unneeded(cases_wait=False, stopping=True):
            self._release(worker)
        self._over = True
        self._commands.append(commands.EndRun())

    def _settle_waiting(self, reason: str) -> None:
        waiting = sorted([*self._line.drain(), *self._suspects])
        self._suspects.clear()
        for index in waiting:
            task = self._tasks[index]
            key = RunKey(task.case, task.repeat, self._attempts.get(index, 1))
            self._commands.append(commands.Settle(key, Status.NOT_RUN, reason))
            self._record(index, Status.NOT_RUN)
