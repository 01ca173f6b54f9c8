"""Writing a journal: order, results by place, a run that goes on, folders that cannot be made."""

import os

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalengine import events
from evalengine.errors import RecordingError, UsageError
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
    assert len(lines) == len(texts) + 1  # The header.


def test_what_was_appended_is_in_the_file_after_a_write(tmp_path):
    journal = Journal.create(tmp_path)
    journal.append(events.Noticed(text="one"))
    journal.append(finished(0))
    before = journal.path.read_bytes()
    journal.write()

    assert before.count(b"\n") == 1  # The header.
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


# A run that goes on


def started(**fields):
    return events.RunStarted(run_id="r", root="/p", settings={}, engine_version="0", **fields)


def planned(case, **fields):
    return events.CasePlanned(
        case=case,
        file=0,
        eval_id=str(case),
        label=f"x_eval.py::{case}",
        digest="d",
        set_id="s",
        set_name="s",
        collected=case,
        **fields,
    )


def completed(count):
    return events.PlanCompleted(planned=count, eval_set_id="s", eval_set_name="s")


def cut_off(root, *told):
    """The folder of a run whose journal ends after these events."""
    journal = Journal.create(root)
    for event in told:
        journal.append(event)
    journal.close()
    return journal.folder


def test_a_run_goes_on_in_its_own_file_with_its_torn_end_cut_off(tmp_path):
    folder = cut_off(tmp_path, started(), planned(0), completed(1))
    path = folder / "journal.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"type":"CaseFinished","case":0,"at":1')

    journal, past = Journal.reopen(folder, tmp_path)
    journal.append(started(part=2))
    journal.close()

    assert past.size == len(whole)
    assert path.read_bytes().startswith(whole)
    assert [getattr(event, "part", None) for event in read_events(path)] == [1, None, None, 2]


def test_a_kept_verdict_is_a_reference_and_its_result_is_read_from_where_it_stands(tmp_path):
    result = b'{"eval_id":"a","text":"%s"}' % (b"x" * 5000)
    folder = cut_off(tmp_path, started(), planned(0), completed(1), finished(0, result))
    journal, past = Journal.reopen(folder, tmp_path)
    (verdict,) = past.verdicts.values()
    size = journal.path.stat().st_size

    told = journal.keep(7, 0, verdict)
    results = list(journal.results([(7, 0)]))
    journal.close()

    assert results == [result]
    assert (told.case, told.kept, bytes(told.result)) == (7, True, result)
    assert journal.path.stat().st_size - size < 400


def test_a_run_that_could_not_say_what_it_was_gets_its_header_when_it_goes_on(tmp_path):
    folder = cut_off(tmp_path)
    (folder / "journal.jsonl").write_bytes(b'{"evalengine_jour')

    journal, past = Journal.reopen(folder, tmp_path)
    journal.append(started())
    journal.close()

    assert past.started is None
    assert len(list(read_events(journal.path))) == 1


def test_a_run_in_progress_is_not_opened_and_its_process_is_named(tmp_path):
    journal = Journal.create(tmp_path)
    journal.append(started(pid=4711))
    journal.write()

    with pytest.raises(UsageError, match=r"in progress \(process 4711\)"):
        Journal.reopen(journal.folder, tmp_path)
    journal.close()

    again, _ = Journal.reopen(journal.folder, tmp_path)
    again.close()


def test_a_folder_without_a_journal_cannot_be_opened(tmp_path):
    with pytest.raises(RecordingError, match="cannot be opened"):
        Journal.reopen(tmp_path, tmp_path)


def test_a_run_that_meant_nothing_leaves_no_trace(tmp_path):
    journal = Journal.create(tmp_path)
    journal.append(started())
    journal.withdraw()
    journal.close()

    assert not journal.folder.exists()


def test_a_part_that_meant_nothing_leaves_the_run_as_it_was(tmp_path):
    folder = cut_off(tmp_path, started(), planned(0), completed(1), finished(0))
    before = (folder / "journal.jsonl").read_bytes()
    journal, _ = Journal.reopen(folder, tmp_path)
    journal.append(started(part=2))
    journal.write()
    journal.append(events.Noticed(text="never written"))
    journal.withdraw()
    journal.close()

    assert journal.path.read_bytes() == before


def test_verdicts_that_had_not_reached_the_journal_are_taken_in_once(tmp_path):
    folder = cut_off(tmp_path, started(), planned(0), planned(1), completed(2), finished(0, b'{"first":0}'))
    journal, past = Journal.reopen(folder, tmp_path)

    journal.adopt(past, [finished(0, b'{"late":0}'), finished(1, b'{"late":1}'), finished(9)])
    results = {
        identity.eval_id: os.pread(journal._file, verdict.length, verdict.offset)
        for identity, verdict in past.verdicts.items()
    }
    journal.close()

    assert results == {"0": b'{"first":0}', "1": b'{"late":1}'}
