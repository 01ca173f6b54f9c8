"""A run in numbers and facts: the fold of the event stream that every written report starts from.

Rules: it keeps no result, only what is counted of it, so its memory is a few hundred bytes a case. Every planned
(case, repeat) has exactly one verdict; where that does not hold, the document is refused, never rounded.
"""

from collections.abc import Callable  # noqa: TC003 - an annotation like any other
from typing import Any

import msgspec

from evalengine.errors import CountsDoNotAddUpError, ExitCode
from evalengine.events import (
    CaseFinished,
    FileDiscovered,
    FileErrored,
    Noticed,
    PlanCompleted,
    RunEvent,
    RunFinished,
    RunStarted,
    RunStopping,
    WorkerLost,
    WorkerStarted,
    WorkerStopped,
)
from evalengine.records import Record
from evalengine.report.gate import Gate, verdict
from evalengine.results import EvalCaseResult, EvalSummary, FileError, Tally

SCHEMA_VERSION = 1
"""Of the JSON report. Grows when a key changes its meaning or goes; new keys leave it as it is."""

decode_result = msgspec.json.Decoder(EvalCaseResult).decode


class FileReport(Record, kw_only=True):
    """An eval file that was loaded: who configured its criteria, and what came of its discovery."""

    label: str
    path: str
    source: str
    criteria: dict[str, dict[str, Any]] = {}
    cases: int = 0
    warnings: list[str] = []
    skipped: bool = False
    output: str = ""
    timeout_s: float | None = None
    max_concurrency: int | None = None


class WorkerReport(Record, kw_only=True):
    """One worker process. ``lost`` says what it died of, where it was not told to end."""

    id: int
    pid: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    lost: str | None = None
    in_flight: list[str] = []
    """Labels of the cases it was running when it was lost."""


class RunDocument(Record, kw_only=True):
    """The JSON report without its ``results``: the framework's keys first, in its order, then ours."""

    eval_set_id: str = ""
    eval_set_name: str = ""
    # ``results`` stand here in the file.
    summary: EvalSummary = msgspec.field(default_factory=EvalSummary)
    config_used: dict[str, Any] = {}
    timestamp: float = 0.0
    metadata: dict[str, Any] = {}
    # Ours from here on.
    schema_version: int = SCHEMA_VERSION
    status: str = "incomplete"
    """``complete``, ``stopped``, ``interrupted`` or ``incomplete``."""
    exit_code: int = ExitCode.ENGINE_FAILED
    reason: str = ""
    run_id: str = ""
    engine_version: str = ""
    root: str = ""
    settings: dict[str, Any] = {}
    """Name to ``{"value", "source"}``."""
    gate: Gate = msgspec.field(default_factory=lambda: Gate(met=False, text="", exit_code=ExitCode.ENGINE_FAILED))
    deselected: int = 0
    file_errors: list[FileError] = []
    files: list[FileReport] = []
    workers: list[WorkerReport] = []
    notices: list[str] = []


class RunFold:
    """The sink that counts a run. ``document()`` may be asked at any time; it is whole after RunFinished."""

    def __init__(self) -> None:
        self._document = RunDocument()
        self._tally = Tally()
        self._seen: set[tuple[int, int]] = set()
        self._twice: list[str] = []
        self._planned: int | None = None
        self._finished = False
        self._wall_seconds = 0.0
        self._take: dict[type, Callable[[Any], None]] = {
            RunStarted: self._run_started,
            FileDiscovered: self._file_discovered,
            FileErrored: self._file_errored,
            PlanCompleted: self._plan_completed,
            WorkerStarted: self._worker_started,
            WorkerStopped: self._worker_stopped,
            WorkerLost: self._worker_lost,
            Noticed: lambda event: self._document.notices.append(event.text),
            RunStopping: self._run_stopping,
            RunFinished: self._run_finished,
        }

    def handle(self, event: RunEvent, result: EvalCaseResult | None = None) -> None:
        """Take one event; of a CaseFinished the result is decoded where it is not given."""
        if isinstance(event, CaseFinished):
            self._case_finished(event, result or decode_result(event.result))
            return
        take = self._take.get(type(event))
        if take is not None:
            take(event)

    def flush(self) -> None:
        """Do nothing: a fold keeps nothing back."""

    def document(self, *, verified: bool = True) -> RunDocument:
        """Return what is known of the run.

        Raises CountsDoNotAddUpError where a finished run has another number of verdicts than it planned, or
        two for one case; ``verified=False`` gives the document all the same, for a report that says so.
        """
        if verified:
            self._verify()
        document = self._document
        document.summary = self._tally.summary(self._wall_seconds)
        document.metadata = {
            "criteria_by_file": {
                file.label: {"source": file.source, "criteria": file.criteria} for file in document.files
            }
        }
        document.gate = verdict(
            document.summary,
            len(document.file_errors),
            self._setting("threshold"),
            bool(self._setting("fail_on_any")),
        )
        return document

    def _verify(self) -> None:
        if self._twice:
            msg = f"more than one verdict for {self._twice[0]} (of {len(self._twice)} such cases)"
            raise CountsDoNotAddUpError(msg)
        if self._finished and self._planned is not None and self._planned != self._tally.planned:
            counts = {status.value: count for status, count in self._tally.counts.items() if count}
            msg = f"{self._planned} cases were planned, but {self._tally.planned} have a verdict: {counts}"
            raise CountsDoNotAddUpError(msg)

    def _setting(self, name: str) -> Any:
        entry = self._document.settings.get(name)
        return entry.get("value") if isinstance(entry, dict) else None

    def _case_finished(self, event: CaseFinished, result: EvalCaseResult) -> None:
        key = (event.case, event.repeat)
        if key in self._seen:
            self._twice.append(event.label)
            return
        self._seen.add(key)
        self._tally.add(result)

    def _run_started(self, event: RunStarted) -> None:
        document = self._document
        document.run_id, document.root = event.run_id, event.root
        document.engine_version, document.settings = event.engine_version, dict(event.settings)
        document.timestamp = event.began_at or event.at

    def _file_discovered(self, event: FileDiscovered) -> None:
        self._document.files.append(
            FileReport(
                label=event.label,
                path=event.path,
                source=event.source,
                criteria=event.criteria,
                cases=event.cases,
                warnings=event.warnings,
                skipped=event.skipped,
                output=event.output,
                timeout_s=event.timeout_s,
                max_concurrency=event.max_concurrency,
            )
        )

    def _file_errored(self, event: FileErrored) -> None:
        error = FileError(file=event.label, error=event.error, traceback=event.traceback, output=event.output)
        self._document.file_errors.append(error)

    def _plan_completed(self, event: PlanCompleted) -> None:
        document = self._document
        self._planned = event.planned
        document.deselected = event.deselected
        document.eval_set_id, document.eval_set_name = event.eval_set_id, event.eval_set_name
        document.config_used = event.config_used

    def _worker_started(self, event: WorkerStarted) -> None:
        self._document.workers.append(WorkerReport(id=event.worker, pid=event.pid, started_at=event.at))

    def _worker_stopped(self, event: WorkerStopped) -> None:
        self._living(event.worker).ended_at = event.at

    def _worker_lost(self, event: WorkerLost) -> None:
        worker = self._living(event.worker)
        worker.pid = worker.pid if event.pid is None else event.pid
        worker.ended_at, worker.lost, worker.in_flight = event.at, event.cause, event.in_flight

    def _living(self, worker: int) -> WorkerReport:
        """Return the process of that worker that has not ended; one that never came up gets its entry now."""
        for entry in reversed(self._document.workers):
            if entry.id == worker and entry.ended_at is None:
                return entry
        entry = WorkerReport(id=worker)
        self._document.workers.append(entry)
        return entry

    def _run_stopping(self, event: RunStopping) -> None:
        self._document.reason = self._document.reason or event.reason

    def _run_finished(self, event: RunFinished) -> None:
        document = self._document
        self._finished = True
        self._wall_seconds = event.wall_seconds
        document.status, document.exit_code = event.status, event.exit_code
        document.reason = event.reason or document.reason
