"""Sequential and parallel runs give the same report, and no case sees another's."""

import random

import pytest

AGENT = """
import asyncio, random, time
from evalengine import record_node, record_tool

ASYNC = {asynchronous}

def finish(text):
    number = text.split()[-1]
    record_tool("tool_" + number, {{"n": number}}, result=number)
    record_node("LAST_" + number)
    print("printed by " + number)
    return "answer " + number

async def async_app(messages):
    record_node("FIRST")
    await asyncio.sleep(random.random() / 50)
    return finish(messages[-1]["content"])

def sync_app(messages):
    record_node("FIRST")
    time.sleep(random.random() / 50)
    return finish(messages[-1]["content"])

app = async_app if ASYNC else sync_app
"""

EVALS = """
from agentflow.qa.evaluation import EvalSet, EvalSetBuilder, EvalConfig, CriteriaConfig, CriterionConfig

EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig(
    trajectory=CriterionConfig.trajectory(check_args=True),
    node_order=CriterionConfig.node_order(),
    exact_match=CriterionConfig.exact_match(),
))

def get_eval_set() -> EvalSet:
    builder = EvalSetBuilder(name="many")
    for n in range(24):
        builder.add_case(
            query=f"case {n}", expected=f"answer {n}", case_id=f"c{n}",
            expected_tools=[{"name": f"tool_{n}", "args": {"n": str(n)}}],
            expected_node_order=["FIRST", f"LAST_{n}"],
        )
    return builder.build()
"""


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "sync"])
def test_every_case_has_its_own_calls_whatever_runs_beside_it(project, comparable, asynchronous):
    project.write(
        {
            "agentflow.json": {"agent": "agent:app"},
            "agent.py": AGENT.format(asynchronous=asynchronous),
            "evals/many_eval.py": EVALS,
        }
    )
    done = project.eval()
    assert done.returncode == 0, done.stdout + done.stderr
    alone = project.report()

    for budget in ("2", "8", "24"):
        done = project.eval("--parallel", "-c", budget, "--workers", "2")
        assert done.returncode == 0, done.stdout + done.stderr
        together = project.report()
        assert comparable(together) == comparable(alone)
        for result in together["results"]:
            number = result["eval_id"][1:]
            assert result["output"] == f"printed by {number}\n"


def test_reports_are_in_the_order_of_collection_whatever_finishes_first(project):
    agent = """
import asyncio
async def app(messages):
    await asyncio.sleep(float(messages[-1]["content"]))
    return "x"
"""
    delays = [0.05, 0.01, 0.03, 0.0]
    evals = f"""
from agentflow.qa.evaluation import EvalSetBuilder
def get_eval_set():
    builder = EvalSetBuilder(name="delays")
    for n, delay in enumerate({delays}):
        builder.add_case(query=str(delay), case_id=f"c{{n}}")
    return builder.build()
"""
    project.write({"agentflow.json": {"agent": "agent:app"}, "agent.py": agent, "evals/d_eval.py": evals})
    done = project.eval("--parallel", "-c", "4", "--workers", "1")

    assert done.returncode == 0, done.stderr
    assert [result["eval_id"] for result in project.report()["results"]] == ["c0", "c1", "c2", "c3"]
    places = [line[1:4].strip() for line in done.stdout.splitlines() if line.startswith("[")]
    assert sorted(places) == ["1", "2", "3", "4"]
    assert places[0] == "4"


def test_an_entry_point_that_draws_cases_runs_once(project):
    evals = """
import random, uuid
from agentflow.qa.evaluation import EvalSet, EvalSetBuilder

def get_eval_set() -> EvalSet:
    builder = EvalSetBuilder(name="drawn")
    for _ in range(random.randint(5, 15)):
        token = uuid.uuid4().hex
        builder.add_case(query=token, expected=token, case_id=token)
    with open("drawn.txt", "a") as file:
        file.write("".join(case.eval_id + "\\n" for case in builder.cases))
    return builder.build()
"""
    project.write(
        {
            "agentflow.json": {"agent": "agent:app"},
            "agent.py": "async def app(messages):\n    return messages[-1]['content']\n",
            "evals/drawn_eval.py": evals,
        }
    )
    for args in ([], ["--parallel", "-c", "8", "--workers", "2"]):
        (project.root / "drawn.txt").unlink(missing_ok=True)
        done = project.eval(*args)
        assert done.returncode == 0, done.stdout + done.stderr
        drawn = (project.root / "drawn.txt").read_text().split()
        assert [result["eval_id"] for result in project.report()["results"]] == drawn


def test_the_budget_holds_over_all_workers_at_every_instant(project):
    agent = """
import asyncio, os, random, time

def note(what):
    with open("log.txt", "a") as file:
        file.write(f"{time.monotonic_ns()} {what}\\n")

async def app(messages):
    note(1)
    await asyncio.sleep(random.random() / 100)
    note(-1)
    return "x"
"""
    evals = """
from agentflow.qa.evaluation import EvalSetBuilder
def get_eval_set():
    builder = EvalSetBuilder(name="many")
    for n in range(120):
        builder.add_case(query=str(n), case_id=f"c{n}")
    return builder.build()
"""
    project.write({"agentflow.json": {"agent": "agent:app"}, "agent.py": agent, "evals/m_eval.py": evals})
    budget = random.randint(3, 9)
    done = project.eval("--parallel", "-c", str(budget), "--workers", "3")
    assert done.returncode == 0, done.stderr

    log = sorted(line.split() for line in (project.root / "log.txt").read_text().splitlines())
    in_flight = most = 0
    for _, step in log:
        in_flight += int(step)
        most = max(most, in_flight)
    assert most == budget
    assert len(log) == 240
