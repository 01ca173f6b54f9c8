"""Configurations that cannot be meant."""

import pytest

from evalengine.config import REPORTED_NAMES, CriterionConfig, Rubric
from evalengine.criteria import check
from evalengine.errors import ConfigurationError

RUBRIC = Rubric.create("r", "is polite")


def config_of(**fields):
    return CriterionConfig(**{"keywords": ["k"], "rubrics": [RUBRIC], **fields})


@pytest.mark.parametrize("field", REPORTED_NAMES)
def test_what_can_be_meant_is_fine(field):
    check(field, config_of())


@pytest.mark.parametrize("threshold", [0, 1, 0.0, 1.0])
def test_the_ends_of_the_range_are_fine(threshold):
    check("rouge_match", config_of(threshold=threshold))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("threshold", 80),
        ("threshold", -0.1),
        ("threshold", float("nan")),
        ("threshold", float("inf")),
        ("threshold", "0.8"),
        ("threshold", True),
        ("threshold", None),
        ("num_samples", 0),
        ("num_samples", 1.5),
        ("num_samples", True),
        ("match_type", "any_order"),
        ("match_type", None),
        ("check_args", "yes"),
        ("judge_model", 5),
        ("keywords", "word"),
        ("keywords", ["ok", " "]),
        ("rubrics", [Rubric.create("r", "c", weight=-1)]),
        ("rubrics", [Rubric.create("r", "c", weight=0)]),
        ("rubrics", ["text"]),
        ("rubrics", None),
    ],
)
def test_what_cannot_be_meant_names_criterion_setting_and_value(setting, value):
    with pytest.raises(ConfigurationError) as caught:
        check("trajectory", config_of(**{setting: value}))
    message = str(caught.value)
    assert message.startswith(f"criterion trajectory: {setting} is {value!r}")
    assert "must be" in message
    assert "\n" not in message


def test_keywords_are_needed_by_the_criterion_that_looks_for_them():
    with pytest.raises(ConfigurationError, match="contains_keywords: keywords"):
        check("contains_keywords", CriterionConfig())


def test_rubrics_are_needed_by_the_criterion_that_scores_them():
    with pytest.raises(ConfigurationError, match="rubric_based: rubrics"):
        check("rubric_based", CriterionConfig())


def test_a_criterion_that_is_not_enabled_may_say_anything():
    check("contains_keywords", CriterionConfig(threshold=80, enabled=False))
