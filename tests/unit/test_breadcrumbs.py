"""Breadcrumbs: whose code a worker runs can be read while it lives and after it died."""

import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalengine import breadcrumbs
from evalengine.breadcrumbs import (
    EXITED,
    REPLACED,
    Breadcrumbs,
    Trail,
    ask_to_interrupt,
    make_file,
    read,
    word_of,
    word_of_import,
)

MARK = (7, 1, 2)


@pytest.fixture
def path(tmp_path):
    make_file(tmp_path / "crumbs")
    return tmp_path / "crumbs"


@pytest.fixture
def crumbs(path, monkeypatch):
    monkeypatch.setattr(os, "register_at_fork", lambda **_: None)
    return Breadcrumbs(path)


def test_a_new_file_names_nobody_and_a_missing_or_short_one_neither(path, tmp_path):
    (tmp_path / "short").write_bytes(b"x")
    assert read(path) == read(tmp_path / "nowhere") == read(tmp_path / "short") == Trail()


@given(st.tuples(st.integers(0, 2**32 - 2), st.integers(0, 2**16 - 1), st.integers(1, 2**16 - 1)))
def test_every_attempt_has_a_word_of_its_own_that_names_it(mark):
    assert breadcrumbs._mark_of(word_of(mark)) == mark
    assert not breadcrumbs.is_import(word_of(mark))


def test_a_step_is_seen_while_it_goes_on(path, crumbs):
    begun = crumbs.enter(word_of(MARK))
    assert read(path)[:3] == (MARK, None, begun / 1e9)
    crumbs.leave(0)
    assert read(path).current is None


def test_an_import_is_no_attempt(path, crumbs):
    crumbs.enter(word_of_import(0))
    assert read(path).current is None
    assert read(path).importing == 0


def test_a_thread_is_its_attempts_until_it_leaves(path, crumbs):
    ident = threading.get_ident()
    place = crumbs.enter_thread(word_of(MARK))
    assert read(path).threads == {ident: MARK}
    assert crumbs.thread_of(word_of(MARK)) == ident
    crumbs.leave_thread(place)
    assert read(path).threads == {}
    assert crumbs.thread_of(word_of(MARK)) is None


def test_more_threads_than_there_is_room_for_are_known_in_the_worker_alone(path, crumbs):
    places = [crumbs.enter_thread(word_of((case, 0, 1))) for case in range(200)]
    assert places[-1] == -1
    for place in places:
        crumbs.leave_thread(place)
    assert crumbs.enter_thread(word_of(MARK)) >= 0
    assert list(read(path).threads.values()) == [MARK]


def test_nothing_is_noted_over_an_end_that_nothing_prevents(path, crumbs):
    first, second = word_of((1, 0, 1)), word_of((2, 0, 1))
    assert crumbs.note(first, EXITED, 3)
    assert not crumbs.note(second, REPLACED, 0)
    assert (read(path).noted, read(path).note) == ((1, 0, 1), (EXITED, 3))


def test_a_note_stands_until_it_is_cleared(path, crumbs):
    crumbs.note(word_of(MARK), EXITED, -1)
    assert read(path)[4:6] == (MARK, (EXITED, 2**32 - 1))
    crumbs.clear_note()
    assert read(path).note[0] == 0


def test_the_main_thread_is_told(path, crumbs):
    assert read(path).main_thread == threading.main_thread().ident


def test_the_coordinator_says_whom_to_interrupt(path, crumbs, tmp_path):
    assert ask_to_interrupt(path, word_of(MARK))
    assert crumbs.wanted == word_of(MARK)
    assert not ask_to_interrupt(tmp_path / "nowhere", 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_what_a_fork_does_is_not_seen_and_what_a_dead_process_did_is(path):
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom evalengine.breadcrumbs import Breadcrumbs, word_of\n"
        "crumbs = Breadcrumbs(Path(sys.argv[1]))\ncrumbs.enter(word_of((7, 1, 2)))\n"
        "if os.fork() == 0:\n    crumbs.enter(word_of((8, 0, 1)))\n    os._exit(0)\n"
        "os.wait()\nos.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert read(path).current == MARK
