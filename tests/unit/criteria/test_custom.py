"""Custom criteria: functions and objects, sync and async, ours and look-alikes."""

import asyncio
import functools

import pytest

from evalengine.cases import EvalCase, Invocation
from evalengine.config import CriteriaConfig, CriterionConfig, criterion_name
from evalengine.criteria import custom
from evalengine.criteria.custom import (
    BaseCriterion,
    CompositeCriterion,
    SyncCriterion,
    WeightedCriterion,
    criterion,
)
from evalengine.errors import ConfigurationError
from evalengine.results import CriterionResult, ExecutionResult, NotApplicable

EXECUTION = ExecutionResult(actual_response="hello")
CASE = EvalCase.multi_turn("c", [("first", "one"), ("second", None)])


def scored(value, name="part", threshold=0.5):
    """A criterion that gives that value."""

    @criterion(threshold=threshold, name=name)
    def fixed(execution, case):
        return value

    return fixed


def run(part):
    value = custom.call(part, EXECUTION, CASE)
    if hasattr(value, "__await__"):

        async def awaited():
            return await value

        value = asyncio.run(awaited())
    return custom.interpret(part, value, custom.threshold_of(part))


class Length(BaseCriterion):
    """Async, of a class."""

    name = "length"

    async def evaluate(self, actual, expected):
        return self._result(min(1.0, len(actual.actual_response) / 10), {"reason": "short"})


class Quick(SyncCriterion):
    """Sync, of a class."""

    name = "quick"

    def evaluate_sync(self, actual, expected):
        return self._failure("no luck")


def test_a_bare_decorator_passes_at_the_default_under_the_functions_name():
    @criterion
    def polite(execution, case):
        return True

    assert criterion_name(polite) == "polite"
    assert custom.threshold_of(polite) == 0.8


def test_a_decorator_sets_threshold_and_name():
    part = scored(0.5, name="own", threshold=0.4)
    assert run(part) == CriterionResult.success("own", 0.5, 0.4, {"reason": "score 0.50, needs 0.40"})


def test_a_decorated_function_is_still_the_function():
    @criterion(threshold=1.0)
    def polite(execution, case):
        """Say please."""
        return "please" in execution.actual_response

    assert polite(ExecutionResult(actual_response="please"), CASE) is True
    assert polite.__doc__ == "Say please."


def test_a_function_that_nobody_decorated_is_a_criterion_too():
    def polite(execution, case):
        return True

    assert run(custom.resolve(polite)).passed


@pytest.mark.parametrize("threshold", [80, -1, float("nan"), "0.5", True])
def test_a_threshold_that_cannot_be_meant_is_refused_at_once(threshold):
    with pytest.raises(ConfigurationError, match="own: threshold"):
        criterion(threshold=threshold, name="own")(lambda execution, case: True)


@pytest.mark.parametrize("target", [Length, 5])
def test_the_decorator_marks_functions_only(target):
    with pytest.raises(ConfigurationError, match="marks a function"):
        criterion(threshold=0.5)(target)


def test_an_async_function_is_awaited():
    @criterion
    async def slow(execution, case):
        await asyncio.sleep(0)
        return 0.9

    assert custom.is_async(slow)
    assert run(slow).score == 0.9


def test_what_is_sync_belongs_in_a_thread():
    assert not custom.is_async(scored(True))
    assert not custom.is_async(Quick())
    assert custom.is_async(Length())


def test_a_partial_and_a_callable_object_are_async_where_their_code_is():
    async def slow(more, execution, case):
        return more

    class Callable:
        async def __call__(self, execution, case):
            return True

    assert custom.is_async(functools.partial(slow, 0.5))
    assert custom.is_async(Callable())
    assert run(functools.partial(slow, 0.5)).score == 0.5
    assert run(Callable()).passed


def test_an_object_scores_under_its_name_and_config():
    result = run(Length(CriterionConfig(threshold=0.5)))
    assert (result.criterion, result.score, result.passed, result.threshold) == ("length", 0.5, True, 0.5)
    assert result.reason == "short"


def test_an_object_may_fail_by_itself():
    result = run(Quick())
    assert (result.error, result.passed, result.threshold) == ("no luck", False, 0.8)


def test_a_class_is_instantiated():
    assert isinstance(custom.resolve(Length), Length)


def test_a_class_that_needs_arguments_says_to_list_an_object():
    with pytest.raises(ConfigurationError, match="list an object of it"):
        custom.resolve(WeightedCriterion)


def test_an_abstract_class_is_refused():
    with pytest.raises(ConfigurationError, match="BaseCriterion"):
        custom.resolve(BaseCriterion)


@pytest.mark.parametrize("item", [5, "rouge_match", None, CriterionConfig()])
def test_what_is_no_criterion_names_its_type_and_the_accepted_shapes(item):
    with pytest.raises(
        ConfigurationError, match=rf"BaseCriterion subclass, not a value of type {type(item).__name__}"
    ):
        custom.resolve(item)


def test_an_object_with_a_threshold_that_cannot_be_meant_is_refused():
    with pytest.raises(ConfigurationError, match=r"length: threshold is 80"):
        custom.resolve(Length(CriterionConfig(threshold=80)))


def test_an_object_is_enabled_as_its_config_says():
    assert custom.is_enabled(Length())
    assert not custom.is_enabled(Length(CriterionConfig(enabled=False)))
    assert custom.is_enabled(scored(True))


def test_a_sync_criterion_can_be_awaited_by_others():
    assert asyncio.run(Quick().evaluate(EXECUTION, CASE)).error == "no luck"


def test_a_sync_look_alike_is_called_by_its_sync_method():
    class SyncCriterion:
        name = "theirs"

        def evaluate_sync(self, actual, expected):
            return True

        async def evaluate(self, actual, expected):
            raise AssertionError

    SyncCriterion.evaluate.__qualname__ = "SyncCriterion.evaluate"
    assert not custom.is_async(SyncCriterion())
    assert run(SyncCriterion()).passed


def test_criteria_read_the_question_and_the_last_stated_response():
    assert Length()._extract_question(CASE) == "first"
    assert Length()._extract_last_expected_response(CASE) == "one"
    assert Length()._extract_question(EvalCase()) == ""
    assert Length()._extract_last_expected_response(EvalCase(conversation=[Invocation.simple("q")])) == ""


def test_an_object_shows_its_name_and_threshold():
    assert repr(Length()) == "Length(name='length', threshold=0.8)"


@pytest.mark.parametrize(("require_all", "score"), [(True, 0.25), (False, 0.75)])
def test_a_composite_takes_the_lowest_or_the_highest(require_all, score):
    parts = [scored(0.75), scored(0.25)]
    result = run(CompositeCriterion(parts, require_all, CriterionConfig(threshold=0.5)))
    assert (result.score, result.passed) == (score, not require_all)
    assert [part["score"] for part in result.details["sub_results"]] == [0.75, 0.25]


def test_a_weighted_criterion_takes_the_mean():
    result = run(WeightedCriterion([(scored(1.0), 3), (scored(0.0), 1), (Length(), 4)]))
    assert result.score == pytest.approx((3 + 0 + 2) / 8)
    assert [part["weight"] for part in result.details["sub_results"]] == [3, 1, 4]


def test_a_weighted_mean_of_ones_is_one():
    parts = [(scored(1.0), weight) for weight in (0.1, 0.2, 0.7)]
    assert run(WeightedCriterion(parts, CriterionConfig(threshold=1.0))).passed


@pytest.mark.parametrize(
    "whole", [CompositeCriterion, lambda parts: WeightedCriterion([(part, 1) for part in parts])]
)
def test_parts_that_do_not_apply_are_left_out(whole):
    absent = scored(NotApplicable(criterion="part"))
    assert run(whole([absent, scored(0.9)])).score == 0.9
    assert isinstance(run(whole([absent])), NotApplicable)


@pytest.mark.parametrize(
    "whole", [CompositeCriterion, lambda parts: WeightedCriterion([(part, 1) for part in parts])]
)
def test_the_error_of_a_part_is_the_wholes(whole):
    result = run(whole([scored(1.0), Quick()]))
    assert result.error == "quick: no luck"


def test_a_score_of_a_part_that_is_no_number_never_counts():
    assert "non-finite" in run(CompositeCriterion([scored(float("nan"))])).error


@pytest.mark.parametrize("weight", [0, -1, float("nan")])
def test_weights_must_be_above_zero(weight):
    with pytest.raises(ConfigurationError, match="weights"):
        WeightedCriterion([(scored(1.0), weight)])


def test_parts_may_be_classes():
    assert run(CompositeCriterion([Length], config=CriterionConfig(threshold=0.5))).passed


def test_custom_criteria_stand_in_the_configuration_by_name():
    assert CriteriaConfig(custom=[Length, scored(1.0, "own")]).model_dump()["custom"] == ["length", "own"]
