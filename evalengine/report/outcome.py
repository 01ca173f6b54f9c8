"""How a run ended, for whoever asked for it."""

from pathlib import Path

import msgspec

from evalengine.report.summary import RunDocument


class RunOutcome(msgspec.Struct):
    """How a run ended."""

    exit_code: int
    document: RunDocument
    report_paths: list[Path] = []
    collected: list[str] = []
    """Labels in the order they would run, where the run only collects."""
    problem: str | None = None
    """Why reports are missing, where they are; the exit code says so, too."""
    told: list[str] = []
    """Faults of our own that cost nothing but what was told of the run."""
