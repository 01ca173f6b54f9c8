"""The journal: order, results by place, torn tails, folders that cannot be made."""

import os

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalengine import events
from evalengine.errors import RecordingError
from evalengine.journal import Journal, read_events
from evalengine.results import Status


def finished(case, result=b'{"eval_id":"a"}', repeat=0):
    return events.CaseFinished(
        case=case,
        repeat=repeat,
        attempt=1,
        label=f"x_eval.py::{case}",
        status=Status.PASSED,
        duration_s=0.5,
        result=msgspec.Raw(result),
    )


def test_events_are_read_back_in_their_order(tmp_path):
    journal = Journal.create(tmp_path)
    told = [events.Noticed(text="a", at=1.0), finished(0), events.Noticed(text="b", at=2.0)]
    for event in told:
        journal.append(event)
    journal.close()

    read = list(read_events(journal.path))

    assert [events.encode_event(event) for event in read] == [events.encode_event(event) for event in told]


def test_results_come_in_the_order_that_is_asked_for(tmp_path):
    journal = Journal.create(tmp_path)
    for case in (2, 0, 1):
        journal.append(finished(case, b'{"case":%d}' % case))

    results = list(journal.results([(0, 0), (1, 0), (2, 0)]))
    journal.close()

    assert results == [b'{"case":0}', b'{"case":1}', b'{"case":2}']


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_any_text_in_a_result_stays_on_one_line_and_comes_back_whole(texts):
    journal = Journal.create(None)
    written = [msgspec.json.encode({"response": text}) for text in texts]
    for case, result in enumerate(written):
        journal.append(finished(case, result))

    results = list(journal.results([(case, 0) for case in range(len(texts))]))
    lines = journal.path.read_bytes().splitlines()
    journal.close()

    assert results == written
    assert len(lines) == len(texts)


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_torn_last_line_is_left_out(tmp_path, cut):
    journal = Journal.create(tmp_path)
    journal.append(events.Noticed(text="whole"))
    journal.append(finished(0))
    journal.close()
    data = journal.path.read_bytes()
    journal.path.write_bytes(data[:-cut])

    read = list(read_events(journal.path))

    assert [type(event) for event in read] == [events.Noticed]


def test_a_line_that_is_no_event_is_named(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"type":"Noticed","text":"a"}\n{"type":"Nonsense"}\n')

    with pytest.raises(RecordingError, match="line 2"):
        list(read_events(path))


def test_what_was_appended_is_in_the_file_after_a_write(tmp_path):
    journal = Journal.create(tmp_path)
    journal.append(events.Noticed(text="one"))
    journal.append(finished(0))
    before = journal.path.read_bytes()
    journal.write()

    assert before == b""
    assert [type(event) for event in read_events(journal.path)] == [events.Noticed, events.CaseFinished]
    journal.close()


def test_a_write_that_fails_in_the_middle_leaves_no_half_line(tmp_path, monkeypatch):
    journal = Journal.create(tmp_path)
    journal.append(events.Noticed(text="before"))
    journal.write()
    pwrite = os.pwrite

    def short(file, data, offset):
        if len(data) <= 10:
            raise OSError(28, "No space left on device")
        return pwrite(file, data[: len(data) - 10], offset)

    monkeypatch.setattr(os, "pwrite", short)
    journal.append(finished(0, b'{"kept":1}'))
    journal.write()
    monkeypatch.undo()
    journal.append(events.Noticed(text="after"))
    journal.write()

    assert [event.text for event in read_events(journal.path)] == ["before", "after"]
    assert list(journal.results([(0, 0)])) == [b'{"kept":1}']
    journal.close()


def test_the_folder_of_runs_ignores_itself(tmp_path):
    Journal.create(tmp_path).close()

    assert (tmp_path / ".evalengine" / ".gitignore").read_text() == "*\n"


def test_where_the_root_cannot_hold_it_a_temporary_folder_does_and_it_is_told(tmp_path):
    (tmp_path / ".evalengine").write_text("a file in the way")

    journal = Journal.create(tmp_path)
    journal.append(finished(0))
    journal.close()

    assert str(tmp_path) in journal.trouble
    assert journal.path.exists()
    assert not journal.path.is_relative_to(tmp_path)


def test_a_journal_of_no_root_leaves_nothing_behind():
    journal = Journal.create(None)
    journal.append(finished(0))
    journal.close()

    assert not journal.folder.exists()


def test_a_write_that_fails_keeps_the_result_and_is_told(tmp_path):
    journal = Journal.create(tmp_path)
    full = os.open("/dev/full", os.O_RDWR)
    os.dup2(full, journal._file)
    os.close(full)

    journal.append(finished(0, b'{"kept":1}'))
    journal.write()
    journal.append(finished(1, b'{"kept":2}'))

    assert "cannot be written" in journal.trouble
    assert list(journal.results([(0, 0), (1, 0)])) == [b'{"kept":1}', b'{"kept":2}']
    journal.close()
