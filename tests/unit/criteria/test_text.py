"""Responses, turn by turn, and keywords."""

import pytest

from evalengine.cases import EvalCase, Invocation
from evalengine.config import CriterionConfig
from evalengine.criteria import score
from evalengine.results import ExecutionResult, NotApplicable, TurnResult

PER_TURN = ["response_match", "rouge_match", "exact_match"]


def case_of(*expected):
    return EvalCase(eval_id="c", conversation=[Invocation.simple("q", text) for text in expected])


def execution_of(*answers):
    turns = [
        TurnResult(turn_index=index, user_input="q", agent_response=text) for index, text in enumerate(answers)
    ]
    return ExecutionResult(turns=turns, actual_response=answers[-1] if answers else "")


def run(field, expected, answers, threshold=0.8):
    return score(field, CriterionConfig(threshold=threshold), execution_of(*answers), case_of(*expected))


@pytest.mark.parametrize("field", PER_TURN)
def test_each_turn_is_scored_against_its_own_answer_and_the_mean_counts(field):
    result = run(field, ["alpha", "beta"], ["alpha", "other"])
    assert result.score == 0.5
    assert [turn["score"] for turn in result.details["turns"]] == [1.0, 0.0]


@pytest.mark.parametrize("field", PER_TURN)
def test_the_last_answer_does_not_stand_in_for_an_earlier_one(field):
    assert run(field, ["alpha", None], ["other", "alpha"]).score == 0.0


@pytest.mark.parametrize("field", PER_TURN)
def test_turns_that_state_nothing_are_left_out(field):
    result = run(field, [None, "beta"], ["x", "beta"])
    assert result.score == 1.0
    assert [turn["turn"] for turn in result.details["turns"]] == [1]


@pytest.mark.parametrize("field", PER_TURN)
@pytest.mark.parametrize("expected", [[], [None], ["", " \n"]])
def test_no_stated_response_is_nothing_to_compare(field, expected):
    case = case_of(*expected)
    assert isinstance(score(field, CriterionConfig(), execution_of("x"), case), NotApplicable)


@pytest.mark.parametrize("field", PER_TURN)
def test_an_execution_without_turns_answers_a_single_turn(field):
    execution = ExecutionResult(actual_response="alpha")
    assert score(field, CriterionConfig(), execution, case_of("alpha")).score == 1.0


@pytest.mark.parametrize("field", PER_TURN)
def test_a_turn_that_was_never_reached_scores_zero(field):
    assert run(field, ["alpha", "beta"], ["alpha"]).score == 0.5


@pytest.mark.parametrize("field", PER_TURN)
def test_the_reason_of_a_conversation_is_that_of_its_weakest_turn(field):
    assert "turn 2: " in run(field, ["alpha", "beta"], ["alpha", "other"]).details["reason"]


@pytest.mark.parametrize("field", PER_TURN)
def test_the_details_of_a_single_turn_have_both_texts_and_a_reason(field):
    details = run(field, ["alpha"], ["other"]).details
    assert (details["expected_response"], details["actual_response"]) == ("alpha", "other")
    assert "expected 'alpha', got 'other'" in details["reason"]


@pytest.mark.parametrize("field", [*PER_TURN, "contains_keywords"])
def test_long_texts_are_cut_in_the_details(field):
    config = CriterionConfig(keywords=["k"])
    details = score(field, config, execution_of("x " * 20_000), case_of("y " * 20_000)).details
    assert len(details["actual_response"]) < 3_000
    assert len(details["reason"]) < 600


def test_only_the_lexical_judge_signs_its_result():
    assert run("response_match", ["a"], ["a"]).judge == "lexical"
    assert run("exact_match", ["a"], ["a"]).judge is None


def test_exact_match_minds_everything_but_surrounding_white_space():
    assert run("exact_match", ["a b"], [" a b\n"]).score == 1.0
    assert run("exact_match", ["a b"], ["A b"]).score == 0.0


def test_rouge_gives_its_parts():
    details = run("rouge_match", ["the cat sat"], ["the cat"]).details
    assert (details["precision"], details["recall"]) == (1.0, pytest.approx(2 / 3))
    assert details["f1"] == details["rouge_l"] == pytest.approx(0.8)


def test_numbers_of_several_turns_are_averaged():
    assert run("rouge_match", ["a", "b"], ["a", "x"]).details["recall"] == 0.5


def keywords(answers, *wanted):
    config = CriterionConfig.contains_keywords(list(wanted), threshold=0.5)
    return score("contains_keywords", config, execution_of(*answers), case_of())


def test_keywords_are_shared_out():
    result = keywords(["Rain in PARIS"], "paris", "snow")
    assert (result.score, result.passed) == (0.5, True)
    assert (result.details["found"], result.details["missing"]) == (["paris"], ["snow"])
    assert result.details["reason"] == "missing 'snow' in 'Rain in PARIS'"


def test_keywords_may_stand_in_any_turn():
    assert keywords(["Paris", "rain"], "paris", "rain").score == 1.0


def test_keywords_apply_where_the_case_states_no_response():
    assert keywords(["x"], "x").score == 1.0


def test_keywords_of_an_execution_without_turns_are_looked_for_in_its_response():
    config = CriterionConfig.contains_keywords(["x"])
    assert score("contains_keywords", config, ExecutionResult(actual_response="X"), case_of()).score == 1.0


def test_no_keywords_is_nothing_to_compare():
    assert isinstance(keywords(["x"]), NotApplicable)


def test_a_scenario_states_no_response():
    assert isinstance(run("response_match", [], ["hello"]), NotApplicable)
