"""The one place where events are told: to the journal first, then to the sinks."""

from collections.abc import Iterable

from evalengine import events
from evalengine.events import RunEvent
from evalengine.journal import Journal
from evalengine.report.sink import Sink
from evalengine.results import EvalCaseResult


class Recorded:
    """Tells each event to the journal, then to the sinks, in order."""

    def __init__(self, journal: Journal, sinks: Iterable[Sink]) -> None:
        self.journal = journal
        self._sinks = list(sinks)
        self._told_trouble: str | None = None

    def emit(self, event: RunEvent, result: EvalCaseResult | None = None) -> None:
        """Record an event, and let everyone hear of it."""
        self.journal.append(event)
        for sink in self._sinks:
            sink.handle(event, result)
        if self.journal.trouble is not None and self.journal.trouble != self._told_trouble:
            self._told_trouble = self.journal.trouble
            self.emit(events.Noticed(text=self.journal.trouble))

    def flush(self) -> None:
        """Let sinks write what they kept back."""
        for sink in self._sinks:
            sink.flush()
