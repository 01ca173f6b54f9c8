"""The attempts of a run whose verdicts did not stand: what the later ones, and reports, are told of them."""

import msgspec

from evalengine.engine.verdicts import Received
from evalengine.events import CaseRetried
from evalengine.results import EarlierAttempt
from evalengine.wire import RunKey


class _Trouble(msgspec.Struct):
    error: str | None = None
    traceback: str | None = None


_trouble_of = msgspec.json.Decoder(_Trouble).decode


class Retried:
    """Keeps the attempts of each (case, repeat), and the last one's result."""

    def __init__(self) -> None:
        self._earlier: dict[tuple[int, int], list[EarlierAttempt]] = {}
        self._last: dict[tuple[int, int], tuple[Received, int | None]] = {}

    def add(self, key: RunKey, label: str, received: Received, worker: int | None) -> CaseRetried:
        """Keep an attempt that is to be followed by another; return the event that tells of it."""
        trouble = _trouble_of(received.raw)
        attempt = EarlierAttempt(
            attempt=key.attempt,
            status=received.status,
            error=trouble.error,
            traceback=trouble.traceback,
            duration_seconds=received.duration_s,
            worker=worker,
        )
        self._earlier[key[:2]] = [*self.earlier(key), attempt]
        self._last[key[:2]] = (received, worker)
        return CaseRetried(
            case=key.case,
            repeat=key.repeat,
            attempt=key.attempt,
            label=label,
            status=received.status,
            duration_s=received.duration_s,
            worker=worker,
            error=trouble.error or "",
        )

    def earlier(self, key: RunKey) -> list[EarlierAttempt]:
        """Return what is kept of a case's attempts, in their order."""
        return self._earlier.get(key[:2], [])

    def standing(self, key: RunKey) -> tuple[Received, int | None]:
        """Return the last result of a case that will not run again, and where it ran."""
        return self._last[key[:2]]
