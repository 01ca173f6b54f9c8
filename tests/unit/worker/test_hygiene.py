"""Signal handlers that a case leaves: undone and told, but for those of a debugger, which are undone alone."""

import bdb
import signal
from types import SimpleNamespace

import pytest

from evalengine_worker.hygiene import Hygiene


class Debugger(bdb.Bdb):
    """As pdb is, which leaves its handler of Ctrl-C at ``continue``."""

    def sigint_handler(self, signum, frame):
        raise AssertionError


@pytest.fixture
def hygiene():
    before = signal.getsignal(signal.SIGUSR2)
    yield Hygiene(SimpleNamespace(install=lambda: False, log=SimpleNamespace(reconnect=lambda: False)))
    signal.signal(signal.SIGUSR2, before)


def test_a_handler_of_the_case_is_told(hygiene):
    hygiene.begin()
    before = signal.signal(signal.SIGUSR2, lambda *_: None)
    assert hygiene.settle() == ["changed signal handlers; restored"]
    assert signal.getsignal(signal.SIGUSR2) is before


def test_a_handler_of_a_debugger_is_not(hygiene):
    hygiene.begin()
    before = signal.signal(signal.SIGUSR2, Debugger().sigint_handler)
    assert hygiene.settle() == []
    assert signal.getsignal(signal.SIGUSR2) is before


def test_what_was_undone_without_a_word_is_no_change_of_the_next_case(hygiene):
    hygiene.begin()
    signal.signal(signal.SIGUSR2, Debugger().sigint_handler)
    hygiene.settle()
    hygiene.begin()
    assert hygiene.settle() == []
