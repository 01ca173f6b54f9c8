"""The entry points of an eval file: ``get_eval_set``, functions annotated ``-> EvalSet``, scenarios.

All protocols of a file count, in the order in which they are defined. Each entry point is called once; the
scenarios' function wins over ``SCENARIOS``, which it usually returns. Annotated functions are those defined in the
file itself (not imported ones) whose names do not start with an underscore.
"""

import collections.abc
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from types import ModuleType
from typing import Any, NamedTuple

from evalengine.cases import ConversationScenario, EvalSet
from evalengine.foreign import as_eval_set, as_scenario

_CONTAINERS = frozenset(
    {
        typing.Union,
        types.UnionType,
        typing.Annotated,
        list,
        tuple,
        set,
        collections.abc.Sequence,
        collections.abc.Collection,
        collections.abc.Iterable,
        collections.abc.Iterator,
        collections.abc.Generator,
        collections.abc.AsyncIterable,
        collections.abc.AsyncIterator,
        collections.abc.AsyncGenerator,
        collections.abc.Awaitable,
        collections.abc.Coroutine,
    }
)
_OWN_NAMES = frozenset({"get_eval_set", "get_scenarios", "SCENARIOS", "get_eval_config"})
_WORD = re.compile(r"\bEvalSet\b")


class Kind(Enum):
    """What an entry point gives."""

    SETS = "sets"
    SCENARIOS = "scenarios"


class EntryPoint(NamedTuple):
    """One source of cases in a file."""

    name: str
    kind: Kind
    value: Any
    """A function to call, or the scenarios themselves."""
    may_be_none: bool = False
    """Whether its annotation allows None, which then means no cases."""


class EntryPointError(Exception):
    """An entry point that gives something else than it should."""


class Found(NamedTuple):
    """The entry points of a file, and what is worth a warning."""

    entry_points: list[EntryPoint]
    warnings: list[str]


def find_entry_points(module: ModuleType) -> Found:
    """Return the entry points of a module in the order of their definition."""
    found = Found([], [])
    seen: set[int] = set()
    for name, value in list(vars(module).items()):
        entry = _entry_point(module, name, value)
        if entry is None or id(value) in seen:
            continue
        seen.add(id(value))
        required = _required_parameters(value) if callable(value) else []
        if not required:
            found.entry_points.append(entry)
        elif name in _OWN_NAMES:
            raise EntryPointError(f"{name}() must take no arguments, but requires {', '.join(required)}")
        else:
            found.warnings.append(
                f"{name}() is annotated -> EvalSet but requires {', '.join(required)}; it was not called"
            )
    return found


def _entry_point(module: ModuleType, name: str, value: Any) -> EntryPoint | None:
    if name == "get_eval_set":
        if not callable(value):
            raise EntryPointError(f"get_eval_set must be a function, not a value of type {type(value).__name__}")
        return EntryPoint(name, Kind.SETS, value, may_be_none=_annotation_allows_none(value))
    if name == "get_scenarios" and callable(value):
        return EntryPoint(name, Kind.SCENARIOS, value)
    if name == "SCENARIOS" and not callable(getattr(module, "get_scenarios", None)):
        return EntryPoint(name, Kind.SCENARIOS, value)
    if name.startswith("_") or name in _OWN_NAMES or not _is_own_function(module, value):
        return None
    if not mentions_eval_set(_return_annotation(value)):
        return None
    return EntryPoint(name, Kind.SETS, value, may_be_none=_annotation_allows_none(value))


def _is_own_function(module: ModuleType, value: Any) -> bool:
    if not callable(value) or isinstance(value, type):
        return False
    return getattr(value, "__module__", None) == module.__name__ and hasattr(value, "__annotations__")


def _required_parameters(function: Any) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each.name for each in parameters if each.default is each.empty and each.kind not in variadic]


def _return_annotation(function: Any) -> Any:
    try:
        annotation = function.__annotations__.get("return")
    except Exception:  # noqa: BLE001 - annotations that are evaluated late may raise
        return None
    if not isinstance(annotation, str):
        return annotation
    scope = getattr(inspect.unwrap(function), "__globals__", {})
    try:
        return eval(annotation, dict(scope))  # noqa: S307 - as typing.get_type_hints does, of the user's own module
    except Exception:  # noqa: BLE001 - a name that exists for type checkers only
        return annotation


def mentions_eval_set(annotation: Any) -> bool:
    """Tell whether an annotation is EvalSet, or a union, container or iterator of it."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        return _WORD.search(annotation) is not None
    if hasattr(annotation, "__value__"):
        return mentions_eval_set(annotation.__value__)
    if isinstance(annotation, type) and typing.get_origin(annotation) is None:
        return issubclass(annotation, EvalSet) or annotation.__name__ == "EvalSet"
    if typing.get_origin(annotation) not in _CONTAINERS:
        return False
    return any(mentions_eval_set(member) for member in typing.get_args(annotation))


def _annotation_allows_none(function: Any) -> bool:
    annotation = _return_annotation(function)
    if isinstance(annotation, str):
        return "Optional" in annotation or "None" in annotation
    return type(None) in typing.get_args(annotation)


def read_sets(entry: EntryPoint, value: Any) -> Iterator[EvalSet]:
    """Yield the eval sets that an entry point gave. Raises EntryPointError, and what its generator raises."""
    if value is None:
        if entry.may_be_none:
            return
        raise EntryPointError(f"{entry.name}() returned None; it must return an EvalSet")
    if _is_many(value):
        for item in value:
            yield from read_sets(entry._replace(may_be_none=False), item)
        return
    yield _converted(entry, value, as_eval_set)


def read_scenarios(entry: EntryPoint, value: Any) -> Iterator[ConversationScenario]:
    """Yield the scenarios that an entry point gave. Raises EntryPointError."""
    if value is None:
        raise EntryPointError(f"{entry.name} gives None; it must give a list of ConversationScenario")
    for item in value if _is_many(value) else [value]:
        yield _converted(entry, item, as_scenario)


def _is_many(value: Any) -> bool:
    if (
        isinstance(value, str | bytes | Mapping | EvalSet)
        or hasattr(value, "model_dump")
        or hasattr(value, "build")
    ):
        return False
    return isinstance(value, collections.abc.Iterable)


def _converted(entry: EntryPoint, value: Any, convert: Callable[[Any], Any]) -> Any:
    try:
        return convert(value)
    except (ValueError, TypeError) as error:
        raise EntryPointError(f"{entry.name} gives something else than it should: {error}") from None
