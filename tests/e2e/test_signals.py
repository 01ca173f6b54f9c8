"""Signals: the run stops, says so, writes reports, and no process is left."""

import os
import signal
import subprocess
import sys
import time

import pytest

AGENT = """
import asyncio

async def app(messages):
    with open("started.txt", "a") as file:
        file.write("x")
    await asyncio.sleep(0.3)
    return "ok"
"""
EVALS = """
from agentflow.qa.evaluation import EvalSetBuilder

def get_eval_set():
    builder = EvalSetBuilder(name="many")
    for number in range(400):
        builder.add_case(query=str(number), expected="ok", case_id=f"c{number}")
    return builder.build()
"""


@pytest.fixture
def running(project):
    """A run in a process group of its own, some of its cases started."""
    project.write({"agentflow.json": {"agent": "agent:app"}, "agent.py": AGENT, "evals/many_eval.py": EVALS})
    command = [
        sys.executable,
        "-m",
        "evalengine",
        "eval",
        "--no-progress",
        "--parallel",
        "-c",
        "4",
        "--workers",
        "2",
    ]
    process = subprocess.Popen(
        command, cwd=project.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    give_up = time.monotonic() + 60
    while not (project.root / "started.txt").exists():
        assert time.monotonic() < give_up
        assert process.poll() is None
        time.sleep(0.01)
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("whole_group", [False, True], ids=["the command", "its process group"])
@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_lets_running_cases_finish_and_the_rest_is_not_run(project, running, signum, code, whole_group):
    (os.killpg if whole_group else os.kill)(running.pid, signum)
    out, err = running.communicate(timeout=60)

    assert running.returncode == code, out + err
    report = project.report()
    counts = report["summary"]["status_counts"]
    assert report["status"] == "interrupted"
    assert counts["passed"] >= 1
    assert counts["crashed"] == counts["error"] == counts["failed"] == 0
    assert counts["passed"] + counts["not_run"] == 400
    assert "Traceback" not in out + err
    assert project.processes() == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_nothing_outlives_a_coordinator_that_was_killed(project, running):
    assert len(project.processes()) > 1
    running.kill()
    running.communicate()
    give_up = time.monotonic() + 20
    while project.processes() and time.monotonic() < give_up:
        time.sleep(0.02)

    assert project.processes() == []
