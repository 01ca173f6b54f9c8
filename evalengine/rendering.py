"""A run that is over, or was cut off, told again: its reports from its journal, without running anything."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from evalengine import events
from evalengine.errors import EngineError, ExitCode
from evalengine.events import RunEvent
from evalengine.journal import Past
from evalengine.journal.replay import Replay
from evalengine.report.order import CollectionOrder
from evalengine.report.outcome import RunOutcome
from evalengine.report.pair import ReportsError, write_pair
from evalengine.report.sink import Sink
from evalengine.report.summary import RunFold, decode_result


class Target(msgspec.Struct, kw_only=True):
    """Where the reports go; ``settings`` stand in the place of those that the run recorded."""

    folder: Path | None
    """None for no reports."""
    timestamped: bool = True
    settings: Mapping[str, object] | None = None


def render(journal: Path, past: Past, target: Target, sinks: Sequence[Sink], unfinished: str = "") -> RunOutcome:
    """Tell a run again and write its reports; the exit code is that of its gate where it is complete.

    ``unfinished`` is the reason given for a run that did not come to its end. Raises RecordingError where the
    journal cannot be read, CountsDoNotAddUpError.
    """
    fold, order, replay = RunFold(), CollectionOrder(), Replay(journal, past, unfinished)
    for event in replay.earlier():
        fold.handle(event)
    _tell(replay, [order, fold, *sinks], lambda event: _under(event, target.settings))
    document = fold.document()
    if document.status == "complete":
        document.exit_code = int(document.gate.exit_code)
    outcome = RunOutcome(exit_code=document.exit_code, document=document)
    if target.folder is not None:
        try:
            outcome.report_paths = write_pair(
                target.folder, document, lambda: replay.results(order.keys), timestamped=target.timestamped
            )
        except (EngineError, OSError) as error:
            outcome.report_paths = error.written if isinstance(error, ReportsError) else []
            outcome.exit_code, outcome.problem = int(ExitCode.ENGINE_FAILED), str(error)
    return outcome


def _tell(replay: Replay, sinks: Sequence[Sink], change: Callable[[RunEvent], RunEvent]) -> None:
    for event in replay.stream():
        told = change(event)
        result = decode_result(told.result) if isinstance(told, events.CaseFinished) else None
        for sink in sinks:
            sink.handle(told, result)
    for sink in sinks:
        sink.flush()


def _under(event: RunEvent, settings: Mapping[str, object] | None) -> RunEvent:
    if settings is not None and isinstance(event, events.RunStarted):
        return msgspec.structs.replace(event, settings=dict(settings))
    return event
