"""Options whose value may be left out: ``--shuffle`` or ``--shuffle 7``, ``--resume`` or ``--resume 20260513``.

click takes whatever follows such an option for its value, so that ``--shuffle evals/`` would lose its target. Here
a value is taken only where it can be one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import click

RANDOM = "random"
LAST = "last"
_RUN = re.compile(r"\d{1,8}|\d{8}-\d{0,6}|\d{8}-\d{6}-[0-9a-f]{0,6}")


class Optional(NamedTuple):
    """An option's value where none is given, and the test for what can be one."""

    left_out: str
    can_be: Callable[[str], bool]


def with_values(args: Sequence[str], options: Mapping[str, Optional]) -> list[str]:
    """Give each of the options its value: of ``--shuffle evals`` make ``--shuffle=random evals``."""
    rewritten: list[str] = []
    rest = list(args)
    while rest:
        arg = rest.pop(0)
        if arg == "--":
            return [*rewritten, arg, *rest]
        option = options.get(arg)
        if option is None:
            rewritten.append(arg)
        elif rest and option.can_be(rest[0]):
            rewritten.append(f"{arg}={rest.pop(0)}")
        else:
            rewritten.append(f"{arg}={option.left_out}")
    return rewritten


def is_whole_number(text: str) -> bool:
    """Tell whether a text reads as an integer."""
    return text.removeprefix("-").isdecimal()


def looks_like_run(text: str) -> bool:
    """Tell whether a text may be a run's id, the beginning of one, or ``last``."""
    return text == LAST or _RUN.fullmatch(text) is not None


def seed(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | None:  # noqa: ARG001 - a callback
    """Return the number, or ``random``; raise BadParameter for anything else."""
    if value is None or value == RANDOM:
        return value
    if not is_whole_number(value):
        raise click.BadParameter(f"{value!r} is not a whole number")
    return int(value)
