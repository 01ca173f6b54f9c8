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

Cases may be sent ahead to workers that will begin them in slots they have: see ``standby.py``.

*Workers.* ``start`` asks for as many as can be kept busy. A lost one is replaced, and an idle one kept, only while
cases wait.

*Verdicts.* Every task gets exactly one: ``Accept`` of what the worker sent, or ``Settle`` by the engine. What comes
first counts: a worker's result settles the case with the result's own status, also after its deadline and after the
``Kill`` of its worker, for the engine gives its own verdict only when the worker's loss is reported; but see
``overtime.py``. What a lost or released worker still says is ignored, and so is everything after ``EndRun``.

*Time.* An overdue attempt is cancelled; one that does not end then has its worker killed: see ``deadlines.py``.

*Suspects.* A case that may have killed its worker runs again, alone, in a fresh worker that is released afterwards
and comes before replacements of others. If no suspect of a loss dies again, ``ReportLoss`` says so at the end.

*Deaths in a row.* ``deaths_in_a_row`` workers that die without a case having started since, and without a case
being to blame, fail the engine, once nothing is in flight that may yet go on.

*Stopping.* After ``StopRequested``, or ``max_failures``, nothing starts; what waits is settled as ``not_run`` when
nothing is in flight any more. ``StopNowRequested`` cancels what runs, too.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from evalengine.engine import commands, facts
from evalengine.engine.blame import VERDICTS, Outcome, deaths_after, explain, is_unstarted_loss, judge
from evalengine.engine.deadlines import Deadlines
from evalengine.engine.fleet import Fleet
from evalengine.engine.incidents import Incident
from evalengine.engine.ledger import Ledger
from evalengine.engine.overtime import answer_to
from evalengine.engine.plan import Counts, Limits, Task, most_in_flight
from evalengine.engine.standby import Standby
from evalengine.engine.states import (
    Attempt,
    AttemptState,
    AttemptStep,
    IllegalFactError,
    Worker,
    WorkerState,
    WorkerStep,
)
from evalengine.engine.suspects import Suspects
from evalengine.engine.waiting import WaitingLine
from evalengine.results import Status
from evalengine.wire import RunKey

__all__ = ["Counts", "IllegalFactError", "Limits", "Scheduler", "Task"]


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
        self._suspects = Suspects(self._line)
        self._ledger = Ledger(tasks, limits.retries)
        self._fleet = Fleet(
            limits.workers, most_in_flight(tasks, limits), next_worker, single_use=limits.single_use
        )
        self._fleet.take_over(ready_workers, WorkerState.READY)
        self._fleet.take_over(starting_workers, WorkerState.STARTING)
        self._standby = Standby(tasks, limits, self._line, self._fleet, self._ledger)
        self._in_flight = 0
        self._deadlines = Deadlines(tasks, limits)
        self._deaths = 0
        self._stop_reason: str | None = None
        self._is_stopping_now = False
        self._over = False
        self._commands: list[commands.Command] = []

    def start(self, now: float) -> list[commands.Command]:
        """Give the first commands; called once, before any fact but a request to stop."""
        if self._over:
            return []
        for worker in self._fleet.surplus():
            self._release(worker)
        for worker in self._fleet.starting():
            self._deadlines.await_ready(worker, now)
        for _ in range(self._fleet.free_seats):
            self._spawn(now, alone=False)
        return self._advance(now)

    def handle(self, fact: facts.Fact, now: float) -> list[commands.Command]:
        """Take one fact and return what is to be done, in order.

        Raises IllegalFactError, and changes nothing, for a fact that cannot be true.
        """
        if self._over:
            return []
        self._take(fact, self._deadlines.active(now))
        return self._advance(self._deadlines.active(now))

    def next_deadline(self) -> float | None:
        """When ``Ticked`` is due next, or None."""
        return None if self._over else self._deadlines.next()

    @property
    def deaths_in_a_row(self) -> int:
        """How many workers died since a case last started: what a back-off grows with."""
        return self._deaths

    def counts(self) -> Counts:
        """Return where the run stands."""
        waiting, ledger = len(self._line) + len(self._standby), self._ledger
        return Counts(waiting, len(self._suspects), self._in_flight, ledger.settled, dict(ledger.verdicts))

    # Facts

    def _take(self, fact: facts.Fact, now: float) -> None:
        match fact:
            case facts.Ticked():
                self._tick(now)
            case facts.ClockPaused(gap_s):
                self._deadlines.pause(gap_s, now)
            case facts.StopRequested(reason):
                self._stop(reason, now)
            case facts.StopNowRequested(reason):
                self._stop_now(reason, now)
            case _:
                worker = self._fleet.find(fact.worker)
                if worker is not None:
                    self._take_word(worker, fact, now)

    def _take_word(self, worker: Worker, fact: facts.WorkerFact, now: float) -> None:
        match fact:
            case facts.AttemptStarted():
                self._start_attempt(worker, fact.key, now)
            case facts.AttemptFinished():
                self._finish_attempt(worker, fact, now)
            case facts.AttemptAnswered():
                worker.find(fact.key).hangs = True
            case facts.StandbyReturned():
                self._standby.take_back(worker, fact.keys)
                self._deadlines.keep(worker, now)
            case facts.WorkerReady():
                worker.step(WorkerStep.GET_READY)
                self._deadlines.keep(worker, now)
            case facts.WorkerSpoiled():
                worker.step(WorkerStep.SPOIL)
                self._withdraw(now, worker)
            case facts.WorkerLost():
                worker.is_importing = fact.is_importing
                self._lose_worker(worker, fact)

    def _start_attempt(self, worker: Worker, key: RunKey, now: float) -> None:
        # Its mark may be seen before the word of the attempt whose slot it took.
        self._enter(worker, key, now)
        attempt = worker.find(key)
        attempt.step(AttemptStep.START)
        worker.started += 1
        worker.ever_started = True
        worker.alarm_at = None
        self._deaths = 0
        if attempt.state is AttemptState.RUNNING:
            self._deadlines.await_end(attempt, now)

    def _finish_attempt(self, worker: Worker, fact: facts.AttemptFinished, now: float) -> None:
        attempt = worker.find(fact.key)
        if fact.next is not None and worker.find_waiting(fact.next) is None:
            worker.find(fact.next)
        started = attempt.started
        attempt.step(AttemptStep.FINISH)
        worker.started -= started
        worker.cancelling -= attempt.cancelled is not None
        worker.leftovers = fact.leftovers
        del worker.attempts[fact.key[:2]]
        self._take_off(attempt)
        self._deadlines.keep(worker, now)
        self._count_result(attempt, fact, now)
        if fact.next is not None:
            self._enter(worker, fact.next, now)

    def _count_result(self, attempt: Attempt, fact: facts.AttemptFinished, now: float) -> None:
        timeout_s, paused_s = self._tasks[attempt.index].timeout_s, self._deadlines.paused_within(fact.took_s, now)
        answer = answer_to(attempt, fact, timeout_s, paused_s, self._stop_reason)
        if isinstance(answer, commands.Accept):
            self._conclude(attempt.index, answer)
        else:
            self._commands.append(answer)
            self._ledger.came_to_nothing(attempt.index, attempt.key, None)
            self._suspects.add(attempt.index)

    def _lose_worker(self, worker: Worker, fact: facts.WorkerLost) -> None:
        stopping = self._stop_reason is not None
        outcomes = judge(worker, fact.proven, self._ledger.unstarted_losses, stopping=stopping)
        self._fleet.remove(worker)
        worker.alarm_at = None
        self._standby.free(worker)
        self._deaths = deaths_after(self._deaths, worker, outcomes)
        self._ledger.lost_unstarted(each.index for each, _ in outcomes if is_unstarted_loss(worker, each))
        incident = Incident(worker.id, fact.cause)
        for attempt, outcome in sorted(outcomes, key=lambda each: each[0].key != fact.prime):
            self._take_off(attempt)
            if outcome in VERDICTS:
                self._settle(attempt, VERDICTS[outcome], incident)
            else:
                self._requeue(attempt, incident, alone=outcome is Outcome.SUSPECT)

    def _tick(self, now: float) -> None:
        for subject in self._deadlines.due(now):
            missed = self._deadlines.missed(subject)
            if isinstance(subject, Worker):
                self._kill(subject, missed)
            elif subject.state is AttemptState.RUNNING:
                self._cancel(subject, Status.TIMEOUT, missed, now)
            elif subject.worker.state is not WorkerState.KILLED:
                self._kill(subject.worker, missed)

    def _stop(self, reason: str, now: float) -> None:
        if self._stop_reason is not None:
            return
        self._stop_reason = reason
        self._commands.append(commands.AnnounceStop(reason))
        self._withdraw(now)

    def _stop_now(self, reason: str, now: float) -> None:
        self._stop(reason, now)
        self._is_stopping_now = True
        for attempt in self._fleet.attempts():
            if attempt.cancelled is None:
                self._cancel(attempt, Status.NOT_RUN, reason, now)

    def _cancel(self, attempt: Attempt, status: Status, reason: str, now: float) -> None:
        if attempt.worker.state is WorkerState.KILLED:
            return
        attempt.step(AttemptStep.CANCEL)
        attempt.cancelled = status
        attempt.worker.cancelling += 1
        self._deadlines.await_end(attempt, now)
        self._commands.append(commands.Cancel(attempt.worker.id, attempt.key, status, reason))
        self._withdraw(now, attempt.worker)

    def _kill(self, worker: Worker, reason: str) -> None:
        worker.step(WorkerStep.KILL)
        worker.alarm_at = None
        self._commands.append(commands.Kill(worker.id, reason))

    def _settle(self, attempt: Attempt, status: Status, incident: Incident) -> None:
        """Give an attempt whose worker was lost its verdict."""
        waited_s = self._tasks[attempt.index].timeout_s if attempt.overdue else self._limits.start_timeout_s
        reason = self._stop_reason if status is Status.NOT_RUN else None
        reason = reason or explain(attempt, status, waited_s, incident.cause)
        verdict = commands.Settle(attempt.key, status, reason, incident.worker)
        self._conclude(attempt.index, verdict, blamed=status is not Status.NOT_RUN)

    def _requeue(self, attempt: Attempt, incident: Incident, *, alone: bool) -> None:
        """Let the case of an attempt whose worker was lost wait again."""
        self._ledger.came_to_nothing(attempt.index, attempt.key, incident if alone else None)
        self._commands.append(commands.Requeue(attempt.key, f"its worker was lost: {incident.cause}", alone))
        (self._suspects if alone else self._line).add(attempt.index)

    def _conclude(self, index: int, verdict: commands.Accept | commands.Settle, *, blamed: bool = False) -> None:
        """Give a case its verdict, or let it run again; one that was blamed for a loss, alone."""
        decided, again = self._ledger.conclude(index, verdict, blamed=blamed, may_retry=not self._stop_reason)
        self._commands += decided
        if blamed:
            self._suspects.clear(self._ledger.cleared_by(index))
        if again:
            (self._suspects if blamed else self._line).add(index)

    def _take_off(self, attempt: Attempt) -> None:
        """Free the slot of an attempt."""
        attempt.alarm_at = None
        self._in_flight -= 1
        self._line.leave(attempt.index)

    # What is done next

    def _advance(self, now: float) -> list[commands.Command]:
        self._heed_max_failures(now)
        stopping = self._stop_reason is not None
        while not stopping and self._in_flight < self._limits.budget:
            if not (self._send_suspect(now) or self._send_next(now)):
                break
        if not (stopping or self._suspects or self._deaths):
            self._commands += self._standby.fill()
        for worker in self._fleet.unneeded(cases_wait=self._waits() > len(self._suspects), stopping=stopping):
            self._release(worker)
        if not stopping and self._deaths < self._limits.deaths_in_a_row:
            for alone in self._fleet.wanted(len(self._suspects), len(self._line)):
                self._spawn(now, alone=alone)
        if self._in_flight == 0 and not len(self._standby):
            self._wind_up()
        done, self._commands = self._commands, []
        return done

    def _heed_max_failures(self, now: float) -> None:
        most = self._limits.max_failures
        if most is not None and self._ledger.failures >= most and self._stop_reason is None and self._waits():
            self._stop(f"stopped after {most} failure{'s' if most > 1 else ''}", now)

    def _waits(self) -> int:
        return len(self._line) + len(self._standby) + len(self._suspects)

    def _send_suspect(self, now: float) -> bool:
        """Send a suspect to a worker of its own, if there is one and a slot of its file."""
        worker = self._fleet.own()
        index = self._suspects.take() if worker is not None else None
        if worker is None or index is None:
            return False
        self._send(index, worker, now)
        return True

    def _send_next(self, now: float) -> bool:
        """Give the freest worker what stands by in it, else the next case of the plan, if there is one of each."""
        # Workers that keep dying are not waited for.
        worker = self._fleet.freest(share_with_starting=self._deaths == 0)
        if worker is not None and worker.standby and not worker.withdrawing:
            key = next(iter(worker.standby.values())).key
            self._enter(worker, key, now)
            self._commands.append(commands.Begin(worker.id, key))
            return True
        index = self._line.take() if worker is not None else None
        if worker is None or index is None:
            if not len(self._line):
                self._withdraw(now)
            return False
        self._send(index, worker, now)
        return True

    def _enter(self, worker: Worker, key: RunKey, now: float) -> None:
        """Put an attempt in flight, if it stands by."""
        attempt = worker.find_waiting(key)
        if attempt is not None:
            attempt.step(AttemptStep.ENTER)
            del worker.standby[key[:2]]
            self._put_in_flight(attempt, now)
            if self._is_stopping_now:
                self._cancel(attempt, Status.NOT_RUN, self._stop_reason or "", now)

    def _withdraw(self, now: float, worker: Worker | None = None) -> None:
        for holder in self._standby.ask_back(worker):
            self._deadlines.await_start(holder, now)
            self._commands.append(commands.Withdraw(holder.id))

    def _send(self, index: int, worker: Worker, now: float) -> None:
        key = self._ledger.next_key(index)
        self._put_in_flight(Attempt(index, key, worker), now)
        self._commands.append(commands.Dispatch(worker.id, key, self._tasks[index].file))

    def _put_in_flight(self, attempt: Attempt, now: float) -> None:
        worker = attempt.worker
        worker.attempts[attempt.key[:2]] = attempt
        worker.used = True
        self._in_flight += 1
        self._deadlines.await_start(worker, now)

    def _spawn(self, now: float, *, alone: bool) -> None:
        worker = self._fleet.add(alone=alone)
        self._deadlines.await_ready(worker, now)
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
            waiting = sorted([*self._line.drain(), *self._suspects.drain()])
            self._commands += chain.from_iterable(self._ledger.give_up(each, self._stop_reason) for each in waiting)
        if self._waits():
            return
        for worker in self._fleet.unneeded(cases_wait=False, stopping=True):
            self._release(worker)
        self._over = True
        self._commands.append(commands.EndRun())
