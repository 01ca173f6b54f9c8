"""What is said of a worker that died, from its files and its exit status."""

import pytest

from evalengine.breadcrumbs import EXITED, SIGNALLED, Trail
from evalengine.engine.autopsy import Autopsy, Block
from evalengine.engine.process import Loss
from evalengine.wire import RunKey

MAIN, AGENT, FOREIGN = 0x10, 0x20, 0x30
FATAL = """printed before
Fatal Python error: Segmentation fault

Thread 0x0000000000000020 (most recent call first):
  File "/p/agent.py", line 3 in other

Current thread 0x{thread:016x} (most recent call first):
  File "/lib/ctypes/__init__.py", line 519 in string_at
  File "/p/agent.py", line 7 in app
  File "/site-packages/evalengine_worker/loop.py", line 80 in serve

Extension modules: msgspec._core (total: 1)
"""
TRAIL = Trail(current=(1, 0, 1), main_thread=MAIN, threads={AGENT: (2, 0, 1)})


class Files:
    """The files of a worker."""

    def __init__(self, trail=TRAIL, log=""):
        self._trail = trail
        self.log = log

    def trail(self, worker):
        return self._trail

    def log_tail(self, worker, start=0):
        return self.log[start:]


def examined(files, status=None, *, killed=False, block=None):
    return Autopsy(files).examine(1, Loss(4711, "a cause", status, killed), block)


@pytest.mark.parametrize(
    ("thread", "proven"), [(MAIN, RunKey(1)), (AGENT, RunKey(2)), (FOREIGN, None)], ids=["main", "agent", "foreign"]
)
def test_a_deadly_signal_is_the_fault_of_the_thread_that_it_hit(thread, proven):
    assert examined(Files(log=FATAL.format(thread=thread)), -11).proven == proven


def test_last_words_are_readable():
    words = examined(Files(log=FATAL.format(thread=MAIN)), -11).words
    assert words.startswith("Fatal Python error: Segmentation fault\n\nStack (most recent call first):")
    assert 'agent.py", line 7 in app' in words
    assert words.endswith("Printed before:\nprinted before")
    assert "serve" not in words
    assert "Extension modules" not in words
    assert "in other" not in words


def test_last_words_of_another_process_prove_nothing():
    assert examined(Files(log=FATAL.format(thread=MAIN)), -9).proven is None


def test_a_note_names_who_ended_the_process():
    files = Files(TRAIL._replace(noted=(3, 0, 1), note=(EXITED, 3)))
    assert examined(files, 3).proven == RunKey(3)
    assert examined(files, 255).proven == RunKey(3)
    assert examined(files, -9).proven is None


def test_a_note_of_nobody_clears_whoever_the_signal_hit():
    files = Files(TRAIL._replace(note=(SIGNALLED, 11)), FATAL.format(thread=MAIN))
    assert examined(files, -11).proven is None


def test_a_signal_that_the_process_sent_to_itself_is_told():
    files = Files(TRAIL._replace(noted=(3, 0, 1), note=(SIGNALLED, 9)))
    assert examined(files, -9).cause == "killed by SIGKILL, which it sent to itself"


def test_a_kill_for_memory_is_told(monkeypatch):
    autopsy = Autopsy(Files())
    monkeypatch.setattr(autopsy._oom_kills, "any_new", lambda: True)
    assert autopsy.examine(1, Loss(4711, "killed by SIGKILL (possibly out of memory)", -9)).cause == (
        "killed by SIGKILL (out of memory)"
    )


def test_an_unproven_death_leaves_what_was_printed():
    found = examined(Files(log="one\ntwo\n"), -9)
    assert found.proven is None
    assert found.words == "one\ntwo"


def test_a_death_in_an_import_says_so():
    found = examined(Files(TRAIL._replace(current=None, importing=4)), 1)
    assert found.is_importing
    assert found.cause == "a cause, while it imported a file"


def test_a_killed_worker_tells_the_stack_of_who_blocked_it():
    log = "old\n" + FATAL.format(thread=MAIN).partition("\n\n")[2]
    found = examined(Files(log=log), -9, killed=True, block=Block(RunKey(1), 4))
    assert found.proven == RunKey(1)
    assert 'agent.py", line 7 in app' in found.words
    assert "in other" not in found.words


def test_without_a_proof_it_tells_the_stacks_of_all():
    log = FATAL.format(thread=MAIN).partition("\n\n")[2]
    found = examined(Files(log=log), -9, killed=True, block=Block())
    assert found.proven is None
    assert "in other" in found.words
    assert "in app" in found.words
