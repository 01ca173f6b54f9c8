"""A worker whose case or import does not end: what it tells, and how it is interrupted."""

import os
import sys
import time
from pathlib import Path

import pytest

from evalengine import breadcrumbs, wire
from evalengine.breadcrumbs import EXITED, INTERRUPT_SIGNAL, SIGNALLED, STACKS_SIGNAL, word_of, word_of_import
from evalengine.results import Status

sys.path.insert(0, str(Path(__file__).parent))
from worker_peer import WorkerPeer, write_project

EVALS = """
from agentflow.qa.evaluation import EvalSetBuilder

def get_eval_set():
    builder = EvalSetBuilder(name="set")
    builder.add_case(query="x", case_id="a")
    builder.add_case(query="x", case_id="b")
    return builder.build()
"""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX systems")


@pytest.fixture
def start(tmp_path):
    """Starts a worker with breadcrumbs on a project with that agent."""
    peers = []
    crumbs = tmp_path / "crumbs"
    breadcrumbs.make_file(crumbs)

    def start(agent, **files):
        write_project(tmp_path, {"agents.py": agent, "evals/x_eval.py": EVALS, **files})
        peer = WorkerPeer(tmp_path, agent="agents:app", crumbs_path=str(crumbs))
        peers.append(peer)
        return peer, crumbs

    yield start
    for peer in peers:
        peer.process.kill()
        peer.close()


def begin(peer):
    """Send a case that does not end; gives its command once it began."""
    loaded, cases = peer.load("evals/x_eval.py")
    command = peer.run_command(loaded, cases[0])
    peer.send(command)
    return loaded, cases, command


def until(found):
    give_up = time.monotonic() + 30
    while not found():
        assert time.monotonic() < give_up
        time.sleep(0.01)


HANGS = {
    "async": ("import asyncio\nasync def app(query):\n    await asyncio.Event().wait()\n", "Event().wait()"),
    "task": (
        (
            "import asyncio\nasync def app(query):\n    await asyncio.gather(asyncio.sleep(3600), deep())\n"
            "async def deep():\n    await asyncio.sleep(3600)\n"
        ),
        "await asyncio.sleep(3600)",
    ),
    "thread": ("import time\ndef app(query):\n    time.sleep(3600)\n", "time.sleep(3600)"),
    "generator": (
        "import asyncio\nasync def app(query):\n    await asyncio.sleep(0)\n    yield 'x'\n    await asyncio.sleep(99)\n",
        "await asyncio.sleep(99)",
    ),
}


@pytest.mark.parametrize("kind", HANGS)
def test_where_a_case_hangs_is_told_when_asked(start, kind):
    agent, line = HANGS[kind]
    peer, _ = start(agent)
    _, _, command = begin(peer)
    peer.receive(wire.Started)
    time.sleep(0.05)  # The agent, in its thread, must have come to the line.
    peer.send(wire.TellStack(*command.key))
    told = peer.receive(wire.StackTold)
    assert told.key == command.key
    assert line in told.stack
    assert "evalengine_worker" not in told.stack


BLOCKS = "import time\nasync def app(query):\n    time.sleep(3600)\n"


def test_a_blocked_loop_is_freed_and_goes_on_with_the_next_case(start):
    peer, crumbs = start(BLOCKS)
    loaded, cases, command = begin(peer)
    until(lambda: breadcrumbs.read(crumbs).current == command.key)
    time.sleep(0.1)  # A step that has just begun is not interrupted.
    breadcrumbs.ask_to_interrupt(crumbs, word_of(command.key))
    os.kill(peer.process.pid, INTERRUPT_SIGNAL)
    result = peer.results(1)[command.case]
    assert result.status is Status.TIMEOUT
    assert "time.sleep(3600)" in result.traceback
    assert breadcrumbs.read(crumbs).raised == command.key
    peer.send(peer.run_command(loaded, cases[1]))
    until(lambda: breadcrumbs.read(crumbs).current not in (None, command.key))


def test_an_import_that_hangs_is_freed_and_fails(start):
    peer, crumbs = start("app = print", **{"evals/slow_eval.py": "import time\ntime.sleep(3600)\n"})
    peer.send(wire.Load(file=7, path=str(peer.root / "evals/slow_eval.py"), label="slow_eval.py"))
    until(lambda: breadcrumbs.read(crumbs).importing == 7)
    time.sleep(0.5)  # The file itself must have begun.
    breadcrumbs.ask_to_interrupt(crumbs, word_of_import(7))
    os.kill(peer.process.pid, INTERRUPT_SIGNAL)
    failed = peer.receive(wire.FileFailed)
    assert "importing it took too long" in failed.error
    assert "time.sleep(3600)" in failed.traceback
    outcome, _ = peer.load("evals/x_eval.py")
    assert isinstance(outcome, wire.FileLoaded)


def test_the_stacks_of_all_threads_are_written_also_while_c_code_runs(start):
    peer, crumbs = start(
        "import collections, itertools\nasync def app(query):\n    collections.deque(itertools.count(), maxlen=0)\n"
    )
    _, _, command = begin(peer)
    until(lambda: breadcrumbs.read(crumbs).current == command.key)
    os.kill(peer.process.pid, STACKS_SIGNAL)
    until(lambda: "agents.py" in peer.log_path.read_text())
    assert f"0x{breadcrumbs.read(crumbs).main_thread:016x} (most recent call first)" in peer.log_path.read_text()


@pytest.mark.parametrize(
    ("call", "note"),
    [
        ("os._exit(3)", (EXITED, 3)),
        ("os.kill(os.getpid(), 9)", (SIGNALLED, 9)),
        ("os.killpg(0, 9)", (SIGNALLED, 9)),
    ],
)
@pytest.mark.parametrize("kind", ["async def", "def"])
def test_who_ends_the_process_is_noted_and_what_it_printed_kept(start, call, note, kind):
    peer, crumbs = start(f"import os\n{kind} app(query):\n    print('mine')\n    {call}\n")
    _, _, command = begin(peer)
    peer.process.wait(30)
    assert breadcrumbs.read(crumbs).noted == command.key
    assert breadcrumbs.read(crumbs).note == note
    assert "mine" in peer.log_path.read_text()
    assert call in peer.log_path.read_text()


def test_a_signal_that_the_process_survives_leaves_no_note(start):
    peer, crumbs = start("import os\nasync def app(query):\n    os.kill(os.getpid(), 0)\n    return 'ok'\n")
    _, _, command = begin(peer)
    assert peer.results(1)[command.case].status is Status.PASSED
    assert breadcrumbs.read(crumbs).note[0] == 0


def test_a_child_process_ends_itself_without_a_note(start):
    agent = "import os\nasync def app(query):\n    if os.fork() == 0:\n        os._exit(3)\n    os.wait()\n    return 'ok'\n"
    peer, crumbs = start(agent)
    _, _, command = begin(peer)
    assert peer.results(1)[command.case].status is Status.PASSED
    assert breadcrumbs.read(crumbs).note[0] == 0
