"""The HTML report: one self-contained page, streamed, that needs no network and runs nothing an agent printed."""

from collections.abc import Iterable
from pathlib import Path

from evalengine.report.summary import RunDocument


def write_html(path: Path, document: RunDocument, results: Iterable[bytes]) -> None:
    """Write the page. ``results`` are the JSON of each EvalCaseResult, in collection order.

    Raises EngineError where the file cannot be written; what was there before is then untouched.
    """
    raise NotImplementedError
