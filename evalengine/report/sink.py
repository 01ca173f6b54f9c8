"""The protocol of everything that listens to a run."""

from typing import Protocol

from evalengine.events import RunEvent
from evalengine.results import EvalCaseResult


class Sink(Protocol):
    """Takes run events in order. With ``CaseFinished`` it gets the decoded result too."""

    def handle(self, event: RunEvent, result: EvalCaseResult | None = None) -> None:
        """Take one event; must not raise for what it cannot show."""

    def flush(self) -> None:
        """Write what was kept back; called once per batch of events."""
