"""What a criterion may return, and what becomes an error."""

from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from evalengine.criteria.verdicts import interpret_value
from evalengine.results import CriterionResult, NotApplicable, TokenUsage


def read(value, threshold=0.5):
    return interpret_value("mine", value, threshold)


@pytest.mark.parametrize(
    ("value", "score"),
    [
        (True, 1.0),
        (False, 0.0),
        (1, 1.0),
        (0, 0.0),
        (0.25, 0.25),
        (Decimal("0.5"), 0.5),
        (Fraction(1, 2), 0.5),
        (np.float32(0.5), 0.5),
        (np.float64(0.5), 0.5),
        (np.bool_(True), 1.0),
        (np.int64(1), 1.0),
    ],
)
def test_truth_values_and_numbers_are_scores(value, score):
    result = read(value)
    assert (result.score, result.passed, result.error, result.threshold) == (score, score >= 0.5, None, 0.5)
    assert type(result.score) is float


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), np.float64("nan"), Decimal("nan")])
def test_a_score_that_is_not_finite_is_an_error(value):
    result = read(value)
    assert "non-finite" in result.error
    assert not result.passed


@pytest.mark.parametrize("value", [1.01, -0.1, 80, 10**400])
def test_a_score_out_of_range_is_an_error(value):
    result = read(value)
    assert result.error
    assert not result.passed


@pytest.mark.parametrize("value", ["yes", [1], {}, object(), 1j, np.array([1, 2])])
def test_any_other_type_is_an_error_that_names_it_and_what_is_accepted(value):
    result = read(value)
    assert f"returned a value of type {type(value).__name__}" in result.error
    assert "CriterionResult" in result.error
    assert not result.passed


def test_none_is_an_error_that_says_what_to_return():
    assert read(None).error.startswith("returned None; accepted are True or False")


def test_a_result_stands_as_its_author_gave_it():
    result = CriterionResult.success("own", 0.9, 0.7, {"reason": "r"})
    assert read(result) == result


def test_a_result_without_a_name_gets_the_criterions():
    assert read(CriterionResult(criterion="", score=1.0, passed=True)).criterion == "mine"


@pytest.mark.parametrize("score", [float("nan"), 2.0, "high", None])
def test_a_result_with_a_score_that_cannot_count_is_an_error(score):
    result = read(CriterionResult(criterion="own", score=score, passed=True))
    assert result.error
    assert (result.passed, result.score) == (False, 0.0)


def test_a_result_with_an_error_has_no_pass():
    result = read(CriterionResult(criterion="own", score=1.0, passed=True, error="boom"))
    assert (result.passed, result.score, result.error) == (False, 0.0, "boom")


def test_a_result_is_not_changed_in_place():
    result = CriterionResult(criterion="", score=1, passed=True)
    read(result)
    assert result.criterion == ""


def test_nothing_to_compare_gets_the_criterions_name_and_threshold():
    assert read(NotApplicable(criterion="", reason="r")) == NotApplicable(
        criterion="mine", threshold=0.5, reason="r"
    )


def test_a_result_of_another_library_is_read_by_its_fields():
    theirs = SimpleNamespace(
        criterion="own",
        score=0.5,
        passed=True,
        threshold=0.4,
        details={"reason": "r"},
        error=None,
        token_usage=SimpleNamespace(input_tokens=3, output_tokens=4),
    )
    result = read(theirs)
    assert (result.criterion, result.score, result.passed, result.threshold) == ("own", 0.5, True, 0.4)
    assert (result.reason, result.token_usage) == ("r", TokenUsage(3, 4))


def test_a_bare_result_of_another_library_is_enough():
    assert read(SimpleNamespace(criterion="own", score=0.5, passed=False)).details == {}


def test_a_score_of_another_librarys_result_is_checked_too():
    assert "non-finite" in read(SimpleNamespace(criterion="own", score=float("nan"), passed=True)).error
