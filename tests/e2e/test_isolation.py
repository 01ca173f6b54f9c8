"""``--isolation case``: each case has a process of its own, and the report is that of shared workers."""

import pytest

EVALS = """
import os
from agentflow.qa.evaluation import EvalSetBuilder

seen = []

def agent(query):
    seen.append(query)
    return f"{query} {os.getpid()} {len(seen)}"

def get_eval_set():
    builder = EvalSetBuilder(name="set")
    for number in range(6):
        builder.add_case(query=f"q{number}", expected=f"q{number}", case_id=f"c{number}")
    return builder.build()
"""


@pytest.mark.parametrize("options", [(), ("--parallel", "-c", "3"), ("--parallel", "-c", "4", "--workers", "2")])
def test_each_case_has_a_process_in_which_nothing_ran_before(project, options):
    project.write({"evals/x_eval.py": EVALS})
    project.eval("--isolation", "case", *options)
    answers = [result["actual_response"].split() for result in project.report()["results"]]

    assert [answer[0] for answer in answers] == [f"q{number}" for number in range(6)]
    assert len({answer[1] for answer in answers}) == 6
    assert {answer[2] for answer in answers} == {"1"}


def test_workers_are_shared_unless_told_otherwise(project):
    project.write({"evals/x_eval.py": EVALS})
    project.eval()
    answers = [result["actual_response"].split() for result in project.report()["results"]]

    assert [answer[2] for answer in answers] == [str(count) for count in range(1, 7)]


def test_a_kind_that_does_not_exist_is_told(project):
    project.write({"evals/x_eval.py": EVALS})
    done = project.eval("--isolation", "cases")

    assert done.returncode == 2
    assert "must be 'worker', 'case' or 'none'; did you mean 'case'?" in done.stderr
