"""One run on one loop: workers start, files are loaded, the plan is made, cases run, workers end.

The shell around the pure parts (:mod:`loading`, :mod:`plan`, :mod:`scheduler`): it carries messages to them and
commands from them, keeps the clock, and tells every event to the journal first and to the sinks then.
"""

import asyncio
from collections.abc import Iterable, Sequence

import msgspec

from evalengine import events, wire
from evalengine.engine.announced import file_events, plan_events
from evalengine.engine.autopsy import Autopsy, Findings
from evalengine.engine.clock import RunClock
from evalengine.engine.execution import Execution
from evalengine.engine.ladder import Ladder
from evalengine.engine.loading import Loading
from evalengine.engine.plan import GRACE_S
from evalengine.engine.planning import Keeps, Plan, keep_verdicts, make_plan, require_cases, require_no_model
from evalengine.engine.pool import SHUTDOWN_GRACE_S, Pool
from evalengine.engine.process import Loss, WorkerFactory
from evalengine.engine.recorded import Recorded
from evalengine.engine.stand import stand
from evalengine.engine.traces import Traces
from evalengine.errors import EngineError
from evalengine.journal import Past
from evalengine.results import Status
from evalengine.selection import Chosen, check_ids
from evalengine.settings import RunSettings
from evalengine.targets import EvalFile

START_TIMEOUT_S = 60.0
STOP_GRACE_S = 5.0
"""How long running cases may go on after the run is told to stop."""
MOST_DEATHS_IN_A_ROW = 5
_KEPT_AT_A_TIME = 200


class Handover(msgspec.Struct):
    """What a Python caller hands to the workers beside the settings: pickles made by us, read by them."""

    agent: bytes | None = None
    config: bytes | None = None
    """The msgpack of an EvalConfig without its custom criteria."""
    custom: bytes | None = None
    sys_path: list[str] = []


class Engine:
    """Runs the cases of some files, and leaves every one of them with exactly one verdict."""

    def __init__(
        self,
        settings: RunSettings,
        files: Sequence[EvalFile],
        selection: Keeps,
        recorded: Recorded,
        factory: WorkerFactory,
        handover: Handover | None = None,
        past: Past | None = None,
    ) -> None:
        self.settings = settings
        self._files = files
        self._selection = selection
        self._recorded = recorded
        self._emit = recorded.emit
        self._handover = handover or Handover()
        self._loop = asyncio.get_running_loop()
        self._pool = Pool(self._loop, factory, self)
        self._loading = Loading(files)
        self._loading_over = self._loop.create_future()
        self._execution: Execution | None = None
        self._ready: set[int] = set()
        self._past = past or Past()
        # Results and files of earlier parts go by their numbers.
        self._next_worker = self._past.last_worker + 1
        self._interrupted: set[int] = set()
        """Workers whose import of a file was interrupted."""
        self._early_deaths = 0
        self._is_closing = self.is_out_of_time = False
        self._stop_reason: str | None = None
        self._stop_status = "interrupted"
        self.clock = RunClock(self._loop, on_pause=self._paused, on_tick=recorded.tell)
        self._traces = Traces(recorded.journal.folder)
        self._autopsy = Autopsy(self._traces)
        self._ladder = Ladder(self._loop, self._pool, self._traces, self.clock.passed_s, settings.import_timeout_s)

    # The three phases

    async def plan(self) -> Plan:
        """Start workers, load every file, and make the plan.

        Raises ConfigurationError for a value that cannot be meant, NoCasesError where there is nothing to run,
        EngineError where workers do not start.
        """
        self.clock.start()
        if self.settings.run_timeout_s is not None:
            self.clock.call_later(self.settings.run_timeout_s, self._run_overdue)
        self._start_workers(self.settings.workers)
        if self._files:
            await self._loading_over
        self._emit_all(file_events(self._files, self._loading))
        plan = self._make_plan()
        self._require_plannable(plan)
        kept = keep_verdicts(plan, self._past.verdicts)
        self._emit_all(plan_events(plan, self.settings, kept))
        self._recorded.tell()
        await self._tell_kept(plan)
        return plan

    async def execute(self, plan: Plan) -> str:
        """Run the plan to its end; return ``complete``, ``stopped``, ``interrupted`` or ``incomplete``."""
        execution = Execution(
            plan,
            self._settings_left(plan),
            self._pool,
            self._recorded,
            ready=self._ready,
            next_worker=self._next_worker,
            spawn=self._pool.start,
            traces=self._traces,
            ladder=self._ladder,
            look=self.clock.look,
        )
        self._execution = execution
        if self._stop_reason is not None:
            execution.stop(self._stop_reason, self._stop_status)
        return await execution.finish()

    @property
    def failure(self) -> str | None:
        """Why the engine could not finish, where it could not."""
        return self._execution.failure if self._execution is not None else None

    async def close(self) -> None:
        """End all workers and whatever they left behind."""
        self._is_closing = True
        self.clock.stop()
        await self._pool.close(SHUTDOWN_GRACE_S)

    # Stopping

    def stop_in_order(self, reason: str, status: str = "interrupted") -> None:
        """Start no further case, and cancel after the grace what is running still."""
        self.stop(reason, status)
        self.clock.call_later(STOP_GRACE_S, self.stop_now)

    def stop(self, reason: str, status: str = "interrupted") -> None:
        """Start no further case; those running may finish."""
        self._stop_reason, self._stop_status = reason, status
        if self._execution is not None:
            self._execution.stop(reason, status)
        elif not self._loading_over.done():
            self._loading_over.set_exception(InterruptedError(reason))

    def stop_now(self) -> None:
        """Cancel what is running."""
        if self._execution is not None:
            self._execution.stop_now(self._stop_reason or "stopped")

    def _run_overdue(self) -> None:
        """End a run whose time is over; what is known of its files and cases is told as ever."""
        reason = f"the run's time of {self.settings.run_timeout_s:g} s is over"
        self.is_out_of_time = True
        if self._execution is not None:
            self.stop_in_order(reason, "stopped")
            return
        self._stop_reason, self._stop_status = reason, "stopped"
        self._loading.give_up(f"not loaded: {reason}")
        self._finish_loading()

    # While it runs

    def signal_workers(self, signum: int) -> None:
        """Send a signal to all workers and what they started; may be called by a signal handler."""
        self._pool.signal_all(signum)

    def state(self) -> list[str]:
        """Say in lines where the run stands."""
        return stand(self._loading, self._execution)

    def _paused(self, gap_s: float) -> None:
        if self._execution is not None:
            self._execution.paused(gap_s)

    # What the pool tells

    def on_messages(self, worker: int, messages: Sequence[wire.Message]) -> None:
        """Take what a worker said."""
        self.clock.look()
        for message in messages:
            match message:
                case wire.Finished() | wire.Started() | wire.CasesWithdrawn() | wire.StackTold():
                    if self._execution is not None:
                        self._execution.heard(worker, message)
                case wire.CaseFound():
                    self._loading.found(worker, message)
                case wire.FileLoaded() | wire.FileFailed():
                    self._loaded(worker, message)
                case wire.Ready():
                    self._worker_ready(worker, message)
                case wire.Notice():
                    self._emit(events.Noticed(text=message.text))
        if self._execution is not None:
            self._execution.settle_turn()

    def on_lost(self, worker: int, loss: Loss) -> None:
        """Take the death of a worker."""
        self.clock.look()
        was_ready = worker in self._ready
        self._ready.discard(worker)
        found = self._autopsy.examine(worker, loss, self._ladder.block(worker))
        if self._execution is not None:
            self._execution.lost(worker, loss.pid, found)
        else:
            self._lost_early(worker, loss.pid, found, was_ready=was_ready)
        self._traces.forget(worker)

    def _lost_early(self, worker: int, pid: int | None, found: Findings, *, was_ready: bool) -> None:
        cause = found.cause
        file = self._loading.worker_lost(worker, cause, found.words)
        self._emit(events.WorkerLost(worker=worker, pid=pid, cause=cause))
        self._early_deaths = self._early_deaths + 1 if file is None and not was_ready else 0
        if self._early_deaths >= MOST_DEATHS_IN_A_ROW:
            self._fail_loading(EngineError(f"workers do not start: {self._early_deaths} in a row {cause}"))
        elif self._loading.done:
            self._finish_loading()
        if not self._is_closing:
            self._replace_loader()

    def on_stopped(self, worker: int) -> None:
        """Take that a worker ended as told."""
        self._ready.discard(worker)
        self._traces.forget(worker)
        self._emit(events.WorkerStopped(worker=worker))

    # Workers

    def _start_workers(self, count: int) -> None:
        """Start workers; one is enough to go on with."""
        for started in range(count):
            try:
                self._start_next_worker()
            except EngineError as error:
                if not started:
                    raise
                self._emit(events.Noticed(text=f"only {started} of {count} workers could be started: {error}"))
                return

    def _start_next_worker(self) -> None:
        worker = self._next_worker
        self._pool.start(worker)
        self._next_worker += 1
        self._loop.call_later(START_TIMEOUT_S, self._start_overdue, worker)

    def _start_overdue(self, worker: int) -> None:
        """Give a worker up that does not start; while cases run, the scheduler does that."""
        if worker not in self._ready and self._execution is None:
            self._pool.kill(worker, f"it was not ready within {START_TIMEOUT_S:.0f} s")

    def _replace_loader(self) -> None:
        try:
            self._start_next_worker()
        except EngineError as error:
            if not self._pool.workers:
                self._fail_loading(error)

    def _worker_ready(self, worker: int, message: wire.Ready) -> None:
        self._ready.add(worker)
        self._pool.send(worker, self._configuration(worker))
        self._emit(events.WorkerStarted(worker=worker, pid=message.pid))
        if self._execution is not None:
            self._execution.ready(worker)
        else:
            self._load_next(worker)

    def _configuration(self, worker: int) -> wire.Configure:
        settings, handover = self.settings, self._handover
        configure = wire.Configure(
            worker=worker,
            root=str(settings.root),
            eval_dir=str(settings.eval_dir),
            sys_path=handover.sys_path,
            agent=settings.agent,
            agent_factory=settings.agent_factory,
            agent_source=settings.agent_source,
            pickled_agent=handover.agent,
            pickled_custom=handover.custom,
            given_config=handover.config,
            confeval=str(settings.confeval) if settings.confeval else None,
            env_file=str(settings.env_file) if settings.env_file else None,
            sync_agents=settings.sync_agents,
            judge_model=settings.judge_model,
            log_path=str(self._traces.log_path(worker)),
            marks_path=str(marks) if (marks := self._traces.marks_path(worker)) else None,
            results_path=str(self._traces.results_path(worker)),
            crumbs_path=str(crumbs) if (crumbs := self._traces.crumbs_path(worker)) else None,
            spill_dir=str(self._recorded.journal.folder),
        )
        if settings.in_process:  # No output is taken away, and what dies takes the coordinator with it.
            files = dict.fromkeys(("log_path", "marks_path", "results_path", "crumbs_path"))
            return msgspec.structs.replace(configure, capture=False, **files)
        return configure

    # Loading

    def _load_next(self, worker: int) -> None:
        if self._loading.done:
            self._finish_loading()
            return
        load = self._loading.assign(worker)
        if load is not None:
            self._pool.send(worker, load)
            file = load.file
            self.clock.call_later(self.settings.import_timeout_s, lambda: self._load_overdue(worker, file))

    def _load_overdue(self, worker: int, file: int) -> None:
        if self._loading.is_loading(worker, file):
            self._interrupted.add(worker)
            self._ladder.interrupt_import(worker, file)
            self.clock.call_later(GRACE_S, lambda: self._load_hangs(worker, file))

    def _loaded(self, worker: int, message: wire.FileLoaded | wire.FileFailed) -> None:
        if worker not in self._interrupted or isinstance(message, wire.FileLoaded):
            self._loading.finished(worker, message)
            self._load_next(worker)
            return
        # Half an import, and whatever it has started, is no ground to load others on.
        self._loading.finished(worker, msgspec.structs.replace(message, error=self._too_long))
        self._pool.kill(worker, self._too_long)

    @property
    def _too_long(self) -> str:
        return f"loading it took longer than {self.settings.import_timeout_s:g} s"

    def _load_hangs(self, worker: int, file: int) -> None:
        if self._loading.is_loading(worker, file):
            self._ladder.kill(worker, self._too_long)

    def _finish_loading(self) -> None:
        if not self._loading_over.done():
            self._loading_over.set_result(None)

    def _fail_loading(self, error: EngineError) -> None:
        if not self._loading_over.done():
            self._loading_over.set_exception(error)
            self._loading_over.exception()  # Told once: nobody may wait for it any more.

    # The plan

    def _emit_all(self, told: Iterable[events.RunEvent]) -> None:
        for event in told:
            self._emit(event)

    def _make_plan(self) -> Plan:
        loaded, settings = self._loading.loaded, self.settings
        plan = make_plan(loaded, self._selection, settings.shuffle_seed, settings.limit)
        if not plan.entries and isinstance(self._selection, Chosen):
            # As pytest does: what failed last is not among these files any more, so all of them run.
            self._emit(events.Noticed(text=self._selection.widen()))
            plan = make_plan(loaded, self._selection, settings.shuffle_seed, settings.limit)
        return plan

    def _require_plannable(self, plan: Plan) -> None:
        loaded = self._loading.loaded.values()
        check_ids(self._files, {file.spec.label: [case.eval_id for case in file.cases] for file in loaded})
        require_cases(
            plan,
            self._selection,
            where=", ".join(self.settings.targets) or str(self.settings.eval_dir),
            any_file_failed=bool(self._loading.failed),
        )
        require_no_model(plan)

    async def _tell_kept(self, plan: Plan) -> None:
        """Tell the verdicts that stand already, a few at a time: their results are read from the journal."""
        told = 0
        for place, entry in enumerate(plan.entries):
            for repeat, verdict in entry.kept.items():
                self._recorded.keep(place, repeat, verdict)
                told += 1
                if told % _KEPT_AT_A_TIME == 0:
                    self._recorded.tell()
                    await asyncio.sleep(0)
        self._recorded.tell()

    def _settings_left(self, plan: Plan) -> RunSettings:
        """Return the settings for what is left: kept failures count, unless the limit was reached by them."""
        most = self.settings.max_failures
        kept = sum(
            verdict.status not in (Status.PASSED, Status.SKIPPED)
            for entry in plan.entries
            for verdict in entry.kept.values()
        )
        if most is None or kept >= most:
            return self.settings
        return msgspec.structs.replace(self.settings, max_failures=most - kept)
