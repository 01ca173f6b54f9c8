"""The one place where events are told: to the journal first, then to the sinks.

An event is in the journal's buffer at once, on disk when the turn of the loop is closed (``write``), and told to
the sinks after that (``tell``): so a case's verdict is on disk before its slot is filled or its line is printed,
and no sink keeps the next case waiting. A sink that raises hears no more, which is told; nobody else is harmed.
"""

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator

import msgspec

from evalengine import events
from evalengine.events import RunEvent
from evalengine.journal import Journal, Verdict
from evalengine.report.sink import Sink
from evalengine.results import EvalCaseResult

_decode = msgspec.json.Decoder(EvalCaseResult).decode


class Recorded:
    """Tells each event to the journal, then to the sinks, in order."""

    def __init__(self, journal: Journal, sinks: Iterable[Sink], *, at_once: bool = False) -> None:
        """``at_once``: tell whenever something is written, so that each line stands before what runs next."""
        self.journal = journal
        self._at_once = at_once
        self._sinks = list(sinks)
        self._untold: deque[tuple[RunEvent, EvalCaseResult | None]] = deque()
        self._told_trouble: str | None = None
        self.problems: list[str] = []
        """Why sinks hear no more, a line each."""

    def emit(self, event: RunEvent, result: EvalCaseResult | None = None) -> None:
        """Record an event; everyone hears of it at the next :meth:`tell`."""
        self.journal.append(event)
        self._untold.append((event, result))

    def keep(self, case: int, repeat: int, verdict: Verdict) -> None:
        """Record that a case keeps a verdict of an earlier part of the run; sinks hear of it as of any other."""
        self._untold.append((self.journal.keep(case, repeat, verdict), None))

    def write(self) -> None:
        """Put on disk what was recorded."""
        self._put_on_disk()
        if self._at_once:
            self._tell_sinks()

    def _put_on_disk(self) -> None:
        self.journal.write()
        trouble = self.journal.trouble
        if trouble is not None and trouble != self._told_trouble:
            self._told_trouble = trouble
            self.emit(events.Noticed(text=trouble))
            self.journal.write()

    def tell(self) -> None:
        """Let the sinks hear what was recorded, and write what they kept back."""
        self._put_on_disk()
        self._tell_sinks()

    def _tell_sinks(self) -> None:
        while self._untold:
            event, result = self._untold.popleft()
            if result is None and isinstance(event, events.CaseFinished):
                result = _read(event)
            for sink in list(self._sinks):
                with self._minding(sink):
                    sink.handle(event, result)
        for sink in list(self._sinks):
            with self._minding(sink):
                sink.flush()

    @contextlib.contextmanager
    def _minding(self, sink: Sink) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a fault of ours must not cost the user's results
            self._sinks.remove(sink)
            name = type(sink).__name__.strip("_").lower()
            self.problems.append(f"internal error in the {name}: {type(error).__name__}: {error}")


def _read(event: events.CaseFinished) -> EvalCaseResult:
    """Decode a result; one that says what no result can say is told as an error of the same status."""
    try:
        return _decode(event.result)
    except msgspec.DecodeError as error:
        return EvalCaseResult(
            eval_id=event.label.partition("::")[2],
            passed=False,
            status=event.status,
            label=event.label,
            error=f"worker {event.worker} sent a result that cannot be read: {error}",
        )
