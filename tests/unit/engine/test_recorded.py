"""Events are told to the journal first, then to sinks; what a sink does costs that sink alone."""

import pytest

from evalengine.engine.recorded import Recorded
from evalengine.events import Noticed
from evalengine.journal import Journal, read_events


class Listening:
    """A sink that remembers, and looks into the journal at what it hears."""

    def __init__(self, journal=None):
        self.journal = journal
        self.heard = []
        self.flushes = 0

    def handle(self, event, result=None):
        if self.journal is not None:
            assert event in list(read_events(self.journal.path))
        self.heard.append(event.text)

    def flush(self):
        self.flushes += 1


class Console(Listening):
    """A sink with a fault."""

    def __init__(self, where):
        super().__init__()
        self.where = where

    def handle(self, event, result=None):
        super().handle(event)
        if self.where == "handle":
            raise KeyError("colour")

    def flush(self):
        super().flush()
        if self.where == "flush":
            raise KeyError("colour")


@pytest.fixture
def journal(tmp_path):
    journal = Journal.create(tmp_path)
    yield journal
    journal.close()


def test_what_a_sink_hears_is_in_the_journal(journal):
    sink = Listening(journal)
    recorded = Recorded(journal, [sink])
    recorded.emit(Noticed(text="a"))
    assert sink.heard == []
    recorded.tell()
    assert sink.heard == ["a"]


@pytest.mark.parametrize("where", ["handle", "flush"])
def test_a_sink_that_raises_hears_no_more_and_nobody_else_notices(journal, where):
    first, broken, last = Listening(), Console(where), Listening()
    recorded = Recorded(journal, [first, broken, last])
    for text in "ab":
        recorded.emit(Noticed(text=text))
        recorded.tell()
    assert first.heard == last.heard == ["a", "b"]
    assert broken.heard == ["a"]
    assert recorded.problems == ["internal error in the console: KeyError: 'colour'"]


def test_what_is_written_is_not_told_yet(journal):
    sink = Listening()
    recorded = Recorded(journal, [sink])
    recorded.emit(Noticed(text="a"))
    recorded.write()
    assert sink.heard == []


def test_sinks_hear_at_once_where_the_next_case_prints_beside_them(journal):
    sink = Listening()
    recorded = Recorded(journal, [sink], at_once=True)
    recorded.emit(Noticed(text="a"))
    recorded.write()
    assert sink.heard == ["a"]
    recorded.tell()
    assert sink.heard == ["a"]
