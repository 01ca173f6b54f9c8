"""Criteria configurations that cannot be meant, told before anything runs."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from evalengine.config import CriterionConfig, MatchType
from evalengine.errors import ConfigurationError


def check(field: str, config: CriterionConfig) -> None:
    """Raise ConfigurationError for a value that cannot be meant: it names the setting, the value and the range.

    A criterion that is not enabled may say anything.
    """
    if not config.enabled:
        return
    for name, (is_valid, valid) in _RULES.items():
        value = getattr(config, name)
        if not is_valid(value):
            _refuse(field, name, value, valid)
    if field == "contains_keywords" and not config.keywords:
        _refuse(field, "keywords", config.keywords, "at least one keyword")
    if field == "rubric_based" and not config.rubrics:
        _refuse(field, "rubrics", config.rubrics, "at least one rubric")


def is_score(value: Any) -> bool:
    """Tell whether a value is a number in [0, 1]."""
    return _is_number(value) and 0.0 <= value <= 1.0


def _refuse(field: str, setting: str, value: Any, valid: str) -> None:
    msg = f"criterion {field}: {setting} is {value!r}, but must be {valid}"
    raise ConfigurationError(msg)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_match_type(value: Any) -> bool:
    return isinstance(value, str) and value in {mode.value for mode in MatchType}


def _are_keywords(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) and word.strip() for word in value)


def _are_rubrics(value: Any) -> bool:
    """Tell whether rubrics can be averaged: no weight is negative, and not all are 0."""
    if not isinstance(value, list):
        return False
    weights: list[Any] = [getattr(rubric, "weight", None) for rubric in value]
    return all(_is_number(weight) and weight >= 0 for weight in weights) and (not weights or sum(weights) > 0)


_RULES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "threshold": (is_score, "a number from 0 to 1"),
    "match_type": (_is_match_type, "EXACT, IN_ORDER or ANY_ORDER"),
    "num_samples": (_is_count, "a whole number from 1 on"),
    "check_args": (lambda value: isinstance(value, bool), "True or False"),
    "judge_model": (lambda value: value is None or isinstance(value, str), "the name of a model, or None"),
    "keywords": (_are_keywords, "a list of texts that are not empty"),
    "rubrics": (_are_rubrics, "a list of rubrics whose weights are not negative, nor all 0"),
}
