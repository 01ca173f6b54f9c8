"""The cases that wait, in the order of the plan, and the caps of their files.

A file with a cap has a lane of its own, all others share one. Taking the next eligible case means: of the lanes
that have room, the one whose first case stands first in the plan. Every operation costs O(log n).
"""

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

_OPEN = -1
"""The lane of all files without a cap."""


class WaitingLine:
    """Places in the plan that wait for a slot; knows how many of each capped file are in flight."""

    def __init__(self, files: Sequence[int], caps: Mapping[int, int]) -> None:
        """Put every place of the plan in line; ``files`` are the plan's files, place by place."""
        self._files = files
        self._caps = caps
        self._in_flight = dict.fromkeys(caps, 0)
        self._lanes: dict[int, list[int]] = {_OPEN: []}
        self._heads: list[tuple[int, int]] = []
        """Heap of (first place, lane). May hold entries that are no longer true; they are dropped when met."""
        self._length = len(files)
        for index in range(len(files)):
            self._lanes.setdefault(self._lane(index), []).append(index)
        for lane in self._lanes:
            self._offer(lane)

    def __len__(self) -> int:
        return self._length

    def add(self, index: int) -> None:
        """Put a place back in line, where it stood."""
        lane = self._lane(index)
        heappush(self._lanes.setdefault(lane, []), index)
        self._length += 1
        self._offer(lane)

    def take(self) -> int | None:
        """Remove the next place whose file has room, and count it as in flight; None where there is none."""
        while self._heads:
            index, lane = heappop(self._heads)
            waiting = self._lanes[lane]
            if waiting and waiting[0] == index and self._has_room(lane):
                heappop(waiting)
                self._length -= 1
                self.enter(index)
                self._offer(lane)
                return index
        return None

    def has_room(self, index: int) -> bool:
        """Tell whether the place's file may have one more in flight."""
        return self._has_room(self._lane(index))

    def enter(self, index: int) -> None:
        """Count a place as in flight."""
        lane = self._lane(index)
        if lane != _OPEN:
            self._in_flight[lane] += 1

    def leave(self, index: int) -> None:
        """Count a place as no longer in flight."""
        lane = self._lane(index)
        if lane != _OPEN:
            self._in_flight[lane] -= 1
            self._offer(lane)

    def drain(self) -> list[int]:
        """Remove and return all places, in order."""
        places = sorted(index for lane in self._lanes.values() for index in lane)
        for lane in self._lanes.values():
            lane.clear()
        self._length = 0
        return places

    def _lane(self, index: int) -> int:
        file = self._files[index]
        return file if file in self._caps else _OPEN

    def _has_room(self, lane: int) -> bool:
        return lane == _OPEN or self._in_flight[lane] < self._caps[lane]

    def _offer(self, lane: int) -> None:
        waiting = self._lanes.get(lane)
        if waiting and self._has_room(lane):
            heappush(self._heads, (waiting[0], lane))
