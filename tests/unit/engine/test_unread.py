"""Results that workers kept and nobody had read when the coordinator was killed."""

import msgspec

from evalengine import events, wire
from evalengine.engine.traces import Traces
from evalengine.engine.unread import adopt_unread
from evalengine.framing import frame
from evalengine.journal import Journal
from evalengine.result_log import ResultLog
from evalengine.results import EvalCaseResult, Status


def result(eval_id, status=Status.PASSED):
    return msgspec.json.encode(EvalCaseResult(eval_id=eval_id, passed=status is Status.PASSED, status=status))


def cut_off(root, *ids, retries=0):
    """The folder of a run that was killed after its plan."""
    journal = Journal.create(root)
    journal.append(
        events.RunStarted(run_id="r", root="/p", settings={"retries": {"value": retries}}, engine_version="0")
    )
    for place, eval_id in enumerate(ids):
        label = f"x_eval.py::{eval_id}"
        journal.append(
            events.CasePlanned(
                case=place,
                file=0,
                eval_id=eval_id,
                label=label,
                digest="d",
                set_id="s",
                set_name="s",
                collected=place,
            )
        )
    journal.append(events.PlanCompleted(planned=len(ids), eval_set_id="s", eval_set_name="s"))
    journal.close()
    return journal.folder


def left(folder, worker, *messages, torn=b""):
    log = ResultLog(Traces(folder).results_path(worker))
    for message in messages:
        log.append(frame(wire.encode(message)))
    log.append(torn)


def adopted(folder, root):
    journal, past = Journal.reopen(folder, root)
    adopt_unread(journal, past)
    journal.close()
    return {identity.eval_id: verdict.status for identity, verdict in past.verdicts.items()}


def test_results_of_all_workers_are_in_the_journal_once_it_was_reopened(tmp_path):
    folder = cut_off(tmp_path, "a", "b", "c")
    left(folder, 1, wire.Finished(0, 0, 1, result("a")), wire.Finished(2, 0, 1, result("c", Status.FAILED)))
    left(folder, 2, wire.Finished(1, 0, 1, result("b")), torn=b"EVE1\x00\x00")

    assert adopted(folder, tmp_path) == {"a": "passed", "b": "passed", "c": "failed"}
    assert list((folder / "workers").glob("*.results")) == []
    assert adopted(folder, tmp_path) == {"a": "passed", "b": "passed", "c": "failed"}


def test_a_result_in_a_file_of_its_own_is_read_from_the_folder_of_the_run(tmp_path):
    folder = cut_off(tmp_path, "a")
    (folder / "spilled.json").write_bytes(result("a"))
    left(folder, 1, wire.Finished(0, 0, 1, b"", spill="/elsewhere/spilled.json"))

    assert adopted(folder, tmp_path) == {"a": "passed"}
    assert not (folder / "spilled.json").exists()


def test_what_cannot_be_read_is_of_another_case_or_did_not_run_is_no_verdict(tmp_path):
    folder = cut_off(tmp_path, "a", "b", "c")
    left(
        folder,
        1,
        wire.Finished(0, 0, 1, b'{"eval_id":'),
        wire.Finished(1, 0, 1, result("other")),
        wire.Finished(2, 0, 1, result("c", Status.NOT_RUN)),
        wire.Finished(7, 0, 1, result("x")),
        wire.Finished(0, 0, 1, b"", spill="gone.json"),
    )

    assert adopted(folder, tmp_path) == {}


def test_where_a_run_retries_what_needs_a_retry_or_was_one_is_no_verdict(tmp_path):
    folder = cut_off(tmp_path, "a", "b", "c", retries=2)
    left(
        folder,
        1,
        wire.Finished(0, 0, 1, result("a", Status.ERROR)),
        wire.Finished(1, 0, 2, result("b")),
        wire.Finished(2, 0, 1, result("c", Status.FAILED)),
    )

    assert adopted(folder, tmp_path) == {"c": "failed"}
