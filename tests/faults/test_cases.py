"""What a case does to its process costs that case at most: a table of faults, run one by one and many at once.

Deaths and hangs have tables of their own, see ``test_catalogue.py``.
"""

import sys
from typing import NamedTuple

import pytest

TIMEOUT_S = 1


class Fault(NamedTuple):
    """What a case does, and what must be said of it."""

    name: str
    body: str
    status: str
    error: str = ""
    note: str = ""


RAISED = [
    Fault("interrupt_itself", "os.kill(os.getpid(), 2); await sleep(9)", "error", "KeyboardInterrupt"),
    Fault("generator_exit", "raise GeneratorExit", "error", "GeneratorExit"),
    Fault("stop_iteration", "raise StopIteration", "error", "StopIteration"),
    Fault("cancelled", "raise asyncio.CancelledError", "error", "CancelledError"),
    Fault("cancel_itself", "asyncio.current_task().cancel(); await sleep(9)", "error", "CancelledError"),
    Fault("recursion", "f = lambda: f(); f()", "error", "RecursionError"),
    Fault("no_memory", "raise MemoryError", "error", "MemoryError"),
    Fault("mute_error", "raise type('Mute', (Exception,), {'__str__': None})", "error", "cannot be read"),
    Fault("chain", "raise chained(5000)", "error", "ValueError: 4999"),
    Fault("read", "return input()", "error", "EOFError"),
]
RETURNED = [
    Fault("lock", "return threading.Lock()", "error", "a value of type _thread.lock"),
    Fault("nothing", "return None", "error", "nothing (None)"),
    Fault("surrogate", "print('\\ud800'); return 'ok \\ud800'", "passed"),
    Fault("cycle", "x = []; x.append(x); return call(x)", "passed", note="nested too deeply"),
    Fault("deep", "return call(nested(100_000))", "passed", note="nested too deeply"),
    Fault("odd_keys", "return call({(1, 2): 3, None: 4})", "passed"),
    Fault("huge_numbers", "return call([2**64, -(2**70), float('nan'), b'\\xff'])", "passed"),
    Fault("evil_repr", "return call(Evil())", "passed", note="is shown by its type only"),
    Fault("long_text", "return 'ok ' * 3_000_000", "passed", note="was cut"),
    Fault("long_output", "print('x' * 5_000_000); return 'ok'", "passed"),
]
LEFT = [
    Fault("task", "asyncio.create_task(sleep(9e9)); return 'ok'", "passed", note="left 1 asyncio task running"),
    Fault("child", "subprocess.Popen(['sleep', '4323']); return 'ok'", "passed", note="left 1 child process"),
    Fault("daemon", "daemonise(); return 'ok'", "passed"),
    Fault("fork", "os.fork(); await sleep(0.01); return 'ok'", "passed"),
    Fault(
        "thread", "threading.Thread(target=time.sleep, args=(99,)).start(); return 'ok'", "passed", note="1 thread"
    ),
    Fault("no_output", "sys.stdout = sys.stderr = None; return 'ok'", "passed"),
    Fault("closed_output", "sys.stdout.close(); return 'ok'", "passed"),
    Fault("cancel_all", "[t.cancel() for t in others()]; await sleep(0.01); return 'ok'", "passed"),
]
DEATHS = [
    Fault("close_descriptors", "os.closerange(3, 4096)", "crashed", "the worker process died"),
]
UNDONE = [
    Fault("folder", "os.chdir('/'); return 'ok'", "passed", note="the working directory; restored"),
    Fault("environment", "os.environ.clear(); return 'ok'", "passed", note="the environment; restored"),
    Fault("path", "sys.path.clear(); return 'ok'", "passed", note="sys.path; restored"),
    Fault("umask", "os.umask(0o777); return 'ok'", "passed", note="the umask; restored"),
    Fault("recursion_limit", "sys.setrecursionlimit(90); return 'ok'", "passed", note="recursion limit; restored"),
    Fault("signals", "signal.signal(15, signal.SIG_IGN); return 'ok'", "passed", note="signal handlers; restored"),
    Fault("alarm", "signal.alarm(1); return 'ok'", "passed", note="the alarm clock; restored"),
    Fault("limits", "lower_limit(); return 'ok'", "passed", note="resource limits; restored"),
    Fault("descriptors", "os.close(1); os.close(2); return 'ok'", "passed", note="descriptors 1 or 2; restored"),
    Fault("loop", "raise_in_tasks(); return 'ok'", "passed", note="settings of the event loop; restored"),
    Fault("collection", "gc.disable(); return 'ok'", "passed", note="garbage collection; restored"),
    Fault("beyond_repair", "os.environ = None; return 'ok'", "passed", note="the worker was replaced"),
]
EVERYWHERE = [*RAISED, *RETURNED, *LEFT, *DEATHS]

AGENT = """
import asyncio, gc, os, resource, signal, subprocess, sys, threading, time
sleep = asyncio.sleep

def others():
    return asyncio.all_tasks() - {asyncio.current_task()}

def chained(length):
    error = None
    for number in range(length):
        cause, error = error, ValueError(number)
        error.__cause__ = cause
    return error

def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value

def call(args):
    return {"response": "ok", "tool_calls": [{"name": "t", "args": {"x": args}, "result": args}]}

class Evil:
    def __repr__(self):
        raise RuntimeError("evil")
    __str__ = __repr__

def daemonise():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", "4323"])
        os._exit(0)

def lower_limit():
    resource.setrlimit(resource.RLIMIT_NOFILE, (9, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

def raise_in_tasks():
    asyncio.get_running_loop().set_task_factory(lambda *args, **options: 1 / 0)

async def app(messages):
    name = messages[-1]["content"]
    if not name.startswith("ok_"):
        return await globals()["do_" + name]()
    print("said " + name)
    assert os.getcwd() == FOLDER
    assert "PATH" in os.environ
    await asyncio.create_task(sleep(0.005))
    return "ok"

FOLDER = os.getcwd()
"""

EVALS = """
from agentflow.qa.evaluation import CriteriaConfig, CriterionConfig, EvalConfig, EvalSetBuilder

EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig(response_match=CriterionConfig.response_match(threshold=0.5)))

def get_eval_set():
    builder = EvalSetBuilder(name="faults")
    for name in {names}:
        builder.add_case(query=name, expected="ok", case_id=name)
    return builder.build()
"""
MODES = {
    "one by one": ([*UNDONE, *EVERYWHERE], []),
    "many at once": (EVERYWHERE, ["--parallel", "--max-concurrency", "5", "--workers", "2"]),
}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="faults of POSIX systems")


@pytest.fixture(scope="module", params=MODES)
def faulty(request, make_project):
    """The faults of a mode, each with a case after it that must not notice, and the run of all."""
    faults, options = MODES[request.param]
    project = make_project("faults").write_table(AGENT, faults, EVALS)
    return faults, project.eval("--timeout", str(TIMEOUT_S), *options)


def test_every_case_has_one_verdict_and_the_same_in_every_record(faulty):
    faults, run = faulty
    expected = {(f"faults_eval.py::{fault.name}", fault.status) for fault in faults}
    expected |= {(f"faults_eval.py::ok_{fault.name}", "passed") for fault in faults}
    verdicts = run.verdicts()
    assert verdicts["report"] == dict.fromkeys(expected, 1)
    assert verdicts["console"] == verdicts["report"]
    assert verdicts["journal"] == verdicts["report"]


def test_the_counts_agree(faulty):
    _, run = faulty
    counts = run.report["summary"]["status_counts"]
    statuses = [result["status"] for result in run.report["results"]]
    assert sum(counts.values()) == run.report["summary"]["planned"] == len(statuses)
    assert {status: statuses.count(status) for status in counts} == counts
    assert f"Results: {counts['passed']}/{len(statuses)} passed" in run.stdout
    assert run.exit_code == 1


def test_each_fault_is_told_by_its_cause(faulty):
    faults, run = faulty
    errors = {fault.name: run.results[f"faults_eval.py::{fault.name}"]["error"] or "" for fault in faults}
    assert [(fault.name, errors[fault.name]) for fault in faults if fault.error not in errors[fault.name]] == []


@pytest.mark.parametrize("faulty", ["one by one"], indirect=True)
def test_what_a_case_alone_did_to_its_process_is_told(faulty):
    faults, run = faulty
    notes = {fault.name: run.results[f"faults_eval.py::{fault.name}"]["notes"] for fault in faults}
    assert [(f.name, notes[f.name]) for f in faults if f.note not in " ".join(notes[f.name])] == []


def test_bystanders_have_their_own_output_and_nothing_to_answer_for(faulty):
    faults, run = faulty
    bystanders = [run.results[f"faults_eval.py::ok_{fault.name}"] for fault in faults]
    wrong = [each for each in bystanders if each["output"] != f"said {each['eval_id']}\n" or each["notes"]]
    assert [(each["eval_id"], each["output"], each["notes"]) for each in wrong] == []


def test_standard_error_has_no_traceback(faulty):
    _, run = faulty
    assert "Traceback" not in run.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no /proc")
def test_no_process_is_left(faulty, processes):
    _, run = faulty
    assert processes("sleep\0004323\0") == {}
    workers = {event["pid"] for event in run.events if event["type"] == "WorkerStarted"}
    assert len(workers) > 1
    assert workers & processes("multiprocess").keys() == set()


def test_a_hung_worker_is_killed_also_when_the_fork_server_is_gone(project):
    agent = """
import asyncio, os, time

async def app(messages):
    if messages[-1]["content"] == "hang":
        time.sleep(3600)
    await asyncio.sleep(0.3)
    os.kill(os.getppid(), 9)
    return "ok"
"""
    project.write(
        {
            "agentflow.json": '{"agent": "agent:app"}',
            "agent.py": agent,
            "evals/faults_eval.py": EVALS.format(names=["hang", "kill_parent"]),
        }
    )
    run = project.eval("--timeout", "1", "--parallel", "--max-concurrency", "2", "--workers", "2")
    assert {label: result["status"] for label, result in run.results.items()} == {
        "faults_eval.py::hang": "timeout",
        "faults_eval.py::kill_parent": "passed",
    }
