"""Runs that are stopped, asked, or made to stand still by signals, and by their own time."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

AGENT = """
import asyncio, os, time

def tell(name):
    with open(name, "w") as pipe:  # Waits until somebody reads.
        pipe.write("x")

def wait(name):
    with open(name) as pipe:
        pipe.read()

async def app(messages):
    query = messages[-1]["content"]
    if query == "slow":
        await asyncio.to_thread(tell, "started")
        await asyncio.sleep(3)
        await asyncio.to_thread(tell, "slept")
        await asyncio.to_thread(wait, "go")
    elif query == "held":
        await asyncio.to_thread(tell, "started")
        await asyncio.to_thread(wait, "go")
    elif query == "hang":
        await asyncio.to_thread(tell, "started")
        await asyncio.Event().wait()
    elif query == "block":
        await asyncio.to_thread(tell, "started")
        time.sleep(3600)
    return "ok"
"""
EVALS = """
from agentflow.qa.evaluation import EvalSetBuilder

def get_eval_set():
    builder = EvalSetBuilder(name="set")
    for name in {names}:
        builder.add_case(query=name.rstrip("0123456789"), expected="ok", case_id=name)
    return builder.build()
"""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


class Running:
    """A run in a process group of its own, which has come to its first case."""

    def __init__(self, project, *args):
        self.project = project
        command = [sys.executable, "-m", "evalengine", "eval", "--no-progress", *args]
        self.process = subprocess.Popen(
            command,
            cwd=project.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
            preexec_fn=heed_interrupts,  # noqa: PLW1509 - the tests have no other thread here
        )

    def hear(self, name="started"):
        """Wait until a case tells."""
        (self.project.root / name).read_text(encoding="utf-8")

    def let_go(self):
        """Let the case or file that waits go on."""
        (self.project.root / "go").write_text("x", encoding="utf-8")

    def kill(self, signum):
        self.process.send_signal(signum)

    def read_until(self, text):
        """Read standard error up to the line with a text, and return that line."""
        for line in self.process.stderr:
            if text in line:
                return line
        raise AssertionError(f"no {text!r} was said")

    def stop(self, signum):
        """Send a signal that stops the process, and wait until it does."""
        self.kill(signum)
        _, status = os.waitpid(self.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        return os.WSTOPSIG(status)

    def end(self):
        """Wait for the end; return exit code, output and errors."""
        out, err = self.process.communicate(timeout=60)
        assert "Traceback" not in out + err, err
        return self.process.returncode, out, err

    def events(self):
        [journal] = (self.project.root / ".evalengine" / "runs").glob("*/journal.jsonl")
        return [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]

    def workers(self):
        return [event["pid"] for event in self.events() if event.get("type") == "WorkerStarted"]


def heed_interrupts():
    """Whoever runs the tests in the background may have them ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.fixture
def start(project):
    started = []

    def start(names, *args, evaluation=None, files=None):
        project.write(files or {})
        project.write(
            {
                "agentflow.json": {"agent": "agent:app", "evaluation": evaluation or {}},
                "agent.py": AGENT,
                "evals/a_eval.py": EVALS.format(names=names),
            }
        )
        for name in ("started", "slept", "go"):
            os.mkfifo(project.root / name)
        running = Running(project, *args)
        started.append(running.process)
        return running

    yield start
    for process in started:
        process.kill()
        process.communicate()


def state_of(pid):
    """The letter of a process's state; T where it is stopped."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


def statuses(project):
    return {label.partition("::")[2]: each["status"] for label, each in project.results().items()}


@pytest.mark.parametrize("case", ["hang", "block"])
@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_twice_cancels_what_runs_and_reports_are_written(project, start, case, signum, code):
    running = start(["ok1", case, "ok2"])
    running.hear()
    running.kill(signum)
    assert "stopping: " in running.read_until(signum.name)
    running.kill(signal.SIGINT)
    exit_code, out, _ = running.end()
    assert exit_code == code
    assert statuses(project) == {"ok1": "passed", case: "not_run", "ok2": "not_run"}
    assert project.report()["status"] == "interrupted"
    assert "Results: 1/3 passed" in out
    assert project.processes() == []


def test_a_third_ctrl_c_ends_everything_at_once(project, start):
    running = start(["ok1", "block"])
    running.hear()
    running.kill(signal.SIGINT)
    running.read_until("no further case is started")
    running.kill(signal.SIGINT)
    running.read_until("running cases are cancelled")
    running.kill(signal.SIGINT)
    exit_code, _, err = running.end()
    assert exit_code == 130
    assert "ended at once, without reports; agentflow eval --resume goes on" in err
    assert not (project.root / "eval_reports").exists()
    assert [event["status"] for event in running.events() if event.get("type") == "CaseFinished"] == ["passed"]
    _wait_until(lambda: project.processes() == [])


def _wait_until(holds):
    """Wait for what other processes do by themselves."""
    give_up = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def test_a_signal_sent_twice_in_a_moment_is_one_wish(project, start):
    running = start(["held", "ok1"])
    running.hear()
    running.kill(signal.SIGTERM)
    running.read_until("SIGTERM")
    running.kill(signal.SIGTERM)
    running.let_go()
    exit_code, _, _ = running.end()
    assert exit_code == 143
    assert statuses(project) == {"held": "passed", "ok1": "not_run"}


@pytest.mark.parametrize("signum", [signal.SIGQUIT, signal.SIGUSR1])
@pytest.mark.parametrize("whole_group", [False, True], ids=["the command", "its process group"])
def test_a_run_that_is_asked_tells_what_it_does_and_goes_on(project, start, signum, whole_group):
    running = start(["ok1", "held", "ok2"])
    running.hear()
    (os.killpg if whole_group else os.kill)(running.process.pid, signum)
    assert running.read_until("state:") == "state: 1 cases done, 1 in flight, 1 waiting\n"
    assert running.read_until("a_eval.py::").startswith("  worker 1: a_eval.py::held  ")
    running.let_go()
    assert running.end()[0] == 0
    assert statuses(project) == {"ok1": "passed", "held": "passed", "ok2": "passed"}


def test_a_run_that_is_asked_while_it_loads_tells_which_file(project, start):
    waits = "open('started', 'w').close(); open('go').read()\n" + EVALS.format(names=["ok2"])
    running = start(["ok1"], files={"evals/b_eval.py": waits})
    running.hear()
    running.kill(signal.SIGUSR1)
    assert running.read_until("state:") == "state: 1 of 2 files loaded\n"
    assert running.read_until("b_eval.py") == "  worker 1: loading b_eval.py\n"
    running.let_go()
    assert running.end()[0] == 0


def test_ctrl_z_makes_workers_stand_still_until_the_run_goes_on(project, start):
    running = start(["held"])
    running.hear()
    assert running.stop(signal.SIGTSTP) == signal.SIGTSTP
    [worker] = running.workers()
    _wait_until(lambda: state_of(worker) == "T")
    running.kill(signal.SIGCONT)
    running.let_go()
    assert running.end()[0] == 0
    assert statuses(project) == {"held": "passed"}


def test_a_killed_run_that_stood_still_leaves_no_process(project, start):
    running = start(["hang"])
    running.hear()
    running.stop(signal.SIGTSTP)
    assert len(project.processes()) > 2
    running.kill(signal.SIGKILL)
    running.process.wait(60)
    _wait_until(lambda: project.processes() == [])


def test_time_in_which_the_run_stood_still_is_no_time_of_its_cases(project, start):
    """The case takes three seconds of its worker's time, more than it has: while nobody watched."""
    running = start(["slow"], "--timeout", "2")
    running.hear()
    running.stop(signal.SIGSTOP)
    running.hear("slept")
    running.kill(signal.SIGCONT)
    running.let_go()
    assert running.end()[0] == 0
    assert statuses(project) == {"slow": "passed"}


def test_nohup_is_heeded(project, start):
    project.write({"nohup.sh": 'trap "" HUP; exec "$@"\n'})
    running = start(["held"])
    running.hear()
    running.kill(signal.SIGKILL)
    running.process.wait(60)
    command = ["sh", "nohup.sh", sys.executable, "-m", "evalengine", "eval", "--no-progress"]
    done = subprocess.Popen(command, cwd=project.root, stdout=subprocess.PIPE, text=True)
    running.hear()
    done.send_signal(signal.SIGHUP)
    running.let_go()
    out, _ = done.communicate(timeout=60)
    assert (done.returncode, "Results: 1/1 passed" in out) == (0, True)


# The time of a run


def test_a_run_whose_time_is_over_stops_in_order(project, start):
    running = start(["ok1", "hang", "ok2"], "--run-timeout", "2")
    running.hear()
    exit_code, out, err = running.end()
    assert exit_code == 3
    assert "stopping: the run's time of 2 s is over" in err
    assert "Run stopped: the run's time of 2 s is over" in out
    assert statuses(project) == {"ok1": "passed", "hang": "not_run", "ok2": "not_run"}
    assert project.report()["status"] == "stopped"
    assert project.processes() == []


def test_what_ran_in_time_is_rated_and_the_run_could_not_finish(project, start):
    running = start(["held", "ok1"], "--threshold", "0.5", evaluation={"run_timeout": 2})
    running.hear()
    running.read_until("the run's time of 2 s is over")
    running.let_go()
    exit_code, out, _ = running.end()
    assert exit_code == 3
    assert "gate met: 1/2 ≥ 0.50, 1 not run" in out


def test_a_run_that_is_through_when_its_time_is_over_is_rated_as_any_other(project, start):
    running = start(["held"], "--run-timeout", "2")
    running.hear()
    running.read_until("the run's time of 2 s is over")
    running.let_go()
    exit_code, out, _ = running.end()
    assert exit_code == 0
    assert "Results: 1/1 passed" in out


def test_files_that_are_not_loaded_in_time_are_errors_and_the_rest_is_not_run(project, start):
    hangs = "open('started', 'w').close(); import time; time.sleep(3600)"
    running = start(["ok1"], "--run-timeout", "2", files={"evals/b_eval.py": hangs})
    running.hear()
    exit_code, out, _ = running.end()
    assert exit_code == 3
    assert statuses(project) == {"ok1": "not_run"}
    [error] = project.report()["file_errors"]
    assert (error["file"], error["error"]) == ("b_eval.py", "not loaded: the run's time of 2 s is over")
    assert "not loaded: the run's time of 2 s is over" in out
    assert project.processes() == []
