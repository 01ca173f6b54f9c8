"""Losses of workers that several attempts may be to blame for, until each suspect has its verdict."""

from evalengine.engine.commands import ReportLoss
from evalengine.wire import RunKey


class Incident:
    """One lost worker and its suspects."""

    __slots__ = ("blamed", "cause", "keys", "open", "worker")

    def __init__(self, worker: int, cause: str) -> None:
        self.worker = worker
        self.cause = cause
        self.keys: list[RunKey] = []
        self.open = 0
        """How many suspects have no verdict yet."""
        self.blamed = False
        """Whether a suspect died again."""


class Incidents:
    """The open incidents, by the places in the plan of their suspects."""

    def __init__(self) -> None:
        self._of: dict[int, Incident] = {}

    def suspect(self, index: int, key: RunKey, incident: Incident) -> None:
        """Make a case a suspect; one that is so already remains a suspect of its first incident."""
        if index not in self._of:
            self._of[index] = incident
            incident.keys.append(key)
            incident.open += 1

    def close(self, index: int, *, blamed: bool) -> ReportLoss | None:
        """Note a verdict; return a report with the last suspect's, when none was to blame."""
        incident = self._of.pop(index, None)
        if incident is None:
            return None
        incident.open -= 1
        incident.blamed |= blamed
        if incident.open or incident.blamed:
            return None
        return ReportLoss(incident.worker, incident.cause, incident.keys)
