"""How a user's callable wants to be called: what its first parameter takes, and whether it wants a second.

Read from its signature once, when the agent is looked up; string annotations are resolved.
"""

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

from evalengine.recording import CaseContext

TEXT_NAMES = frozenset({"query", "prompt", "question", "text", "message", "user_input"})
CONTEXT_NAMES = frozenset({"ctx", "context"})

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class SignatureError(Exception):
    """A callable that cannot be called with what an agent is given."""


class Parameter(NamedTuple):
    """A parameter, with its annotation resolved as far as it can be."""

    name: str
    annotation: Any
    is_required: bool
    is_positional: bool

    @property
    def is_annotated(self) -> bool:
        """Whether it has an annotation."""
        return self.annotation is not inspect.Parameter.empty

    @property
    def is_text(self) -> bool:
        """Whether it takes a text: by its annotation, or where it has none, by its name."""
        return _is_string(self.annotation) if self.is_annotated else self.name in TEXT_NAMES

    @property
    def is_context(self) -> bool:
        """Whether it takes the case's context, by its annotation."""
        return _mentions_context(self.annotation)


def parameters(function: Callable[..., Any]) -> list[Parameter] | None:
    """Return the named parameters of a callable, without what is bound; None where they cannot be known."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in signature.parameters.values()):
        named = [each for each in signature.parameters.values() if each.kind in _POSITIONAL]
        if not named:
            return None
    scope = _scope(function)
    return [
        Parameter(
            each.name,
            _resolve(each.annotation, scope),
            each.default is inspect.Parameter.empty,
            each.kind in _POSITIONAL,
        )
        for each in signature.parameters.values()
        if each.kind in (*_POSITIONAL, inspect.Parameter.KEYWORD_ONLY)
    ]


def _scope(function: Any) -> dict[str, Any]:
    function = inspect.unwrap(plain_function(function))
    return getattr(function, "__globals__", {})


def plain_function(function: Any) -> Any:
    """Return the function beneath a partial, a method or an object with ``__call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function) and not isinstance(function, type):
        function = getattr(type(function), "__call__", function)  # noqa: B004 - the method, not whether there is one
    return getattr(function, "__func__", function)


def _resolve(annotation: Any, scope: dict[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, dict(scope))  # noqa: S307 - as typing.get_type_hints does, of the user's own module
    except Exception:  # noqa: BLE001 - a name that exists for type checkers only
        return annotation


def _is_string(annotation: Any) -> bool:
    """Tell whether an annotation is str, ``str | None`` or the like."""
    if isinstance(annotation, str):
        return annotation.replace(" ", "") in (
            "str",
            "str|None",
            "None|str",
            "Optional[str]",
            "typing.Optional[str]",
        )
    members = [member for member in typing.get_args(annotation) if member is not type(None)]
    if typing.get_origin(annotation) is typing.Annotated:
        return members[0] is str
    return annotation is str or members == [str]


def _mentions_context(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return "CaseContext" in annotation
    return annotation is CaseContext or CaseContext in typing.get_args(annotation)
