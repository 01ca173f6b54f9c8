"""When the sinks hear of what is recorded."""

import pytest

from evalengine import events
from evalengine.engine.recorded import Recorded
from evalengine.journal import Journal


@pytest.fixture
def journal(tmp_path):
    journal = Journal.create(tmp_path)
    yield journal
    journal.close()


class Heard:
    def __init__(self):
        self.texts = []

    def handle(self, event, result=None):
        self.texts.append(event.text)

    def flush(self):
        pass


def test_sinks_hear_after_everything_is_on_disk_and_commands_have_left(journal):
    sink = Heard()
    recorded = Recorded(journal, [sink])
    recorded.emit(events.Noticed(text="a"))
    recorded.write()
    assert sink.texts == []
    recorded.tell()
    assert sink.texts == ["a"]


def test_sinks_hear_at_once_where_the_next_case_prints_beside_them(journal):
    sink = Heard()
    recorded = Recorded(journal, [sink], at_once=True)
    recorded.emit(events.Noticed(text="a"))
    recorded.write()
    assert sink.texts == ["a"]
    recorded.tell()
    assert sink.texts == ["a"]
