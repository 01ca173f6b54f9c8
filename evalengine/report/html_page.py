"""The HTML report: one self-contained page, streamed, that needs no network and runs nothing an agent printed.

Rules: what strangers wrote reaches the page escaped by the template, or as data that the page's one script puts
in as text. The content security policy names that script and the style sheet by their digests: nothing else runs.
"""

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evalengine.errors import EngineError
from evalengine.report.atomic import replacing
from evalengine.report.html_data import PageData, script_safe
from evalengine.report.html_view import view_of
from evalengine.report.plain_text import printable
from evalengine.report.summary import RunDocument

_FOLDER = Path(__file__).parent / "templates"
_SCRIPTS = ("text.js", "data.js", "compare.js", "detail.js", "cases.js", "timeline.js", "page.js")


def write_html(path: Path, document: RunDocument, results: Iterable[bytes]) -> None:
    """Write the page. ``results`` are the JSON of each EvalCaseResult, in collection order.

    Raises EngineError where the file cannot be written or the page cannot be made; what was there before is
    then untouched.
    """
    import jinja2  # Only a run that writes a page pays for it.

    environment = jinja2.Environment(
        autoescape=True,
        loader=jinja2.FileSystemLoader(_FOLDER),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["plain"] = printable
    try:
        with replacing(path) as file:
            for piece in environment.get_template("page.html").generate(_content(document, results)):
                file.write(piece.encode("utf-8", "backslashreplace"))
    except jinja2.TemplateError as error:
        msg = f"HTML report not made: {path}: {type(error).__name__}: {error}"
        raise EngineError(msg) from error


def _content(document: RunDocument, results: Iterable[bytes]) -> dict[str, Any]:
    """Return what the template names; the blocks are made while it is written."""
    data = PageData()
    script = "\n".join(["'use strict';", "(() => {", *(_asset(name) for name in _SCRIPTS), "})();"])
    style = _asset("page.css")
    return {
        "document": document,
        "view": view_of(document),
        "policy": _policy(script, style),
        "style": style,
        "script": script,
        "workers": script_safe({"workers": document.workers}),
        "blocks": data.blocks(results),
        "tables": data.tables,
    }


def _asset(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")


def _policy(script: str, style: str) -> str:
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
