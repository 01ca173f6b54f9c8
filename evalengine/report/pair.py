"""The two files of a run, HTML and JSON: written one after the other, from results that are read twice.

A report that cannot be written or made costs neither the results nor the other report.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from evalengine.errors import EngineError
from evalengine.report.files import release, report_paths
from evalengine.report.summary import RunDocument


class ReportsError(EngineError):
    """A report is missing; ``written`` are the paths of those that are not."""

    def __init__(self, message: str, written: list[Path]) -> None:
        super().__init__(message)
        self.written = written


def write_pair(
    folder: Path, document: RunDocument, results: Callable[[], Iterable[bytes]], *, timestamped: bool
) -> list[Path]:
    """Write both reports of a run and return their paths, the HTML first.

    ``results`` gives the JSON of each EvalCaseResult in collection order, each time it is called. Raises
    ReportsError where a file cannot be written, EngineError where the folder cannot.
    """
    from evalengine.report.html_page import write_html
    from evalengine.report.json_file import write_json

    name = document.eval_set_name or document.eval_set_id
    html, json = report_paths(folder, name, datetime.now().astimezone(), timestamped)
    written: list[Path] = []
    problems: list[str] = []
    for path, write in ((json, write_json), (html, write_html)):
        try:
            write(path, document, results())
            written.insert(0, path)
        except (EngineError, OSError) as error:
            problems.append(str(error))
        except Exception as error:  # noqa: BLE001 - a fault of ours, told like any other
            problems.append(f"report not made: {path}: {type(error).__name__}: {error}")
    release([html, json])
    if problems:
        raise ReportsError("; ".join(problems), written)
    return written
