"""Which files a run reads: the targets of the command line, else a scan of the eval directory.

Only names are looked at here; files are opened by workers. A label never depends on what the targets were: it is
the path relative to the eval directory if inside it, else to the root (with ``./`` before it where that would read
like a file of the eval directory), else absolute.
"""

import difflib
import os
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

from evalengine.errors import ConfigurationError, DiscoveryError, NoCasesError
from evalengine.records import Record

PYTHON_PATTERNS = ("*_eval.py", "eval_*.py")
JSON_PATTERN = "*.evalset.json"
_CONFEVAL = "confeval.py"
_FOLDERS_NOT_ENTERED = {"__pycache__", "node_modules", "site-packages"}
_MARKS_OF_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")


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


class Where(Protocol):
    """What of a run's settings says where to look."""

    @property
    def root(self) -> Path:
        """The project root."""
        ...

    @property
    def eval_dir(self) -> Path:
        """The folder that is scanned where no target is given."""
        ...

    @property
    def targets(self) -> Sequence[str]:
        """Files, folders and cases as they were given."""
        ...


def find_files(where: Where, cwd: Path) -> list[EvalFile]:
    """Return the files to run, in the order of their labels, each once.

    Raises DiscoveryError for a target that is not there or cannot be read, NoCasesError for folders without a
    single eval file.
    """
    found: dict[str, EvalFile] = {}
    named = [_locate(target, where, cwd) for target in where.targets] or [_default_folder(where, cwd)]
    for path, case_id in named:
        for each in _scan(path) if path.is_dir() else [path]:
            _add(found, each, case_id, where)
    if not found:
        raise NoCasesError(_nothing_found(where, cwd))
    return sorted(found.values(), key=lambda file: file.label.split("/"))


def _add(found: dict[str, EvalFile], path: Path, case_id: str | None, where: Where) -> None:
    """Add a file, or merge what is selected of it: a file named without a case is run whole."""
    ids = None if case_id is None else [case_id]
    file = found.setdefault(
        os.path.realpath(path),
        EvalFile(
            path=path,
            label=_label(path, where),
            kind="json" if path.suffix == ".json" else "python",
            selected_ids=ids,
        ),
    )
    if file.selected_ids is None or case_id is None:
        file.selected_ids = None
    elif case_id not in file.selected_ids:
        file.selected_ids.append(case_id)


# Targets


def _default_folder(where: Where, cwd: Path) -> tuple[Path, None]:
    folder = where.eval_dir
    if folder.is_dir():
        return folder, None
    shown = _shown(folder, cwd)
    if os.path.lexists(folder):
        raise DiscoveryError(f"Eval directory '{shown}' is a file, and must be a folder of eval files")
    raise DiscoveryError(
        f"Eval directory '{shown}/' not found: make it, name a path (agentflow eval PATH), "
        "or let `agentflow init --prod` lay out a project with evals"
    )


def _locate(target: str, where: Where, cwd: Path) -> tuple[Path, str | None]:
    """Return the path that a target names, and the case: a path from the working directory, or a label."""
    text, separator, case_id = target.partition("::")
    folders = (cwd, where.root) if target.startswith("./") else (cwd, where.eval_dir, where.root)
    path = next((found for folder in folders if text and _is_there(found := _absolute(folder / text))), None)
    if path is None:
        raise DiscoveryError(f"Path not found: {text or repr(target)}{_nearest_path(text, folders)}")
    _check_kind(path, text, is_case=bool(separator))
    if separator and not case_id:
        raise DiscoveryError(f"{target}: the id of a case is missing after '::'")
    return path, case_id or None


def _check_kind(path: Path, text: str, *, is_case: bool) -> None:
    if path.is_dir():
        if is_case:
            raise DiscoveryError(f"{text} is a folder, and '::' selects a case of a file")
    elif path.name == _CONFEVAL:
        raise DiscoveryError(f"{text} configures the evaluation of other files and holds no cases: name eval files")
    elif path.suffix not in {".py", ".json"}:
        raise DiscoveryError(f"{text} is no eval file: its name must end with .py or .json")
    elif path.exists() and not path.is_file():
        raise DiscoveryError(f"{text} is neither a file nor a folder")


def _nearest_path(text: str, folders: Sequence[Path]) -> str:
    """Name the existing path that is nearest to one that does not exist."""
    if not text:
        return ""
    for folder in folders:
        parent, name = os.path.split(text.rstrip("/"))
        try:
            names = [entry.name for entry in os.scandir(folder / parent) if not entry.name.startswith(".")]
        except OSError:
            continue
        close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
        if close:
            return f"; did you mean '{Path(parent, close[0]).as_posix()}'?"
    return ""


# Scanning


def _scan(folder: Path) -> Iterator[Path]:
    """Yield the eval files below a folder.

    Linked folders come after all real ones, and each real folder is entered once: links that lead back, and links
    to what was seen already, end there.
    """
    seen: set[str] = set()
    real_folder = os.path.realpath(folder)
    waiting = [folder]
    links: list[Path] = []
    while waiting or links:
        current = waiting.pop() if waiting else links.pop(0)
        real = os.path.realpath(current)
        if real in seen or (current != folder and _contains(real, real_folder)):
            continue
        seen.add(real)
        for entry in _entries(current):
            path = Path(entry.path)
            if _is_folder(entry):
                if _is_entered(path):
                    (links if entry.is_symlink() else waiting).append(path)
            elif _is_eval_file(entry.name) and not _is_special(path):
                yield path


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                (entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name
            )
    except OSError as error:
        raise DiscoveryError(f"{folder} cannot be searched: {error.strerror}") from None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # A link that leads to itself: as a file, it is an error of the report.


def _is_special(path: Path) -> bool:
    """Tell whether reading it could wait for ever: a pipe, a device. What cannot be read is an error later."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _is_entered(folder: Path) -> bool:
    if folder.name in _FOLDERS_NOT_ENTERED:
        return False
    return not any(os.path.lexists(folder / mark) for mark in _MARKS_OF_ENVIRONMENTS)


def _is_eval_file(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in (*PYTHON_PATTERNS, JSON_PATTERN))


def _contains(folder: str, inner: str) -> bool:
    return os.path.commonpath([folder, inner]) == folder


def _nothing_found(where: Where, cwd: Path) -> str:
    searched = ", ".join(f"'{target}'" for target in where.targets) or f"'{_shown(where.eval_dir, cwd)}/'"
    patterns = ", ".join(PYTHON_PATTERNS)
    return f"No eval cases found: no file in {searched} is named {patterns} or {JSON_PATTERN}"


# Labels


def _label(path: Path, where: Where) -> str:
    label = _relative(path, where.eval_dir)
    if label is None:
        label = _relative(path, where.root)
        if label is None:
            label = path.as_posix()
        elif _is_there(where.eval_dir / label):
            label = f"./{label}"
    try:
        label.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("ascii", "backslashreplace")
        raise ConfigurationError(f"{shown}: the name is not UTF-8, so that no report could show it") from None
    return label


def _relative(path: Path, folder: Path) -> str | None:
    if path.is_relative_to(folder):
        return path.relative_to(folder).as_posix()
    real, real_folder = Path(os.path.realpath(path)), Path(os.path.realpath(folder))
    return real.relative_to(real_folder).as_posix() if real.is_relative_to(real_folder) else None


def _absolute(path: Path) -> Path:
    """Make a path absolute and take ``.`` and ``..`` out of it; symbolic links stay."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - Path.absolute keeps the dots


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


def _shown(path: Path, cwd: Path) -> str:
    return path.relative_to(cwd).as_posix() if path.is_relative_to(cwd) else str(path)
