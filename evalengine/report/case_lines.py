"""The line of a case: ``[ 3/50] file::case  PASSED  2.10s``, and what ``-v`` puts under it."""

from collections.abc import Iterator

from evalengine.events import CaseFinished, CasePlanned, CaseRetried
from evalengine.report.failure import score_text
from evalengine.report.paint import DIM, STATUS_STYLE, STATUS_WORD, YELLOW, Paint
from evalengine.report.plain_text import clip, columns, indented, one_line, pad, tail
from evalengine.results import EvalCaseResult, Status

WIDEST_LABEL = 64
"""Labels up to this many columns line up; a longer one pushes the rest of its own line aside."""

_STATUS_COLUMNS = 7
_OUTPUT_LINES = 10


class CaseLines:
    """Makes the lines of a run's cases. ``planned`` is known when the plan is complete."""

    def __init__(self, paint: Paint, verbosity: int) -> None:
        self.planned = 0
        self._verbosity = verbosity
        self._width = 0
        self._cases = 0
        self._repeats = 1
        self._files: set[int] = set()
        self._words = {
            status: paint(f"{word:<{_STATUS_COLUMNS}}", STATUS_STYLE[status])
            for status, word in STATUS_WORD.items()
        }
        self._paint = paint

    def plan(self, event: CasePlanned) -> None:
        """Count a case, and make room for its label."""
        self._cases += 1
        self._files.add(event.file)
        self._repeats = max(self._repeats, event.repeats)
        width = columns(one_line(event.label)) + (len(_repeat(0, event.repeats)))
        self._width = max(self._width, min(width, WIDEST_LABEL))

    def found(self) -> str:
        """Say how much there is to run."""
        cases, files = self._cases, len(self._files)
        times = f", {self._repeats} times each," if self._repeats > 1 else ""
        return f"Found {cases} eval {_plural('case', cases)}{times} across {files} {_plural('file', files)}"

    def label(self, event: CaseFinished | CaseRetried) -> str:
        """Return the label of a case, with its repeat where there are several."""
        return f"{event.label}{_repeat(event.repeat, self._repeats)}"

    def of(self, event: CaseFinished, result: EvalCaseResult | None) -> Iterator[str]:
        """Yield the lines of a finished case: none with ``-q``; what did not run, or not now, with ``-v`` only."""
        is_old = event.kept or event.status == Status.NOT_RUN
        if self._verbosity < 0 or (is_old and self._verbosity == 0):
            return
        flaky = f"  {self._paint('flaky', YELLOW)}" if result is not None and result.flaky else ""
        yield f"{self._begun(event)}  {event.duration_s:.2f}s{flaky}"
        if self._verbosity > 0 and result is not None:
            yield from indented([*self._details(event, result)], " " * (self._digits + 3))

    def retried(self, event: CaseRetried) -> Iterator[str]:
        """Yield the line of an attempt that is followed by another."""
        if self._verbosity >= 0:
            told = f"attempt {event.attempt}, runs again"
            yield f"{self._begun(event)}  {event.duration_s:.2f}s  {self._paint(told, DIM)}"
            if self._verbosity > 0 and event.error:
                yield from indented([clip(one_line(event.error), 200)], " " * (self._digits + 3))

    def _begun(self, event: CaseFinished | CaseRetried) -> str:
        place = event.case * self._repeats + event.repeat + 1
        label = pad(one_line(self.label(event)), self._width)
        return f"[{place:>{self._digits}}/{self.planned}] {label}  {self._words[event.status]}"

    @property
    def _digits(self) -> int:
        return max(3, len(str(self.planned)))

    def _details(self, event: CaseFinished, result: EvalCaseResult) -> Iterator[str]:
        if event.status == Status.PASSED:
            for criterion in result.criterion_results:
                yield f"{one_line(criterion.criterion)}  {score_text(criterion, self._paint)}"
        for absent in result.not_applicable:
            reason = f": {one_line(absent.reason)}" if absent.reason else ""
            yield self._paint(f"{one_line(absent.criterion)}  does not apply{reason}", DIM)
        if event.status == Status.SKIPPED and result.error:
            yield self._paint(clip(one_line(result.error), 200), DIM)
        if event.status == Status.PASSED:
            yield from (f"note: {clip(one_line(note), 200)}" for note in result.notes)
            yield from indented(tail(result.output, _OUTPUT_LINES), "| ")


def _repeat(repeat: int, repeats: int) -> str:
    return f" ({repeat + 1}/{repeats})" if repeats > 1 else ""


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
