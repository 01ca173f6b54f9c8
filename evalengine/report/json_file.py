"""The JSON report, streamed: each result is spliced in as the bytes its worker sent, never decoded.

A key stands on a line of its own, and so does each result, so that line tools work on the file too.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from evalengine.report.atomic import replacing
from evalengine.report.summary import RunDocument

_RESULTS_AFTER = "eval_set_name"

_encode = msgspec.json.Encoder(enc_hook=str).encode


def write_json(path: Path, document: RunDocument, results: Iterable[bytes]) -> None:
    """Write the report. ``results`` are the JSON of each EvalCaseResult, in collection order.

    Raises EngineError where the file cannot be written; what was there before is then untouched.
    """
    with replacing(path) as file:
        separator = b"{\n"
        for field in document.__struct_fields__:
            file.write(separator + _line(field, getattr(document, field)))
            separator = b",\n"
            if field == _RESULTS_AFTER:
                file.write(b',\n"results": [')
                _write_results(file, results)
        file.write(b"\n}\n")


def _line(key: str, value: Any) -> bytes:
    return _encode(key) + b": " + _encode(value)


def _write_results(file: BinaryIO, results: Iterable[bytes]) -> None:
    separator = b"\n"
    for result in results:
        file.write(separator)
        file.write(result)
        separator = b",\n"
    file.write(b"\n]")
