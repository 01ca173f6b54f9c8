"""Which criteria judge the cases of a file, who said so, and the file's own limits.

What a Python caller handed over wins; then the file's config, confeval.py's, the built-in criteria.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from evalengine import criteria
from evalengine.config import (
    REPORTED_NAMES,
    CriterionConfig,
    EvalConfig,
    criterion_name,
    default_criteria,
)
from evalengine.criteria import custom
from evalengine.errors import ConfigurationError
from evalengine.wire import CriterionSpec

Given = tuple[str, EvalConfig]
"""Who configures, and what."""


class Resolved(NamedTuple):
    """What holds for the cases of a file."""

    specs: list[CriterionSpec]
    source: str
    custom: list[Any]
    """The custom criteria that the specs count in."""
    needs_model: list[str]
    timeout_s: float | None
    max_concurrency: int | None


def resolve(candidates: Sequence[Given | None], judge_model: str | None) -> Resolved:
    """Resolve the first configuration that is given, else the built-in one. Raises ConfigurationError."""
    given = next((candidate for candidate in candidates if candidate is not None), None)
    source, config = given or ("builtin", EvalConfig(criteria=default_criteria()))
    objects = [custom.resolve(item) for item in config.criteria.custom]
    specs = [*_built_in(config), *_custom(objects)]
    needing = [
        spec.field
        for spec in specs
        if spec.custom is None and criteria.needs_model(spec.field, spec.config, judge_model)
    ]
    return Resolved(
        specs,
        source,
        objects,
        needing,
        _positive(config.timeout, "timeout", "a positive number of seconds"),
        _whole(config.max_concurrency),
    )


def _built_in(config: EvalConfig) -> Iterator[CriterionSpec]:
    for field, criterion in config.criteria.enabled():
        criteria.check(field, criterion)
        yield CriterionSpec(field, REPORTED_NAMES[field], criterion)


def _custom(objects: Sequence[Any]) -> Iterator[CriterionSpec]:
    for place, item in enumerate(objects):
        if custom.is_enabled(item):
            name = criterion_name(item)
            yield CriterionSpec(name, name, CriterionConfig(threshold=custom.threshold_of(item)), custom=place)


def _positive(value: Any, name: str, valid: str) -> float | None:
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value <= 0:
        msg = f"{name} is {value!r}, must be {valid}"
        raise ConfigurationError(msg)
    return float(value)


def _whole(value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int):
        msg = f"max_concurrency is {value!r}, must be a whole number of 1 or more"
        raise ConfigurationError(msg)
    number = _positive(value, "max_concurrency", "a whole number of 1 or more")
    return None if number is None else int(number)
