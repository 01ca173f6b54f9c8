"""``runs`` and ``report`` on journals, without running anything."""

import os
import time

import pytest

from evalengine import events
from evalengine.cli.main import main
from evalengine.journal import Journal


@pytest.fixture(autouse=True)
def _project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def run(capsys):
    """Run the command line in this process: exit code, standard output, standard error."""

    def run(*args):
        code = main(args)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def made(root, *told, age_s=0.0, **fields):
    journal = Journal.create(root)
    journal.append(
        events.RunStarted(
            run_id=journal.run_id, root=str(root), settings={}, engine_version="0.1", cwd="/p", **fields
        )
    )
    for event in told:
        journal.append(event)
    journal.close()
    then = time.time() - age_s
    os.utime(journal.path, (then, then))
    return journal.run_id


def planned(*ids):
    for place, eval_id in enumerate(ids):
        yield events.CasePlanned(
            case=place,
            file=0,
            eval_id=eval_id,
            label=f"x_eval.py::{eval_id}",
            digest="d",
            set_id="s",
            set_name="s",
            collected=place,
        )
    yield events.PlanCompleted(planned=len(ids), eval_set_id="s", eval_set_name="s")


@pytest.mark.parametrize("args", [("runs",), ("runs", "list")])
def test_without_runs_that_is_said(run, args, tmp_path):
    assert run(*args) == (0, "", f"No runs under {tmp_path}: agentflow eval makes one\n")


@pytest.mark.parametrize("args", [("runs", "show"), ("report",)])
def test_without_runs_there_is_none_to_show(run, args):
    code, _, err = run(*args)
    assert code == 2
    assert "no run of this project is there" in err


def test_a_line_has_id_status_counts_and_command(run, tmp_path):
    run_id = made(tmp_path, *planned("a", "b"), command={"targets": ["evals"], "parallel": True})
    code, out, _ = run("runs")
    title, line = out.splitlines()
    assert code == 0
    assert title.split() == ["RUN", "STARTED", "STATUS", "CASES", "COMMAND"]
    assert line.startswith(run_id)
    assert line.endswith("cut off  2: 0 passed, 2 not run  agentflow eval evals --parallel")


def test_a_run_of_failures_says_so_in_its_command(run, tmp_path):
    made(tmp_path, only=["x_eval.py::a"])
    assert run("runs")[1].endswith("agentflow eval --last-failed\n")


def test_a_run_that_cannot_be_read_does_not_hide_the_others(run, tmp_path):
    run_id = made(tmp_path)
    broken = tmp_path / ".evalengine" / "runs" / "20260101-000000-000000"
    broken.mkdir()
    (broken / "journal.jsonl").write_text("nothing\n")
    code, out, _ = run("runs")
    assert code == 0
    assert run_id in out
    assert "unreadable" in out


def test_what_a_run_was_and_how_it_goes_on(run, tmp_path):
    run_id = made(tmp_path, *planned("a"), command={"threshold": 0.5})
    code, out, _ = run("runs", "show", run_id[:15])
    assert code == 0
    assert "Status   cut off" in out
    assert "Command  agentflow eval --threshold 0.5" in out
    assert "  not_run   x_eval.py::a" in out
    assert out.endswith(f"Go on with it: agentflow eval --resume {run_id}\n")


# Clean


def test_what_is_to_go_must_be_said(run):
    code, _, err = run("runs", "clean")
    assert code == 2
    assert "--keep N, --older-than AGE, or their ids" in err


def test_the_last_are_kept(run, tmp_path):
    old, new = made(tmp_path, age_s=60), made(tmp_path)
    assert run("runs", "clean", "--keep", "1") == (0, f"removed {old}\n", "")
    assert [folder.name for folder in (tmp_path / ".evalengine" / "runs").iterdir()] == [new]


@pytest.mark.parametrize(
    ("age", "goes"), [("1h", True), ("30m", True), ("90s", True), ("0.05", True), ("1d", False), ("2", False)]
)
def test_what_is_older_goes(run, tmp_path, age, goes):
    old = made(tmp_path, age_s=2 * 3600)
    assert run("runs", "clean", "--older-than", age)[1] == (f"removed {old}\n" if goes else "")


def test_with_both_only_what_both_would_remove_goes(run, tmp_path):
    old, _ = made(tmp_path, age_s=7200), made(tmp_path, age_s=60)
    assert run("runs", "clean", "--keep", "0", "--older-than", "1h")[1] == f"removed {old}\n"


def test_a_dry_run_removes_nothing(run, tmp_path):
    run_id = made(tmp_path)
    assert run("runs", "clean", "--keep", "0", "--dry-run")[1] == f"would remove {run_id}\n"
    assert (tmp_path / ".evalengine" / "runs" / run_id).exists()


def test_a_run_in_progress_stays(run, tmp_path):
    journal = Journal.create(tmp_path)
    by_age, by_name = run("runs", "clean", "--keep", "0"), run("runs", "clean", journal.run_id)
    journal.close()
    assert by_age[0] == 0
    assert "is in progress, and stays" in by_age[2]
    assert by_name[0] == 2
    assert "is in progress and was not removed" in by_name[2]
    assert journal.folder.exists()


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--older-than", "soon"), "'soon' is no age: write 30d, 12h or 90m"),
        (("2026", "--keep", "1"), "runs are named, or chosen by --keep and --older-than"),
        (("2026",), "no run '2026'"),
        (("--keep", "-1"), "--keep"),
    ],
)
def test_what_cannot_be_meant_is_told(run, args, told):
    code, _, err = run("runs", "clean", *args)
    assert code == 2
    assert told in err


def test_an_unknown_command_is_told(run):
    code, _, err = run("runs", "drop")
    assert code == 2
    assert "drop" in err


# Report


def test_a_run_without_a_plan_has_nothing_to_report(run, tmp_path):
    run_id = made(tmp_path)
    code, _, err = run("report")
    assert code == 2
    assert f"run {run_id} was not planned yet" in err


def test_the_reports_of_a_run_that_was_cut_off(run, tmp_path):
    made(tmp_path, *planned("a", "b"))
    code, out, _ = run("report", "-o", "out", "--no-timestamp-files")
    assert code == 0
    assert "2 not run" in out
    assert "Run incomplete: it was cut off" in out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["s.html", "s.json"]
