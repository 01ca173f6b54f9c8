"""What a run has come to, from its journal: in parts, cut off anywhere, with cases that changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_journal import PASSES, plan, run_started, verdict, whole_run, write

from evalengine import events
from evalengine.journal import Identity, Journal
from evalengine.journal.past import read_past
from evalengine.results import Status


def past_of(root, *told):
    return read_past(write(root, told))


def statuses(past):
    return {planned.eval_id: status for planned, _, status in past.outcomes()}


def test_a_whole_run_is_complete_and_its_verdicts_are_where_they_say(tmp_path):
    path = write(tmp_path, whole_run())
    past = read_past(path)
    data = path.read_bytes()

    assert past.is_complete
    assert past.status == "complete"
    assert statuses(past) == PASSES
    assert past.size == len(data)
    for identity, found in past.verdicts.items():
        assert f'"eval_id":"{identity.eval_id}"'.encode() in data[found.offset : found.offset + found.length]


def test_cut_off_at_every_byte_it_has_the_verdicts_whose_lines_are_whole(tmp_path):
    path = write(tmp_path, whole_run("ab"))
    content = path.read_bytes()
    ends = {identity: found.offset + found.length + 2 for identity, found in read_past(path).verdicts.items()}
    cut_path = tmp_path / "journal.jsonl"
    for cut in range(len(content) + 1):
        cut_path.write_bytes(content[:cut])
        past = read_past(cut_path)

        assert past.verdicts.keys() == {identity for identity, end in ends.items() if end <= cut}
        assert past.size == content.rfind(b"\n", 0, cut) + 1


@given(cut=st.integers(0, 10**6), ran_then=st.integers(0, 4), cut_then=st.integers(0, 10**6))
def test_cut_off_at_any_byte_and_continued_twice_it_comes_to_the_same_verdicts(
    tmp_path_factory, cut, ran_then, cut_then
):
    root = tmp_path_factory.mktemp("root")
    path = write(root, whole_run())
    _cut(path, cut)
    _go_on(path, root, stop_after=ran_then)
    _cut(path, cut_then)
    _go_on(path, root)

    past = read_past(path)
    assert past.is_complete
    assert statuses(past) == PASSES
    content = path.read_bytes()
    for identity, found in past.verdicts.items():
        assert f'"eval_id":"{identity.eval_id}"'.encode() in content[found.offset : found.offset + found.length]


def _cut(path, somewhere):
    content = path.read_bytes()
    path.write_bytes(content[: somewhere % (len(content) + 1)])


def _go_on(path, root, stop_after=None):
    """Continue a run as the engine does: keep what has a verdict, run the rest."""
    journal, past = Journal.reopen(path.parent, root)
    journal.append(run_started(part=past.parts + 1))
    ran = 0
    for event in plan():
        journal.append(event)
    for place, eval_id in enumerate(PASSES):
        identity = Identity("x_eval.py", "s", eval_id)
        if identity in past.verdicts:
            journal.keep(place, 0, past.verdicts[identity])
        elif stop_after is None or ran < stop_after:
            journal.append(verdict(place, eval_id))
            ran += 1
    if stop_after is None:
        journal.append(events.RunFinished(status="complete", exit_code=1, wall_seconds=1.0))
    journal.close()


def test_what_has_no_verdict_when_the_run_was_cut_off_is_not_run(tmp_path):
    past = past_of(tmp_path, run_started(), *plan(), verdict(0, "a"), verdict(1, "b"))

    assert past.status == "cut off"
    assert not past.is_complete
    assert statuses(past) == {"a": Status.PASSED, "b": Status.FAILED, "c": Status.NOT_RUN, "d": Status.NOT_RUN}


def test_not_run_is_no_verdict(tmp_path):
    past = past_of(tmp_path, run_started(), *plan("ab"), verdict(0, "a"), verdict(1, "b", Status.NOT_RUN))

    assert [identity.eval_id for identity in past.verdicts] == ["a"]


def test_a_later_part_that_did_not_run_a_case_does_not_take_its_verdict(tmp_path):
    told = [
        run_started(),
        *plan("a"),
        verdict(0, "a"),
        run_started(part=2),
        *plan("a"),
        verdict(0, "a", Status.NOT_RUN),
    ]

    assert past_of(tmp_path, *told).verdicts[Identity("x_eval.py", "s", "a")].status is Status.PASSED


def test_the_latest_verdict_counts_with_the_digest_it_was_given_for(tmp_path):
    told = [
        run_started(),
        *plan("a", {"a": "old"}),
        verdict(0, "a", Status.FAILED),
        run_started(part=2),
        *plan("a", {"a": "new"}),
        verdict(0, "a", Status.PASSED),
    ]

    found = past_of(tmp_path, *told).verdicts[Identity("x_eval.py", "s", "a")]

    assert (found.digest, found.status) == ("new", Status.PASSED)


def test_a_case_that_changed_has_no_verdict_any_more(tmp_path):
    past = past_of(
        tmp_path, run_started(), *plan("a"), verdict(0, "a"), run_started(part=2), *plan("a", {"a": "new"})
    )

    assert statuses(past) == {"a": Status.NOT_RUN}


def test_cases_are_told_apart_by_identity_not_by_number(tmp_path):
    told = [run_started(), *plan("ab"), verdict(0, "a"), run_started(part=2), *plan("ba"), verdict(0, "b")]

    assert statuses(past_of(tmp_path, *told)) == {"b": Status.FAILED, "a": Status.PASSED}


def test_a_part_that_was_cut_off_in_discovery_changes_no_plan(tmp_path):
    told = [*whole_run(), run_started(part=2), *list(plan("ab"))[:1]]
    past = past_of(tmp_path, *told)

    assert statuses(past) == PASSES
    assert past.status == "cut off"
    assert past.parts == 2


def test_a_verdict_whose_plan_was_lost_is_nobody_s(tmp_path):
    told = [run_started(), *plan("ab"), verdict(0, "a"), verdict(1, "d")]

    assert [identity.eval_id for identity in past_of(tmp_path, *told).verdicts] == ["a"]


@pytest.mark.parametrize("status", ["stopped", "interrupted", "incomplete"])
def test_a_run_that_ended_early_is_not_complete(tmp_path, status):
    told = [
        run_started(),
        *plan("ab"),
        verdict(0, "a"),
        verdict(1, "b", Status.NOT_RUN),
        events.RunFinished(status=status, exit_code=1, wall_seconds=1.0),
    ]
    past = past_of(tmp_path, *told)

    assert past.status == status
    assert not past.is_complete


def test_a_file_that_could_not_be_loaded_leaves_something_to_do(tmp_path):
    failed = events.FileErrored(file=1, path="/p/y_eval.py", label="y_eval.py", error="SyntaxError")
    first, *rest = whole_run()

    assert not past_of(tmp_path, first, failed, *rest).is_complete


def test_workers_are_numbered_on(tmp_path):
    told = [run_started(), events.WorkerStarted(worker=2, pid=1), events.WorkerStarted(worker=5, pid=2)]

    assert past_of(tmp_path, *told).last_worker == 5


def test_the_time_of_all_parts_adds_up_and_the_pause_between_them_does_not(tmp_path):
    told = [
        run_started(at=100.0),
        *plan("ab", at=101.0),
        verdict(0, "a", at=104.0),
        run_started(at=900.0, part=2),
        *plan("ab", at=901.0),
        verdict(1, "b", at=903.0),
    ]
    past = past_of(tmp_path, *told)

    assert past.wall_seconds == pytest.approx(7.0)
    assert past.began_at == 100.0


def test_an_empty_file_is_a_run_that_never_began(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"")
    past = read_past(path)

    assert (past.header, past.started, past.size, past.parts) == (None, None, 0, 0)
