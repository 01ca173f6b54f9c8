"""The catalogue of deaths (P) and hangs (H): what each case does, what must be said of it, and its neighbours unharmed.

Every row is run one by one and with eight in flight, by an async and by a sync agent, each followed by a case that
must not notice. The numbers are those of the catalogue of faults; rows that need a stage of their own are in
``test_deaths.py`` and ``test_hangs.py``.
"""

import sys
from typing import NamedTuple

import pytest

TIMEOUT_S = 1
MOST_WALL_S = 60


class Row(NamedTuple):
    """What a case does, and what must be said of it."""

    number: str
    name: str
    body: str
    status: str
    error: str = ""
    shown: str = ""
    """What the traceback must show."""
    sync: str | None = "the same"
    """What a sync agent does, None where there is nothing to it."""
    sync_status: str | None = None
    sync_error: str | None = None


OVER = "timed out after 1 s"
DEATHS = [
    Row("P01", "segv", "ctypes.string_at(0)", "crashed", "killed by SIGSEGV", "do_segv"),
    Row("P01", "segv_in_pool", "await asyncio.to_thread(segv)", "crashed", "killed by SIGSEGV", "in segv", None),
    Row(
        "P02", "kill", "os.kill(os.getpid(), 9)", "crashed", "killed by SIGKILL, which it sent to itself", "do_kill"
    ),
    Row("P02", "kill_by_c", "libc.kill(os.getpid(), 9)", "crashed", "SIGKILL (possibly out of memory)"),
    Row("P02", "kill_group", "os.killpg(0, 9)", "crashed", "killed by SIGKILL"),
    Row("P03", "no_memory", "bytearray(1 << 46)", "error", "MemoryError"),
    Row("P04", "exit_0", "os._exit(0)", "crashed", "exited with 0 without a word", "do_exit_0"),
    Row("P05", "exit_3", "print('mine'); os._exit(3)", "crashed", "exited with 3", "mine"),
    Row("P05", "exit_by_c", "libc.exit(3)", "crashed", "exited with 3"),
    Row("P05", "exec", "os.execvp('true', ['true'])", "crashed", "exited with 0 without a word"),
    Row("P06", "sys_exit", "sys.exit(0)", "error", "SystemExit: 0"),
    Row(
        "P07",
        "exit_in_task",
        "asyncio.create_task(exit_soon()); await sleep(0.05); return 'ok'",
        "passed",
        sync=None,
    ),
    Row("P08", "keyboard_interrupt", "raise KeyboardInterrupt", "error", "KeyboardInterrupt"),
    Row("P09", "terminate", "os.kill(os.getpid(), 15)", "crashed", "killed by SIGTERM"),
    Row("P10", "abort", "os.abort()", "crashed", "killed by SIGABRT", "do_abort"),
    Row("P16", "dies_later", "threading.Timer(0.02, os._exit, (1,)).start(); return 'ok'", "passed"),
    Row("P17", "half_frame", "half_a_frame(); os.kill(os.getpid(), 9)", "crashed", "killed by SIGKILL"),
    Row("P20", "stop", "os.kill(os.getpid(), signal.SIGSTOP); time.sleep(3600)", "timeout", OVER),
    Row("P21", "fork_and_die", "os.fork() == 0 and time.sleep(4321); os._exit(7)", "crashed", "exited with 7"),
]
if sys.version_info < (3, 12):
    DEATHS.append(Row("P11", "overflow", "overflow()", "crashed", "killed by SIGSEGV"))
else:
    DEATHS.append(Row("P11", "overflow", "overflow()", "error", "RecursionError"))
HANGS = [
    Row("H01", "block", "time.sleep(3600)", "timeout", OVER, "do_block"),
    Row("H01", "block_shortly", "time.sleep(1.2); return 'ok'", "timeout", OVER),
    Row("H01", "block_in_queue", "queue.Queue().get()", "timeout", OVER, "do_block_in_queue"),
    Row("H01", "spin", "while True: pass", "timeout", OVER, "do_spin"),
    Row("H01", "stubborn_block", "stubborn(time.sleep)", "timeout", f"{OVER} and could not be cancelled", "stubborn"),
    Row("H02", "regex", "re.match('(a+)+$', 'a' * 64 + 'b')", "timeout", OVER, "do_regex"),
    Row("H03", "c_loop", "collections.deque(itertools.count(), maxlen=0)", "timeout", f"{OVER} and could not", "do_c_loop"),
    Row("H04", "swallow", "await swallow()", "timeout", f"{OVER} and could not be cancelled", "in swallow", None),
    Row("H05", "wait", "await asyncio.Event().wait()", "timeout", OVER, "do_wait", "threading.Event().wait()"),
    Row("H06", "stop_loop", "asyncio.get_running_loop().stop(); await sleep(0.01); return 'ok'", "passed", sync=None),
    Row("H07", "close_loop", "asyncio.get_running_loop().close()", "error", "Cannot close a running", sync=None),
    Row("H07", "no_loop", "asyncio.set_event_loop(None); await sleep(0.01); return 'ok'", "passed", sync="asyncio.set_event_loop(None); return 'ok'"),
    Row("H08", "run_in_loop", "asyncio.run(finish())", "error", "cannot be called from a running event loop", sync="return asyncio.run(finish())", sync_status="passed", sync_error=""),
    Row("H09", "nested_loop", "return nested(finish())", "passed", sync=None),
    Row("H10", "clock", "time.monotonic = time.time = lambda: 0; return 'ok'", "passed"),
    Row("H10", "clock_and_wait", "time.monotonic = lambda: 0; await asyncio.Event().wait()", "timeout", OVER, "do_clock_and_wait", None),
    Row("H11", "later", "now = time.time; time.time = lambda: now() + 3600; return 'ok'", "passed"),
    Row("H12", "hog", "threading.Thread(target=c_loop).start(); await sleep(9)", "timeout", OVER, "c_loop", "threading.Thread(target=c_loop).start(); time.sleep(9)"),
    Row("H16", "thread", "threading.Thread(target=time.sleep, args=(99,)).start(); return 'ok'", "passed"),
    Row("H16", "exit_hook", "atexit.register(time.sleep, 99); return 'ok'", "passed"),
    Row("H17", "finalizer", "slow = Slow(); del slow; return 'ok'", "timeout", OVER, "__del__"),
]  # fmt: skip
MINIMUM = {
    "segv",
    "kill",
    "exit_3",
    "abort",
    "overflow",
    "block",
    "regex",
    "c_loop",
    "swallow",
    "wait",
    "nested_loop",
}
"""Rows that are run on every Python."""

AGENT = """
import asyncio, atexit, collections, ctypes, itertools, os, queue, re, signal, socket, stat, sys, threading, time
sleep = asyncio.sleep
libc = ctypes.CDLL(None)

def segv():
    ctypes.string_at(0)

async def exit_soon():
    sys.exit(0)

async def finish():
    await sleep(0.01)
    return "ok"

async def swallow():
    while True:
        try:
            await sleep(9)
        except asyncio.CancelledError:
            pass

def stubborn(wait):
    while True:
        try:
            wait(60)
        except BaseException:
            pass

def c_loop():
    collections.deque(itertools.count(), maxlen=0)

def nested(coroutine):
    loop, me = asyncio.get_running_loop(), asyncio.current_task()
    task = loop.create_task(coroutine)
    asyncio.tasks._leave_task(loop, me)
    while not task.done():
        loop._run_once()
    asyncio.tasks._enter_task(loop, me)
    return task.result()

def overflow():
    class Deep:
        def __getattr__(self, name):
            return getattr(self, name)
    sys.setrecursionlimit(10**6)
    Deep().x

def half_a_frame():
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        try:
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                os.write(descriptor, b"EVE1\\0\\0\\4\\0half a frame")
        except OSError:
            pass

class Slow:
    def __del__(self):
        time.sleep(3600)
"""
ASYNC_APP = """
async def app(messages):
    name = messages[-1]["content"]
    if not name.startswith("ok_"):
        return await globals()["do_" + name]()
    print("said " + name)
    await sleep(0.005)
    return "ok"
"""
SYNC_APP = """
def app(messages):
    name = messages[-1]["content"]
    if not name.startswith("ok_"):
        return globals()["do_" + name]()
    print("said " + name)
    time.sleep(0.005)
    return "ok"
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
EIGHT = ["--parallel", "--max-concurrency", "8", "--workers", "2"]
MODES = [
    pytest.param((agent, options), id=f"{agent}, {words}")
    for agent in ("async", "sync")
    for words, options in (("one by one", []), ("eight in flight", EIGHT))
]

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="faults of Linux"),
]


def expected(row, agent):
    """The row as it is for an agent of that kind; None where there is none."""
    if agent == "async":
        return row
    if row.sync is None:
        return None
    body = row.body if row.sync == "the same" else row.sync
    error = row.error if row.sync_error is None else row.sync_error
    return row._replace(body=body, status=row.sync_status or row.status, error=error)


def run_rows(make_project, rows, agent, options):
    is_async = agent == "async"
    source, kind = AGENT + (ASYNC_APP if is_async else SYNC_APP), "async def" if is_async else "def"
    project = make_project("faults").write_table(source, rows, EVALS, kind)
    return rows, project.eval("--timeout", str(TIMEOUT_S), *options)


@pytest.fixture(scope="module", params=MODES)
def whole(request, make_project):
    agent, options = request.param
    rows = [row for each in (*DEATHS, *HANGS) if (row := expected(each, agent))]
    return run_rows(make_project, rows, agent, options)


@pytest.fixture(scope="module", params=MODES)
def small(request, make_project):
    agent, options = request.param
    rows = [row for each in (*DEATHS, *HANGS) if each.name in MINIMUM and (row := expected(each, agent))]
    return run_rows(make_project, rows, agent, options)


def check_verdicts(rows, run):
    """Each case has its one verdict in every record, and the counts and the exit code follow from it."""
    wanted = {(f"faults_eval.py::{row.name}", row.status): 1 for row in rows}
    wanted |= {(f"faults_eval.py::ok_{row.name}", "passed"): 1 for row in rows}
    verdicts = run.verdicts()
    assert verdicts["report"] == wanted
    assert verdicts["console"] == verdicts["journal"] == wanted
    assert run.exit_code == 1


def check_causes(rows, run):
    """Each row says its cause, and shows where."""
    results = {row.name: run.results[f"faults_eval.py::{row.name}"] for row in rows}
    wrong = [
        (row.number, row.name, results[row.name]["error"], results[row.name]["traceback"])
        for row in rows
        if row.error not in (results[row.name]["error"] or "")
        or row.shown not in (results[row.name]["traceback"] or "")
    ]
    assert wrong == []


@pytest.mark.minimum
def test_the_least_has_the_right_verdicts(small):
    check_verdicts(*small)


@pytest.mark.minimum
def test_the_least_tells_causes(small):
    check_causes(*small)


def test_every_case_has_its_verdict_and_the_same_in_every_record(whole):
    check_verdicts(*whole)


def test_each_row_is_told_by_its_cause(whole):
    check_causes(*whole)


def test_bystanders_have_their_own_output(whole):
    rows, run = whole
    bystanders = [run.results[f"faults_eval.py::ok_{row.name}"] for row in rows]
    assert [each["eval_id"] for each in bystanders if f"said {each['eval_id']}\n" not in each["output"]] == []


def test_the_run_ends_in_bounded_time_without_a_traceback_of_ours(whole):
    _, run = whole
    assert "Traceback" not in run.stderr
    assert run.report["summary"]["wall_seconds"] < MOST_WALL_S


def test_no_process_is_left(whole, processes):
    _, run = whole
    assert processes("sleep\0004321\0") == {}
    workers = {event["pid"] for event in run.events if event["type"] == "WorkerStarted"}
    assert len(workers) > 10
    assert workers & processes("multiprocess").keys() == set()
