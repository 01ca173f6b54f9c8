"""From what a call gave to a value: awaitables are awaited, generators are read to their end.

The strings that a generator yields are joined; where it yields anything else, the last value counts, as does
a value that it returns.
"""

import inspect
from collections.abc import AsyncGenerator, Generator
from types import AsyncGeneratorType, GeneratorType
from typing import Any

from evalengine_worker.threads import Outcome, run_in_thread

_MOST_LAYERS = 10
_SETTLED = frozenset({str, dict, list, tuple, type(None)})


async def settle(value: Any) -> Outcome:
    """Return the outcome behind a value, however many awaitables and generators are wrapped around it."""
    for _ in range(_MOST_LAYERS):
        if type(value) in _SETTLED:
            break
        try:
            if isinstance(value, AsyncGeneratorType):
                value = await _read_async(value)
            elif inspect.isawaitable(value):
                value = await value
            elif isinstance(value, GeneratorType):
                outcome = await run_in_thread(read_generator, value)
                if outcome.error is not None:
                    return outcome
                value = outcome.value
            else:
                break
        except BaseException as error:  # noqa: BLE001 - SystemExit of an agent is the error of its case
            return Outcome(error=error)
    return Outcome(value)


def read_generator(generator: Generator[Any, None, Any]) -> Any:
    """Read a generator to its end; runs in the agent's thread."""
    values: list[Any] = []
    while True:
        try:
            _keep(values, next(generator))
        except StopIteration as end:
            return _joined(values) if end.value is None else end.value


async def _read_async(generator: AsyncGenerator[Any, None]) -> Any:
    values: list[Any] = []
    async for value in generator:
        _keep(values, value)
    return _joined(values)


def _keep(values: list[Any], value: Any) -> None:
    """Keep strings, to join them; of other values the last only."""
    if not isinstance(value, str):
        values.clear()
    values.append(value)


def _joined(values: list[Any]) -> Any:
    if all(isinstance(value, str) for value in values):
        return "".join(values) if values else None
    return values[-1]
