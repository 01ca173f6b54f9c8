"""The project's own top-level names win, as they do for a script of its; the engine keeps the modules it has.

A project may have its own ``tests``, ``cases``, ``queue.py`` or ``msgspec.py``. The engine imports all it needs
before the project is on ``sys.path``; then whatever the project has a module of its own for is taken out of
``sys.modules``, so that the project's ``import queue`` finds the project's. Modules that are loaded already hold
on to theirs.

Kept in place, whatever the project has: what the interpreter itself starts with, the few modules without which
no later import of the standard library works (a script beside a ``types.py`` could not start either), and the
engine. A folder without ``__init__.py`` shadows nothing: it loses to a real module anywhere on the path.
"""

import importlib.machinery
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import evalengine

KEPT = frozenset(
    {"agentflow", "evalengine", "evalengine_worker", "__main__", "__mp_main__"}
    | set(sys.builtin_module_names)
    | {"abc", "codecs", "encodings", "genericpath", "importlib", "io", "ntpath", "os", "posixpath", "site", "stat"}
    | {"zipimport", "asyncio", "collections", "contextlib", "contextvars", "copyreg", "dataclasses", "enum"}
    | {"functools", "heapq", "inspect", "keyword", "operator", "re", "reprlib", "selectors", "signal", "socket"}
    | {"sysconfig", "threading", "types", "typing", "warnings", "weakref", "linecache", "traceback"}
)

_LATE = frozenset({"rouge_score", "nltk", "numpy", "absl", "six", "joblib", "regex", "click", "tqdm"})
"""What the engine may import after the project is on the path."""

_displaced: dict[str, ModuleType] = {}
_clean_path: list[str] = []
_project_names: frozenset[str] = frozenset()


def enter_project(root: str, more: list[str]) -> None:
    """Put the project first on ``sys.path``, then ``more``, and let the project's own names win."""
    global _project_names  # noqa: PLW0603 - one process has one project
    _clean_path[:] = sys.path
    folders = [root, *(entry for entry in more if entry != root)]
    own_folders = [folder for folder in folders if folder not in _clean_path]
    sys.path[:] = [*folders, *(entry for entry in sys.path if entry not in folders)]
    fallback = os.path.join(os.path.dirname(evalengine.__file__), "fallback")  # noqa: PTH118, PTH120
    if os.path.isdir(fallback) and fallback not in sys.path:  # noqa: PTH112
        sys.path.append(fallback)
    importlib.invalidate_caches()
    _project_names = frozenset(name for folder in own_folders for name in _own_names(folder))
    _displace()


def _own_names(folder: str) -> Iterator[str]:
    suffixes = importlib.machinery.all_suffixes()
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir():
            if any(os.path.exists(os.path.join(entry.path, f"__init__{suffix}")) for suffix in suffixes):  # noqa: PTH110, PTH118
                yield entry.name
        else:
            yield from (entry.name[: -len(suffix)] for suffix in suffixes if entry.name.endswith(suffix))


def _displace() -> None:
    for name, module in list(sys.modules.items()):
        top = name.partition(".")[0]
        if top in _project_names and top not in KEPT and not top.startswith("_"):
            _displaced[name] = module
            del sys.modules[name]


def is_projects(name: str) -> bool:
    """Tell whether the project has a module of that top-level name."""
    return name in _project_names


def is_shadowed() -> bool:
    """Tell whether a late import of the engine's own could find a module of the project instead."""
    return bool(_displaced) or not _project_names.isdisjoint(_LATE | sys.stdlib_module_names)


@contextmanager
def own_modules() -> Iterator[None]:
    """Let the engine import for itself: its modules and path are back for the duration. Main thread only."""
    if not is_shadowed():
        yield
        return
    project_path = sys.path[:]
    project_modules = {
        name: module for name, module in sys.modules.items() if name.partition(".")[0] in _project_names - KEPT
    }
    for name in project_modules:
        del sys.modules[name]
    sys.modules.update(_displaced)
    sys.path[:] = _clean_path
    try:
        yield
    finally:
        sys.path[:] = project_path
        _displace()
        sys.modules.update(project_modules)
