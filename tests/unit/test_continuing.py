"""How a run starts: what is continued, what is only rendered, what contradicts itself."""

import pytest

from evalengine import events
from evalengine.continuing import prepare
from evalengine.errors import UsageError
from evalengine.journal import Journal
from evalengine.results import Status
from evalengine.settings import CommandLine


@pytest.fixture
def root(tmp_path):
    (tmp_path / "agentflow.json").write_text("{}")
    return tmp_path


def made(root, status=None, verdicts=(Status.PASSED, Status.FAILED), **fields):
    journal = Journal.create(root)
    started = events.RunStarted(
        run_id=journal.run_id, root=str(root), settings={}, engine_version="0", cwd=str(root), **fields
    )
    told = [started]
    for place, _ in enumerate(verdicts):
        label = f"x_eval.py::{place}"
        told.append(
            events.CasePlanned(
                case=place,
                file=0,
                eval_id=str(place),
                label=label,
                digest="d",
                set_id="s",
                set_name="s",
                collected=place,
            )
        )
    told.append(events.PlanCompleted(planned=len(verdicts), eval_set_id="s", eval_set_name="s"))
    for place, verdict in enumerate(verdicts):
        if verdict is not None:
            told.append(
                events.CaseFinished(
                    case=place,
                    repeat=0,
                    attempt=1,
                    label=f"x_eval.py::{place}",
                    status=verdict,
                    duration_s=0.0,
                    result=b"{}",
                )
            )
    if status is not None:
        told.append(events.RunFinished(status=status, exit_code=0, wall_seconds=1.0))
    for event in told:
        journal.append(event)
    journal.close()
    return journal.run_id


def started(root, cwd=None, **given):
    start = prepare(CommandLine(**given), cwd or root, {})
    if start.continued is not None:
        start.continued.journal.close()
    return start


@pytest.mark.parametrize("other", [{"last_failed": True}, {"collect_only": True}])
def test_flags_that_contradict_resume(root, other):
    with pytest.raises(UsageError, match="contradict each other"):
        started(root, resume="last", **other)


def test_without_a_run_a_new_one_starts(root):
    start = started(root, resume="last")

    assert start.continued is None
    assert "a new one starts" in start.settings.notices[0]


def test_a_run_goes_on_under_its_own_command_line(root):
    made(root, command={"threshold": 0.5, "parallel": True, "max_concurrency": 8, "targets": ["evals/a"]})
    start = started(root, resume="last", max_concurrency=2)

    assert start.continued is not None
    assert start.settings.targets == ["evals/a"]
    assert (start.settings.threshold, start.settings.max_concurrency) == (0.5, 2)


def test_targets_are_relative_to_where_they_were_typed(root):
    (root / "below").mkdir()
    made(root, command={"targets": ["a"], "output": "/somewhere"})

    assert started(root, cwd=root / "below", resume="last").cwd == root
    assert started(root, cwd=root / "below", resume="last", targets=["b"]).cwd == root / "below"
    assert str(started(root, resume="last").settings.output_dir) == "/somewhere"
    assert started(root, cwd=root / "below", resume="last", output="o").settings.output_dir == root / "below" / "o"


@pytest.mark.parametrize(
    ("status", "verdicts", "renders"),
    [
        ("complete", [Status.PASSED], True),
        ("complete", [Status.PASSED, Status.FAILED], True),
        ("stopped", [Status.FAILED, Status.NOT_RUN], False),
        ("interrupted", [Status.PASSED, Status.NOT_RUN], False),
        (None, [Status.PASSED, None], False),
        (None, [Status.PASSED, Status.PASSED], False),
    ],
)
def test_only_a_run_that_is_over_is_rendered(root, status, verdicts, renders):
    made(root, status, verdicts)

    assert started(root, resume="last").only_render is renders


def test_a_choice_anew_runs_again_what_it_chooses(root):
    made(root, "complete")

    assert not started(root, resume="last", keyword="x").only_render
    assert started(root, resume="last", threshold=0.5).only_render


def test_what_had_failed_is_what_a_run_of_failures_goes_on_with(root):
    made(root, only=["x_eval.py::1"])

    assert started(root, resume="last").settings.only == ["x_eval.py::1"]


def test_a_run_in_progress_is_an_error_and_leaves_it_alone(root):
    journal = Journal.create(root)
    with pytest.raises(UsageError, match="in progress"):
        started(root, resume="last")
    journal.close()

    assert started(root, resume="last").continued is not None


def test_a_command_line_that_cannot_be_meant_gives_the_run_back(root):
    made(root)
    with pytest.raises(UsageError):
        started(root, resume="last", threshold=80.0)

    assert started(root, resume="last").continued is not None


# What failed last


def test_what_did_not_pass_is_chosen(root):
    made(root, "complete", [Status.PASSED, Status.FAILED, Status.SKIPPED, Status.CRASHED, None])

    assert started(root, last_failed=True).settings.only == [f"x_eval.py::{place}" for place in (1, 3, 4)]


def test_where_all_passed_no_choice_is_made(root):
    made(root, "complete", [Status.PASSED, Status.SKIPPED])
    settings = started(root, last_failed=True).settings

    assert settings.only is None
    assert "every case of the last run passed" in settings.notices[0]


def test_without_a_run_no_choice_is_made(root):
    settings = started(root, last_failed=True).settings

    assert settings.only is None
    assert "no earlier run" in settings.notices[0]


def test_a_run_that_was_not_planned_hides_no_failures(root):
    made(root, "complete")
    later = Journal.create(root)
    later.append(events.RunStarted(run_id="r", root=str(root), settings={}, engine_version="0"))
    later.close()

    assert started(root, last_failed=True).settings.only == ["x_eval.py::1"]
