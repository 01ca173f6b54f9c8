"""The sink that remembers the order of collection: the order of results in every report."""

from evalengine import events
from evalengine.events import RunEvent
from evalengine.results import EvalCaseResult


class CollectionOrder:
    """Notes each planned case."""

    def __init__(self) -> None:
        self._planned: list[tuple[int, int, int]] = []
        self.labels: list[str] = []
        """In the order that cases run in."""

    @property
    def keys(self) -> list[tuple[int, int]]:
        """The (case, repeat) of each result, in the order of collection, also where another order ran."""
        return [(case, repeat) for _, case, repeats in sorted(self._planned) for repeat in range(repeats)]

    def handle(self, event: RunEvent, result: EvalCaseResult | None = None) -> None:  # noqa: ARG002
        """Note a planned case."""
        if isinstance(event, events.CasePlanned):
            self.labels.append(event.label)
            self._planned.append((event.collected, event.case, event.repeats))

    def flush(self) -> None:
        """Keep nothing back."""
