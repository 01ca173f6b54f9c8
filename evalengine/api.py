"""Where the parts are wired: a run for the command line, and the Python API.

``run`` takes settled settings and tells its sinks everything. ``evaluate``, ``evaluate_async`` and
``evaluate_stream`` take an agent and an eval set as objects. A caller's agent, and what it closes over, reaches
the workers by cloudpickle; nothing that workers send is ever unpickled. In the caller's process no signal handler
is set, and the run has a thread and a loop of its own, so that a notebook's loop is not in the way.
"""

import asyncio
import atexit
import os
import queue
import sys
import tempfile
import threading
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evalengine import events
from evalengine.cases import EvalSet
from evalengine.config import EvalConfig
from evalengine.continuing import Start
from evalengine.engine.boot import INHERITED_MARK
from evalengine.engine.process import Host
from evalengine.engine.run import Handover
from evalengine.errors import EngineError, NoCasesError, UsageError
from evalengine.events import RunEvent
from evalengine.journal.runs import Continued
from evalengine.records import GeneratedId
from evalengine.rendering import Target, render
from evalengine.report.outcome import RunOutcome
from evalengine.report.sink import Sink
from evalengine.results import EvalCaseResult, EvalReport
from evalengine.session import Session
from evalengine.settings import CommandLine, RunSettings
from evalengine.targets import EvalFile, find_files


def run(
    start: Start,
    sinks: Sequence[Sink],
    *,
    signals: bool = True,
    tell_state: Callable[[list[str]], None] | None = None,
    host: Host | None = None,
) -> RunOutcome:
    """Run ``agentflow eval`` as :func:`evalengine.continuing.prepare` settled it; sinks hear every event.

    ``tell_state`` shows lines to somebody who asked by a signal where the run stands; ``host`` carries the worker
    of a run without isolation. Raises UsageError for what cannot be meant, NoCasesError where there is nothing to
    run, EngineError where the engine cannot finish.
    """
    settings = start.settings
    if start.continued is not None and start.only_render:
        return _rendered(settings, start.continued, sinks)
    session = Session(
        settings,
        sinks,
        journal_root=settings.root,
        signals=signals,
        continued=start.continued,
        tell_state=tell_state,
        host=host,
    )
    return session.perform(lambda: find_files(settings, start.cwd))


def _rendered(settings: RunSettings, over: Continued, sinks: Sequence[Sink]) -> RunOutcome:
    target = Target(
        folder=settings.output_dir if settings.report else None,
        timestamped=settings.timestamp_files,
        settings=settings.described(),
    )
    try:
        return render(over.journal.path, over.past, target, sinks)
    finally:
        over.journal.close()


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
    if not any(each.eval_cases for each in sets):
        raise NoCasesError(f"no eval cases in {', '.join(repr(each.name) for each in sets) or 'an empty list'}")
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
        try:
            return [EvalSet.from_file(Path(eval_set))]
        except OSError as error:
            msg = f"the eval set {os.fspath(eval_set)!r} cannot be read: {error.strerror or error}"
            raise UsageError(msg) from None
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
        self._session = Session(settings, [self._results], journal_root=None, handover=handover)
        self._thread = threading.Thread(target=self._perform, name="evalengine-run", daemon=True)
        self._thread.start()
        _running.add(self)

    def _perform(self) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="evalengine-") as folder:
                files = _written_sets(self._sets, Path(folder))
                self._items.put(_Finished(outcome=self._session.perform(lambda: files)))
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
        if outcome.problem is not None:
            # The results are worth more than the files: they are given all the same.
            warnings.warn(outcome.problem, RuntimeWarning, stacklevel=3)
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
            self._session.stop(now=True)

    def _settle(self) -> None:
        """Stop the run, and wait until its processes are gone."""
        self.close()
        self._thread.join(_MOST_WAIT_AT_EXIT_S)


_MOST_WAIT_AT_EXIT_S = 10.0
_running: weakref.WeakSet[ResultStream] = weakref.WeakSet()


@atexit.register
def _settle_streams() -> None:
    """End the runs that an interrupted caller left behind, before the interpreter and multiprocess end theirs."""
    for stream in list(_running):
        stream._settle()  # noqa: SLF001


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
