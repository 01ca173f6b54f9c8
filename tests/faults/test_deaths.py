"""Deaths of workers that need a stage of their own: idle workers, many at once, at import, in the middle of a frame.

The numbers in the names are those of the catalogue of faults.
"""

import os
import sys
import time
import uuid
from collections import Counter
from pathlib import Path

import pytest

AGENT = """
import asyncio, ctypes, os, signal, sys, threading, time
import control

async def app(messages):
    name = messages[-1]["content"].partition("#")[0]
    found = control.DO.get(name)
    if found is None:
        await asyncio.sleep(0.01)
        return "ok"
    value = found()
    if asyncio.iscoroutine(value):
        value = await value
    return value or "ok"
"""
CONTROL = """
import asyncio, ctypes, fcntl, os, pathlib, signal, struct, termios, threading, time

ROOT = pathlib.Path(__file__).parent

def workers():
    "Worker processes of this run: the children of the fork server."
    children = pathlib.Path(f"/proc/{os.getppid()}/task/{os.getppid()}/children").read_text().split()
    return [int(pid) for pid in children]

def appears(name):
    async def wait():
        while not (ROOT / name).exists():
            await asyncio.sleep(0.005)
    return wait()
"""
EVALS = """
from agentflow.qa.evaluation import CriteriaConfig, CriterionConfig, EvalConfig, EvalSetBuilder

EVAL_CONFIG = EvalConfig(
    criteria=CriteriaConfig(response_match=CriterionConfig.response_match(threshold=0.5)), max_concurrency={cap}
)

def get_eval_set():
    builder = EvalSetBuilder(name="faults")
    for number, name in enumerate({names}):
        builder.add_case(query=name + "#" + "x" * {length}, expected="ok", case_id=name + str(number))
    return builder.build()
"""
EIGHT = ["--parallel", "--max-concurrency", "8", "--workers", "2"]

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="faults of Linux")


def written(project, names, do, *, cap=None, length=0):
    """A project whose cases have those names, and do what the functions of ``do``, by name, do."""
    functions = "".join(f"\n{source}\n" for source in do.values())
    table = ", ".join(f"{name!r}: do_{name}" for name in do)
    return project.write(
        {
            "agentflow.json": '{"agent": "agent:app"}',
            "agent.py": AGENT,
            "control.py": f"{CONTROL}{functions}\nDO = {{{table}}}\n",
            "evals/faults_eval.py": EVALS.format(names=names, cap=cap, length=length),
        }
    )


def statuses(run):
    return {label.partition("::")[2]: result["status"] for label, result in run.results.items()}


def lost(run):
    return [event for event in run.events if event["type"] == "WorkerLost"]


@pytest.mark.parametrize("target", ["agent", "app"])
def test_p12_a_death_at_the_import_of_an_agent_is_the_error_of_the_files_that_need_it(project, target):
    written(project, ["ok"], {})
    deadly = "import os\nos._exit(1)\n"
    if target == "agent":
        project.write({"evals/deadly.py": deadly, "evals/b_eval.py": "from deadly import app\n" + ONE_CASE})
        project.write({"agentflow.json": '{"agent": "agent:app", "evaluation": {}}'})
    else:
        project.write({"evals/b_eval.py": f"{deadly}{ONE_CASE}app = print\n"})
    run = project.eval()
    errors = {each["file"]: each["error"] for each in run.report["file_errors"]}
    assert errors.keys() == {"b_eval.py"}
    if target == "app":
        assert "exited with 1" in errors["b_eval.py"]
    assert statuses(run) == {"ok0": "passed"}
    assert run.exit_code == 1


ONE_CASE = """
from agentflow.qa.evaluation import EvalSetBuilder

def get_eval_set():
    return EvalSetBuilder(name="one").add_case(query="x", expected="x", case_id="c").build()
"""


@pytest.mark.parametrize("options", [[], EIGHT], ids=["one by one", "eight in flight"])
def test_p13_a_crash_loop_charges_each_case_once_and_ends(project, options):
    do = {"die": "def do_die(): os._exit(1)"}
    started = time.monotonic()
    run = written(project, ["die"] * 60, do).eval(*options)
    assert Counter(statuses(run).values()) == {"crashed": 60}
    assert run.exit_code == 1
    assert {event["cause"] for event in lost(run)} == {"exited with 1"}
    assert len(lost(run)) == 60
    assert time.monotonic() - started < 30


def test_p14_a_case_that_dies_once_passes_with_a_retry_and_is_flaky(project):
    do = {
        "once": "def do_once():\n"
        "    if not (ROOT / 'died').exists():\n        (ROOT / 'died').touch()\n        os._exit(1)"
    }
    written(project, ["ok", "once", "ok"], do)
    run = project.eval("--retries", "1")
    result = run.results["faults_eval.py::once1"]
    assert (result["status"], result["attempts"], result["flaky"]) == ("passed", 2, True)
    assert [each["status"] for each in result["earlier_attempts"]] == ["crashed"]
    assert run.exit_code == 0


def test_p15_an_idle_worker_that_dies_is_nobodys_fault(project):
    do = {"kill_others": "def do_kill_others(): [os.kill(pid, 9) for pid in workers() if pid != os.getpid()]"}
    written(project, ["ok"] * 10 + ["kill_others", "ok", "ok"], do, cap=1)
    # The other worker has run the one case of this file, and waits for another.
    project.write({"evals/b_eval.py": ONE_CASE.replace('query="x"', 'query="ok"').replace('"x"', '"ok"')})
    run = project.eval("--parallel", "--max-concurrency", "2", "--workers", "2")
    assert set(statuses(run).values()) == {"passed"}
    assert {result["attempts"] for result in run.results.values()} == {1}
    [event] = lost(run)
    assert event.get("in_flight", []) == []
    assert event["cause"] == "killed by SIGKILL (possibly out of memory)"
    assert run.exit_code == 0


def test_p16_a_result_that_was_sent_counts_whatever_its_worker_dies_of(project):
    do = {
        "later": "def do_later(): threading.Thread(target=segv_when_told).start(); open(ROOT / 'told', 'w').close()\n"
        "def segv_when_told():\n    time.sleep(0.05)\n    ctypes.string_at(0)",
        "slow": "def do_slow(): return asyncio.sleep(0.2)",
    }
    run = written(project, ["later", "slow", "ok"], do).eval()
    assert statuses(run) == {"later0": "passed", "slow1": "passed", "ok2": "passed"}
    assert run.results["faults_eval.py::slow1"]["attempts"] == 2
    [event] = lost(run)
    assert event["cause"] == "killed by SIGSEGV"


def test_a_thread_of_an_earlier_case_charges_nobody_else(project):
    do = {
        "leave": "def do_leave():\n    asyncio.get_running_loop().run_in_executor(None, end_when_told)",
        "tell": "async def do_tell():\n    open(ROOT / 'told', 'w').close()\n    await asyncio.sleep(0.3)\n"
        "def end_when_told():\n    while not (ROOT / 'told').exists():\n        time.sleep(0.005)\n    os._exit(3)",
    }
    run = written(project, ["leave", "tell", "ok"], do).eval()
    assert statuses(run) == {"leave0": "passed", "tell1": "passed", "ok2": "passed"}
    assert [event["cause"] for event in lost(run)] == ["exited with 3"]
    assert "by what faults_eval.py::leave0 had left running" in run.stderr
    assert run.exit_code == 0


def test_p18_a_case_on_its_way_to_a_worker_that_dies_runs_elsewhere(project):
    do = {
        "choke": "def do_choke():\n"
        "    sockets = [int(fd) for fd in os.listdir('/proc/self/fd') if is_socket(fd)]\n"
        "    while not any(waiting(fd) > 100_000 for fd in sockets):\n        time.sleep(0.005)\n"
        "    os._exit(1)",
        "is_socket": "def do_is_socket(): pass\n"
        "def is_socket(fd):\n    try:\n        return os.readlink(f'/proc/self/fd/{fd}').startswith('socket:')\n"
        "    except OSError:\n        return False\n"
        "def waiting(fd):\n    return struct.unpack('i', fcntl.ioctl(fd, termios.FIONREAD, b'1234'))[0]",
    }
    names = ["choke", "ok", "ok", "ok"]
    written(project, names, do, length=8_000_000)
    run = project.eval("--parallel", "--max-concurrency", "2", "--workers", "1", "--timeout", "20")
    assert statuses(run) == {"choke0": "crashed", "ok1": "passed", "ok2": "passed", "ok3": "passed"}
    assert len(lost(run)) == 1


def test_p19_all_workers_killed_at_once_from_outside_cost_no_verdict(project):
    do = {
        "wait": "def do_wait():\n    (ROOT / f'here-{uuid_()}').touch()\n    return appears('gone')\n"
        "def uuid_():\n    import uuid\n    return uuid.uuid4()"
    }
    written(project, ["wait"] * 8 + ["ok"] * 4, do)
    process = project.begin(*EIGHT)
    while len(list(project.root.glob("here-*"))) < 8:
        assert process.poll() is None
        time.sleep(0.01)
    for pid in workers_of(process.pid):
        os.kill(pid, 9)
    (project.root / "gone").touch()
    run = project.ended(process)
    assert Counter(statuses(run).values()) == {"passed": 12}
    assert max(result["attempts"] for result in run.results.values()) == 2
    assert len([event for event in lost(run) if event.get("in_flight", [])]) == 2
    assert run.exit_code == 0


def workers_of(coordinator):
    """The children of the fork server of a run."""
    found = []
    for server in children_of(coordinator):
        found += children_of(server)
    return found


def children_of(pid):
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def test_p22_workers_outlive_the_fork_server(project):
    do = {
        "end_server": "async def do_end_server():\n    os.kill(os.getppid(), 9)\n    await asyncio.sleep(0.1)",
        "segv": "def do_segv(): ctypes.string_at(0)",
    }
    run = written(project, ["end_server", "ok", "segv", "ok", "ok"], do).eval()
    assert statuses(run) == {
        "end_server0": "passed",
        "ok1": "passed",
        "segv2": "crashed",
        "ok3": "passed",
        "ok4": "passed",
    }
    assert "segv" in run.results["faults_eval.py::segv2"]["traceback"]
    assert len(lost(run)) == 1


def _memory_group():
    """A control group with little memory that a process can be put into, or None."""
    mine = next((line for line in Path("/proc/self/cgroup").read_text().splitlines() if ":memory:" in line), None)
    folder = (
        Path("/sys/fs/cgroup") if mine is None else Path("/sys/fs/cgroup/memory") / mine.split(":")[2].lstrip("/")
    )
    group = folder / f"evalengine-{uuid.uuid4().hex}"
    try:
        group.mkdir()
        limit = "memory.limit_in_bytes" if mine is not None else "memory.max"
        (group / limit).write_text(str(300 * 1024 * 1024))
        if mine is None:
            (group / "memory.swap.max").write_text("0")
    except OSError:
        return None
    return group


def _remove(group):
    """Remove a control group, which takes until its last process is reaped."""
    give_up = time.monotonic() + 10
    while group.exists():
        try:
            group.rmdir()
        except OSError:
            assert time.monotonic() < give_up
            time.sleep(0.01)


def test_p03_a_worker_that_the_kernel_kills_for_memory_says_so(project):
    group = _memory_group()
    if group is None:
        pytest.skip("no control group can be made here")
    do = {"eat": "def do_eat():\n    eaten = []\n    while True:\n        eaten.append(bytearray(b'x' * 10**7))"}
    written(project, ["ok", "eat", "ok"], do)
    try:
        run = project.eval_in(group)
    finally:
        _remove(group)
    assert statuses(run) == {"ok0": "passed", "eat1": "crashed", "ok2": "passed"}
    assert "killed by SIGKILL (out of memory)" in run.results["faults_eval.py::eat1"]["error"]
