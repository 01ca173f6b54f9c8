"""Losses that several attempts may be to blame for, until one is guilty or each suspect has its verdict."""

from evalengine.engine.commands import ReportLoss
from evalengine.wire import RunKey


class Incident:
    """One lost worker and its suspects."""

    __slots__ = ("cause", "keys", "open", "worker")

    def __init__(self, worker: int, cause: str) -> None:
        self.worker = worker
        self.cause = cause
        self.keys: list[RunKey] = []
        self.open: list[int] = []
        """The places in the plan of suspects that have no verdict yet."""


class Incidents:
    """The open incidents, by the places in the plan of their suspects."""

    def __init__(self) -> None:
        self._of: dict[int, Incident] = {}

    def suspect(self, index: int, key: RunKey, incident: Incident) -> None:
        """Make a case a suspect; one that is so already remains a suspect of its first incident."""
        if index not in self._of:
            self._of[index] = incident
            incident.keys.append(key)
            incident.open.append(index)

    def acquit(self, index: int) -> ReportLoss | None:
        """Note a verdict for which nobody lost a worker; return a report with the last suspect's."""
        incident = self._of.pop(index, None)
        if incident is None:
            return None
        incident.open.remove(index)
        return None if incident.open else ReportLoss(incident.worker, incident.cause, incident.keys)

    def convict(self, index: int) -> list[int]:
        """Note that a suspect lost its own worker, too: return the others, who are cleared by that."""
        incident = self._of.pop(index, None)
        if incident is None:
            return []
        incident.open.remove(index)
        cleared, incident.open = incident.open, []
        for other in cleared:
            del self._of[other]
        return cleared
