"""What a run has come to: a fold of its journal that knows every verdict by the identity of its case. Pure.

A run has parts: one for each time it was started or continued. Each part plans its cases anew, so numbers of cases
hold within a part; a verdict is found again by (file, set, id, repeat), and counts for a case of the same digest.
The latest verdict counts, and ``not_run`` is none. Results are kept as places in the file, never as bytes.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from evalengine import events
from evalengine.journal.read import Header, Line, read_header, read_lines
from evalengine.results import Status


class Identity(NamedTuple):
    """What makes a case the same case in another part of a run."""

    file: str
    """The file's label."""
    set_id: str
    eval_id: str
    repeat: int = 0


class Verdict(NamedTuple):
    """A verdict in the journal: of which content, and where its result stands."""

    digest: str
    set_name: str
    label: str
    status: Status
    attempt: int
    duration_s: float
    worker: int | None
    offset: int
    length: int


class Past:
    """The fold. After :meth:`take` of every line of a journal it says all that a continued run must know."""

    def __init__(self, header: Header | None = None) -> None:
        self.header = header
        """None where the run was ended before it could write one."""
        self.size = 0
        """Up to where the file is whole, in bytes."""
        self.parts = 0
        self.began_at: float | None = None
        self.last_at = 0.0
        """When the last event happened."""
        self.wall_seconds = 0.0
        """Of all parts, those that were cut off among them."""
        self.started: events.RunStarted | None = None
        """Of the last part."""
        self.finished: events.RunFinished | None = None
        """Of the last part, where it came to its end."""
        self.verdicts: dict[Identity, Verdict] = {}
        """Of all parts."""
        self.last_worker = 0
        self.living: dict[int, int] = {}
        """The workers of the last part whose end is not known, with their process ids."""
        self.part_at = 0
        """Where the last part begins whose plan was completed; what follows is of that part."""
        self.plan: events.PlanCompleted | None = None
        self.planned: dict[int, events.CasePlanned] = {}
        self.settled: dict[tuple[int, int], Status] = {}
        self.files_failed = 0
        self._begins_at = 0
        self._planning: dict[int, events.CasePlanned] = {}
        self._failing = 0

    def take(self, line: Line) -> None:
        """Take the next line of the journal."""
        event = line.event
        self._measure(event)
        self.size = line.start + line.length
        match event:
            case events.CaseFinished():
                # The result is the last field of its line.
                length = len(bytes(event.result))
                self._settle(event, self.size - 2 - length, length)
            case events.CaseKept():
                self._settle(event, event.offset, event.length)
            case events.CasePlanned():
                self._planning[event.case] = event
            case events.PlanCompleted():
                self._complete_plan(event)
            case events.WorkerStarted():
                self.last_worker = max(self.last_worker, event.worker)
                self.living[event.worker] = event.pid
            case events.WorkerStopped() | events.WorkerLost():
                self.last_worker = max(self.last_worker, event.worker)
                self.living.pop(event.worker, None)
            case events.FileErrored():
                self._failing += 1
            case events.RunStarted():
                self._begin_part(event, line.start)
            case events.RunFinished():
                self.finished = event
            case _:
                pass

    @property
    def status(self) -> str:
        """How the last part ended: a run's status, or ``cut off``."""
        return "cut off" if self.finished is None else self.finished.status

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to do: every file was loaded, every case that is planned ran."""
        return (
            self.finished is not None
            and self.finished.status == "complete"
            and not self.files_failed
            and all(status is not Status.NOT_RUN for _, _, status in self.outcomes())
        )

    def outcomes(self) -> Iterator[tuple[events.CasePlanned, int, Status]]:
        """Yield each case and repeat of the plan with its status: ``not_run`` where it has no verdict yet."""
        for case, planned in self.planned.items():
            for repeat in range(planned.repeats):
                status = self.settled.get((case, repeat))
                if status is None:
                    verdict = self.verdict(planned, repeat)
                    status = Status.NOT_RUN if verdict is None else verdict.status
                yield planned, repeat, status

    def verdict(self, planned: events.CasePlanned, repeat: int = 0) -> Verdict | None:
        """Return the verdict that a case keeps, or None: it has none, or is not what it was then."""
        verdict = self.verdicts.get(identity(planned, repeat))
        if verdict is None or (verdict.digest, verdict.set_name) != (planned.digest, planned.set_name):
            return None
        return verdict

    def forget_plan(self) -> None:
        """Let go of the plan: of a part that begins now, only verdicts and numbers are of use."""
        self.planned, self._planning, self.settled = {}, {}, {}

    def _begin_part(self, event: events.RunStarted, start: int) -> None:
        self.parts += 1
        self.started, self.finished = event, None
        if self.began_at is None:
            self.began_at = event.at
        self._begins_at, self._planning, self._failing = start, {}, 0
        self.living = {}

    def _complete_plan(self, event: events.PlanCompleted) -> None:
        self.plan, self.planned, self.part_at = event, self._planning, self._begins_at
        self.files_failed, self.settled = self._failing, {}

    def _settle(self, event: events.CaseFinished | events.CaseKept, offset: int, length: int) -> None:
        planned = self.planned.get(event.case)
        if planned is None or planned.label != event.label:
            return  # What said which case this is was lost to a full disk.
        self.settled[event.case, event.repeat] = event.status
        if event.status is Status.NOT_RUN:
            return
        self.verdicts[identity(planned, event.repeat)] = Verdict(
            planned.digest,
            planned.set_name,
            planned.label,
            event.status,
            event.attempt,
            event.duration_s,
            event.worker,
            offset,
            length,
        )

    def _measure(self, event: events.RunEvent) -> None:
        """Add up the time of the parts; the end of one that was cut off is its last event."""
        if isinstance(event, events.RunFinished):
            self.wall_seconds = event.wall_seconds
        elif not isinstance(event, events.RunStarted) and self.parts:
            self.wall_seconds += max(0.0, event.at - self.last_at)
        self.last_at = event.at


def identity(planned: events.CasePlanned, repeat: int = 0) -> Identity:
    """Return the identity of a planned case."""
    file = planned.label.removesuffix(f"::{planned.eval_id}")
    return Identity(file, planned.set_id, planned.eval_id, repeat)


def read_past(path: Path) -> Past:
    """Read a journal to its end, or to where it is torn.

    Raises UnreadableJournalError for one that is damaged, not ours, or of a newer version; OSError.
    """
    past = Past(read_header(path))
    if past.header is not None:
        with path.open("rb") as file:
            past.size = len(file.readline())
    for line in read_lines(path):
        past.take(line)
    return past
