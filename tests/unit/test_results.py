"""Results: one status each, and counts that add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalengine.results import (
    CriterionResult,
    EvalCaseResult,
    EvalReport,
    EvalSummary,
    ExecutionResult,
    NotApplicable,
    Status,
    Tally,
    TokenUsage,
)


def result_of(status, **fields):
    return EvalCaseResult(eval_id="a", passed=status == Status.PASSED, status=status, **fields)


@pytest.mark.parametrize(("score", "passed"), [(0.8, True), (0.79, False)])
def test_a_score_at_the_threshold_passes(score, passed):
    assert CriterionResult.success("c", score, 0.8).passed is passed


def test_a_criterion_that_raised_has_no_pass():
    result = CriterionResult.failure("c", "boom")
    assert (result.passed, result.is_error, result.score) == (False, True, 0.0)


def test_the_reason_is_that_of_the_details():
    assert CriterionResult.success("c", 1.0, 1.0, {"reason": "why"}).reason == "why"


def test_tokens_add_up_field_by_field():
    total = sum([TokenUsage(1, 2, 3, 4), TokenUsage(10, 20, 30, 40)])
    assert total == TokenUsage(11, 22, 33, 44)
    assert total.to_dict()["total_tokens"] == 33


def test_a_case_passes_when_every_criterion_does():
    good, bad = CriterionResult.success("g", 1.0, 0.5), CriterionResult.success("b", 0.0, 0.5)
    assert EvalCaseResult.success("a", [good]).status is Status.PASSED
    mixed = EvalCaseResult.success("a", [good, bad])
    assert mixed.status is Status.FAILED
    assert mixed.failed_criteria == [bad]
    assert mixed.passed_criteria == [good]
    assert mixed.get_criterion_result("b") == bad


def test_a_case_with_an_error_did_not_pass():
    result = EvalCaseResult.failure("a", "boom")
    assert (result.passed, result.status, result.is_error) == (False, Status.ERROR, True)


@given(st.lists(st.sampled_from(Status)))
def test_planned_is_the_sum_of_all_statuses(statuses):
    summary = EvalSummary.from_results([result_of(status) for status in statuses])
    assert summary.planned == len(statuses) == sum(summary.status_counts.values())
    for status in Status:
        assert summary.status_counts[status] == statuses.count(status)


@given(st.lists(st.sampled_from(Status)))
def test_the_pass_rate_leaves_out_the_skipped_alone(statuses):
    rated = [status for status in statuses if status != Status.SKIPPED]
    expected = rated.count(Status.PASSED) / len(rated) if rated else 0.0
    assert EvalSummary.from_results([result_of(status) for status in statuses]).pass_rate == expected


def test_errors_are_error_timeout_and_crashed():
    summary = EvalSummary.from_results([result_of(status) for status in Status])
    assert summary.error_cases == 3


def test_a_criterion_that_raised_is_left_out_of_the_average():
    tally = Tally()
    tally.add(result_of(Status.FAILED, criterion_results=[CriterionResult.success("c", 0.5, 0.8)]))
    tally.add(result_of(Status.FAILED, criterion_results=[CriterionResult.failure("c", "boom", 0.8)]))
    stats = tally.summary().criterion_stats["c"]
    assert (stats.total, stats.errors, stats.failed, stats.avg_score) == (2, 1, 2, 0.5)


def test_a_criterion_that_does_not_apply_is_counted_as_such():
    tally = Tally()
    tally.add(result_of(Status.PASSED, not_applicable=[NotApplicable(criterion="c")]))
    stats = tally.summary().criterion_stats["c"]
    assert (stats.total, stats.not_applicable) == (0, 1)


def test_a_pass_without_any_criterion_is_counted_as_nothing_to_check():
    assert EvalSummary.from_results([result_of(Status.PASSED)]).nothing_to_check == 1


def test_a_report_counts_its_results():
    report = EvalReport.create("s", [result_of(Status.PASSED, label="f::a"), result_of(Status.FAILED)], "set")
    assert report.summary.passed_cases == 1
    assert [case.status for case in report.failed_cases] == [Status.FAILED]
    assert report.get_case_result("f::a") is report.results[0]
    assert report.passed is False
    assert "1/2 passed (50.0%)" in report.format_summary()


def test_a_report_with_a_file_that_did_not_load_did_not_pass():
    report = EvalReport.create("s", [result_of(Status.PASSED)])
    assert report.passed is True
    broken = EvalReport.model_validate({**report.model_dump(), "file_errors": [{"file": "f", "error": "e"}]})
    assert broken.passed is False


def test_an_execution_names_its_tools_in_order():
    execution = ExecutionResult.model_validate({"tool_calls": [{"name": "b"}, {"name": "a"}]})
    assert execution.get_tool_names() == ["b", "a"]


def test_a_result_reads_back_from_its_json():
    result = EvalCaseResult.success("a", [CriterionResult.success("c", 1.0, 0.5, {"reason": "x"})], name="n")
    assert EvalCaseResult.model_validate_json(result.model_dump_json()) == result
