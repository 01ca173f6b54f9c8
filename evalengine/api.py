"""Where the parts are wired: a run for the command line, and the Python API.

``run`` takes settled settings and tells its sinks everything. ``evaluate``, ``evaluate_async`` and
``evaluate_stream`` take an agent and an eval set as objects. A caller's agent, and what it closes over, reaches
the workers by cloudpickle; nothing that workers send is ever unpickled. In the caller's process no signal handler
is set, and the run has a thread and a loop of its own, so that a notebook's loop is not in the way.
"""

import asyncio
import os
import queue
import signal
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from evalengine import events
from evalengine._version import __version__
from evalengine.cases import EvalSet
from evalengine.config import EvalConfig
from evalengine.engine.boot import INHERITED_MARK
from evalengine.engine.process import ProcessFactory
from evalengine.engine.recorded import Recorded
from evalengine.engine.run import Engine, Handover
from evalengine.errors import EngineError, ExitCode, UsageError
from evalengine.events import RunEvent
from evalengine.journal import Journal
from evalengine.records import GeneratedId
from evalengine.report.files import release, report_paths
from evalengine.report.sink import Sink
from evalengine.report.summary import RunDocument, RunFold
from evalengine.results import EvalCaseResult, EvalReport
from evalengine.selection import Selection
from evalengine.settings import CommandLine, RunSettings
from evalengine.targets import EvalFile, find_files

INTERRUPT_GRACE_S = 5.0
"""How long running cases may go on after the first Ctrl-C."""

_EXIT_BY_SIGNAL = {
    signal.SIGINT: ExitCode.INTERRUPTED,
    signal.SIGTERM: ExitCode.TERMINATED,
}
if hasattr(signal, "SIGHUP"):
    _EXIT_BY_SIGNAL[signal.SIGHUP] = ExitCode.HANGUP


class RunOutcome(msgspec.Struct):
    """How a run ended."""

    exit_code: int
    document: RunDocument
    report_paths: list[Path] = []
    collected: list[str] = []
    """Labels in the order they would run, where the run only collects."""


class _Order:
    """The sink that remembers the order of collection, for reports."""

    def __init__(self) -> None:
        self.keys: list[tuple[int, int]] = []
        self.labels: list[str] = []

    def handle(self, event: RunEvent, result: EvalCaseResult | None = None) -> None:  # noqa: ARG002
        """Note each planned case."""
        if isinstance(event, events.CasePlanned):
            self.labels.append(event.label)
            self.keys += [(event.case, repeat) for repeat in range(event.repeats)]

    def flush(self) -> None:
        """Keep nothing back."""


class _Run:
    """One run with its journal, sinks and reports; performs on whatever thread calls it."""

    def __init__(
        self,
        settings: RunSettings,
        sinks: Sequence[Sink],
        *,
        journal_root: Path | None,
        handover: Handover | None = None,
        signals: bool = False,
    ) -> None:
        self.settings = settings
        self._sinks = sinks
        self._journal_root = journal_root
        self._handover = handover
        self._signals = signals
        self._signal: int | None = None
        self._engine: Engine | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = time.monotonic()

    def perform(self, find: Callable[[], list[EvalFile]]) -> RunOutcome:
        """Run to the end; raises what kept it from starting."""
        factory = ProcessFactory()
        # The fork server comes up while files are looked for.
        factory.warm()
        try:
            files = find()
            journal = Journal.create(self._journal_root)
            try:
                return asyncio.run(self._perform(files, journal, factory))
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
        recorded = Recorded(journal, [order, fold, *self._sinks])
        self._tell_start(recorded)
        settings = self.settings
        selection = Selection(keyword=settings.keyword, tags=settings.tags)
        engine = Engine(settings, files, selection, recorded, factory, self._handover)
        self._engine = engine
        status = "incomplete"
        try:
            self._listen_to_signals()
            try:
                plan = await engine.plan()
                if settings.collect_only:
                    return self._collected(fold, order)
                status = await engine.execute(plan)
            except InterruptedError:
                status = "interrupted"
        finally:
            await engine.close()
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
        exit_code = int(fold.document().gate.exit_code) if failure is None else int(ExitCode.ENGINE_FAILED)
        if self._signal is not None:
            status, exit_code = "interrupted", int(_EXIT_BY_SIGNAL[signal.Signals(self._signal)])
        recorded.emit(
            events.RunFinished(status=status, exit_code=exit_code, wall_seconds=time.monotonic() - self._started)
        )
        document = fold.document()
        paths = self._write_reports(recorded.journal, document, order) if self.settings.report else []
        return RunOutcome(exit_code=exit_code, document=document, report_paths=paths)

    def _write_reports(self, journal: Journal, document: RunDocument, order: _Order) -> list[Path]:
        from evalengine.report.html_page import write_html
        from evalengine.report.json_file import write_json

        settings = self.settings
        html, json = report_paths(
            settings.output_dir,
            document.eval_set_name or document.eval_set_id,
            datetime.now().astimezone(),
            settings.timestamp_files,
        )
        try:
            write_json(json, document, journal.results(order.keys))
            write_html(html, document, journal.results(order.keys))
        finally:
            release([html, json])
        return [html, json]

    # Signals, where the run is the command line's

    def _listen_to_signals(self) -> None:
        if not self._signals or self._loop is None:
            return
        for signum in _EXIT_BY_SIGNAL:
            with suppress(NotImplementedError, RuntimeError, ValueError):
                self._loop.add_signal_handler(signum, self._signalled, signum)

    def _signalled(self, signum: int) -> None:
        assert self._engine is not None
        assert self._loop is not None
        if self._signal is None:
            self._signal = signum
            self._engine.stop(f"{signal.Signals(signum).name}: no further case is started")
            self._loop.call_later(INTERRUPT_GRACE_S, self._engine.stop_now)
        else:
            self._engine.stop_now()


def run(settings: RunSettings, sinks: Sequence[Sink], *, cwd: Path, signals: bool = True) -> RunOutcome:
    """Run ``agentflow eval`` under settled settings; sinks hear every event.

    Raises UsageError for what cannot be meant, NoCasesError where there is nothing to run, EngineError where
    the engine cannot finish.
    """
    one_run = _Run(settings, sinks, journal_root=settings.root, signals=signals)
    return one_run.perform(lambda: find_files(settings, cwd))


# The Python API


def evaluate(agent: Any, eval_set: Any, **options: Any) -> EvalReport:
    """Evaluate an agent on an eval set, and return the report.

    ``agent`` is a function, an object with ``ainvoke`` or ``invoke``, or ``"module:attr"``; ``eval_set`` an
    EvalSet, several, or the path of a JSON file. Options: ``config`` (an EvalConfig; else the built-in criteria),
    ``workers`` (processes; else the cores this process may use), ``max_concurrency`` (cases in flight over all
    workers; else the config's, else 4), ``timeout`` (seconds a case), ``threshold`` (least pass rate of the gate),
    ``max_failures``, ``output_dir`` (writes both reports there; else none is written), ``root`` (the project
    root, put on the workers' path; else the working directory).

    Works without a ``__main__`` guard, and where a loop is running, as in a notebook. Raises UsageError for what
    cannot be meant, EngineError where the engine cannot finish.
    """
    stream = evaluate_stream(agent, eval_set, **options)
    try:
        for _ in stream:
            pass
    except BaseException:
        stream.close()
        raise
    return stream.report()


async def evaluate_async(agent: Any, eval_set: Any, **options: Any) -> EvalReport:
    """Evaluate as :func:`evaluate` does, without blocking the loop that awaits it."""
    stream = evaluate_stream(agent, eval_set, **options)
    try:
        async for _ in stream:
            pass
    except BaseException:
        stream.close()
        raise
    return await asyncio.to_thread(stream.report)


def evaluate_stream(
    agent: Any,
    eval_set: Any,
    *,
    config: Any = None,
    workers: int | None = None,
    max_concurrency: int | None = None,
    timeout: float | None = None,
    threshold: float | None = None,
    max_failures: int | None = None,
    output_dir: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
) -> "ResultStream":
    """Evaluate as :func:`evaluate` does, and give each EvalCaseResult as its case finishes.

    The stream is read by ``for`` or by ``async for``; ``report()`` waits for the end; ``close()`` stops the run.
    """
    if os.environ.get(INHERITED_MARK) == str(os.getpid()):
        msg = "evaluate() was called inside a worker process; an evaluation cannot be nested in a case"
        raise UsageError(msg)
    from evalengine import foreign
    from evalengine.settings import resolve

    sets = _as_sets(eval_set)
    eval_config = foreign.as_eval_config(config) if config is not None else None
    if max_concurrency is None and eval_config is not None:
        max_concurrency = eval_config.max_concurrency
    command_line = CommandLine(
        parallel=True,
        workers=workers,
        max_concurrency=max_concurrency,
        timeout=timeout,
        threshold=threshold,
        max_failures=max_failures,
        output=str(output_dir) if output_dir is not None else None,
        report=output_dir is not None,
    )
    project = Path(root or Path.cwd()).resolve()
    settings = resolve(command_line, project, {}, read_project=False)
    handover = _hand_over(agent, eval_config, settings)
    return ResultStream(settings, sets, handover)


def _as_sets(eval_set: Any) -> list[EvalSet]:
    from evalengine import foreign

    if isinstance(eval_set, str | os.PathLike):
        return [EvalSet.from_file(Path(eval_set))]
    if isinstance(eval_set, list | tuple):
        return [foreign.as_eval_set(item) for item in eval_set]
    return [foreign.as_eval_set(eval_set)]


def _hand_over(agent: Any, config: EvalConfig | None, settings: RunSettings) -> Handover:
    import cloudpickle

    custom = list(config.criteria.custom) if config is not None else []
    handover = Handover(sys_path=[entry for entry in sys.path if entry])
    if isinstance(agent, str):
        settings.agent, settings.agent_source = agent, "the caller"
    else:
        handover.agent = _pickled(cloudpickle, agent, "the agent")
    if config is not None:
        handover.config = msgspec.msgpack.encode({**config.model_dump(), "criteria": _without_custom(config)})
    if custom:
        handover.custom = _pickled(cloudpickle, custom, "the custom criteria")
    return handover


def _without_custom(config: EvalConfig) -> dict[str, Any]:
    return {**config.criteria.model_dump(), "custom": []}


def _pickled(cloudpickle: Any, value: Any, what: str) -> bytes:
    try:
        data: bytes = cloudpickle.dumps(value)
    except Exception as error:
        msg = (
            f"{what} cannot be sent to worker processes: {type(error).__name__}: {error}; "
            'make it from plain values, or give it as "module:attr"'
        )
        raise UsageError(msg) from error
    return data


class _Finished(msgspec.Struct):
    """The end of the stream: the outcome, or what was raised instead."""

    outcome: RunOutcome | None = None
    error: BaseException | None = None


class _Results:
    """The sink that passes each verdict on to the stream, and keeps it for the report."""

    def __init__(self, items: "queue.SimpleQueue[EvalCaseResult | _Finished]") -> None:
        self._items = items
        self.by_place: dict[tuple[int, int], EvalCaseResult] = {}

    def handle(self, event: RunEvent, result: EvalCaseResult | None = None) -> None:
        """Pass on a verdict."""
        if isinstance(event, events.CaseFinished) and result is not None:
            self.by_place[event.case, event.repeat] = result
            self._items.put(result)

    def flush(self) -> None:
        """Keep nothing back."""


class ResultStream:
    """The results of a run as they come, by ``for`` or ``async for``."""

    def __init__(self, settings: RunSettings, sets: list[EvalSet], handover: Handover) -> None:
        self._items: queue.SimpleQueue[EvalCaseResult | _Finished] = queue.SimpleQueue()
        self._results = _Results(self._items)
        self._sets = sets
        self._end: _Finished | None = None
        self._run = _Run(settings, [self._results], journal_root=None, handover=handover)
        self._thread = threading.Thread(target=self._perform, name="evalengine-run", daemon=True)
        self._thread.start()

    def _perform(self) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="evalengine-") as folder:
                files = _written_sets(self._sets, Path(folder))
                self._items.put(_Finished(outcome=self._run.perform(lambda: files)))
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            self._items.put(_Finished(error=error))

    def __iter__(self) -> Iterator[EvalCaseResult]:
        while (item := self._next()) is not None:
            yield item

    async def __aiter__(self) -> AsyncIterator[EvalCaseResult]:
        while (item := await asyncio.to_thread(self._next)) is not None:
            yield item

    def _next(self) -> EvalCaseResult | None:
        if self._end is None:
            item = self._items.get()
            if not isinstance(item, _Finished):
                return item
            self._end = item
        if self._end.error is not None:
            raise self._end.error
        return None

    def report(self) -> EvalReport:
        """Wait for the end of the run, and return its report; raises what kept the run from finishing."""
        while self._next() is not None:
            pass
        self._thread.join()
        assert self._end is not None
        outcome = self._end.outcome
        assert outcome is not None
        document = outcome.document
        if document.file_errors:
            raise UsageError(document.file_errors[0].error)
        results = [result for _, result in sorted(self._results.by_place.items())]
        return EvalReport(
            eval_set_id=document.eval_set_id,
            eval_set_name=document.eval_set_name,
            results=results,
            summary=document.summary,
            config_used=document.config_used,
            timestamp=document.timestamp,
            metadata={**document.metadata, "report_paths": [str(path) for path in outcome.report_paths]},
            status=document.status,
            exit_code=int(outcome.exit_code),
            file_errors=document.file_errors,
        )

    def close(self) -> None:
        """Stop the run; what has not run is ``not_run``."""
        if self._end is None:
            self._run.stop(now=True)


def _written_sets(sets: Sequence[EvalSet], folder: Path) -> list[EvalFile]:
    """Hand eval sets to the workers the way files are: as JSON, ids that were drawn left out."""
    files: list[EvalFile] = []
    for number, eval_set in enumerate(sets, start=1):
        label = eval_set.name or f"eval_set_{number}"
        if any(file.label == label for file in files):
            label = f"{label}#{number}"
        path = folder / f"{number}.evalset.json"
        path.write_bytes(msgspec.json.encode(_without_drawn_ids(eval_set)))
        files.append(EvalFile(path=path, label=label, kind="json"))
    return files


def _without_drawn_ids(eval_set: EvalSet) -> dict[str, Any]:
    plain = eval_set.model_dump()
    if isinstance(eval_set.eval_set_id, GeneratedId):
        del plain["eval_set_id"]
    for case, data in zip(eval_set.eval_cases, plain["eval_cases"], strict=True):
        if isinstance(case.eval_id, GeneratedId):
            del data["eval_id"]
    return plain


__all__ = [
    "EngineError",
    "ResultStream",
    "RunOutcome",
    "evaluate",
    "evaluate_async",
    "evaluate_stream",
    "run",
]
