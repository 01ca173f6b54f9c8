"""Retries: what ended in error, timeout or crash runs again, and a pass after that is flaky in every output."""

import pytest

from evalengine.journal import read_events

EVALS = """
import os, time
from pathlib import Path
from agentflow.qa.evaluation import CriteriaConfig, CriterionConfig, EvalConfig, EvalSetBuilder

EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig(exact_match=CriterionConfig.exact_match()), timeout=1)

def agent(query):
    marker = Path("seen-" + query)
    first = not marker.exists()
    marker.touch()
    if query == "raises" and first:
        raise ValueError("the first time")
    if query == "dies" and first:
        os._exit(3)
    if query == "sleeps" and first:
        time.sleep(1.5)
    if query == "hopeless":
        raise RuntimeError("each time")
    return "wrong" if query == "fails" else "ok"

def get_eval_set():
    builder = EvalSetBuilder(name="set")
    for name in ("fine", "raises", "dies", "sleeps", "hopeless", "fails"):
        builder.add_case(query=name, expected="ok", case_id=name)
    return builder.build()
"""


@pytest.fixture
def ran(project):
    project.write({"evals/x_eval.py": EVALS})
    done = project.eval("--retries", "2")
    return project, done


def test_what_ended_in_error_timeout_or_crash_runs_again(ran):
    project, done = ran
    results = project.results()
    found = {
        label.partition("::")[2]: (
            result["status"],
            result["flaky"],
            [each["status"] for each in result["earlier_attempts"]],
        )
        for label, result in results.items()
    }

    assert done.returncode == 1, done.stdout + done.stderr
    assert found == {
        "fine": ("passed", False, []),
        "raises": ("passed", True, ["error"]),
        "dies": ("passed", True, ["crashed"]),
        "sleeps": ("passed", True, ["timeout"]),
        "hopeless": ("error", False, ["error", "error"]),
        "fails": ("failed", False, []),
    }
    assert results["x_eval.py::dies"]["earlier_attempts"][0]["error"].endswith("exited with 3")


def test_flaky_cases_are_counted_beside_their_verdicts_and_told(ran):
    project, done = ran
    summary = project.report()["summary"]

    assert summary["flaky"] == 3
    assert summary["planned"] == sum(summary["status_counts"].values()) == 6
    assert "3 passed after a retry (flaky)" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines() if "::raises" in line and line.startswith("[")]
    assert [(line[3], line[-1]) for line in lines] == [("ERROR", "again"), ("PASSED", "flaky")]


def test_each_attempt_is_in_the_journal(ran):
    project, _ = ran
    [journal] = project.root.glob(".evalengine/runs/*/journal.jsonl")
    kinds = [type(event).__name__ for event in read_events(journal)]

    assert kinds.count("CaseRetried") == 5
    assert kinds.count("CaseFinished") == 6


def test_nothing_runs_again_unless_asked(project):
    project.write({"evals/x_eval.py": EVALS})
    project.eval("-k", "raises")

    assert project.report()["summary"]["status_counts"]["error"] == 1
