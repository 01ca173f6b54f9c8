"""Agents that are functions: sync or async, plain or generator, methods, partials and objects with ``__call__``."""

import inspect
from collections.abc import Callable
from types import GeneratorType
from typing import Any

from evalengine_worker.agents.calling import (
    CONTEXT_NAMES,
    Parameter,
    SignatureError,
    parameters,
    plain_function,
)
from evalengine_worker.agents.settling import read_generator, settle
from evalengine_worker.agents.turn import Turn
from evalengine_worker.threads import Outcome, run_in_thread


class FunctionAgent:
    """Calls a function with the conversation, or the last user message, and the context where it wants it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._first, self._second = _wanted(function)
        self.is_sync = not is_async(function)

    async def respond(self, turn: Turn) -> Outcome:
        """Call the function: on the loop where it is async, else in a thread of its own."""
        args, named = self._arguments(turn)
        if self.is_sync:
            outcome = await run_in_thread(_call, self._function, args, named)
            return outcome if outcome.error is not None else await settle(outcome.value)
        try:
            given = self._function(*args, **named)
        except BaseException as error:  # noqa: BLE001 - a wrapper may raise before there is anything to await
            return Outcome(error=error)
        return await settle(given)

    def _arguments(self, turn: Turn) -> tuple[list[Any], dict[str, Any]]:
        first, second = self._first, self._second
        args: list[Any] = []
        named: dict[str, Any] = {}
        value: Any = turn.text if first is not None and first.is_text else turn.messages
        if first is None or first.is_positional:
            args.append(value)
        else:
            named[first.name] = value
        if second is not None and second.is_positional:
            args.append(turn.context)
        elif second is not None:
            named[second.name] = turn.context
        return args, named


def _call(function: Callable[..., Any], args: list[Any], named: dict[str, Any]) -> Any:
    value = function(*args, **named)
    return read_generator(value) if isinstance(value, GeneratorType) else value


def is_async(function: Callable[..., Any]) -> bool:
    """Tell whether calling it only makes something to await, so that the call itself takes no time."""
    target = plain_function(function)
    return inspect.iscoroutinefunction(target) or inspect.isasyncgenfunction(target)


def _wanted(function: Callable[..., Any]) -> tuple[Parameter | None, Parameter | None]:
    """Return the parameters for the conversation and for the context; raises SignatureError."""
    known = parameters(function)
    if known is None:
        return None, None
    if not known:
        raise SignatureError("it takes no argument; an agent takes the messages, or the last user message")
    first, *others = known
    second = next((each for each in others if each.is_context or each.name in CONTEXT_NAMES), None)
    if second is None:
        second = next((each for each in others if each.is_required), None)
    too_many = [each.name for each in others if each.is_required and each is not second]
    if too_many:
        msg = (
            f"it requires more than an agent is given: {', '.join(too_many)}; "
            "an agent takes the messages (or the last user message) and a CaseContext"
        )
        raise SignatureError(msg)
    if second is not None and second.is_positional and others[0] is not second:
        second = second._replace(is_positional=False)
    return first, second
