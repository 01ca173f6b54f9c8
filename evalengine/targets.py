"""Which files a run reads: targets of the command line, or the scan of the eval directory."""

from pathlib import Path

from evalengine.records import Record


class EvalFile(Record, kw_only=True):
    """A file with cases, as the coordinator knows it: by name only."""

    path: Path
    """Absolute; symbolic links are kept as they were named."""
    label: str
    """The path as reports show it: relative to the eval directory, else to the root; unique in a run."""
    kind: str
    """``python`` or ``json``."""
    selected_ids: list[str] | None = None
    """The case ids named on the command line; None selects all."""
