"""The two files of a run, HTML and JSON: written one after the other, from results that are read twice."""

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from evalengine.report.files import release, report_paths
from evalengine.report.summary import RunDocument


def write_pair(
    folder: Path, document: RunDocument, results: Callable[[], Iterable[bytes]], *, timestamped: bool
) -> list[Path]:
    """Write both reports of a run and return their paths, the HTML first.

    ``results`` gives the JSON of each EvalCaseResult in collection order, each time it is called. Raises
    EngineError where a file cannot be written.
    """
    from evalengine.report.html_page import write_html
    from evalengine.report.json_file import write_json

    name = document.eval_set_name or document.eval_set_id
    html, json = report_paths(folder, name, datetime.now().astimezone(), timestamped)
    try:
        write_json(json, document, results())
        write_html(html, document, results())
    finally:
        release([html, json])
    return [html, json]
