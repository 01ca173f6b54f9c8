"""A run told again: the last part with its plan, results of all parts, and what has no verdict."""

import msgspec
from sample_journal import PASSES, plan, run_started, verdict, whole_run, write

from evalengine import events
from evalengine.journal import Journal
from evalengine.journal.past import read_past
from evalengine.journal.replay import Replay, earlier_events
from evalengine.report.summary import RunFold
from evalengine.results import EvalCaseResult, Status


def replayed(path, unfinished="cut off"):
    """The document of a run told again, and the statuses of its results by id."""
    fold, replay = RunFold(), Replay(path, read_past(path), unfinished)
    for event in [*replay.earlier(), *replay.stream()]:
        fold.handle(event)
    places = [(case, 0) for case in sorted(read_past(path).planned)]
    results = [msgspec.json.decode(raw, type=EvalCaseResult) for raw in replay.results(places)]
    return fold.document(), {result.eval_id: result.status for result in results}


def continued(root, told, ran):
    """A run cut off after ``told`` and continued, of which ``ran`` ran in the second part."""
    path = write(root, told)
    journal, past = Journal.reopen(path.parent, root)
    journal.append(run_started(at=200.0, part=2, began_at=100.0))
    journal.append(events.WorkerStarted(at=200.5, worker=2, pid=12))
    for event in plan(at=201.0, kept=2):
        journal.append(event)
    for place, eval_id in enumerate(PASSES):
        kept = {identity.eval_id: found for identity, found in past.verdicts.items()}
        if eval_id in kept:
            journal.keep(place, 0, kept[eval_id])
        elif eval_id in ran:
            journal.append(verdict(place, eval_id, worker=2))
    journal.close()
    return path


def test_a_whole_run_comes_to_the_document_it_had(tmp_path):
    live = RunFold()
    for event in whole_run():
        live.handle(event)
    document, results = replayed(write(tmp_path, whole_run()))

    assert document == live.document()
    assert results == PASSES


def test_a_run_in_two_parts_has_the_verdicts_and_workers_of_both(tmp_path):
    told = list(whole_run())[:-4]  # Up to the verdicts of a and b.
    path = continued(tmp_path, told, ran="cd")
    document, results = replayed(path)

    assert results == PASSES
    assert document.summary.planned == 4
    assert [(worker.id, worker.lost) for worker in document.workers] == [
        (1, "ended with its run, which was cut off"),
        (2, None),
    ]
    assert document.notices == ["a notice of the engine"]
    assert document.timestamp == 100.0


def test_what_has_no_verdict_is_not_run_and_the_run_says_why(tmp_path):
    document, results = replayed(write(tmp_path, [run_started(), *plan(), verdict(0, "a")]), "it was cut off")

    assert results == {"a": "passed", "b": "not_run", "c": "not_run", "d": "not_run"}
    assert document.summary.status_counts["not_run"] == 3
    assert (document.status, document.reason, document.exit_code) == ("incomplete", "it was cut off", 3)


def test_a_part_cut_off_before_it_kept_a_verdict_still_has_it(tmp_path):
    told = [run_started(), *plan(), verdict(0, "a"), verdict(1, "b"), run_started(part=2), *plan(), verdict(2, "c")]
    _, results = replayed(write(tmp_path, told))

    assert results == {"a": "passed", "b": "failed", "c": "passed", "d": "not_run"}


def test_a_part_without_a_plan_leaves_the_one_before_as_it_was(tmp_path):
    told = [*whole_run(), run_started(part=2), *list(plan("ab"))[:1]]
    document, results = replayed(write(tmp_path, told))

    assert results == PASSES
    assert document.status == "complete"


def test_a_case_that_changed_and_did_not_run_again_is_not_run(tmp_path):
    told = [run_started(), *plan("a"), verdict(0, "a"), run_started(part=2), *plan("a", {"a": "new"})]

    assert replayed(write(tmp_path, told))[1] == {"a": Status.NOT_RUN}


def test_of_earlier_parts_no_verdict_and_no_file_is_told(tmp_path):
    path = write(tmp_path, whole_run())
    told = list(earlier_events(path, path.stat().st_size))

    assert [type(event).__name__ for event in told] == ["WorkerStarted", "Noticed", "WorkerStopped"]
