"""One run from files to reports: journal, sinks, engine, signals and the reports at the end, wired together."""

import asyncio
import gc
import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

from evalengine import events
from evalengine._version import __version__
from evalengine.engine.process import Host, ProcessFactory, WorkerFactory
from evalengine.engine.recorded import Recorded
from evalengine.engine.run import Engine, Handover
from evalengine.engine.unread import adopt_unread
from evalengine.errors import EngineError, ExitCode, NoCasesError, UsageError
from evalengine.journal import Journal, Past
from evalengine.journal.replay import earlier_events
from evalengine.journal.runs import Continued, prune
from evalengine.report.order import CollectionOrder
from evalengine.report.outcome import RunOutcome
from evalengine.report.pair import ReportsError, write_pair
from evalengine.report.sink import Sink
from evalengine.report.summary import RunFold
from evalengine.results import Status
from evalengine.selection import Chosen, Selection
from evalengine.settings import RunSettings, as_recorded
from evalengine.signals import Signals
from evalengine.targets import EvalFile

_ROUGE = re.compile(rb"rouge|quick_check|comprehensive", re.IGNORECASE)
"""What an eval file says that has ROUGE judge, itself or by a preset."""


class Session:
    """One run with its journal, sinks and reports; performs on whatever thread calls it."""

    def __init__(
        self,
        settings: RunSettings,
        sinks: Sequence[Sink],
        *,
        journal_root: Path | None,
        handover: Handover | None = None,
        signals: bool = False,
        continued: Continued | None = None,
        tell_state: Callable[[list[str]], None] | None = None,
        host: Host | None = None,
    ) -> None:
        """``signals``: the process is ours, and so are its signals; ``tell_state`` shows lines to who asks.

        ``host`` carries the workers, where no process is to be started for them.
        """
        self.settings = settings
        self._sinks = sinks
        self._journal_root = journal_root
        self._handover = handover
        self._is_ours = signals
        self._show_state = tell_state
        self._signals = Signals(self)
        self._host = host
        self._continued = continued
        self._past = continued.past if continued is not None else Past()
        self._engine: Engine | None = None
        self._posted: list[Callable[[], None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = time.monotonic()

    def perform(self, find: Callable[[], list[EvalFile]]) -> RunOutcome:
        """Run to the end; raises what kept it from starting, and then leaves no trace of the run."""
        with self._signals.installed() if self._is_ours else nullcontext():
            return self._perform_heeded(find)

    def _perform_heeded(self, find: Callable[[], list[EvalFile]]) -> RunOutcome:
        files = self._found(find)
        factory = self._factory(files)
        try:
            journal = self._journal()
            try:
                return asyncio.run(self._perform(files, journal, factory), debug=False)
            except (UsageError, NoCasesError):
                journal.withdraw()
                raise
            finally:
                journal.close()
                self._prune()
        finally:
            factory.close()

    def _factory(self, files: Sequence[EvalFile]) -> WorkerFactory:
        if self._host is not None:
            self._host.listen(self._signals.stop)
            return self._host
        factory = ProcessFactory(preload_rouge=_mention_rouge(self.settings, files))
        # The fork server comes up while the run is prepared.
        factory.warm()
        return factory

    def _found(self, find: Callable[[], list[EvalFile]]) -> list[EvalFile]:
        try:
            return find()
        except BaseException:
            if self._continued is not None:
                self._continued.journal.close()
            raise

    def _journal(self) -> Journal:
        if self._continued is not None:
            adopt_unread(self._continued.journal, self._past)
            self._past.forget_plan()
            return self._continued.journal
        # What only lists cases is no run that anybody could continue.
        return Journal.create(None if self.settings.collect_only else self._journal_root)

    def _prune(self) -> None:
        if self._journal_root is not None:
            with suppress(OSError):
                prune(self._journal_root, self.settings.keep_runs)

    def stop(self, *, now: bool = False) -> None:
        """Stop the run from another thread."""

        def stop() -> None:
            if self._engine is not None:
                self._engine.stop("stopped by the caller")
                if now:
                    self._engine.stop_now()

        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(stop)

    async def _perform(self, files: list[EvalFile], journal: Journal, factory: WorkerFactory) -> RunOutcome:
        self._loop = asyncio.get_running_loop()
        fold, order = RunFold(), CollectionOrder()
        if self._past.size:
            for event in earlier_events(journal.path, self._past.size):
                fold.handle(event)
        recorded = Recorded(journal, [order, fold, *self._sinks], at_once=self.settings.in_process)
        self._tell_start(recorded)
        settings = self.settings
        engine = Engine(settings, files, _selection(settings), recorded, factory, self._handover, self._past)
        self._engine = engine
        status = "incomplete"
        try:
            for callback in self._posted:
                callback()
            try:
                plan = await engine.plan()
                if settings.collect_only:
                    return self._collected(fold, order)
                if self._is_ours:
                    # The process is ours: what is there now stays, and need not be walked through again and again.
                    gc.freeze()
                status = await engine.execute(plan)
            except InterruptedError:
                status = "interrupted"
        finally:
            await engine.close()
            recorded.tell()
        return self._finish(recorded, fold, order, status, engine)

    def _tell_start(self, recorded: Recorded) -> None:
        settings = self.settings
        recorded.emit(
            events.RunStarted(
                run_id=recorded.journal.run_id,
                root=str(settings.root),
                settings=dict(settings.described()),
                engine_version=__version__,
                part=self._past.parts + 1,
                began_at=self._past.began_at,
                pid=os.getpid(),
                command=as_recorded(settings.command),
                cwd=str(settings.cwd or ""),
                only=settings.only,
            )
        )
        for notice in settings.notices:
            recorded.emit(events.Noticed(text=notice))
        # From here on a run that is killed can be continued.
        recorded.write()

    def _collected(self, fold: RunFold, order: CollectionOrder) -> RunOutcome:
        document = fold.document(verified=False)
        exit_code = ExitCode.GATE_NOT_MET if document.file_errors else ExitCode.OK
        return RunOutcome(exit_code=exit_code, document=document, collected=order.labels)

    def _finish(
        self, recorded: Recorded, fold: RunFold, order: CollectionOrder, status: str, engine: Engine
    ) -> RunOutcome:
        so_far = fold.document(verified=False)
        gate = so_far.gate
        failure = engine.failure
        left = so_far.summary.status_counts.get(Status.NOT_RUN, 0) or so_far.file_errors
        is_cut_off = failure is not None or (engine.is_out_of_time and left)
        exit_code = int(ExitCode.ENGINE_FAILED if is_cut_off else gate.exit_code)
        if self._signals.exit_code is not None:
            status, exit_code = "interrupted", self._signals.exit_code
        recorded.emit(
            events.RunFinished(
                status=status,
                exit_code=exit_code,
                wall_seconds=self._past.wall_seconds + time.monotonic() - self._started,
                reason=failure or "",
                counts={status: count for status, count in so_far.summary.status_counts.items() if count},
                part=self._past.parts + 1,
            )
        )
        recorded.tell()
        document = fold.document(verified=False)
        outcome = RunOutcome(exit_code=exit_code, document=document)
        if self.settings.report:
            try:
                outcome.report_paths = write_pair(
                    self.settings.output_dir,
                    document,
                    lambda: recorded.journal.results(order.keys),
                    timestamped=self.settings.timestamp_files,
                )
            except (EngineError, OSError) as error:
                outcome.report_paths = error.written if isinstance(error, ReportsError) else []
                outcome.exit_code = int(ExitCode.ENGINE_FAILED)
                kept = f"; the results are in {recorded.journal.folder}" if self._journal_root is not None else ""
                outcome.problem = f"{error}{kept}"
        outcome.told = recorded.problems
        fold.document()  # Raises where the verdicts do not add up; the reports to look into are written by then.
        return outcome

    # What signals ask for, where the run is the command line's

    def post(self, callback: Callable[[], None]) -> None:
        """Call back on the run's loop, as soon as there is one; may be called by a signal handler."""
        if self._engine is None or self._loop is None:
            self._posted.append(callback)
            return
        with suppress(RuntimeError):  # The loop is closed: the run is over.
            self._loop.call_soon_threadsafe(callback)

    def stop_in_order(self, reason: str) -> None:
        """Start no further case; those running may finish within the grace."""
        if self._engine is not None:
            self._engine.stop_in_order(reason)

    def stop_now(self) -> None:
        """Cancel what is running."""
        if self._engine is not None:
            self._show(["stopping: running cases are cancelled; one more Ctrl-C ends everything at once"])
            self._engine.stop_now()

    def kill(self) -> str:
        """Kill all workers; return how to go on."""
        if self._engine is not None:
            self._engine.signal_workers(signal.SIGKILL)
        return "; agentflow eval --resume goes on" if self._journal_root is not None else ""

    def tell_state(self) -> None:
        """Show what is running, and for how long."""
        if self._engine is not None:
            self._show(self._engine.state())

    def _show(self, lines: list[str]) -> None:
        if self._show_state is not None:
            self._show_state(lines)

    def suspend(self) -> None:
        """Let the workers stand still, as this process is about to."""
        if self._engine is not None:
            self._engine.signal_workers(signal.SIGSTOP)

    def resume(self, gap_s: float) -> None:
        """Let the workers go on after so many seconds."""
        if self._engine is not None:
            self._engine.clock.skip(gap_s)
            self._engine.signal_workers(signal.SIGCONT)


def _selection(settings: RunSettings) -> Selection:
    if settings.only is not None:
        return Chosen(settings.only, settings.keyword, settings.tags)
    return Selection(settings.keyword, settings.tags)


def _mention_rouge(settings: RunSettings, files: Sequence[EvalFile]) -> bool:
    """Guess from the text of eval files whether their criteria need rouge-score; a wrong guess costs time only."""
    paths = [file.path for file in files]
    if settings.confeval is not None:
        paths.append(settings.confeval)
    return any(_ROUGE.search(_text(path)) for path in paths)


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        # The worker that loads it says so.
        return b""
