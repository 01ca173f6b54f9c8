"""Running cases in a real worker: apart from each other, cancellable, and without a trace in their process."""

import subprocess
import sys
from pathlib import Path

import pytest

from evalengine import wire
from evalengine.results import Status

sys.path.insert(0, str(Path(__file__).parent))

from worker_peer import WorkerPeer, write_project

EVALS = """
from agentflow.qa.evaluation import CriteriaConfig, EvalConfig, EvalSet, EvalSetBuilder
EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig())
def get_eval_set() -> EvalSet:
    builder = EvalSetBuilder(name="s")
    for number in range({count}):
        builder.add_case(query=str(number), case_id=f"c{{number}}", expected="x")
    return builder.build()
"""


@pytest.fixture
def start(tmp_path):
    """Starts a worker on a project whose agent is the text's ``app``; gives it and the cases of its one file."""
    peers = []

    def start(agent, count=1, extra="", **configure):
        write_project(tmp_path, {"agents.py": agent, "evals/x_eval.py": EVALS.format(count=count) + extra})
        peer = WorkerPeer(tmp_path, **{"agent": "agents:app", **configure})
        peers.append(peer)
        return (peer, *peer.load("evals/x_eval.py"))

    yield start
    assert [peer.close() for peer in peers] == [(0, "")] * len(peers)


def run_all(start, agent, count=1, **configure):
    peer, loaded, cases = start(agent, count, **configure)
    return peer, peer.run(loaded, cases)


# Apart from each other

ASYNC_APART = """
import asyncio, contextvars
from evalengine import record_node, record_tool
seen = contextvars.ContextVar("seen", default="nothing")
arrived, all_here = [], asyncio.Event()
async def app(query: str, ctx):
    assert seen.get() == "nothing"
    seen.set(query)
    print("start", query)
    arrived.append(query)
    if len(arrived) == 8: all_here.set()
    await all_here.wait()
    record_tool(f"tool_{query}", {"query": query})
    await asyncio.create_task(asyncio.to_thread(record_node, f"NODE_{query}"))
    print("end", query)
    return f"{query} {seen.get()} {ctx.thread_id}"
"""

SYNC_APART = """
import threading
from evalengine import record_node, record_tool
barrier = threading.Barrier(8)
def app(query: str, ctx):
    print("start", query)
    barrier.wait(20)
    record_tool(f"tool_{query}", {"query": query})
    record_node(f"NODE_{query}")
    print("end", query)
    return f"{query} {query} {ctx.thread_id}"
"""


@pytest.mark.parametrize("agent", [ASYNC_APART, SYNC_APART], ids=["async", "sync"])
def test_cases_in_flight_together_never_see_each_other(start, agent):
    _, results = run_all(start, agent, count=8)
    threads = set()
    for number, result in enumerate(results):
        assert (result.status, result.error) == (Status.PASSED, None)
        name, seen, thread = result.actual_response.split()
        threads.add(thread)
        assert name == seen == str(number)
        assert [call.name for call in result.actual_tool_calls] == [f"tool_{number}"]
        assert result.node_visits == [f"NODE_{number}"]
        assert result.output == f"start {number}\nend {number}\n"
        assert result.notes == []
    assert len(threads) == 8


def test_a_serial_agent_has_the_process_for_itself(start):
    agent = """
import time
inside = []
def app(query: str):
    inside.append(query)
    time.sleep(0.005)
    assert inside == [query]
    inside.clear()
    return query
"""
    _, results = run_all(start, agent, count=6, sync_agents="serial")
    assert [result.actual_response for result in results] == list("012345")


def test_what_an_agent_does_to_its_messages_and_its_case_reaches_nobody(start):
    agent = """
def app(messages, ctx):
    messages[0]["content"] = "changed"
    ctx.case.conversation[0].expected_final_response.content = "changed"
    ctx.case.metadata["x"] = 1
    return {"response": "x", "tool_calls": [{"name": "f", "args": ARGS}]}
ARGS = {"a": 1}
"""
    extra = """
from evalengine.criteria.custom import criterion
@criterion(threshold=1.0)
def meddles(execution, case):
    import agents
    agents.ARGS["a"] = 2
    execution.tool_calls.clear()
    assert case.conversation[0].expected_final_response.content == "x"
    return True
from agentflow.qa.evaluation import CriterionConfig
EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig(custom=[meddles, meddles], exact_match=CriterionConfig(threshold=1.0)))
"""
    peer, loaded, cases = start(agent, extra=extra)
    [result] = peer.run(loaded, cases)
    assert (result.status, result.error) == (Status.PASSED, None)
    assert result.actual_tool_calls[0].args == {"a": 1}
    assert result.expected == [{"user_input": "0", "response": "x"}]
    assert result.messages[0]["content"] == "0"


# What a result says


def test_a_result_says_where_it_comes_from_and_when(start):
    peer, loaded, [case] = start("def app(query: str): return query")
    peer.send(peer.run_command(loaded, case, repeat=2, attempt=3))
    [result] = peer.results(1).values()
    found = (
        result.label,
        result.file,
        result.set_id,
        result.set_name,
        result.repeat,
        result.attempts,
        result.worker,
    )
    assert found == ("evals/x_eval.py::c0", "evals/x_eval.py", "s", "s", 2, 3, 1)
    assert result.started_at + result.duration_seconds == pytest.approx(result.finished_at)


def test_an_error_keeps_what_the_agent_did_before(start):
    agent = """
from evalengine import record_tool
def app(query: str):
    record_tool("f")
    print("so far")
    return 1 / 0
"""
    _, [result] = run_all(start, agent)
    assert (result.status, result.error) == (Status.ERROR, "ZeroDivisionError: division by zero")
    assert [call.name for call in result.actual_tool_calls] == ["f"]
    assert result.output == "so far\n"
    assert "return 1 / 0" in result.traceback


def test_a_long_result_goes_through_a_file(start, tmp_path):
    agent = "def app(query: str): return {'response': 'x', 'tool_calls': [{'name': 'f', 'args': {'a': 'y' * 900_000}}] * 3}"
    peer, [result] = run_all(start, agent)
    assert len(result.actual_tool_calls) == 3
    assert Path(peer.last_finished.spill).parent == tmp_path


def test_output_is_bounded_at_its_head_and_tail(start):
    agent = (
        "def app(query: str):\n    print('head')\n    print('x' * 10_000_000)\n    print('tail')\n    return query"
    )
    _, [result] = run_all(start, agent)
    assert len(result.output) < 70_000
    assert result.output.startswith("head\n")
    assert result.output.endswith("tail\n")
    assert "characters left out" in result.output


def test_output_of_child_processes_is_that_of_a_case_that_ran_alone(start):
    agent = "import os, sys\ndef app(query: str):\n    os.system(f'echo child {query}')\n    sys.stdout.buffer.write(b'bytes')\n    return query"
    peer, loaded, cases = start(agent, count=2)
    outputs = [peer.run(loaded, [case])[0].output for case in cases]
    assert outputs == ["byteschild 0\n", "byteschild 1\n"]


def test_reading_from_the_terminal_ends_at_once(start):
    _, [result] = run_all(start, "def app(query: str): return input()")
    assert result.error == "EOFError: EOF when reading a line"


# Cancelling

FOREVER = """
import asyncio
from evalengine import record_tool
async def app(query: str):
    record_tool("f")
    await asyncio.Event().wait()
"""


def cancel(peer, loaded, case, status="timeout"):
    command = peer.run_command(loaded, case)
    peer.send(command)
    peer.receive(wire.Started)
    peer.send(wire.CancelCase(*command.key, status=status, reason="timed out after 1 s"))
    return peer.results(1)[command.case]


@pytest.mark.parametrize("status", ["timeout", "not_run"])
def test_a_cancelled_case_keeps_what_it_did(start, status):
    peer, loaded, [case] = start(FOREVER)
    result = cancel(peer, loaded, case, status)
    assert (result.status, result.error) == (status, "timed out after 1 s")
    assert ("await asyncio.Event().wait()" in (result.traceback or "")) == (status == "timeout")
    assert [call.name for call in result.actual_tool_calls] == ["f"]


def test_a_cancelled_thread_is_waited_for(start):
    agent = """
import time
def app(query: str):
    time.sleep(0.2)
    open("ended", "w").close()
    return query
"""
    peer, loaded, [case] = start(agent)
    result = cancel(peer, loaded, case)
    assert result.status == "timeout"
    assert (peer.root / "ended").exists()
    assert peer.last_finished.leftovers == 0


def test_a_case_that_is_cancelled_before_it_began_finishes(start):
    peer, loaded, [case] = start(FOREVER)
    command = peer.run_command(loaded, case)
    peer.send(command, wire.CancelCase(*command.key, status="not_run", reason="stopped"))
    assert peer.results(1)[command.case].status == "not_run"


def test_a_case_waiting_for_a_serial_agent_can_be_cancelled(start):
    agent = """
import os, time
def app(query: str):
    while not os.path.exists("go"): time.sleep(0.005)
    return query
"""
    peer, loaded, cases = start(agent, count=2, sync_agents="serial")
    first, second = (peer.run_command(loaded, case) for case in cases)
    peer.send(first, second, wire.CancelCase(*second.key, status="not_run", reason="stopped"))
    assert peer.results(1)[second.case].status == "not_run"
    (peer.root / "go").touch()
    assert peer.results(1)[first.case].status == "passed"


# What cases do to their process

CHANGES = {
    "import os; os.chdir('/')": "changed the working directory; restored",
    "import os; os.environ['X'] = '1'; del os.environ['PATH']": "changed the environment; restored",
    "import sys; sys.path.insert(0, '/nowhere')": "changed sys.path; restored",
    "import signal, threading; signal.signal(signal.SIGTERM, signal.SIG_IGN)": "changed signal handlers; restored",
    "import sys; sys.setrecursionlimit(5000)": "changed the recursion limit; restored",
    "import os; os.umask(0o7)": "changed the umask; restored",
    "import gc; gc.disable()": "changed garbage collection; restored",
    "import sys, io; sys.stdout = io.StringIO()": "changed the standard streams; restored",
    "import os; os.close(1)": "changed file descriptors 1 or 2; restored",
    "import sys; sys.stdout.close()": None,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_process_is_undone_and_told(start, change):
    agent = f"""
async def app(query: str):
    if query == "0":
        {change}
    print("still here")
    return query
"""
    peer, loaded, cases = start(agent, count=2)
    first, second = (peer.run(loaded, [case])[0] for case in cases)
    assert first.notes == ([CHANGES[change]] if CHANGES[change] else [])
    assert (second.notes, second.output) == ([], "still here\n")


def test_a_change_while_others_run_is_told_as_a_notice(start):
    agent = """
import asyncio, os
arrived, all_here = [], asyncio.Event()
async def app(query: str):
    arrived.append(query)
    if len(arrived) == 2: all_here.set()
    await all_here.wait()
    os.chdir("/")
    return query
"""
    peer, results = run_all(start, agent, count=2)
    peer.close()
    assert [result.notes for result in results] == [[], []]
    assert peer.notices == ["worker 1: one of several cases at once changed the working directory; restored"]


def test_tasks_that_a_case_leaves_are_cancelled(start):
    agent = """
import asyncio
async def app(query: str):
    asyncio.create_task(asyncio.sleep(3600))
    await asyncio.sleep(0)
    return query
"""
    peer, [result] = run_all(start, agent)
    assert result.notes == ["left 1 asyncio task running; cancelled"]
    assert peer.last_finished.leftovers == 0


def test_threads_that_a_case_leaves_are_counted(start):
    agent = """
import threading
def app(query: str):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    return query
"""
    peer, [result] = run_all(start, agent)
    assert result.notes == ["left 1 thread running"]
    assert peer.last_finished.leftovers == 1


def test_what_a_case_left_is_still_counted_after_another_file_was_imported(start, tmp_path):
    agent = """
import threading
def app(query: str):
    if query == "0":
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    return query
"""
    peer, loaded, cases = start(agent)
    peer.run(loaded, cases)
    own = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    write_project(tmp_path, {"evals/y_eval.py": EVALS.format(count=2) + own})
    other, cases = peer.load("evals/y_eval.py")
    peer.run(other, cases[1:])
    assert peer.last_finished.leftovers == 1


def test_a_child_process_that_a_case_leaves_is_counted(start):
    agent = """
import subprocess
def app(query: str):
    app.child = subprocess.Popen(["sleep", "60"])
    return str(app.child.pid)
"""
    peer, [result] = run_all(start, agent)
    subprocess.run(["kill", result.actual_response], check=True)
    assert peer.last_finished.leftovers == 1
    assert result.notes == ["left 1 child process running"]


def test_what_an_import_started_is_no_leftover(start):
    agent = """
import subprocess, threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
subprocess.run(["true"])
async def app(query: str): return query
"""
    peer, [result] = run_all(start, agent)
    assert (peer.last_finished.leftovers, result.notes) == (0, [])


def test_a_thread_of_a_pool_that_a_cancelled_case_leaves_at_work_is_counted(start):
    agent = """
import asyncio, os, time
def blocked():
    while not os.path.exists("go"): time.sleep(0.005)
async def app(query: str): await asyncio.to_thread(blocked)
"""
    peer, loaded, [case] = start(agent)
    result = cancel(peer, loaded, case)
    (peer.root / "go").touch()
    assert (result.status, peer.last_finished.leftovers) == ("timeout", 1)


LOOP_ABUSE = {
    "exit in a task": "async def exits(): raise SystemExit(0)\n    asyncio.create_task(exits())",
    "stops the loop": "asyncio.get_running_loop().stop()",
    "no current loop": "asyncio.set_event_loop(None)",
}


@pytest.mark.parametrize("name", LOOP_ABUSE)
def test_the_worker_outlives_what_is_done_to_its_loop(start, name):
    agent = f"import asyncio\nasync def app(query: str):\n    {LOOP_ABUSE[name]}\n    await asyncio.sleep(0.01)\n    return query"
    peer, loaded, cases = start(agent, count=2)
    for case in cases:
        [result] = peer.run(loaded, [case])
        assert result.status is Status.PASSED


def test_a_fork_that_comes_back_from_the_agent_ends_without_a_word(start):
    _, results = run_all(start, "import os\nasync def app(query: str):\n    os.fork()\n    return query", count=1)
    assert [result.status for result in results] == [Status.PASSED]


def test_replaced_library_functions_do_not_disturb_the_engine(start):
    agent = """
import asyncio, builtins, json, os, time
async def app(query: str):
    asyncio.wait = json.dumps = time.monotonic = time.time = os.getcwd = builtins.open = None
    return query
"""
    _, results = run_all(start, agent, count=2)
    assert [result.status for result in results] == [Status.PASSED] * 2


def test_a_file_that_cannot_be_used_here_is_the_error_of_its_cases(start):
    extra = "\nimport os, agents\nif os.path.exists('broken'): raise ValueError('no')\n"
    peer, loaded, [case] = start("def app(query: str): return query", extra=extra)
    other = WorkerPeer(peer.root, agent="agents:app")
    (peer.root / "broken").touch()
    [result] = other.run(loaded, [case])
    other.close()
    assert result.error == "worker 1 cannot use the file: ValueError: no"
    assert "raise ValueError('no')" in result.traceback


def test_a_worker_without_a_coordinator_ends(start):
    peer, *_ = start("def app(query: str): return query")
    other = WorkerPeer(peer.root)
    other._socket.close()
    assert other.process.wait(10) == 70
    other.process.communicate()


def test_tasks_are_named_as_ever_and_may_have_a_factory_of_the_users(start):
    agent = """
import asyncio
async def child(): return asyncio.current_task().get_name()
def factory(loop, coro, **options):
    factory.calls += 1
    return asyncio.Task(coro, loop=loop, **options)
factory.calls = 0
async def app(query: str):
    asyncio.get_running_loop().set_task_factory(factory)
    await asyncio.create_task(child())
    asyncio.get_running_loop().set_task_factory(None)
    return f"{await asyncio.create_task(child(), name='mine')} {(await asyncio.create_task(child())).partition('-')[0]} {factory.calls}"
"""
    _, [result] = run_all(start, agent)
    assert (result.error, result.actual_response) == (None, "mine Task 1")
