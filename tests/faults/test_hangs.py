"""Hangs and time that need a stage of their own: neighbours that are robbed, clocks that start late, a run that stops.

The numbers in the names are those of the catalogue of faults.
"""

import signal
import sys
import time
from pathlib import Path

import pytest

AGENT = """
import asyncio, os, pathlib, signal, threading, time

ROOT = pathlib.Path(__file__).parent

def coordinator():
    "The parent of the fork server."
    return int(pathlib.Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])

async def app(messages):
    for step in messages[-1]["content"].split():
        what, _, seconds = step.partition(":")
        if what == "block":
            time.sleep(float(seconds))
        elif what == "wait":
            await asyncio.sleep(float(seconds))
        elif what == "stop_run":
            os.kill(coordinator(), signal.SIGSTOP)
        elif what == "go_on":
            os.kill(coordinator(), signal.SIGCONT)
        elif what == "leave":
            threading.Thread(target=time.sleep, args=(float(seconds),)).start()
        elif what == "touch":
            (ROOT / seconds).touch()
        elif what == "until":
            while not (ROOT / seconds).exists():
                await asyncio.sleep(0.005)
    return "ok"
"""
EVALS = """
from agentflow.qa.evaluation import CriteriaConfig, CriterionConfig, EvalConfig, EvalSetBuilder

EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig(response_match=CriterionConfig.response_match(threshold=0.5)))

def get_eval_set():
    builder = EvalSetBuilder(name="hangs")
    for name, steps in {cases}.items():
        builder.add_case(query=steps, expected="ok", case_id=name)
    return builder.build()
"""
TOGETHER = ["--parallel", "--max-concurrency", "8", "--workers", "1", "--timeout", "1"]

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="faults of Linux")


def written(project, cases):
    return project.write(
        {
            "agentflow.json": '{"agent": "agent:app"}',
            "agent.py": AGENT,
            "evals/hangs_eval.py": EVALS.format(cases=cases),
        }
    )


def statuses(run):
    return {label.partition("::")[2]: result["status"] for label, result in run.results.items()}


def attempts(run):
    return {label.partition("::")[2]: result["attempts"] for label, result in run.results.items()}


def test_who_blocks_the_loop_beyond_its_limit_is_overdue_though_it_ends_in_the_grace_and_its_neighbour_is_not(
    project,
):
    run = written(project, {"robbed": "wait:0.3", "blocks": "block:1.3", "quick": ""}).eval(*TOGETHER)
    assert statuses(run) == {"robbed": "passed", "blocks": "timeout", "quick": "passed"}
    assert run.results["hangs_eval.py::blocks"]["error"] == "timed out after 1 s"
    assert attempts(run)["blocks"] == 1


def test_neighbours_that_block_in_turn_within_their_limits_all_pass(project):
    cases = {f"c{number}": "wait:0.01 block:0.3" for number in range(6)}
    run = written(project, cases).eval(*TOGETHER)
    assert set(statuses(run).values()) == {"passed"}
    assert run.exit_code == 0


def test_a_case_that_waits_too_long_is_overdue_also_where_others_block(project):
    run = written(project, {"waits": "wait:9", "blocks": "block:0.5"}).eval(*TOGETHER)
    assert statuses(run) == {"waits": "timeout", "blocks": "passed"}


def test_h01_an_interrupted_case_leaves_its_worker_and_its_neighbours_alive(project):
    run = written(project, {"blocks": "block:3600", "after": "wait:0.01"}).eval("--timeout", "1")
    assert statuses(run) == {"blocks": "timeout", "after": "passed"}
    assert [event for event in run.events if event["type"] == "WorkerLost"] == []
    assert "time.sleep(float(seconds))" in run.results["hangs_eval.py::blocks"]["traceback"]


def test_h13_a_clock_starts_with_its_case_not_with_its_place_in_the_queue(project):
    run = written(project, {f"c{number}": "wait:0.3" for number in range(6)}).eval("--timeout", "1")
    assert set(statuses(run).values()) == {"passed"}


@pytest.mark.parametrize(
    "steps", ["stop_run wait:1.6 go_on touch:going wait:0.1", "stop_run block:1.6 go_on touch:going wait:0.1"]
)
def test_h15_time_in_which_the_coordinator_stands_still_is_charged_to_nobody(project, steps):
    cases = {"stops": steps, "waits": "until:going wait:0.1", "after": "wait:0.1"}
    run = written(project, cases).eval(*TOGETHER)
    assert statuses(run) == {"stops": "passed", "waits": "passed", "after": "passed"}


def test_h14_a_suspended_run_stops_its_workers_too_and_goes_on_where_it_was(project):
    written(project, {"waits": "touch:begun until:told"})
    process = project.begin("--timeout", "1")
    until((project.root / "begun").exists)
    process.send_signal(signal.SIGTSTP)
    stopped = [process.pid, *workers_of(process.pid)]
    until(lambda: all(state(pid) == "T" for pid in stopped))
    time.sleep(1.5)  # Longer than the case may take.
    (project.root / "told").touch()
    process.send_signal(signal.SIGCONT)
    run = project.ended(process)
    assert len(stopped) == 2
    assert statuses(run) == {"waits": "passed"}
    assert run.exit_code == 0


def test_h16_what_would_hold_a_worker_back_at_its_end_does_not(project):
    started = time.monotonic()
    run = written(project, {"leaves": "leave:60"}).eval()
    assert statuses(run) == {"leaves": "passed"}
    assert time.monotonic() - started < 10


def until(is_true, most_s=30):
    give_up = time.monotonic() + most_s
    while not is_true():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def workers_of(coordinator):
    return [worker for server in children_of(coordinator) for worker in children_of(server)]


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
