"""Importing a file of the user's under a real module name that is unique and in ``sys.modules``.

A file that is importable from the project root by a dotted name is imported by that name, its packages first, as
any code of the project would. Any other file becomes a module of a synthetic package whose path is its folder, so
that its relative imports work and two files of one base name stay apart.
"""

import ast
import hashlib
import importlib
import importlib.machinery
import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType

from evalengine_worker import namespaces

_EVALUATION_API = frozenset({"agentflow", "evalengine"})


def import_file(path: str, root: str) -> ModuleType:
    """Import a file, or return it where it is imported already. Raises whatever its code raises."""
    path = os.path.abspath(path)  # noqa: PTH100 - a string is what module specs have
    folder = str(Path(path).parent)
    if folder not in sys.path:
        sys.path.append(folder)
    argv = sys.argv
    sys.argv = [path]
    try:
        name = dotted_name(path, root)
        return importlib.import_module(name) if name else _import_apart(path)
    finally:
        sys.argv = argv


def dotted_name(path: str, root: str) -> str | None:
    """Return the name by which the file is importable from the root, or None.

    Imports the packages that the file is in, and raises what they raise.
    """
    try:
        relative = Path(os.path.realpath(path)).relative_to(os.path.realpath(root))
    except ValueError:
        return None
    parts = relative.with_suffix("").parts
    if relative.suffix != ".py" or not all(part.isidentifier() for part in parts):
        return None
    folder = os.path.realpath(root)
    for count, part in enumerate(parts[:-1], start=1):
        folder = os.path.join(folder, part)  # noqa: PTH118
        name = ".".join(parts[:count])
        if not _is_package_at(name, folder):
            return None
        importlib.import_module(name)
    name = ".".join(parts)
    spec = importlib.util.find_spec(name)
    is_it = spec is not None and spec.origin is not None and os.path.realpath(spec.origin) == os.path.realpath(path)
    return name if is_it else None


def _is_package_at(name: str, folder: str) -> bool:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    places = spec.submodule_search_locations if spec is not None else None
    return any(os.path.realpath(place) == folder for place in places or ())


def _import_apart(path: str) -> ModuleType:
    folder = str(Path(path).parent)
    digest = hashlib.sha256(os.path.realpath(folder).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    package_name = f"_evalfiles_{digest}"
    if package_name not in sys.modules:
        package = ModuleType(package_name, "The folder of eval files that are outside of any package.")
        package.__path__ = [folder]
        sys.modules[package_name] = package
    name = f"{package_name}.{re.sub(r'[^0-9A-Za-z_]', '_', Path(path).stem)}"
    known = sys.modules.get(name)
    if known is not None and known.__file__ != path:
        name = f"{name}_{hashlib.sha256(path.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
        known = sys.modules.get(name)
    return known or _execute(name, path)


def _execute(name: str, path: str) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        raise ImportError(f"{path} cannot be imported", path=path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def digest_of(path: str) -> str:
    """Return a digest of a file's bytes; an empty text where it cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def imports_more_than_the_api(path: str) -> bool:
    """Tell whether a file imports anything but the standard library and what eval files are written with.

    What it imports may set things up for the agent, so each process that runs its cases must import it too.
    """
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError):
        return True
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            tops = [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            tops = ["." if node.level else (node.module or "").partition(".")[0]]
        else:
            continue
        if not all(map(_is_harmless, tops)):
            return True
    return False


def _is_harmless(top: str) -> bool:
    if namespaces.is_projects(top):
        return False
    return top in _EVALUATION_API or top in sys.stdlib_module_names
