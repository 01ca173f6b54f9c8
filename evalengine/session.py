"""One run from files to reports: journal, sinks, engine, signals and the reports at the end, wired together."""

import asyncio
import gc
import re
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime
from pathlib import Path

import msgspec

from evalengine import events
from evalengine._version import __version__
from evalengine.engine.process import ProcessFactory
from evalengine.engine.recorded import Recorded
from evalengine.engine.run import Engine, Handover
from evalengine.errors import EngineError, ExitCode
from evalengine.events import RunEvent
from evalengine.journal import Journal
from evalengine.report.files import release, report_paths
from evalengine.report.sink import Sink
from evalengine.report.summary import RunDocument, RunFold
from evalengine.results import EvalCaseResult
from evalengine.selection import Selection
from evalengine.settings import RunSettings
from evalengine.signals import Signals
from evalengine.targets import EvalFile

_ROUGE = re.compile(rb"rouge|quick_check|comprehensive", re.IGNORECASE)
"""What an eval file says that has ROUGE judge, itself or by a preset."""


class RunOutcome(msgspec.Struct):
    """How a run ended."""

    exit_code: int
    document: RunDocument
    report_paths: list[Path] = []
    collected: list[str] = []
    """Labels in the order they would run, where the run only collects."""
    problem: str | None = None
    """Why reports are missing, where they are; the exit code says so, too."""
    told: list[str] = []
    """Faults of our own that cost nothing but what was told of the run."""


class _Order:
    """The sink that remembers the order of collection, for reports."""

    def __init__(self) -> None:
        self._planned: list[tuple[int, int, int]] = []
        self.labels: list[str] = []

    @property
    def keys(self) -> list[tuple[int, int]]:
        """The (case, repeat) of each result, in the order of collection, also where another order ran."""
        return [(case, repeat) for _, case, repeats in sorted(self._planned) for repeat in range(repeats)]

    def handle(self, event: RunEvent, result: EvalCaseResult | None = None) -> None:  # noqa: ARG002
        """Note each planned case."""
        if isinstance(event, events.CasePlanned):
            self.labels.append(event.label)
            self._planned.append((event.collected, event.case, event.repeats))

    def flush(self) -> None:
        """Keep nothing back."""


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
        tell_state: Callable[[list[str]], None] | None = None,
    ) -> None:
        """``signals``: the process is ours, and so are its signals; ``tell_state`` shows lines to who asks."""
        self.settings = settings
        self._sinks = sinks
        self._journal_root = journal_root
        self._handover = handover
        self._is_ours = signals
        self._show_state = tell_state
        self._signals = Signals(self)
        self._journal: Journal | None = None
        self._engine: Engine | None = None
        self._posted: list[Callable[[], None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = time.monotonic()

    def perform(self, find: Callable[[], list[EvalFile]]) -> RunOutcome:
        """Run to the end; raises what kept it from starting."""
        with self._signals.installed() if self._is_ours else nullcontext():
            return self._perform_heeded(find)

    def _perform_heeded(self, find: Callable[[], list[EvalFile]]) -> RunOutcome:
        files = find()
        factory = ProcessFactory(preload_rouge=_mention_rouge(self.settings, files))
        # The fork server comes up while the run is prepared.
        factory.warm()
        try:
            journal = Journal.create(self._journal_root)
            try:
                return asyncio.run(self._perform(files, journal, factory), debug=False)
            finally:
                journal.close()
        finally:
            factory.close()

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

    async def _perform(self, files: list[EvalFile], journal: Journal, factory: ProcessFactory) -> RunOutcome:
        self._loop = asyncio.get_running_loop()
        fold, order = RunFold(), _Order()
        self._journal = journal
        recorded = Recorded(journal, [order, fold, *self._sinks])
        self._tell_start(recorded)
        settings = self.settings
        selection = Selection(keyword=settings.keyword, tags=settings.tags)
        engine = Engine(settings, files, selection, recorded, factory, self._handover)
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
        return self._finish(recorded, fold, order, status, engine.failure)

    def _tell_start(self, recorded: Recorded) -> None:
        settings = self.settings
        recorded.emit(
            events.RunStarted(
                run_id=recorded.journal.run_id,
                root=str(settings.root),
                settings=dict(settings.described()),
                engine_version=__version__,
            )
        )
        for notice in settings.notices:
            recorded.emit(events.Noticed(text=notice))

    def _collected(self, fold: RunFold, order: _Order) -> RunOutcome:
        document = fold.document(verified=False)
        exit_code = ExitCode.GATE_NOT_MET if document.file_errors else ExitCode.OK
        return RunOutcome(exit_code=exit_code, document=document, collected=order.labels)

    def _finish(
        self, recorded: Recorded, fold: RunFold, order: _Order, status: str, failure: str | None
    ) -> RunOutcome:
        gate = fold.document(verified=False).gate
        exit_code = int(gate.exit_code) if failure is None else int(ExitCode.ENGINE_FAILED)
        if self._signals.exit_code is not None:
            status, exit_code = "interrupted", self._signals.exit_code
        recorded.emit(
            events.RunFinished(
                status=status,
                exit_code=exit_code,
                wall_seconds=time.monotonic() - self._started,
                reason=failure or "",
            )
        )
        recorded.tell()
        document = fold.document(verified=False)
        outcome = RunOutcome(exit_code=exit_code, document=document)
        if self.settings.report:
            self._report(recorded.journal, outcome, order)
        outcome.told = recorded.problems
        fold.document()  # Raises where the verdicts do not add up; the reports to look into are written by then.
        return outcome

    def _report(self, journal: Journal, outcome: RunOutcome, order: _Order) -> None:
        """Write the reports; one that cannot be written costs neither the results nor the other."""
        problems: list[str] = []
        try:
            outcome.report_paths = self._written(journal, outcome.document, order, problems)
        except (EngineError, OSError) as error:
            problems.append(str(error))
        if problems:
            outcome.exit_code = int(ExitCode.ENGINE_FAILED)
            kept = f"; the results are in {journal.folder}" if self._journal_root is not None else ""
            outcome.problem = f"{'; '.join(problems)}{kept}"

    def _written(self, journal: Journal, document: RunDocument, order: _Order, problems: list[str]) -> list[Path]:
        from evalengine.report.html_page import write_html
        from evalengine.report.json_file import write_json

        settings = self.settings
        html, json = report_paths(
            settings.output_dir,
            document.eval_set_name or document.eval_set_id,
            datetime.now().astimezone(),
            settings.timestamp_files,
        )
        written: list[Path] = []
        for path, write in ((json, write_json), (html, write_html)):
            try:
                write(path, document, journal.results(order.keys))
                written.insert(0, path)
            except (EngineError, OSError) as error:
                problems.append(str(error))
            except Exception as error:  # noqa: BLE001 - a fault of ours, told like any other
                problems.append(f"report not made: {path}: {type(error).__name__}: {error}")
        release([html, json])
        return written

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
        """Kill all workers; return where the results are."""
        if self._engine is not None:
            self._engine.signal_workers(signal.SIGKILL)
        return f"; the results are in {self._journal.folder}" if self._journal is not None else ""

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
