"""Cases that stand by in a worker: begun in the slot of one that ends, or when told, or given back."""

import os
import sys
from pathlib import Path

import msgspec
import pytest

from evalengine import result_log, wire
from evalengine.results import Status

sys.path.insert(0, str(Path(__file__).parent))

from worker_peer import WorkerPeer, write_project

CASES = ["a", "b", "c", "d"]

AGENTS = """
import asyncio

def wait_for(name):
    with open(name) as fifo:  # until the test opens its other end
        word = fifo.read()
    if word == "die":
        import os
        os._exit(3)
    return word

def sync_agent(query):
    return wait_for(query)

async def async_agent(query):
    return await asyncio.to_thread(wait_for, query)
"""

SET = {
    "eval_set_id": "s",
    "eval_cases": [
        {
            "eval_id": name,
            "conversation": [
                {
                    "user_content": {"role": "user", "content": name},
                    "expected_final_response": {"role": "assistant", "content": name},
                }
            ],
        }
        for name in CASES
    ],
}


@pytest.fixture(params=["async", "sync"])
def peer(request, tmp_path):
    write_project(tmp_path, {"agents.py": AGENTS, "x.evalset.json": msgspec.json.encode(SET).decode()})
    for name in CASES:
        os.mkfifo(tmp_path / name)
    peer = WorkerPeer(tmp_path, agent=f"agents:{request.param}_agent", results_path=str(tmp_path / "results"))
    yield peer
    peer.close()


def commands(peer):
    """One RunCase for each case."""
    loaded, cases = peer.load("x.evalset.json")
    return [peer.run_command(loaded, case) for case in cases]


def standing_by(command):
    return msgspec.structs.replace(command, standby=True)


def end(peer, command, word="done"):
    """Let an agent that has begun end."""
    (peer.root / command.eval_id).write_text(word)


def test_one_that_stands_by_begins_in_the_place_of_one_that_ends(peer):
    first, second, third, _ = commands(peer)
    peer.send(first, standing_by(second), standing_by(third))
    assert peer.receive(wire.Started).key == first.key
    end(peer, first)
    assert peer.receive(wire.Finished).next == second.key
    assert peer.receive(wire.Started).key == second.key
    end(peer, second)
    assert peer.receive(wire.Finished).next == third.key
    end(peer, third)
    assert peer.receive(wire.Started).key == third.key
    assert peer.receive(wire.Finished).next is None


def test_one_that_stands_by_begins_when_told_to_and_only_once(peer):
    first, second, third, _ = commands(peer)
    peer.send(standing_by(first), standing_by(second), standing_by(third), wire.BeginCase(*first.key))
    assert peer.receive(wire.Started).key == first.key
    end(peer, first)
    assert peer.receive(wire.Finished).next == second.key
    peer.send(wire.BeginCase(*second.key))
    end(peer, second)
    assert peer.receive(wire.Started).key == second.key
    assert peer.receive(wire.Finished).next == third.key
    end(peer, third)
    assert peer.receive(wire.Started).key == third.key
    assert peer.receive(wire.Finished).key == third.key


def test_what_stands_by_is_given_back_and_does_not_begin(peer):
    first, second, third, _ = commands(peer)
    peer.send(first, standing_by(second), standing_by(third))
    peer.receive(wire.Started)
    peer.send(wire.WithdrawCases())
    assert peer.receive(wire.CasesWithdrawn).keys == [second.key, third.key]
    end(peer, first)
    assert peer.receive(wire.Finished).next is None


def test_nothing_is_given_back_where_nothing_stands_by(peer):
    peer.send(wire.WithdrawCases())
    assert peer.receive(wire.CasesWithdrawn).keys == []


def test_what_finished_is_kept_before_the_next_begins(peer):
    first, second, *_ = commands(peer)
    peer.send(first, standing_by(second))
    peer.receive(wire.Started)
    end(peer, first)
    finished = peer.receive(wire.Finished)
    end(peer, second, "die")
    with pytest.raises(EOFError):
        peer.results(1)

    assert [wire.decode_message(each) for each in result_log.read(peer.root / "results")] == [finished]
    assert peer.result_of(finished).status is Status.FAILED


def test_without_a_file_to_keep_results_in_a_worker_begins_nothing_by_itself(tmp_path):
    write_project(tmp_path, {"agents.py": AGENTS, "x.evalset.json": msgspec.json.encode(SET).decode()})
    os.mkfifo(tmp_path / "a")
    peer = WorkerPeer(tmp_path, agent="agents:sync_agent", results_path=str(tmp_path / "nowhere" / "results"))
    first, second, *_ = commands(peer)
    peer.send(first, standing_by(second))
    peer.receive(wire.Started)
    end(peer, first)
    assert peer.receive(wire.Finished).next is None
    peer.send(wire.WithdrawCases())
    assert peer.receive(wire.CasesWithdrawn).keys == [second.key]
    peer.close()
