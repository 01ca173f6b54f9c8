"""What workers had finished when their coordinator was killed before it read of it: taken into the journal late.

The files are those of the part of the run that was cut off, and speak of cases by their numbers in its plan; they
are removed once what they hold is in the journal, before a further part plans its cases. Workers end within two
seconds of their coordinator; until then they may still finish something, so their end is waited for. Where a run
retries, only a first attempt that needs no retry is a verdict.
"""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from evalengine import events, wire
from evalengine.engine.platform import is_alive
from evalengine.engine.traces import Traces
from evalengine.engine.verdicts import decode_head
from evalengine.journal import Journal, Past
from evalengine.results import ERROR_STATUSES, Status

_LONGEST_WAIT_S = 2.5
_BETWEEN_LOOKS_S = 0.01


def adopt_unread(journal: Journal, past: Past) -> None:
    """Add to a journal that was reopened the results that workers left behind, and remove their files."""
    _wait_until_gone(set(past.living.values()))
    traces = Traces(journal.folder)
    for worker in traces.left_behind():
        messages = traces.finished(worker)
        journal.adopt(past, _verdicts(worker, messages, journal.folder, past))
        for message in messages:
            if (path := _spilled(message, journal.folder)) is not None:
                with contextlib.suppress(OSError):
                    path.unlink()
        traces.forget(worker)


def _wait_until_gone(pids: set[int]) -> None:
    """Wait for processes to end, but not for long: a number may be another process's by now."""
    give_up = time.monotonic() + _LONGEST_WAIT_S
    while any(map(is_alive, pids)) and time.monotonic() < give_up:
        time.sleep(_BETWEEN_LOOKS_S)


def _verdicts(
    worker: int, messages: list[wire.Finished], folder: Path, past: Past
) -> Iterator[events.CaseFinished]:
    retries = _retries(past)
    for message in messages:
        planned = past.planned.get(message.case)
        if planned is None:
            continue
        # What cannot be read has no verdict, and its case runs again.
        with contextlib.suppress(OSError, msgspec.DecodeError):
            path = _spilled(message, folder)
            raw = message.result if path is None else path.read_bytes()
            head = decode_head(raw)
            if head.eval_id == planned.eval_id and _is_verdict(message, head.status, retries):
                yield events.CaseFinished(
                    case=message.case,
                    repeat=message.repeat,
                    attempt=message.attempt,
                    label=planned.label,
                    status=head.status,
                    duration_s=head.duration_seconds,
                    worker=worker,
                    result=msgspec.Raw(raw),
                )


def _is_verdict(message: wire.Finished, status: Status, retries: int) -> bool:
    if status is Status.NOT_RUN:
        return False
    return retries == 0 or (message.attempt == 1 and status not in ERROR_STATUSES)


def _retries(past: Past) -> int:
    setting = past.started.settings.get("retries") if past.started is not None else None
    value = setting.get("value") if isinstance(setting, dict) else None
    return value if isinstance(value, int) else 0


def _spilled(message: wire.Finished, folder: Path) -> Path | None:
    """Return the file of a result that was too long for a frame; it is looked for in the run's folder alone."""
    return None if message.spill is None else folder / Path(message.spill).name
