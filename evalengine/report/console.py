"""The terminal: case lines as they come, then failures, results and where the reports are.

Rules: a line is ``[ 3/50] file::case  PASSED  2.10s``, its number the case's place in the pool. Standard output
has case lines, failures, results and paths; bar, notices and warnings go to standard error. Nothing that happens
to a stream reaches the run. Of a passed case nothing is kept; of the others, the text of the first few.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import msgspec

from evalengine.events import (
    CaseFinished,
    CasePlanned,
    CaseRequeued,
    CaseRetried,
    CaseStarted,
    FileDiscovered,
    FileErrored,
    Noticed,
    PlanCompleted,
    RunEvent,
    RunStopping,
    WorkerLost,
)
from evalengine.report.bar import Bar
from evalengine.report.case_lines import CaseLines
from evalengine.report.criteria_text import criteria_lines
from evalengine.report.failure import render_failure, render_file_error
from evalengine.report.footer import footer_lines, warning_lines
from evalengine.report.paint import BOLD, RED, YELLOW, Paint, is_terminal, wants_color
from evalengine.report.plain_text import clip, one_line
from evalengine.report.stream import PATIENCE_S, TERMINAL_PATIENCE_S, Glimpses, SafeStream
from evalengine.report.summary import RunDocument
from evalengine.results import EvalCaseResult, Status

_FAILURES = 20
"""Failures told in full; ``-v`` tells all."""

_BATCH = 512
"""Lines that are written even if nobody asks for a flush."""

_decode_result = msgspec.json.Decoder(EvalCaseResult).decode


class Console:
    """The sink of the terminal.

    ``out`` takes case lines, failures, results and report paths, ``err`` the bar, notices and warnings; None
    stands for a closed stream. ``verbosity`` is -1, 0 or 1. ``color`` and ``progress`` None: as the streams and
    the environment suggest. ``folder`` is what the header says was searched.
    """

    def __init__(
        self,
        out: TextIO | None,
        err: TextIO | None,
        *,
        verbosity: int = 0,
        color: bool | None = None,
        progress: bool | None = None,
        folder: str = "",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        environ = os.environ if environ is None else environ
        self._out, self._err = SafeStream(out), SafeStream(err)
        self._is_terminal = is_terminal(out)
        self._bar_stream = err if (is_terminal(err) if progress is None else progress) else None
        self._paint = Paint(wants_color(out, environ) if color is None else color)
        self._err_paint = Paint(wants_color(err, environ) if color is None else color)
        self._verbosity, self._folder = verbosity, folder
        self._lines = CaseLines(self._paint, verbosity)
        self._files: list[FileDiscovered] = []
        self._failures: dict[tuple[int, int], list[str]] = {}
        self._failed = self._done = self._running = 0
        self._bar: Bar | None = None
        self._take: dict[type, Callable[[Any], None]] = {
            FileDiscovered: self._file_discovered,
            FileErrored: self._file_errored,
            CasePlanned: self._lines.plan,
            PlanCompleted: self._plan_completed,
            CaseStarted: self._case_started,
            CaseRequeued: self._case_requeued,
            CaseRetried: self._case_retried,
            WorkerLost: self._worker_lost,
            Noticed: lambda event: self._say("notice", event.text),
            RunStopping: lambda event: self._say("stopping", event.reason),
        }

    def handle(self, event: RunEvent, result: EvalCaseResult | None = None) -> None:
        """Take one event; what it has to say is written at the next :meth:`flush`."""
        if isinstance(event, CaseFinished):
            self._case_finished(event, result)
            return
        take = self._take.get(type(event))
        if take is not None:
            take(event)

    def flush(self) -> None:
        """Write what is due and bring the bar up to date; call it once per batch of events."""
        if self._bar is None:
            self._write()
        elif self._out.pending or self._err.pending:
            with self._bar.aside():
                self._write()
        if self._bar is not None:
            self._bar.advance(self._done, f"{self._failed} not passed, {max(self._running, 0)} running")

    def finish(self, document: RunDocument, paths: Sequence[Path] = ()) -> None:
        """Write failures, results, gate and report paths, and take the bar away."""
        self.flush()
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        if self._verbosity >= 0:
            self._out.line()
        self._tell_failures()
        self._tell_file_errors(document)
        for line in footer_lines(document, paths, self._paint, self._verbosity):
            self._out.line(line)
        self._out.settle(TERMINAL_PATIENCE_S if self._is_terminal else PATIENCE_S)
        if self._out.lost_lines:
            self._say("warning", f"{self._out.lost_lines} lines of output were left out: nobody read them in time")
        for line in warning_lines(document):
            self._err.line(self._err_paint(line, YELLOW))
        self.settle()

    def tell_state(self, lines: Sequence[str]) -> None:
        """Write lines that somebody asked for just now, where they are not in the way of the output."""
        for line in lines:
            self._err.line(one_line(line))
        self.flush()

    def settle(self) -> None:
        """Write the rest of what there is to say, as far as somebody reads."""
        patience_s = TERMINAL_PATIENCE_S if self._is_terminal else PATIENCE_S
        self._out.settle(patience_s)
        # Who did not read the one will not read the other.
        self._err.settle(1.0 if self._out.lost_lines else patience_s)
        self._out.close()
        self._err.close()

    def _write(self) -> None:
        self._out.offer()
        self._err.offer()

    def _say(self, kind: str, text: str) -> None:
        self._err.line(f"{self._err_paint(f'{kind}:', YELLOW)} {clip(one_line(text), 500)}")

    def _file_discovered(self, event: FileDiscovered) -> None:
        self._files.append(event)
        for warning in event.warnings:
            self._say("warning", f"{event.label}: {warning}")

    def _file_errored(self, event: FileErrored) -> None:
        if self._verbosity < 0:  # Told at the end.
            return
        self._out.line(f"{one_line(event.label)}  {self._paint('ERROR', RED)}  {clip(one_line(event.error), 200)}")

    def _plan_completed(self, event: PlanCompleted) -> None:
        self._lines.planned = event.planned
        if self._verbosity >= 0:
            where = f" in {one_line(self._folder)}" if self._folder else ""
            counts = f"{_deselected(event.deselected)}{_kept(event.kept)}"
            self._out.line(f"{self._lines.found()}{where}{counts}")
            for line in criteria_lines(self._files, whole=self._verbosity > 0):
                self._out.line(line)
            self._out.line()
        self.flush()
        if self._bar_stream is not None and event.planned:
            self._bar = Bar(Glimpses(self._bar_stream, self._err), event.planned)

    def _case_started(self, _event: CaseStarted) -> None:
        self._running += 1

    def _case_requeued(self, _event: CaseRequeued) -> None:
        self._running -= 1

    def _case_retried(self, event: CaseRetried) -> None:
        self._running -= event.worker is not None
        for line in self._lines.retried(event):
            self._out.line(line)

    def _worker_lost(self, event: WorkerLost) -> None:
        running = f" while running {', '.join(event.in_flight)}" if event.in_flight else ""
        self._say("worker lost", f"worker {event.worker} {event.cause}{running}")

    def _case_finished(self, event: CaseFinished, result: EvalCaseResult | None) -> None:
        self._done += 1
        self._running -= event.worker is not None and not event.kept
        if result is None and (self._verbosity > 0 or event.status not in (Status.PASSED, Status.NOT_RUN)):
            result = _decode_result(event.result)
        for line in self._lines.of(event, result):
            self._out.line(line)
        if event.status not in (Status.PASSED, Status.SKIPPED, Status.NOT_RUN):
            self._failed += 1
            assert result is not None
            self._keep_failure(event, result)
        if self._out.pending >= _BATCH:
            self.flush()

    def _keep_failure(self, event: CaseFinished, result: EvalCaseResult) -> None:
        """Keep the first failures in pool order, so that it does not matter in which order cases ended."""
        key = (event.case, event.repeat)
        if self._verbosity <= 0 and len(self._failures) >= _FAILURES:
            last = max(self._failures)
            if key > last:
                return
            del self._failures[last]
        self._failures[key] = render_failure(result, self._paint, self._lines.label(event))

    def _tell_failures(self) -> None:
        if not self._failures:
            return
        self._title("Failures")
        for _key, lines in sorted(self._failures.items()):
            for line in lines:
                self._out.line(line)
            self._out.line()
        if left_out := self._failed - len(self._failures):
            self._out.line(f"… and {left_out} more; the report has them all, and -v tells them here")
            self._out.line()

    def _tell_file_errors(self, document: RunDocument) -> None:
        if not document.file_errors:
            return
        self._title("Files that could not be loaded")
        errors = document.file_errors if self._verbosity > 0 else document.file_errors[:_FAILURES]
        for error in errors:
            for line in render_file_error(error.file, error.error, error.traceback, error.output, self._paint):
                self._out.line(line)
            self._out.line()
        if left_out := len(document.file_errors) - len(errors):
            self._out.line(f"… and {left_out} more files")
            self._out.line()

    def _title(self, text: str) -> None:
        self._out.line(self._paint(text, BOLD))
        self._out.line()


def _kept(count: int) -> str:
    return f", {count} with a verdict already" if count else ""


def _deselected(count: int) -> str:
    return f", {count} deselected" if count else ""
