"""The terminal: case lines as they come, then failures, results and where the reports are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from evalengine.events import RunEvent
from evalengine.report.summary import RunDocument
from evalengine.results import EvalCaseResult


class Console:
    """The sink of the terminal.

    ``out`` takes case lines, failures, results and report paths, ``err`` the bar, notices and warnings; None
    stands for a closed stream. ``verbosity`` is -1, 0 or 1. ``color`` and ``progress`` None: as the streams and
    the environment suggest. ``folder`` is what the header says was searched.
    """

    def __init__(
        self,
        out: TextIO | None,
        err: TextIO | None,
        *,
        verbosity: int = 0,
        color: bool | None = None,
        progress: bool | None = None,
        folder: str = "",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        raise NotImplementedError

    def handle(self, event: RunEvent, result: EvalCaseResult | None = None) -> None:
        """Take one event; what it has to say is written at the next :meth:`flush`."""

    def flush(self) -> None:
        """Write what is due and bring the bar up to date; call it once per batch of events."""

    def finish(self, document: RunDocument, paths: Sequence[Path] = ()) -> None:
        """Write failures, results, gate and report paths, and take the bar away."""
