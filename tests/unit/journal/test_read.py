"""Reading a journal: torn at any byte, damaged, of something else, of a newer version."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_journal import whole_run, write

from evalengine import events
from evalengine.errors import UnreadableJournalError
from evalengine.journal import read_events
from evalengine.journal.read import read_header, read_lines


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return write(tmp_path_factory.mktemp("whole"), whole_run())


def test_events_come_back_with_their_places(whole):
    data = whole.read_bytes()

    for event, start, length in read_lines(whole):
        assert data[start : start + length] == events.encode_event(event) + b"\n"


def test_reading_may_begin_at_a_line(whole):
    lines = list(read_lines(whole))

    assert list(read_lines(whole, lines[3].start)) == lines[3:]


def test_the_header_says_which_run_and_whose(whole):
    header = read_header(whole)

    assert header.run_id == whole.parent.name
    assert header.root == str(whole.parents[3])


@given(data=st.data())
def test_a_file_cut_anywhere_holds_the_events_whose_lines_are_whole(whole, tmp_path_factory, data):
    content = whole.read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    path = tmp_path_factory.mktemp("cut") / "journal.jsonl"
    path.write_bytes(content[:cut])

    read = [events.encode_event(event) for event in read_events(path)]

    assert read == content[:cut].split(b"\n")[1:-1]


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"evalengine_journal":1,"run_id":"x"', b'{"evalengine_journal":1}']
)
def test_a_run_that_was_ended_before_its_header_has_none(tmp_path, content):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(content)

    assert read_header(path) is None
    assert list(read_events(path)) == []


@pytest.mark.parametrize(
    "content", [b"hello\n", b'{"a": 1}\n', b"\x80\x04\x95", b"hello", b'{"type":"Noticed"}\n', b"\n"]
)
def test_a_file_of_something_else_is_told(tmp_path, content):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(content)

    with pytest.raises(UnreadableJournalError, match="no journal of evalengine"):
        list(read_events(path))


def test_a_journal_of_a_newer_version_is_told_with_what_to_do(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"evalengine_journal":2,"run_id":"x","news":[]}\n{"type":"Unheard"}\n')

    with pytest.raises(UnreadableJournalError, match=r"newer evalengine.*update evalengine"):
        list(read_events(path))


def test_a_field_that_only_a_newer_evalengine_knows_is_passed_over(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"evalengine_journal":1,"run_id":"x","n":1}\n{"type":"Noticed","text":"a","n":1}\n')

    assert [event.text for event in read_events(path)] == ["a"]


@pytest.mark.parametrize("line", [b'{"type":"Nonsense"}', b"\x00\x00\x00", b'{"type":"Noticed","te', b"\xff\xfe"])
def test_a_damaged_line_in_the_middle_is_named(whole, tmp_path, line):
    lines = whole.read_bytes().split(b"\n")
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"\n".join([*lines[:3], line, *lines[4:]]))

    with pytest.raises(UnreadableJournalError, match="line 4: not a run event, the journal is damaged"):
        list(read_events(path))
