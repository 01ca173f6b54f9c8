"""The walls that import-linter cannot see: no unpickling, no running of user code, no circles, small pieces."""

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COORDINATOR = ROOT / "evalengine"
WORKER = ROOT / "workers" / "evalengine_worker"

IMPORTS_BY_NAME = {
    "evalengine/__init__.py": "public names are imported on first use, from a fixed table",
}
"""Coordinator modules that may import by name, and why; the fallback package may too. engine/boot.py, which runs in
the child, needs no exception: it imports the worker plainly."""

LONGER_MODULES = {"evalengine/results.py": "the keys of the report, in one place"}

KERNEL = {
    "errors",
    "records",
    "framing",
    "start_marks",
    "breadcrumbs",
    "result_log",
    "cases",
    "evalset_json",
    "results",
    "config",
    "recording",
    "foreign",
    "wire",
    "criteria",
    "authoring",
    "_version",
}
"""What a worker may import of evalengine."""

KNOWS_BOTH_SIDES = {"evalengine_worker.debug_run"}
"""It runs coordinator and worker in one process, and only the program of --isolation none imports it."""

MOST_LINES_OF_A_MODULE = 400
MOST_LINES_OF_A_FUNCTION = 60
FORBIDDEN_CALLS = {"__import__", "eval", "exec"}
FORBIDDEN_METHODS = {"exec_module", "import_module", "load_module"}
FORBIDDEN_MODULES = {"dill", "marshal", "pickle", "runpy", "shelve"}
PICKLERS = {"cloudpickle", "reduction"}


def sources(folder: Path) -> dict[str, ast.Module]:
    """Path relative to the root, to what it parses to."""
    return {
        str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.py"))
    }


def coordinator_sources() -> dict[str, ast.Module]:
    return {
        path: tree
        for path, tree in sources(COORDINATOR).items()
        if path not in IMPORTS_BY_NAME and not path.startswith("evalengine/fallback/")
    }


def imported_roots(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module.partition(".")[0]


def forbidden_uses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    yield from ((line, name) for line, name in imported_roots(tree) if name in FORBIDDEN_MODULES)
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in FORBIDDEN_CALLS:
                yield node.lineno, name
            case ast.Attribute(attr=name) | ast.alias(name=name) if name in FORBIDDEN_METHODS:
                yield node.lineno, name
            case ast.Attribute(value=ast.Name(id="builtins"), attr=name) if name in FORBIDDEN_CALLS:
                yield node.lineno, name
            case ast.Attribute(value=ast.Name(id=module), attr=("load" | "loads") as name) if module in PICKLERS:
                yield node.lineno, f"{module}.{name}"
            case ast.ImportFrom(module="cloudpickle", names=names) if any("load" in a.name for a in names):
                yield node.lineno, "cloudpickle.loads"
            case _:
                pass


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from importlib import import_module",
        "import importlib\nimportlib.import_module('os')",
        "def f(spec, module):\n    spec.loader.exec_module(module)",
        "eval('1')",
        "exec('')",
        "__import__('os')",
        "import cloudpickle\ncloudpickle.loads(b'')",
        "from cloudpickle import loads",
        "def f():\n    import runpy",
        "import builtins\nbuiltins.exec('')",
    ],
)
def test_each_way_to_run_code_is_seen(source):
    assert list(forbidden_uses(ast.parse(source)))


def test_the_coordinator_neither_runs_code_nor_unpickles():
    found = [
        f"{path}:{line}: {what}"
        for path, tree in coordinator_sources().items()
        for line, what in forbidden_uses(tree)
    ]
    assert found == []


@pytest.mark.parametrize("path", sorted(IMPORTS_BY_NAME))
def test_an_exception_is_still_needed(path):
    assert list(forbidden_uses(ast.parse((ROOT / path).read_text(encoding="utf-8"))))


# Imports


def module_name(path: Path) -> str:
    base = ROOT / "workers" if path.is_relative_to(WORKER) else ROOT
    parts = path.relative_to(base).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def runtime_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker sees."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        yield from runtime_nodes(node)


def import_graph() -> dict[str, set[str]]:
    """Module to what it imports, anywhere in it, of our own modules."""
    paths = [
        path
        for folder in (COORDINATOR, WORKER)
        for path in folder.rglob("*.py")
        if not path.is_relative_to(COORDINATOR / "fallback")
    ]
    trees = {module_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    graph: dict[str, set[str]] = {}
    for name, tree in trees.items():
        wanted: set[str] = set()
        for node in runtime_nodes(tree):
            if isinstance(node, ast.Import):
                wanted.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    wanted.add(inner if inner in trees else node.module)
        graph[name] = (wanted & trees.keys()) - {name}
    return graph


def circle_through(graph: dict[str, set[str]], start: str) -> list[str]:
    """A path from a module back to itself, or nothing."""
    stack, seen = [[start]], {start}
    while stack:
        path = stack.pop()
        for following in sorted(graph[path[-1]]):
            if following == start:
                return [*path, start]
            if following not in seen:
                seen.add(following)
                stack.append([*path, following])
    return []


def test_a_circle_is_seen():
    assert circle_through({"a": {"b"}, "b": {"c"}, "c": {"a"}}, "a") == ["a", "b", "c", "a"]


def test_there_is_no_import_circle_not_even_through_a_function():
    graph = import_graph()
    assert {name: circle for name in graph if (circle := circle_through(graph, name))} == {}


def test_the_worker_imports_the_kernel_alone():
    outside = {
        f"{name} -> {wanted}"
        for name, imported in import_graph().items()
        for wanted in imported
        if name.startswith("evalengine_worker")
        and name not in KNOWS_BOTH_SIDES
        and wanted.startswith("evalengine.")
        and wanted.split(".")[1] not in KERNEL
    }
    assert outside == set()


def test_only_the_program_for_debuggers_imports_what_knows_both_sides():
    importers = {name for name, imported in import_graph().items() if imported & KNOWS_BOTH_SIDES}
    assert importers == {"evalengine_worker.debug"}


def test_relative_imports_are_not_used():
    relative = [
        f"{path}:{node.lineno}"
        for folder in (COORDINATOR, WORKER)
        for path, tree in sources(folder).items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level and not path.startswith("evalengine/fallback/")
    ]
    assert relative == []


# Sizes


def function_lengths() -> dict[str, int]:
    return {
        f"{path}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for folder in (COORDINATOR, WORKER)
        for path, tree in sources(folder).items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_modules_are_short():
    long = {
        str(path.relative_to(ROOT)): lines
        for folder in (COORDINATOR, WORKER)
        for path in folder.rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) >= MOST_LINES_OF_A_MODULE
    }
    assert long.keys() <= LONGER_MODULES.keys(), long


def test_functions_are_short():
    lengths = function_lengths()
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES_OF_A_FUNCTION} == {}


def test_most_functions_are_very_short():
    assert statistics.median(function_lengths().values()) <= 10


def test_every_module_says_what_it_is_for():
    silent = [
        path
        for folder in (COORDINATOR, WORKER)
        for path, tree in sources(folder).items()
        if tree.body and not ast.get_docstring(tree)
    ]
    assert silent == []
