"""``--isolation none``: cases on the main thread of one process, with its terminal, and the report of any other run."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX systems")

EVALS = """
from agentflow.qa.evaluation import CriteriaConfig, CriterionConfig, EvalConfig, EvalSetBuilder

class Kind:
    name = "kind"
    threshold = 0.5
    def evaluate(self, execution, case):
        return 1.0

EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig(
    trajectory=CriterionConfig.trajectory(check_args=True),
    rouge_match=CriterionConfig.rouge_match(threshold=0.5),
    exact_match=CriterionConfig.exact_match(),
))

def get_eval_set():
    builder = EvalSetBuilder(name="set")
    for kind in {kinds}:
        builder.add_case(query=kind, expected=f"answer {{kind}}", case_id=kind)
    return builder.build()
"""

KINDS = [
    "plain",
    "tools",
    "raises",
    "exits",
    "interrupts",
    "loops",
    "no_loop",
    "wrong",
    "moves",
    "threads",
    "last",
]

AGENT = """
import asyncio, os, sys, threading, time
from evalengine import record_node, record_tool

def act(kind):
    if kind == "tools":
        record_tool("look", {"n": 1}, result="x")
        record_node("NODE")
    elif kind == "raises":
        raise ValueError("on purpose")
    elif kind == "exits":
        sys.exit(3)
    elif kind == "interrupts":
        raise KeyboardInterrupt("of its own")
    elif kind == "wrong":
        return "something else"
    elif kind == "moves":
        os.chdir("/")
        os.environ["LEFT"] = "over"
        sys.stdout = None
    elif kind == "threads":
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    elif kind == "silences":
        sys.stdout.close()
    return "answer " + kind

def sync_app(messages):
    kind = messages[-1]["content"]
    if kind == "loops":
        return asyncio.run(later(kind))
    if kind == "no_loop":
        try:
            asyncio.get_event_loop()
        except RuntimeError:
            return "answer no_loop"
    return act(kind)

async def async_app(messages):
    kind = messages[-1]["content"]
    await asyncio.sleep(0)
    if kind == "loops":
        asyncio.create_task(asyncio.sleep(600))
    return act(kind)

async def later(kind):
    await asyncio.sleep(0.01)
    return "answer " + kind
"""


@pytest.fixture
def suite(project):
    """Write a project of cases, by kind, and an agent: ``suite(agent, kinds, source)``."""

    def suite(agent, kinds=KINDS, source=AGENT):
        return project.write(
            {
                "agentflow.json": {"agent": f"agent:{agent}"},
                "agent.py": source,
                "evals/x_eval.py": EVALS.format(kinds=kinds),
            }
        )

    return suite


def without_output(report):
    for result in report["results"]:
        del result["output"]
    return report


@pytest.mark.parametrize("agent", ["sync_app", "async_app"])
def test_the_report_is_that_of_a_sequential_run(suite, comparable, agent):
    project = suite(agent)
    there = project.eval()
    in_a_worker = comparable(without_output(project.report()))
    here = project.eval("--isolation", "none")

    assert comparable(without_output(project.report())) == in_a_worker
    assert here.returncode == there.returncode == 1
    assert here.stderr == there.stderr == ""
    lines = [line[:40] for line in there.stdout.splitlines() if line.startswith("[")]
    assert [line[:40] for line in here.stdout.splitlines() if line.startswith("[")] == lines
    assert len(lines) == len(KINDS)


def test_a_case_that_closes_standard_output_silences_neither_the_run_nor_other_cases(suite):
    source = """
import sys
def app(messages):
    print("spoken", messages[-1]["content"])
    if messages[-1]["content"] == "silences":
        sys.stdout.close()
    return "x"
"""
    project = suite("app", ["silences", "speaks"], source)
    out = project.eval("--isolation", "none").stdout

    assert "spoken speaks" in out
    assert "[  2/2] x_eval.py::speaks" in out
    assert project.results()["x_eval.py::silences"]["notes"] == ["changed the standard streams; restored"]


def test_user_code_has_the_main_thread_of_the_one_process(suite):
    source = """
import os, threading
def app(messages):
    children = open(f"/proc/self/task/{os.getpid()}/children").read() if os.path.exists("/proc") else ""
    return f"{threading.current_thread() is threading.main_thread()} {os.getpid()} {children}"
"""
    project = suite("app", ["a", "b"], source)
    command = [sys.executable, "-m", "evalengine", "eval", "--isolation", "none"]
    with subprocess.Popen(command, cwd=project.root, stdout=subprocess.DEVNULL) as process:
        process.wait(60)
    answers = [result["actual_response"] for result in project.report()["results"]]

    assert [answer.strip() for answer in answers] == [f"True {process.pid}"] * 2


def test_what_is_printed_stands_where_it_was_printed(suite):
    source = "def app(messages):\n    print('printed', messages[-1]['content'])\n    return 'x'\n"
    project = suite("app", ["a", "b"], source)
    lines = project.eval("--isolation", "none").stdout.splitlines()
    told = [line.partition("  FAILED")[0] for line in lines if line.startswith(("printed", "["))]

    assert told == ["printed a", "[  1/2] x_eval.py::a", "printed b", "[  2/2] x_eval.py::b"]
    assert {result["output"] for result in project.report()["results"]} == {""}


def test_standard_input_is_the_agents(suite):
    project = suite("app", ["a", "b"], "def app(messages):\n    return 'answer ' + input()\n")
    done = project.eval("--isolation", "none", input="a\nb\n")

    assert done.returncode == 0
    assert {result["actual_response"] for result in project.report()["results"]} == {"answer a", "answer b"}


def test_time_limits_and_parallel_runs_are_told_to_have_no_effect(suite):
    source = "import time\ndef app(messages):\n    time.sleep(0.3)\n    return 'answer a'\n"
    project = suite("app", ["a"], source)
    done = project.eval("--isolation", "none", "--parallel", "-c", "3", "--timeout", "0.1", "--run-timeout", "0.1")

    assert done.returncode == 0
    expected = "--parallel, --max-concurrency, --timeout and --run-timeout have no effect with --isolation none"
    assert done.stderr == f"notice: {expected}\n"


def test_exit_codes_are_those_of_any_run(suite):
    project = suite("sync_app", ["plain"])
    assert project.eval("--isolation", "none").returncode == 0
    assert project.eval("--isolation", "none", "-k", "nobody").returncode == 5
    assert project.eval("--isolation", "none", "nowhere").returncode == 2
    (project.root / "evals" / "broken_eval.py").write_text("1/0")
    assert project.eval("--isolation", "none").returncode == 1


def test_agentflow_json_may_say_it_and_the_flag_wins(suite):
    source = "import threading\ndef app(messages):\n    return threading.current_thread().name\n"
    project = suite("app", ["a"], source)
    project.write({"agentflow.json": {"agent": "agent:app", "evaluation": {"isolation": "none"}}})
    project.eval()
    assert project.report()["results"][0]["actual_response"] == "MainThread"
    project.eval("--isolation", "worker")
    assert project.report()["results"][0]["actual_response"] != "MainThread"


@pytest.mark.parametrize(
    ("end", "code"),
    [("os._exit(0)", 3), ("os.kill(os.getpid(), signal.SIGKILL)", -9), ("ctypes.string_at(0)", -11)],
)
def test_what_ends_the_process_ends_the_run_and_the_rest_can_be_resumed(suite, end, code):
    source = f"""
import ctypes, os, signal
def app(messages):
    if messages[-1]["content"] == "ends":
        {end}
    return "answer " + messages[-1]["content"]
"""
    project = suite("app", ["first", "ends", "last"], source)
    assert project.eval("--isolation", "none").returncode == code
    assert not (project.root / "eval_reports").exists()

    project.eval("--resume", "--isolation", "worker")
    statuses = [result["status"] for result in project.report()["results"]]
    assert statuses == ["passed", "crashed", "passed"]


def test_a_fork_that_a_case_leaves_holds_nothing_of_the_run(suite):
    source = """
import os, signal, time
def app(messages):
    pid = os.fork()
    if pid == 0:
        for descriptor in (0, 1, 2):
            os.close(descriptor)
        time.sleep(600)
        os._exit(0)
    with open("forked.txt", "a") as file:
        file.write(f"{pid} ")
    return "answer a"
"""
    project = suite("app", ["a"], source)
    done = project.eval("--isolation", "none")
    try:
        assert done.returncode == 0, done.stdout + done.stderr
        listed = project.python("-m", "evalengine", "runs").stdout
        assert "in progress" not in listed
    finally:
        for pid in (project.root / "forked.txt").read_text().split():
            os.kill(int(pid), signal.SIGKILL)


def test_a_thread_that_a_case_leaves_does_not_keep_the_process(suite):
    source = """
import threading, time
def app(messages):
    threading.Thread(target=time.sleep, args=(600,)).start()
    return "answer a"
"""
    assert suite("app", ["a"], source).eval("--isolation", "none").returncode == 0


def test_names_of_the_project_win_for_agents_and_not_for_the_engine(suite):
    source = "import json, jinja2\ndef app(messages):\n    return 'answer ' + json.mine + jinja2.mine\n"
    project = suite("app", ["ab"], source)
    project.write(
        {"json.py": "mine = 'a'\n", "jinja2.py": "mine = 'b'\n", "bdb.py": "1/0\n", "tempfile.py": "1/0\n"}
    )
    done = project.eval("--isolation", "none")

    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list((project.root / "eval_reports").iterdir())) == 2


def test_the_program_may_be_started_by_an_editor(suite):
    project = suite("sync_app", ["plain"])
    run = ["-m", "evalengine_worker.debug", "eval"]
    assert project.python(*run, "--isolation", "none").returncode == 0
    refused = project.python(*run)
    assert refused.returncode == 2
    assert refused.stderr == "Error: evalengine_worker.debug is the program of --isolation none alone: add that\n"


# At a terminal


class Terminal:
    """A run at a terminal of its own, as somebody has it who reads and types."""

    def __init__(self, project):
        self.fd, theirs = pty.openpty()
        command = [sys.executable, "-m", "evalengine", "eval", "--isolation", "none"]
        environ = {**os.environ, "TERM": "dumb"}
        self.process = subprocess.Popen(
            command,
            cwd=project.root,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environ,
            start_new_session=True,
        )
        os.close(theirs)
        self.text = ""
        self._read = 0

    def wait_for(self, text):
        give_up = time.monotonic() + 60
        while (found := self.text.find(text, self._read)) < 0:
            assert time.monotonic() < give_up, self.text
            assert self._more(), self.text
        self._read = found + len(text)
        return self

    def signal_until(self, signum, text):
        """Send a signal until it is answered: one that comes before a prompt listens is seen with the next key."""
        while text not in self.text:
            self.signal(signum)
            assert self._more(1.0), self.text
        return self

    def _more(self, wait_s=0.1):
        if not select.select([self.fd], [], [], wait_s)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # Linux says so where nobody has the other end any more.
            return False
        self.text += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)

    def type(self, text):
        os.write(self.fd, text.encode())
        return self

    def signal(self, signum):
        self.process.send_signal(signum)
        return self

    def end(self):
        give_up = time.monotonic() + 60
        while self._more():
            assert time.monotonic() < give_up, self.text
        return self.process.wait(60)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.fd)


@pytest.fixture
def at_terminal():
    opened = []

    def at_terminal(project):
        opened.append(Terminal(project))
        return opened[-1]

    yield at_terminal
    for terminal in opened:
        terminal.close()


STOPPING = """
import asyncio, time

def sleep_long():
    # Often: a signal that comes just before a sleep begins is seen when it is over.
    for _ in range(12000):
        time.sleep(0.05)

def sync_app(messages):
    number = 41
    breakpoint()
    return "answer " + messages[-1]["content"]

async def async_app(messages):
    number = 41
    breakpoint()
    await asyncio.sleep(0)
    return "answer " + messages[-1]["content"]

def sleeps(messages):
    if messages[-1]["content"] == "b":
        print("sleeps now", flush=True)
        sleep_long()
    return "answer " + messages[-1]["content"]

async def waits(messages):
    if messages[-1]["content"] == "b":
        print("sleeps now", flush=True)
        await asyncio.sleep(600)
    return "answer " + messages[-1]["content"]

def breaks_and_sleeps(messages):
    breakpoint()
    print("sleeps now", flush=True)
    sleep_long()
    return "answer " + messages[-1]["content"]

def hears_nothing(messages):
    while True:
        try:
            print("sleeps now", flush=True)
            sleep_long()
        except KeyboardInterrupt:
            pass
"""


@pytest.mark.parametrize("agent", ["sync_app", "async_app"])
def test_a_breakpoint_has_the_terminal_and_the_run_goes_on_after_it(suite, at_terminal, agent):
    project = suite(agent, ["a", "b"], STOPPING)
    terminal = at_terminal(project)
    terminal.wait_for("(Pdb) ").type("p number + 1\n").wait_for("\n42\n")
    terminal.wait_for("(Pdb) ").type("c\n").wait_for("[  1/2] x_eval.py::a  PASSED")
    terminal.wait_for("(Pdb) ").type("n\n").wait_for("(Pdb) ").type("c\n").wait_for("[  2/2] x_eval.py::b  PASSED")

    assert terminal.end() == 0
    assert [result["notes"] for result in project.report()["results"]] == [[], []]


def test_quitting_the_debugger_stops_the_run(suite, at_terminal):
    project = suite("sync_app", ["a", "b", "c"], STOPPING)
    terminal = at_terminal(project)
    terminal.wait_for("(Pdb) ").type("c\n").wait_for("PASSED").wait_for("(Pdb) ").type("q\n")

    assert terminal.end() == 130
    assert [result["status"] for result in project.report()["results"]] == ["passed", "not_run", "not_run"]
    assert len(re.findall(re.escape("(Pdb) "), terminal.text)) == 2


@pytest.mark.parametrize("agent", ["sleeps", "waits"])
@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_what_runs_and_the_run(suite, at_terminal, agent, signum, code):
    project = suite(agent, ["a", "b", "c"], STOPPING)
    terminal = at_terminal(project)
    terminal.wait_for("sleeps now").signal(signum)

    assert terminal.end() == code
    report = project.report()
    assert report["status"] == "interrupted"
    assert "running cases are cancelled" not in terminal.text  # Which is said after a grace.
    assert [result["status"] for result in report["results"]] == ["passed", "not_run", "not_run"]
    assert "Traceback" not in terminal.text


def test_an_import_is_interrupted_too(suite, at_terminal):
    project = suite(
        "sleeps",
        ["a"],
        "print('sleeps now', flush=True)\nimport time\nfor _ in range(12000):\n    time.sleep(0.05)\n",
    )
    terminal = at_terminal(project)
    terminal.wait_for("sleeps now").signal(signal.SIGINT)

    assert terminal.end() == 130
    assert "Traceback" not in terminal.text


def test_ctrl_c_at_the_prompt_is_the_debuggers(suite, at_terminal):
    project = suite("sync_app", ["a"], STOPPING)
    terminal = at_terminal(project)
    terminal.wait_for("(Pdb) ").signal_until(signal.SIGINT, "--KeyboardInterrupt--")
    terminal.type("c\n").wait_for("PASSED")

    assert terminal.end() == 0


def test_ctrl_c_after_continue_comes_back_to_the_debugger(suite, at_terminal):
    project = suite("breaks_and_sleeps", ["a", "b"], STOPPING)
    terminal = at_terminal(project)
    terminal.wait_for("(Pdb) ").type("c\n").wait_for("sleeps now").signal(signal.SIGINT)
    terminal.wait_for("Program interrupted").wait_for("(Pdb) ").type("q\n")

    assert terminal.end() == 130
    assert [result["status"] for result in project.report()["results"]] == ["not_run", "not_run"]


def test_what_will_not_end_is_left_behind(suite, at_terminal):
    project = suite("hears_nothing", ["a", "b"], STOPPING)
    terminal = at_terminal(project)
    terminal.wait_for("sleeps now").signal(signal.SIGINT).wait_for("sleeps now").signal(signal.SIGINT)

    assert terminal.end() == 130
    assert [result["status"] for result in project.report()["results"]] == ["not_run", "not_run"]


def test_a_third_ctrl_c_ends_at_once(suite, at_terminal):
    project = suite("hears_nothing", ["a"], STOPPING)
    terminal = at_terminal(project)
    for _ in range(3):
        terminal.wait_for("sleeps now").signal(signal.SIGINT)

    assert terminal.end() == 130
    assert "ended at once, without reports" in terminal.text
    assert not (project.root / "eval_reports").exists()


def test_a_whole_run_may_be_debugged(suite):
    project = suite("sync_app", ["plain"])
    project.write({"agentflow.json": {"agent": "agent:sync_app", "evaluation": {"isolation": "none"}}})
    done = project.python("-m", "pdb", "-c", "c", "-c", "q", "-m", "evalengine_worker.debug", "eval")
    assert "[  1/1] x_eval.py::plain  PASSED" in done.stdout, done.stdout + done.stderr
