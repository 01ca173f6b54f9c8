"""The runs of a project root: found by a beginning, told in a line, removed."""

import os
import time

import pytest
from sample_journal import plan, run_started, verdict, whole_run

from evalengine import events
from evalengine.errors import DiscoveryError, UnreadableJournalError, UsageError
from evalengine.events import encode_event
from evalengine.journal import Journal
from evalengine.journal.read import header_line
from evalengine.journal.runs import find_run, overview, prune, read_run, remove, reopen, runs_of

IDS = ["20260101-100000-aaaaaa", "20260101-110000-bbbbbb", "20260202-100000-cccccc"]


def made(root, run_id, *told, age_s=0.0):
    """Make a run with an id of choice, its journal last written some time ago."""
    folder = root / ".evalengine" / "runs" / run_id
    folder.mkdir(parents=True)
    path = folder / "journal.jsonl"
    path.write_bytes(
        header_line(run_id, os.path.realpath(root)) + b"".join(encode_event(event) + b"\n" for event in told)
    )
    then = time.time() - age_s
    os.utime(path, (then, then))
    return folder


@pytest.fixture
def three(tmp_path):
    for number, run_id in enumerate(IDS):
        made(tmp_path, run_id, *whole_run(), age_s=300 - 100 * number)
    return tmp_path


def ids(root):
    return [run.id for run in runs_of(root)]


def test_the_last_run_comes_first(three):
    assert ids(three) == IDS[::-1]
    assert find_run(three, "last").id == IDS[2]


def test_the_last_run_is_the_one_that_was_last_written(three):
    os.utime(three / ".evalengine" / "runs" / IDS[0] / "journal.jsonl")

    assert find_run(three, "last").id == IDS[0]


def test_without_runs_there_is_no_last_one(tmp_path):
    assert find_run(tmp_path, "last") is None


@pytest.mark.parametrize("name", [IDS[2], "202602", "20260202-1"])
def test_a_run_is_found_by_the_beginning_of_its_id(three, name):
    assert find_run(three, name).id == IDS[2]


def test_a_beginning_of_several_ids_names_them(three):
    with pytest.raises(UsageError, match=f"{IDS[1]}, {IDS[0]}: write more of the id"):
        find_run(three, "20260101")


@pytest.mark.parametrize("name", ["2025", "", "no-id"])
def test_a_name_of_no_run_tells_which_there_are(three, name):
    with pytest.raises(DiscoveryError, match=f"known: {IDS[2]}"):
        find_run(three, name)


def test_a_run_of_another_project_is_not_continued(tmp_path):
    folder = made(tmp_path / "a", IDS[0], *whole_run())
    (tmp_path / "b" / ".evalengine" / "runs").mkdir(parents=True)
    folder.rename(tmp_path / "b" / ".evalengine" / "runs" / IDS[0])
    run = find_run(tmp_path / "b", IDS[0])

    with pytest.raises(UsageError, match="is of another project"):
        reopen(run, tmp_path / "b")
    assert not run.in_progress


# In a line


def test_a_run_in_a_line(three):
    run = overview(find_run(three, "last"))

    assert (run.status, run.began_at, run.planned) == ("complete", 100.0, 4)
    assert run.counts == {"passed": 2, "failed": 1, "crashed": 1}


def test_a_run_that_ended_is_told_by_its_first_and_last_lines(tmp_path):
    end = events.RunFinished(status="stopped", exit_code=1, wall_seconds=1.0, counts={"passed": 3, "not_run": 1})
    folder = made(tmp_path, IDS[0], run_started(command={"targets": ["a"]}), *plan(), end)
    path = folder / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"CasePlanned"', b'"Damaged"'))
    run = overview(find_run(tmp_path, "last"))

    assert (run.status, run.planned, run.command) == ("stopped", 4, {"targets": ["a"]})


def test_a_run_that_was_cut_off_counts_what_is_left(tmp_path):
    made(tmp_path, IDS[0], run_started(), *plan(), verdict(0, "a"))
    run = overview(find_run(tmp_path, "last"))

    assert (run.status, run.counts) == ("cut off", {"passed": 1, "not_run": 3})


def test_a_run_that_was_not_planned_has_no_count(tmp_path):
    made(tmp_path, IDS[0], run_started())

    assert overview(find_run(tmp_path, "last")).planned is None


def test_a_run_whose_process_lives_is_in_progress(tmp_path):
    journal = Journal.create(tmp_path)
    before = overview(find_run(tmp_path, "last")).status
    journal.close()

    assert (before, overview(find_run(tmp_path, "last")).status) == ("in progress", "cut off")


def test_a_run_that_cannot_be_read_says_why(tmp_path):
    folder = made(tmp_path, IDS[0])
    (folder / "journal.jsonl").write_bytes(b"something else\n")
    run = find_run(tmp_path, "last")

    assert overview(run).status == "unreadable"
    assert "is no journal" in overview(run).problem
    with pytest.raises(UnreadableJournalError):
        read_run(run)


# Removing


def test_a_run_is_removed_with_its_files(three):
    (three / ".evalengine" / "runs" / IDS[0] / "workers").mkdir()

    assert remove(find_run(three, IDS[0]))
    assert ids(three) == IDS[:0:-1]


def test_a_run_in_progress_is_not_removed(tmp_path):
    journal = Journal.create(tmp_path)

    assert not remove(find_run(tmp_path, "last"))
    assert prune(tmp_path, 0) == []
    journal.close()
    assert remove(find_run(tmp_path, "last"))


def test_the_oldest_runs_go(three):
    assert prune(three, 2) == [IDS[0]]
    assert prune(three, 2) == []


def test_a_run_that_may_be_continued_does_not_count_and_does_not_go(three):
    made(three, "20260303-100000-dddddd", run_started(), *plan(), age_s=250.0)

    assert prune(three, 2) == [IDS[0]]
    assert "20260303-100000-dddddd" in ids(three)


def test_a_run_that_could_be_continued_goes_when_it_is_old(three):
    made(three, "20250303-100000-dddddd", run_started(), *plan(), age_s=8 * 24 * 3600.0)

    assert prune(three, 3) == ["20250303-100000-dddddd"]
