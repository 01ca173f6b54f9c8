"""What needs a model, and what belongs in a thread."""

import pytest

from evalengine.cases import EvalCase, ToolCall
from evalengine.config import FRAMEWORK_DEFAULT_MODEL, MODEL_CRITERIA, REPORTED_NAMES, CriterionConfig
from evalengine.criteria import is_costly, needs_model, score
from evalengine.criteria.rouge import rouge
from evalengine.errors import ConfigurationError
from evalengine.results import ExecutionResult

CASE = EvalCase.single_turn("c", "q", "a", [ToolCall(name="t")], ["N"])
WITHOUT_MODEL = [field for field in REPORTED_NAMES if field not in MODEL_CRITERIA]


@pytest.mark.parametrize("field", WITHOUT_MODEL)
def test_a_criterion_without_a_model_scores_under_its_reported_name(field):
    outcome = score(field, CriterionConfig(keywords=["k"]), ExecutionResult(), CASE)
    assert outcome.criterion == REPORTED_NAMES[field]
    assert outcome.score == 0.0


@pytest.mark.parametrize("field", sorted(MODEL_CRITERIA))
def test_a_criterion_that_needs_a_model_says_so(field):
    assert needs_model(field, CriterionConfig())
    with pytest.raises(ConfigurationError, match="needs a model"):
        score(field, CriterionConfig(), ExecutionResult(), CASE)


@pytest.mark.parametrize("field", [field for field in WITHOUT_MODEL if field != "response_match"])
def test_a_model_changes_nothing_for_criteria_that_compare(field):
    assert not needs_model(field, CriterionConfig(judge_model="openai/gpt"), "openai/gpt")


@pytest.mark.parametrize(
    ("own", "resolved", "needed"),
    [
        (None, None, False),
        ("", None, False),
        (FRAMEWORK_DEFAULT_MODEL, None, False),
        ("openai/gpt", None, True),
        (None, "openai/gpt", True),
        (None, FRAMEWORK_DEFAULT_MODEL, True),
        (FRAMEWORK_DEFAULT_MODEL, "openai/gpt", True),
    ],
)
def test_response_match_needs_a_model_where_one_is_configured(own, resolved, needed):
    assert needs_model("response_match", CriterionConfig(judge_model=own), resolved) is needed


def test_short_texts_are_not_costly():
    rouge("load", "the package")
    assert not any(is_costly(field, ExecutionResult(actual_response="x"), CASE) for field in WITHOUT_MODEL)


@pytest.mark.parametrize("field", ["rouge_match", "response_match", "contains_keywords"])
def test_long_texts_are_costly(field):
    assert is_costly(field, ExecutionResult(actual_response="x" * 200_000), CASE)


def test_many_calls_are_costly():
    many = [ToolCall(name="t")] * 300
    case = EvalCase.single_turn("c", "q", expected_tools=many)
    assert is_costly("trajectory", ExecutionResult(tool_calls=many), case)


@pytest.mark.parametrize("field", WITHOUT_MODEL)
def test_scoring_changes_neither_execution_nor_case(field):
    execution = ExecutionResult(actual_response="a", tool_calls=[ToolCall(name="t", args={"x": [1]})])
    case = CASE.model_copy(deep=True)
    before = (execution.model_dump_json(), case.model_dump_json())
    score(field, CriterionConfig(keywords=["k"], check_args=True), execution, case)
    assert (execution.model_dump_json(), case.model_dump_json()) == before
