"""Where the run's own surroundings fail: results are told all the same, and no process stays."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

EVALS = """
from agentflow.qa.evaluation import EvalSetBuilder

def get_eval_set():
    builder = EvalSetBuilder(name="set")
    for number in range(3):
        builder.add_case(query=str(number), expected=str(number), case_id=f"c{number}")
    return builder.build()
"""
SCRIPT = """
import time
import evalengine
from agentflow.qa.evaluation import EvalSetBuilder

builder = EvalSetBuilder(name="set")
builder.add_case(query="x", expected="x", case_id="c")

def agent(query):
    open("started", "w").close()
    time.sleep(60)

evalengine.evaluate(agent, builder.build(), workers=1)
"""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@pytest.fixture
def project(project):
    agent = "def app(query): return query"
    return project.write({"agentflow.json": '{"agent": "agent:app"}', "agent.py": agent, "evals/a_eval.py": EVALS})


def test_a_report_that_cannot_be_written_leaves_the_results_on_the_console(project):
    done = project.start("--output", "/proc/nowhere")
    assert done.returncode == 3
    assert "Results: 3/3 passed" in done.stdout
    [line] = done.stderr.splitlines()
    assert line.startswith("Error: report not writable: /proc/nowhere")
    assert str(project.root / ".evalengine" / "runs") in line


@pytest.mark.parametrize("most_descriptors", [13, 16, 20, 24, 40])
def test_few_descriptors_are_enough_or_said_to_be_too_few(project, most_descriptors):
    command = [sys.executable, "-m", "evalengine", "eval", "--parallel", "--workers", "3", "--no-progress"]
    limited = ["sh", "-c", f'ulimit -n {most_descriptors}; exec "$@"', "sh", *command]
    done = subprocess.run(limited, cwd=project.root, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in {0, 1, 3}
    assert "never retrieved" not in done.stderr
    if done.returncode:
        assert "Too many open files" in done.stdout + done.stderr


def test_an_interrupted_python_caller_ends_without_processes_or_noise(project, processes):
    (project.root / "script.py").write_text(SCRIPT, encoding="utf-8")
    started = project.root / "started"
    os.mkfifo(started)
    caller = subprocess.Popen(
        [sys.executable, "script.py"], cwd=project.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    started.read_text(encoding="utf-8")  # Ends when the agent has opened and closed the pipe.
    caller.send_signal(signal.SIGINT)
    _, err = caller.communicate(timeout=30)
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert err.count("Traceback") == 1
    assert [pid for pid in processes("multiprocess") if _folder(pid) == project.root] == []


def _folder(pid):
    try:
        return Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return None
