"""A run told again from its journal: for the reports of a run that goes on, or of one that is over.

What counts is the last part whose plan was completed. Of the parts before it are told the workers, which results
refer to, and what the engine noticed while cases ran; workers that a cut-off part left behind end with it.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from evalengine import events
from evalengine.errors import ExitCode
from evalengine.events import RunEvent
from evalengine.journal.past import Past
from evalengine.journal.read import read_lines
from evalengine.journal.write import finished_again, kept_verdict
from evalengine.results import EvalCaseResult, Status

_LEFT_BEHIND = "ended with its run, which was cut off"
_NOT_RUN = "the run was cut off before this case had a verdict"


def earlier_events(path: Path, until: int) -> Iterator[RunEvent]:
    """Yield what a later part has to tell of the parts that end before byte ``until``."""
    living: dict[int, events.WorkerStarted] = {}
    planned, last_at = False, 0.0
    for line in read_lines(path):
        if line.start >= until:
            break
        event = line.event
        match event:
            case events.RunStarted():
                yield from _left_behind(living, last_at)
                planned = False
            case events.PlanCompleted():
                planned = True
            case events.WorkerStarted():
                living[event.worker] = event
                yield event
            case events.WorkerStopped() | events.WorkerLost():
                living.pop(event.worker, None)
                yield event
            case events.Noticed() if planned:
                yield event
            case _:
                pass
        last_at = event.at
    yield from _left_behind(living, last_at)


def _left_behind(living: dict[int, events.WorkerStarted], at: float) -> Iterator[RunEvent]:
    for worker, started in living.items():
        yield events.WorkerLost(at=at, worker=worker, pid=started.pid, cause=_LEFT_BEHIND)
    living.clear()


class Replay:
    """The events and results of a run that is over, or was cut off: then what has no verdict is ``not_run``."""

    def __init__(self, path: Path, past: Past, unfinished: str = "") -> None:
        """Take the journal and its fold; ``unfinished`` is said of a run that did not come to its end."""
        self._unfinished = unfinished
        self._path = path
        self._past = past
        self._places: dict[tuple[int, int], tuple[int, int]] = {}

    def earlier(self) -> Iterator[RunEvent]:
        """Yield what there is to tell of the parts before the last."""
        return earlier_events(self._path, self._past.part_at)

    def stream(self) -> Iterator[RunEvent]:
        """Yield the events of the last part; verdicts are marked as kept, and the last event is RunFinished."""
        descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            yield from self._last_part(descriptor)
        finally:
            os.close(descriptor)

    def _last_part(self, descriptor: int) -> Iterator[RunEvent]:
        finished: events.RunFinished | None = None
        at = self._past.part_at
        parts = 0
        for line in read_lines(self._path, at):
            event = line.event
            match event:
                case events.RunStarted():
                    parts += 1
                    if parts > 1:  # A part that came to no plan.
                        break
                    yield event
                case events.CaseFinished():
                    length = len(bytes(event.result))
                    yield from self._told(event, line.start + line.length - 2 - length, length)
                case events.CaseKept():
                    again = finished_again(event, os.pread(descriptor, event.length, event.offset))
                    yield from self._told(again, event.offset, event.length)
                case events.RunFinished():
                    finished = event
                case _:
                    yield event
        yield from self._without_event(descriptor)
        yield finished or events.RunFinished(
            status="incomplete",
            exit_code=ExitCode.ENGINE_FAILED,
            wall_seconds=self._past.wall_seconds,
            reason=self._unfinished,
        )

    def _told(self, event: events.CaseFinished, offset: int, length: int) -> Iterator[RunEvent]:
        key = (event.case, event.repeat)
        if event.case in self._past.planned and key not in self._places:
            self._places[key] = (offset, length)
            event.kept = True
            yield event

    def _without_event(self, descriptor: int) -> Iterator[RunEvent]:
        """Tell of the cases that the part had not come to: an earlier verdict, or that they have none."""
        for planned, repeat, _ in self._past.outcomes():
            if (planned.case, repeat) in self._places:
                continue
            verdict = self._past.verdict(planned, repeat)
            if verdict is None:
                yield _without_verdict(planned, repeat)
                continue
            kept = kept_verdict(planned.case, repeat, verdict)
            again = finished_again(kept, os.pread(descriptor, verdict.length, verdict.offset))
            yield from self._told(again, verdict.offset, verdict.length)

    def results(self, keys: Iterable[tuple[int, int]]) -> Iterator[bytes]:
        """Yield the JSON of each result by (case, repeat), after :meth:`stream` has been read to its end."""
        descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            for key in keys:
                place = self._places.get(key)
                if place is None:
                    yield bytes(_without_verdict(self._past.planned[key[0]], key[1]).result)
                else:
                    yield os.pread(descriptor, place[1], place[0])
        finally:
            os.close(descriptor)


def _without_verdict(planned: events.CasePlanned, repeat: int) -> events.CaseFinished:
    result = EvalCaseResult(
        eval_id=planned.eval_id,
        name=planned.name,
        passed=False,
        status=Status.NOT_RUN,
        error=_NOT_RUN,
        label=planned.label,
        file=planned.label.removesuffix(f"::{planned.eval_id}"),
        set_id=planned.set_id,
        set_name=planned.set_name,
        repeat=repeat,
        attempts=0,
    )
    return events.CaseFinished(
        case=planned.case,
        repeat=repeat,
        attempt=0,
        label=planned.label,
        status=Status.NOT_RUN,
        duration_s=0.0,
        kept=True,
        result=msgspec.Raw(msgspec.json.encode(result)),
    )
