import pytest

from evalengine.report.gate import verdict
from evalengine.results import EvalSummary


def summary(passed=0, **counts):
    counts = {"passed": passed, **counts}
    planned = sum(counts.values())
    rated = planned - counts.get("skipped", 0)
    return EvalSummary(
        planned=planned, passed_cases=passed, status_counts=counts, pass_rate=passed / rated if rated else 0.0
    )


def test_without_a_threshold_one_failure_is_too_many():
    gate = verdict(summary(6, failed=1), 0, None)

    assert (gate.met, gate.exit_code) == (False, 1)
    assert gate.text == "gate not met: 6/7 passed, 1 failed"


def test_a_threshold_decides_alone():
    gate = verdict(summary(6, failed=1), 0, 0.8)

    assert (gate.met, gate.exit_code) == (True, 0)
    assert gate.text == "gate met: 6/7 ≥ 0.80, 1 failed"


def test_a_rate_below_the_threshold_fails():
    assert (
        verdict(summary(3, failed=1, timeout=1), 0, 0.8).text == "gate not met: 3/5 < 0.80, 1 failed, 1 timed out"
    )


@pytest.mark.parametrize(("passed", "total"), [(4, 5), (7, 10), (9, 10), (19, 20), (1, 3)])
def test_a_rate_equal_to_the_threshold_meets_it(passed, total):
    assert verdict(summary(passed, failed=total - passed), 0, passed / total).met


def test_fail_on_any_asks_for_every_case_too():
    gate = verdict(summary(6, failed=1), 0, 0.8, fail_on_any=True)

    assert not gate.met
    assert gate.text == "gate not met: 6/7 ≥ 0.80, 1 failed, and every case must pass"


def test_a_file_that_did_not_load_fails_the_gate_whatever_the_rate():
    gate = verdict(summary(5), 2, 0.5)

    assert gate.exit_code == 1
    assert gate.text.endswith("2 files could not be loaded")


def test_skipped_cases_are_not_rated():
    assert verdict(summary(5, skipped=5), 0, 1.0).met


def test_nothing_but_skipped_cases_meets_the_gate():
    assert verdict(summary(0, skipped=3), 0, 0.8).met
    assert verdict(summary(0, skipped=3), 0, None).met


@pytest.mark.parametrize("status", ["error", "timeout", "crashed", "not_run"])
def test_nothing_but_passed_is_a_pass(status):
    assert not verdict(summary(5, **{status: 1}), 0, None).met


def test_a_threshold_of_three_digits_is_told_whole():
    assert "≥ 0.955" in verdict(summary(10), 0, 0.955).text
