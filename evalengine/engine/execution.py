"""The execution of a plan: facts to the scheduler, its commands to pool, journal and sinks.

A result is recorded where the scheduler accepts it, which is before it fills the slot that became free; so what
is printed is on disk, and the budget is never exceeded. What the scheduler refuses, the worker pays for.
"""

import asyncio
import math
import time
from collections.abc import Callable

import msgspec

from evalengine import events, wire
from evalengine.engine import commands, facts
from evalengine.engine.announced import case_finished, case_requeued, cases_skipped, loss_of_nobody
from evalengine.engine.autopsy import Findings
from evalengine.engine.ladder import Ladder
from evalengine.engine.limits import scheduler_for
from evalengine.engine.plan import GRACE_S, Counts
from evalengine.engine.planning import Plan
from evalengine.engine.pool import Pool
from evalengine.engine.recorded import Recorded
from evalengine.engine.retried import Retried
from evalengine.engine.states import IllegalFactError
from evalengine.engine.traces import Traces
from evalengine.engine.verdicts import Received, encoded, read_result, timed_out, verdict_without_worker
from evalengine.errors import EngineError
from evalengine.results import Status
from evalengine.settings import RunSettings
from evalengine.wire import RunKey

_BACK_OFF_S = 0.05
_LONGEST_BACK_OFF_S = 1.0
_LOOK_FOR_STARTS_S = 0.2
"""How soon the clock of a case starts whose worker is blocked before it could say that the case began."""

_wall_clock = time.time


class Execution:
    """Runs the cases of a plan in the workers of a pool, until each has its verdict."""

    def __init__(
        self,
        plan: Plan,
        settings: RunSettings,
        pool: Pool,
        recorded: Recorded,
        *,
        ready: set[int],
        next_worker: int,
        spawn: Callable[[int], None],
        traces: Traces,
        ladder: Ladder,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """``look`` is called before a deadline is heeded: it may tell of a pause."""
        self._plan = plan
        self._pool = pool
        self._recorded = recorded
        self._emit = recorded.emit
        self._spawn = spawn
        self._traces = traces
        self._ladder = ladder
        self._stacks: dict[RunKey, str] = {}
        """Where overdue attempts hang, as their workers told."""
        self._last_words, self._look = "", look
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[str] = self._loop.create_future()
        self._status = "complete"
        self.failure: str | None = None
        """Why the engine could not finish, where it could not."""
        self._received: dict[RunKey, Received] = {}
        self._running: dict[int, dict[RunKey, tuple[float, float]]] = {}
        self._known_files: set[tuple[int, int]] = set()
        self._unsaid: dict[int, set[RunKey]] = {}
        """By worker, the attempts that were given a slot in it and that it has not told to have begun."""
        self._taken: dict[int, int] = {}
        """By worker, how many results were taken from it."""
        self._looking: asyncio.TimerHandle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._retried = Retried()
        self._is_to_tell = False
        self._scheduler = scheduler_for(plan, settings, ready, set(pool.workers) - ready, next_worker)
        self._perform: dict[type, Callable[..., None]] = {
            commands.Spawn: self._spawn_worker,
            commands.Release: lambda command: pool.stop(command.worker),
            commands.Kill: lambda command: ladder.kill(command.worker, command.reason),
            commands.Dispatch: self._dispatch,
            commands.Begin: self._begin,
            commands.Withdraw: lambda command: pool.send(command.worker, wire.WithdrawCases()),
            commands.Cancel: self._cancel,
            commands.Accept: self._accept,
            commands.Settle: self._settle,
            commands.Retry: self._retry,
            commands.Stand: self._stand,
            commands.Requeue: lambda command: self._emit(case_requeued(command.key, command.reason)),
            commands.ReportLoss: lambda command: self._emit(loss_of_nobody(plan, command)),
            commands.AnnounceStop: self._announce_stop,
            commands.FailEngine: self._fail,
            commands.EndRun: self._end,
        }

    async def finish(self) -> str:
        """Start, and wait for the last verdict; return the run's status."""
        for skipped in cases_skipped(self._plan):
            self._emit(skipped)
        self._carry_out(self._scheduler.start(self._loop.time()))
        self.settle_turn()
        try:
            return await self._over
        finally:
            self._stop_clocks()
            self._recorded.tell()

    # Facts

    def ready(self, worker: int) -> None:
        """Take that a worker waits for commands."""
        self._tell(facts.WorkerReady(worker))

    def heard(self, worker: int, message: wire.AttemptMessage) -> None:
        """Take what a worker says of attempts."""
        match message:
            case wire.Finished():
                self.finished(worker, message)
            case wire.Started():
                self.started(worker, message)
            case wire.CasesWithdrawn():
                self.withdrawn(worker, message)
            case wire.StackTold():
                self._stacks[message.key] = message.stack
                self._tell(facts.AttemptAnswered(worker, message.key))

    def started(self, worker: int, message: wire.Started) -> None:
        """Take that an attempt began."""
        key = message.key
        if key in self._running.get(worker, ()):
            # Its mark was seen before.
            return
        self._unsaid.get(worker, set()).discard(key)
        if self._tell(facts.AttemptStarted(worker, key)):
            self._running.setdefault(worker, {})[key] = (self._loop.time(), _wall_clock())
            self._emit(events.CaseStarted(case=key.case, repeat=key.repeat, attempt=key.attempt, worker=worker))

    def _take_marks(self, worker: int) -> None:
        """Take the starts that a worker has marked and not told of: it is dead, or user code blocks its loop."""
        unsaid = self._unsaid.get(worker)
        if unsaid:
            for key in unsaid.intersection(self._traces.begun(worker)):
                self.started(worker, wire.Started(*key))

    def _look_for_starts(self) -> None:
        self._looking = None
        for worker in [worker for worker, unsaid in self._unsaid.items() if unsaid]:
            self._take_marks(worker)
            self._ladder.watch_import(worker)
        self.settle_turn()

    def finished(self, worker: int, message: wire.Finished) -> None:
        """Take a result."""
        key = message.key
        received = read_result(self._plan, worker, message, self._recorded.journal.folder)
        self._received[key] = received
        self._taken[worker] = self._taken.get(worker, 0) + 1
        fact = facts.AttemptFinished(worker, key, received.status, message.leftovers, message.next)
        self._tell(msgspec.structs.replace(fact, took_s=received.duration_s, robbed_s=message.robbed_s))
        self._received.pop(key, None)
        self._stacks.pop(key, None)
        self._running.get(worker, {}).pop(key, None)
        unsaid = self._unsaid.setdefault(worker, set())
        unsaid.discard(key)
        if message.next is not None and not self._is_running(worker, message.next):
            unsaid.add(message.next)

    def withdrawn(self, worker: int, message: wire.CasesWithdrawn) -> None:
        """Take back what stood by in a worker."""
        self._tell(facts.StandbyReturned(worker, message.keys))

    def lost(self, worker: int, pid: int | None, found: Findings) -> None:
        """Take the death of a worker; what it had finished and begun, it may not have had the time to say."""
        cause, self._last_words = found.cause, found.words
        for message in self._traces.finished(worker):
            if message.key in self._running.get(worker, {}) or message.key in self._unsaid.get(worker, set()):
                self.finished(worker, message)
        self._take_marks(worker)
        running = self._running.get(worker, {})
        labels = [self._plan.entries[key.case].label for key in running]
        self._emit(events.WorkerLost(worker=worker, pid=pid, cause=cause, in_flight=labels))
        if found.proven is not None and found.proven not in running:
            label = self._plan.entries[found.proven.case].label
            self._emit(events.Noticed(text=f"worker {worker} was lost ({cause}) by what {label} had left running"))
        self._tell(facts.WorkerLost(worker, cause, found.proven, found.prime, found.is_importing))
        self._running.pop(worker, None)
        self._unsaid.pop(worker, None)
        self._taken.pop(worker, None)
        self.settle_turn()

    def paused(self, gap_s: float) -> None:
        """Take that the coordinator was not running for so long."""
        self._tell(facts.ClockPaused(gap_s))
        self.settle_turn()

    def stand(self) -> tuple[Counts, list[tuple[int, str, float]]]:
        """Return where the run stands, and the worker, label and age in seconds of each attempt that has begun."""
        for worker in list(self._unsaid):
            self._take_marks(worker)
        now, entries = self._loop.time(), self._plan.entries
        return self._scheduler.counts(), [
            (worker, entries[key.case].label, now - since)
            for worker, running in self._running.items()
            for key, (since, _) in running.items()
        ]

    def stop(self, reason: str, status: str = "interrupted") -> None:
        """Start no further case; ``status`` is what the run is called then."""
        self._status = status
        self._tell(facts.StopRequested(reason))
        self.settle_turn()

    def stop_now(self, reason: str) -> None:
        """Cancel what is running."""
        if self._status == "complete":
            self._status = "interrupted"
        self._tell(facts.StopNowRequested(reason))
        self.settle_turn()

    def settle_turn(self) -> None:
        """Close a turn of the loop: what happened is on disk before commands leave, and told after they have."""
        self._recorded.write()
        self._pool.flush()
        if not self._is_to_tell:
            self._is_to_tell = True
            self._loop.call_soon(self._tell_sinks)
        if self._looking is None and not self._over.done():
            self._looking = self._loop.call_later(_LOOK_FOR_STARTS_S, self._look_for_starts)
        self._arm()

    def _tell_sinks(self) -> None:
        self._is_to_tell = False
        self._recorded.tell()

    def _tell(self, fact: facts.Fact) -> bool:
        """Hand a fact in and carry out what follows; tell whether it was accepted."""
        try:
            decided = self._scheduler.handle(fact, self._loop.time())
        except IllegalFactError as error:
            worker = getattr(fact, "worker", None)
            if worker is not None:
                self._pool.kill(worker, f"it said what cannot be true: {error}")
            return False
        self._carry_out(decided)
        return True

    def _carry_out(self, decided: list[commands.Command]) -> None:
        for command in decided:
            self._perform[type(command)](command)

    # The clock

    def _arm(self) -> None:
        deadline = self._scheduler.next_deadline()
        if self._timer is not None:
            if self._timer.when() == deadline:
                return
            self._disarm()
        if deadline is not None and not self._over.done() and deadline != math.inf:
            self._timer = self._loop.call_at(deadline, self._tick)

    def _stop_clocks(self) -> None:
        self._disarm()
        if self._looking is not None:
            self._looking.cancel()

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        self._timer = None
        self._look()
        self._tell(facts.Ticked())
        self.settle_turn()

    # Commands

    def _spawn_worker(self, command: commands.Spawn) -> None:
        deaths = self._scheduler.deaths_in_a_row
        delay = min(_BACK_OFF_S * 2 ** (deaths - 1), _LONGEST_BACK_OFF_S) if deaths > 1 else 0.0
        self._loop.call_later(delay, self._start_worker, command.worker)

    def _start_worker(self, worker: int) -> None:
        if self._over.done():
            return
        try:
            self._spawn(worker)
        except EngineError as error:
            self.lost(worker, None, Findings(str(error)))

    def _dispatch(self, command: commands.Dispatch) -> None:
        worker, key = command.worker, command.key
        if not command.standby:
            self._unsaid.setdefault(worker, set()).add(key)
        if (worker, command.file) not in self._known_files:
            self._known_files.add((worker, command.file))
            spec = self._plan.files[command.file].spec
            self._pool.send(worker, wire.UseFile(file=command.file, spec=spec))
        entry = self._plan.entries[key.case]
        case, taken, earlier = entry.case, self._taken.get(worker, 0), self._retried.earlier(key)
        set_id, set_name, standby = case.set_id, case.set_name, command.standby
        run = wire.RunCase(
            *key, command.file, case.eval_id, set_id, set_name, entry.label, case.payload, standby, earlier, taken
        )
        self._pool.send(worker, run)

    def _begin(self, command: commands.Begin) -> None:
        self._unsaid.setdefault(command.worker, set()).add(command.key)
        self._pool.send(command.worker, wire.BeginCase(*command.key))

    def _cancel(self, command: commands.Cancel) -> None:
        key = command.key
        self._pool.send(command.worker, wire.CancelCase(*key, command.status.value, command.reason))
        if command.status is Status.TIMEOUT:
            self._ladder.climb(command.worker, key, GRACE_S, self._is_running)

    def _is_running(self, worker: int, key: RunKey) -> bool:
        return key in self._running.get(worker, ())

    def _accept(self, command: commands.Accept) -> None:
        self._tell_verdict(command.key, self._given_by_worker(command), command.worker)

    def _given_by_worker(self, command: commands.Accept) -> Received:
        received = self._received.pop(command.key)
        return received if command.reason is None else timed_out(received, command.reason)

    def _settle(self, command: commands.Settle) -> None:
        self._tell_verdict(command.key, self._given_by_engine(command), command.worker)

    def _given_by_engine(self, command: commands.Settle) -> Received:
        key, worker = command.key, command.worker
        result = verdict_without_worker(self._plan, key, command.status, command.reason)
        result.earlier_attempts = self._retried.earlier(key)
        running = self._running.get(worker, {}).pop(key, None) if worker is not None else None
        if running is not None:
            result.worker = worker
            result.duration_seconds = self._loop.time() - running[0]
            result.started_at, result.finished_at = running[1], _wall_clock()
        if command.status in (Status.CRASHED, Status.TIMEOUT) and worker is not None:
            result.traceback = self._stacks.pop(key, None) or self._last_words or None
        return encoded(result)

    def _retry(self, command: commands.Retry) -> None:
        verdict = command.verdict
        if isinstance(verdict, commands.Accept):
            received = self._given_by_worker(verdict)
        else:
            received = self._given_by_engine(verdict)
        self._emit(
            self._retried.add(verdict.key, self._plan.entries[verdict.key.case].label, received, verdict.worker)
        )

    def _stand(self, command: commands.Stand) -> None:
        self._tell_verdict(command.key, *self._retried.standing(command.key))

    def _tell_verdict(self, key: RunKey, received: Received, worker: int | None) -> None:
        self._emit(case_finished(self._plan, key, received, worker))

    def _announce_stop(self, command: commands.AnnounceStop) -> None:
        if self._status == "complete":
            self._status = "stopped"
        self._emit(events.RunStopping(reason=command.reason))

    def _fail(self, command: commands.FailEngine) -> None:
        self._status = "incomplete"
        self.failure = command.reason

    def _end(self, _: commands.EndRun) -> None:
        if not self._over.done():
            self._over.set_result(self._status)
