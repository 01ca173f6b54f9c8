"""The command line of a run that is continued: what it was given, and what is given anew wins. Pure."""

import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from evalengine.settings.run_settings import CommandLine

_CHOICES = ("targets", "keyword", "tags", "limit", "shuffle", "shuffle_seed")
_OF_THE_MOMENT = {"open_report", "collect_only", "verbosity", "progress", "color", "resume", "last_failed"}
"""What concerns the terminal and the moment, and is never taken over."""

_TOGETHER = (("fail_fast", "max_failures"), ("shuffle", "shuffle_seed"))
"""What says the same thing: anew in one way, it is no more said in the other."""


def continued(before: CommandLine, now: CommandLine) -> CommandLine:
    """Return the command line of a run that was started by ``before`` and is continued by ``now``."""
    merged = {name: getattr(now if _is_given(now, name) else before, name) for name in now.__struct_fields__}
    merged |= {name: getattr(now, name) for name in _OF_THE_MOMENT}
    for group in _TOGETHER:
        if any(_is_given(now, name) for name in group):
            merged |= {name: getattr(now, name) for name in group}
    if now.parallel is False:
        merged |= {"workers": now.workers, "max_concurrency": now.max_concurrency}
    return CommandLine(**merged)


def chooses_anew(now: CommandLine) -> bool:
    """Tell whether a command line says which cases are to run, or in which order."""
    return any(_is_given(now, name) for name in _CHOICES)


def _is_given(command: CommandLine, name: str) -> bool:
    return getattr(command, name) not in (None, [])


def as_recorded(command: CommandLine) -> dict[str, object]:
    """Return what a command line says as builtins, without what it leaves open and what is of the moment."""
    return {
        name: value
        for name, value in msgspec.to_builtins(command).items()
        if name not in _OF_THE_MOMENT and value is not None and value != []
    }


_FLAGS = {"keyword": "-k", "tags": "--tag", "shuffle_seed": "--shuffle"}
"""Of fields whose flag is called otherwise."""


def as_typed(recorded: Mapping[str, Any]) -> str:
    """Return what was recorded of a command line as it could be typed again."""
    words = ["agentflow", "eval"]
    for name, value in recorded.items():
        flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
        if name == "targets":
            words += value
        elif isinstance(value, bool):
            words.append(flag if value else flag.replace("--", "--no-", 1))
        else:
            for each in value if isinstance(value, list) else [value]:
                words += [flag, str(each)]
    return shlex.join(words)
