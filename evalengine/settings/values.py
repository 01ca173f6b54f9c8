"""What a setting may be: its flag, its key in agentflow.json, its kind and its range.

One table serves both sources, so that a bad value is told in the same words wherever it was said: the setting,
the value, the source, the rule, and the nearest value that would do.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from evalengine.errors import ConfigurationError, nearest

_KIND_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}


class Rule(NamedTuple):
    """A rule in words, the test for it, and what to propose instead of a value that breaks it."""

    words: str
    holds: Callable[[Any], bool]
    propose: Callable[[Any], str]


class Setting(NamedTuple):
    """One setting. ``kind`` is bool, int, float or str; ``flag`` or ``key`` is empty where it has none."""

    name: str
    flag: str
    key: str
    kind: type
    rule: Rule | None = None


def _propose_share(value: float) -> str:
    if 1 < value <= 100:  # noqa: PLR2004 - a percentage
        return f"did you mean {value / 100:g}?"
    return f"nearest valid: {1 if value > 1 else 0}"


def _seconds(default: str) -> Rule:
    """Make the rule for a time limit; ``default`` says what holds where it is left out."""

    def propose(value: float) -> str:
        if math.isfinite(value) and value < 0:
            return f"did you mean {-value:g}?"
        return f"leave it out for {default}"

    return Rule(
        "must be a number of seconds above 0",
        lambda value: value > 0 and math.isfinite(value),
        propose,
    )


_SHARE = Rule("must be between 0 and 1", lambda value: 0 <= value <= 1, _propose_share)
_AT_LEAST_ONE = Rule("must be at least 1", lambda value: value >= 1, lambda _: "nearest valid: 1")
_NOT_NEGATIVE = Rule("must be at least 0", lambda value: value >= 0, lambda value: f"did you mean {-value}?")
_FOLDER = Rule("must name a folder", lambda value: bool(value.strip()) and "\0" not in value, lambda _: "")
_NAME = Rule("must name a model", lambda value: bool(value.strip()), lambda _: "")
_SYNC_AGENTS = Rule(
    "must be 'threads' or 'serial'",
    lambda value: value in {"threads", "serial"},
    lambda value: f"did you mean {'serial' if value.lower().startswith('s') else 'threads'!r}?",
)

ISOLATIONS = ("worker", "case", "none")
_ISOLATION = Rule(
    "must be 'worker', 'case' or 'none'",
    ISOLATIONS.__contains__,
    lambda value: nearest(value, ISOLATIONS).removeprefix("; "),
)

SETTINGS = (
    Setting("eval_dir", "", "directory", str, _FOLDER),
    Setting("output_dir", "--output", "output_dir", str, _FOLDER),
    Setting("threshold", "--threshold", "threshold", float, _SHARE),
    Setting("fail_on_any", "--fail-on-any", "fail_on_any", bool),
    Setting("parallel", "--parallel", "parallel", bool),
    Setting("max_concurrency", "--max-concurrency", "max_concurrency", int, _AT_LEAST_ONE),
    Setting("workers", "--workers", "workers", int, _AT_LEAST_ONE),
    Setting("isolation", "--isolation", "isolation", str, _ISOLATION),
    Setting("timeout_s", "--timeout", "timeout", float, _seconds("the default of 300")),
    Setting("run_timeout_s", "--run-timeout", "run_timeout", float, _seconds("no limit")),
    Setting("import_timeout_s", "", "import_timeout", float, _seconds("the default of 60")),
    Setting("retries", "--retries", "retries", int, _NOT_NEGATIVE),
    Setting("fail_fast", "--fail-fast", "fail_fast", bool),
    Setting("max_failures", "--max-failures", "max_failures", int, _AT_LEAST_ONE),
    Setting("limit", "--limit", "", int, _AT_LEAST_ONE),
    Setting("shuffle_seed", "--shuffle", "", int, _NOT_NEGATIVE),
    Setting("report", "--report", "report", bool),
    Setting("timestamp_files", "--timestamp-files", "timestamp_files", bool),
    Setting("judge_model", "--judge-model", "judge_model", str, _NAME),
    Setting("keep_runs", "", "keep_runs", int, _AT_LEAST_ONE),
    Setting("sync_agents", "", "sync_agents", str, _SYNC_AGENTS),
)

BY_KEY = {setting.key: setting for setting in SETTINGS if setting.key}
BY_NAME = {setting.name: setting for setting in SETTINGS}


def check(setting: Setting, value: Any, said: str, where: str) -> Any:
    """Return the value as its kind; raise ConfigurationError where it cannot be meant.

    ``said`` is how the source calls the setting (``--threshold``, ``evaluation.threshold``), ``where`` the
    source itself.
    """
    if not _is_kind(value, setting.kind):
        expected = setting.rule.words if setting.rule else f"must be {_KIND_WORDS[setting.kind]}"
        if setting.rule and setting.kind in {int, float} and "number" not in expected:
            expected = f"must be {_KIND_WORDS[setting.kind]}, {expected.removeprefix('must be ')}"
        raise ConfigurationError(_sentence(said, shown(value), where, expected, _same_value(setting, value)))
    if setting.rule and not setting.rule.holds(value):
        told = f"{value:g}" if setting.kind is float else shown(value)
        raise ConfigurationError(_sentence(said, told, where, setting.rule.words, setting.rule.propose(value)))
    return setting.kind(value)


def _is_kind(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is kind


def _same_value(setting: Setting, value: Any) -> str:
    """Propose what a value of the wrong kind says, where it says something valid: ``"0.8"``, ``"yes"``, ``4.0``."""
    try:
        meant: Any = msgspec.convert(value, setting.kind, strict=False)
    except (msgspec.ValidationError, ValueError, OverflowError):
        return ""
    if setting.rule and not setting.rule.holds(meant):
        return ""
    return f"did you mean {shown(meant)}?"


def _sentence(said: str, value: str, where: str, rule: str, proposal: str) -> str:
    return f"{said} is {value} ({where}): {rule}" + (f"; {proposal}" if proposal else "")


def shown(value: Any) -> str:
    """Return a value as JSON writes it, shortened; containers by their kind."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else text[:56] + '..."'  # noqa: PLR2004 - one line
