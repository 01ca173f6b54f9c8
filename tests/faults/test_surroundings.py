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


BROKEN = """
import sys
from evalengine.cli.main import main
import evalengine.report.{module} as module

def broken(*_, **__):
    raise KeyError("a fault of ours")

module.{name} = broken
sys.exit(main(["eval", "--no-progress"]))
"""


def run_broken(project, module, name):
    """Run the command line with one of its functions broken, as a fault of ours would."""
    project.write({"broken.py": BROKEN.format(module=module, name=name)})
    return subprocess.run(
        [sys.executable, "broken.py"], cwd=project.root, capture_output=True, text=True, timeout=60, check=False
    )


def reports(project):
    return sorted(path.suffix for path in (project.root / "eval_reports").iterdir())


@pytest.mark.parametrize(
    ("module", "name", "left"),
    [
        ("html_page", "write_html", [".json"]),
        ("html_page", "_content", [".json"]),
        ("json_file", "write_json", [".html"]),
    ],
)
def test_a_fault_in_one_report_costs_that_report(project, module, name, left):
    done = run_broken(project, module, name)
    assert done.returncode == 3
    assert "Results: 3/3 passed" in done.stdout
    assert [
        Path(line.removeprefix("Report: ")).suffix for line in done.stdout.splitlines() if "Report: " in line
    ] == left
    [line] = done.stderr.splitlines()
    assert line.startswith("Error: report not made: ")
    assert "KeyError: 'a fault of ours'" in line
    assert reports(project) == left


@pytest.mark.parametrize("name", ["Console._case_finished", "Console.flush", "Console.finish", "footer_lines"])
def test_a_fault_in_the_console_costs_what_it_would_have_said(project, name):
    done = run_broken(project, "console", name)
    assert done.returncode == 0
    assert "Error: internal error in the console: KeyError: 'a fault of ours'" in done.stderr
    assert "Traceback" not in done.stderr
    assert reports(project) == [".html", ".json"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a namespace of its own")
def test_the_first_process_of_a_container(project):
    """As process 1 it has no default signals, and adopts orphans."""
    agent = (
        "import os, subprocess\ndef app(query):\n    subprocess.run('sleep 4326 &', shell=True)\n    return query"
    )
    project.write({"agent.py": agent})
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-m", "evalengine", "eval"]
    if subprocess.run([*command[:4], "true"], capture_output=True, check=False).returncode:
        pytest.skip("namespaces are not allowed here")
    done = subprocess.run(command, cwd=project.root, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Results: 3/3 passed" in done.stdout


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
    assert processes("multiprocess", project.root) == {}
