"""Times at which something is due. A subject has one alarm at most; setting or clearing it costs O(log n)."""

from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, Protocol, TypeVar


class Alarmed(Protocol):
    """Something that can have an alarm."""

    alarm_at: float | None


_Subject = TypeVar("_Subject", bound=Alarmed)

_ROUNDING_S = 1e-6
"""A clock from which pauses were taken off, and to which they are added again, may miss an alarm by a rounding."""

_SPARE = 64
"""How many dead entries are not worth a clean-up."""


class Alarms(Generic[_Subject]):
    """A heap of alarms. An entry is true while its subject's ``alarm_at`` agrees; others are dropped when met."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, _Subject]] = []
        self._numbers = count()
        self._clean_at = _SPARE

    def set(self, subject: _Subject, when: float) -> None:
        """Set the subject's alarm, in place of any other it has; infinity is never."""
        subject.alarm_at = when
        heappush(self._heap, (when, next(self._numbers), subject))
        if len(self._heap) > self._clean_at:
            self._clean()

    def first(self) -> float | None:
        """Return when the next alarm is due."""
        heap = self._heap
        while heap and heap[0][2].alarm_at != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap and heap[0][0] != float("inf") else None

    def pop_due(self, now: float) -> _Subject | None:
        """Clear the next alarm that is due and return its subject."""
        when = self.first()
        if when is None or when > now + _ROUNDING_S:
            return None
        subject = heappop(self._heap)[2]
        subject.alarm_at = None
        return subject

    def _clean(self) -> None:
        self._heap = [entry for entry in self._heap if entry[2].alarm_at == entry[0]]
        heapify(self._heap)
        self._clean_at = 2 * len(self._heap) + _SPARE
