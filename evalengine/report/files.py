"""Where a run's reports go: names made safe, and never another run's file overwritten.

Rules: a name is one path component, whatever the eval set is called. A timestamped name is reserved by creating
its files exclusively, so that two runs that end in the same second get two names.
"""

import contextlib
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from evalengine.errors import EngineError

COMBINED = "combined_eval"
"""The name of a run over several eval sets."""

_MAX_NAME_BYTES = 100
_UNSAFE = re.compile(r"[^\w.()+@=,-]+")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def report_name(set_names: Sequence[str]) -> str:
    """Name the report of a run over these eval sets: the one set's name, else ``combined_eval``."""
    distinct = list(dict.fromkeys(name for name in set_names if name))
    return distinct[0] if len(distinct) == 1 else COMBINED


def safe_name(name: str) -> str:
    """Make a name that is one path component on every system; letters of every script stay."""
    name = _UNSAFE.sub("_", unicodedata.normalize("NFC", name)).strip("._ -")
    while len(name.encode(errors="replace")) > _MAX_NAME_BYTES:
        name = name[:-1]
    name = name.strip("._ -") or "eval"
    return f"_{name}" if _RESERVED.match(name) else name


def report_paths(folder: Path, name: str, when: datetime, timestamped: bool) -> tuple[Path, Path]:
    """Return the (HTML, JSON) paths of a run that ended at ``when``, local time; creates the folder.

    Timestamped paths exist already, empty, when this returns: they are taken. Raises EngineError where the
    folder cannot be written.
    """
    name = safe_name(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not timestamped:
            return folder / f"{name}.html", folder / f"{name}.json"
        for stem in _stems(f"{name}_{when:%Y%m%d_%H%M%S}"):
            html, json = folder / f"{stem}.html", folder / f"{stem}.json"
            if _reserve(html, json):
                return html, json
    except OSError as error:
        msg = f"report not writable: {folder}: {error.strerror or error}"
        raise EngineError(msg) from error
    raise AssertionError


def release(paths: Iterable[Path]) -> None:
    """Give back reserved paths that were never written: empty files are removed, others stay."""
    for path in paths:
        with contextlib.suppress(OSError):
            if path.stat().st_size == 0:
                path.unlink()


def _stems(first: str) -> Iterator[str]:
    yield first
    number = 2
    while True:
        yield f"{first}_{number}"
        number += 1


def _reserve(html: Path, json: Path) -> bool:
    if not _create(html):
        return False
    if _create(json):
        return True
    html.unlink()
    return False


def _create(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    except FileExistsError:
        return False
    return True
