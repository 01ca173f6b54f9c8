import msgspec
import pytest
import sample_run

from evalengine import events
from evalengine.errors import CountsDoNotAddUpError
from evalengine.report.summary import RunFold


def fold_of(stream):
    fold = RunFold()
    sample_run.feed(fold, stream)
    return fold


def test_the_frameworks_keys_come_first_and_in_its_order():
    keys = list(msgspec.to_builtins(sample_run.document()))

    assert keys[:6] == ["eval_set_id", "eval_set_name", "summary", "config_used", "timestamp", "metadata"]


def test_each_status_is_counted_once():
    summary = sample_run.document().summary

    assert summary.status_counts == dict.fromkeys(
        ["passed", "failed", "error", "timeout", "crashed", "skipped", "not_run"], 1
    )
    assert summary.planned == 7
    assert summary.pass_rate == pytest.approx(1 / 6)


def test_a_result_that_is_not_handed_over_is_read_from_the_event():
    fold = RunFold()
    for event in sample_run.run_events():
        fold.handle(event)

    assert fold.document().summary == sample_run.document().summary


def test_criteria_by_file_says_who_configured_them():
    by_file = sample_run.document().metadata["criteria_by_file"]

    assert by_file["booking_eval.py"] == {"source": "file", "criteria": sample_run.CRITERIA}
    assert list(by_file) == ["weather_eval.py", "booking_eval.py"]


def test_a_file_that_failed_is_no_case():
    document = sample_run.document()

    assert [error.file for error in document.file_errors] == ["broken_eval.py"]
    assert document.summary.planned == 7


def test_each_worker_process_has_an_entry_with_its_end():
    workers = sample_run.document().workers

    assert [(worker.id, worker.pid, worker.lost) for worker in workers] == [
        (0, 100, "killed by SIGSEGV"),
        (1, 101, None),
        (0, 102, None),
    ]
    assert workers[0].in_flight == ["booking_eval.py::kills_itself"]


def test_a_worker_that_never_came_up_is_listed():
    lost = events.WorkerLost(worker=3, pid=77, cause="exited with 1")

    assert fold_of([lost]).document().workers[0].pid == 77


def test_a_finished_run_with_a_verdict_missing_is_refused():
    stream = [e for e in sample_run.run_events() if not (isinstance(e, events.CaseFinished) and e.case == 3)]

    with pytest.raises(CountsDoNotAddUpError, match="7 cases were planned, but 6 have a verdict"):
        fold_of(stream).document()


def test_two_verdicts_for_one_case_are_refused():
    stream = list(sample_run.run_events())
    again = next(event for event in stream if isinstance(event, events.CaseFinished))

    with pytest.raises(CountsDoNotAddUpError, match=r"more than one verdict for weather_eval\.py::weather_london"):
        fold_of([*stream, again]).document()


def test_a_second_verdict_is_not_counted():
    stream = list(sample_run.run_events())
    again = next(event for event in stream if isinstance(event, events.CaseFinished))

    assert fold_of([*stream, again]).document(verified=False).summary.planned == 7


def test_repeats_of_a_case_have_verdicts_of_their_own():
    result = sample_run.results()[0]
    fold = fold_of([sample_run.finished(0, result, repeat=0), sample_run.finished(0, result, repeat=1)])

    assert fold.document().summary.passed_cases == 2


def test_a_run_that_is_not_over_gives_what_is_known():
    stream = list(sample_run.run_events())[:-4]

    assert fold_of(stream).document().status == "incomplete"


def test_the_reason_to_stop_stays_where_the_end_gives_none():
    end = events.RunFinished(status="stopped", exit_code=1, wall_seconds=1.0)

    assert fold_of([events.RunStopping(reason="2 failures"), end]).document().reason == "2 failures"


def test_the_gate_is_that_of_the_recorded_settings():
    gate = sample_run.document(threshold=0.1, with_file_error=False).gate

    assert gate.met
    assert gate.asked
