"""Discovery: every file gets one outcome, whatever becomes of the worker that loads it."""

from pathlib import Path

from evalengine import wire
from evalengine.engine.loading import Loading
from evalengine.targets import EvalFile


def files(*labels):
    return [EvalFile(path=Path("/p") / label, label=label, kind="python") for label in labels]


def case(eval_id):
    return wire.PlannedCase(eval_id=eval_id, set_id="s", set_name="s", digest="d", payload=b"")


def loaded(number, label="a_eval.py"):
    return wire.FileLoaded(file=number, spec=wire.FileSpec(path=label, label=label), cases=1)


def test_files_that_are_given_up_have_failed_and_what_is_still_said_of_them_changes_nothing():
    loading = Loading(files("a_eval.py", "b_eval.py", "c_eval.py"))
    loading.assign(1)
    loading.finished(1, loaded(0))
    loading.assign(1)
    loading.give_up("too late")
    loading.found(1, wire.CaseFound(file=1, case=case("x")))
    loading.finished(1, loaded(1))

    assert loading.done
    assert list(loading.loaded) == [0]
    assert {number: failed.error for number, failed in loading.failed.items()} == {1: "too late", 2: "too late"}
    assert loading.assign(1) is None


def test_a_file_that_fails_after_its_time_has_failed_for_that():
    loading = Loading(files("a_eval.py", "b_eval.py"))
    loading.assign(1)
    loading.is_late(0, "it took too long")
    loading.finished(1, wire.FileFailed(file=0, error="KeyError", traceback="where"))
    loading.assign(1)
    loading.finished(1, wire.FileFailed(file=1, error="KeyError"))

    assert [(failed.error, failed.traceback) for failed in loading.failed.values()] == [
        ("it took too long", "where"),
        ("KeyError", None),
    ]


def test_what_is_in_progress_is_told_by_worker():
    loading = Loading(files("a_eval.py", "b_eval.py"))
    loading.assign(7)

    assert loading.in_progress() == {7: "a_eval.py"}
    assert loading.describe() == "0 of 2 files loaded"


def test_an_idle_worker_gets_the_next_file_and_a_busy_one_none():
    loading = Loading(files("a_eval.py", "b_eval.py", "c_eval.py"))

    assert loading.assign(1).label == "a_eval.py"
    assert loading.assign(1) is None
    assert loading.assign(2).label == "b_eval.py"


def test_a_file_has_the_cases_that_were_found_in_it():
    loading = Loading(files("a_eval.py"))
    loading.assign(1)
    loading.found(1, wire.CaseFound(file=0, case=case("x")))
    loading.finished(1, loaded(0))

    assert loading.done
    assert [found.eval_id for found in loading.loaded[0].cases] == ["x"]


def test_the_death_of_the_worker_that_loads_a_file_is_the_files_outcome():
    loading = Loading(files("a_eval.py", "b_eval.py"))
    loading.assign(1)

    assert loading.worker_lost(1, "killed by SIGSEGV", "last words") == 0
    assert "killed by SIGSEGV" in loading.failed[0].error
    assert loading.failed[0].output == "last words"
    assert not loading.done
    assert loading.assign(2).label == "b_eval.py"


def test_the_death_of_an_idle_worker_is_nobodys_outcome():
    loading = Loading(files("a_eval.py"))

    assert loading.worker_lost(1, "exited with 1", "") is None
    assert not loading.failed


def test_what_a_dead_worker_had_found_is_not_carried_into_another_file():
    loading = Loading(files("a_eval.py", "b_eval.py"))
    loading.assign(1)
    loading.found(1, wire.CaseFound(file=0, case=case("x")))
    loading.worker_lost(1, "exited with 1", "")
    loading.assign(2)
    loading.finished(2, loaded(1, "b_eval.py"))

    assert loading.loaded[1].cases == []
    assert loading.done
