"""The cases that wait for a worker of their own, since they may have killed the one they shared."""

from collections.abc import Iterable

from evalengine.engine.waiting import WaitingLine


class Suspects:
    """Places in the plan, in the order they became suspect."""

    def __init__(self, line: WaitingLine) -> None:
        """Make an empty line of suspects, beside the one that all others wait in."""
        self._line = line
        self._waiting: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, index: int) -> None:
        """Let a place wait for a worker of its own."""
        self._waiting[index] = None

    def take(self) -> int | None:
        """Remove the first place whose file has room, and count it as in flight; None where there is none."""
        index = next(filter(self._line.has_room, self._waiting), None)
        if index is not None:
            del self._waiting[index]
            self._line.enter(index)
        return index

    def clear(self, indexes: Iterable[int]) -> None:
        """Put those back in line that wait here and that nobody suspects any more."""
        for index in indexes:
            if index in self._waiting:
                del self._waiting[index]
                self._line.add(index)

    def drain(self) -> list[int]:
        """Remove and return all."""
        places = list(self._waiting)
        self._waiting.clear()
        return places
