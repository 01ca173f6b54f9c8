"""The built-in criteria as classes score as the configuration does."""

import asyncio

import pytest

from evalengine.cases import EvalCase, ToolCall
from evalengine.config import CriterionConfig, field_name
from evalengine.criteria import custom, objects, score
from evalengine.results import ExecutionResult, NotApplicable

CASE = EvalCase.single_turn("c", "q", "hello", [ToolCall(name="t")], ["N"])
EXECUTION = ExecutionResult(actual_response="hello", tool_calls=[ToolCall(name="t")], node_visits=["N"])
CLASSES = [
    objects.ToolNameMatchCriterion,
    objects.TrajectoryMatchCriterion,
    objects.NodeOrderMatchCriterion,
    objects.ResponseMatchCriterion,
    objects.RougeMatchCriterion,
    objects.ExactMatchCriterion,
]


@pytest.mark.parametrize("kind", CLASSES)
def test_a_class_scores_as_its_field_does(kind):
    config = CriterionConfig(threshold=0.7)
    assert kind(config).evaluate_sync(EXECUTION, CASE) == score(field_name(kind.name), config, EXECUTION, CASE)


@pytest.mark.parametrize("kind", CLASSES)
def test_a_class_can_be_listed_and_awaited(kind):
    part = custom.resolve(kind)
    assert asyncio.run(part.evaluate(EXECUTION, CASE)).score == 1.0


@pytest.mark.parametrize("kind", CLASSES)
def test_a_class_with_nothing_to_compare_does_not_apply(kind):
    assert isinstance(kind().evaluate_sync(EXECUTION, EvalCase()), NotApplicable)


def test_keywords_are_given_directly_or_by_config():
    direct = objects.ContainsKeywordsCriterion(["hello", "world"])
    assert direct.evaluate_sync(EXECUTION, CASE).score == 0.5
    configured = objects.ContainsKeywordsCriterion(["x"], CriterionConfig.contains_keywords(["hello"]))
    assert configured.keywords == ["hello"]


def test_keywords_do_not_change_the_config_they_came_with():
    config = CriterionConfig()
    objects.ContainsKeywordsCriterion(["x"], config)
    assert config.keywords == []
