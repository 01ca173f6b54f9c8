"""The data of the HTML page: an index row of each case, and all the rest of it compressed beside it.

Rules: an index row holds what a list of cases shows, sorts and filters by, so that a page of 100,000 cases opens
without reading more; everything else of a case is decompressed when somebody opens it. Index blocks are JSON in
which nothing can end a script element; detail blocks are base64. Memory is that of one block.
"""

import base64
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from evalengine.results import Status

_BLOCK_CASES = 256
_BLOCK_BYTES = 512 * 1024
_WHY = 160

STATUSES = [status.value for status in Status]
"""An index row gives the status by its place here."""

_ESCAPES = (
    (b"&", b"\\u0026"),
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)


class _Criterion(msgspec.Struct, gc=False):
    criterion: str = ""
    score: float | None = 0.0
    threshold: float | None = 0.0
    passed: bool = False
    error: str | None = None


class _Tokens(msgspec.Struct, gc=False):
    total_tokens: int = 0


class _Case(msgspec.Struct):
    """What the index needs of an EvalCaseResult."""

    eval_id: str = ""
    label: str = ""
    name: str = ""
    status: Status = Status.NOT_RUN
    duration_seconds: float | None = 0.0
    file: str = ""
    set_name: str = ""
    tags: list[str] = []
    worker: int | None = None
    started_at: float | None = None
    token_usage: _Tokens = msgspec.field(default_factory=_Tokens)
    repeat: int = 0
    attempts: int = 1
    flaky: bool = False
    error: str | None = None
    criterion_results: list[_Criterion] = []


_decode = msgspec.json.Decoder(_Case).decode
_encode = msgspec.json.Encoder(enc_hook=str).encode


def script_safe(value: Any) -> str:
    """Return JSON that may stand in a script element, whatever strings are in it."""
    data = _encode(value)
    for character, escape in _ESCAPES:
        data = data.replace(character, escape)
    return data.decode()


class Table:
    """Numbers strings, so that a row names a file, set, tag or criterion by its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of this text, a new one for a new text."""
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def texts(self) -> list[str]:
        """All texts, by their numbers."""
        return list(self._numbers)


class PageData:
    """Turns results into script elements, one pair a block; ``tables()`` is whole after the last."""

    def __init__(self) -> None:
        self._files, self._sets, self._tags, self._criteria = Table(), Table(), Table(), Table()

    def tables(self) -> str:
        """Return the texts that rows name by number, as JSON for a script element."""
        return script_safe(
            {
                "statuses": STATUSES,
                "files": self._files.texts,
                "sets": self._sets.texts,
                "tags": self._tags.texts,
                "criteria": self._criteria.texts,
            }
        )

    def blocks(self, results: Iterable[bytes]) -> Iterator[str]:
        """Yield the script elements of the results, in their order."""
        for block in _in_blocks(results):
            yield self._elements(block)

    def _elements(self, block: list[bytes]) -> str:
        rows = script_safe([self._row(_decode(result)) for result in block])
        packed = base64.b64encode(zlib.compress(b"[" + b",".join(block) + b"]", 1)).decode("ascii")
        return (
            f'<script type="application/json" class="rows">{rows}</script>\n'
            f'<script type="text/plain" class="cases">{packed}</script>\n'
        )

    def _row(self, case: _Case) -> list[Any]:
        failing = [criterion for criterion in case.criterion_results if not criterion.passed]
        return [
            case.label or case.eval_id,
            STATUSES.index(case.status),
            round(case.duration_seconds or 0.0, 4),
            case.name,
            self._files.number(case.file),
            self._sets.number(case.set_name),
            [self._tags.number(tag) for tag in case.tags],
            case.worker,
            case.started_at,
            case.token_usage.total_tokens,
            case.repeat,
            case.attempts,
            _why(case, failing),
            [self._criteria.number(criterion.criterion) for criterion in failing],
        ]


def _in_blocks(results: Iterable[bytes]) -> Iterator[list[bytes]]:
    block: list[bytes] = []
    size = 0
    for result in results:
        block.append(result)
        size += len(result)
        if len(block) >= _BLOCK_CASES or size >= _BLOCK_BYTES:
            yield block
            block, size = [], 0
    if block:
        yield block


def _why(case: _Case, failing: list[_Criterion]) -> str:
    """Say in a few words why a case did not pass."""
    if case.error:
        return case.error[:_WHY]
    if failing:
        first = failing[0]
        if first.error:
            return f"{first.criterion}: {first.error}"[:_WHY]
        return f"{first.criterion} {first.score or 0:.2f} < {first.threshold or 0:.2f}"
    if case.flaky:
        return "flaky: passed after a retry"
    unchecked = case.status == Status.PASSED and not case.criterion_results
    return "nothing to check" if unchecked else ""
