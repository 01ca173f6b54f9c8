"""Runs that are killed, and what comes after: continued, rendered again, listed, reported, removed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

AGENT = """
import asyncio, os, pathlib

async def app(question: str):
    with open("ran.txt", "a") as file:
        file.write(question + "\\n")
    while question in pathlib.Path("hold.txt").read_text().split() and not os.path.exists("go"):
        await asyncio.sleep(0.01)
    return "wrong" if question.endswith("3") else f"right {question}"
"""
EVALS = """
import json, pathlib
from agentflow.qa.evaluation import CriterionConfig, CriteriaConfig, EvalConfig, EvalSetBuilder

SUITE = json.loads(pathlib.Path("suite.json").read_text())

def get_eval_config():
    config = CriterionConfig.response_match(threshold=SUITE["threshold"])
    return EvalConfig(criteria=CriteriaConfig(response_match=config))

def get_eval_set():
    builder = EvalSetBuilder(name="many")
    for case_id, expected in SUITE["cases"].items():
        builder.add_case(query=case_id, expected=expected, case_id=case_id)
    return builder.build()
"""
IDS = [f"c{number}" for number in range(12)]


@pytest.fixture
def suite(project):
    """A project of twelve cases, two of which fail; ``hold`` names those that wait for the file ``go``."""
    project.write({"agentflow.json": {"agent": "agent:app"}, "agent.py": AGENT, "evals/many_eval.py": EVALS})
    project.write({"ran.txt": "", "hold.txt": ""})
    project.write({"suite.json": {"threshold": 0.9, "cases": {case_id: f"right {case_id}" for case_id in IDS}}})
    return project


def change(suite, **changes):
    content = json.loads((suite.root / "suite.json").read_text())
    suite.write({"suite.json": {**content, **changes}})


def ran(suite):
    """How often each case's agent was called."""
    return Counter((suite.root / "ran.txt").read_text().split())


def journals(suite):
    return sorted((suite.root / ".evalengine" / "runs").glob("*/journal.jsonl"))


def wait_until(condition, process=None):
    give_up = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up
        assert process is None or process.poll() is None
        time.sleep(0.01)


@contextlib.contextmanager
def running(suite, *args):
    """A run of its own process group; what is left of it at the end is killed."""
    command = [sys.executable, "-m", "evalengine", "eval", "--no-progress", *args]
    process = subprocess.Popen(
        command, cwd=suite.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def killed(suite, *args, hold="c5", verdicts=1, signum=signal.SIGKILL):
    """Run until some cases wait and others have their verdicts in the journal, then end it by a signal."""
    suite.write({"hold.txt": hold})
    before = journals(suite)[-1].read_text().count('"CaseFinished"') if "--resume" in args else 0
    with running(suite, *args) as process:

        def reached():
            written = [path.read_text() for path in journals(suite)[-1:]]
            return (
                set(hold.split()) <= set(ran(suite))
                and bool(written)
                and written[0].count('"CaseFinished"') >= before + verdicts
            )

        wait_until(reached, process)
        process.send_signal(signum)
        if signum != signal.SIGKILL:
            wait_until(lambda: '"RunStopping"' in journals(suite)[-1].read_text())
        suite.write({"hold.txt": ""})
        process.wait(timeout=60)


@pytest.fixture
def uninterrupted(suite, comparable):
    """What a run that nobody interrupts comes to; its reports and its journal are gone again."""
    suite.eval()
    report = comparable(suite.report())
    suite.python("-m", "evalengine", "runs", "clean", "--keep", "0")
    for path in (suite.root / "eval_reports").iterdir():
        path.unlink()
    suite.write({"ran.txt": ""})
    return report


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], []),
        (["--parallel", "-c", "4", "--workers", "2"], ["--parallel", "-c", "3", "--workers", "1"]),
        ([], ["--parallel", "-c", "4", "--workers", "2"]),
        (["--parallel", "-c", "4", "--workers", "2"], ["--no-parallel"]),
    ],
    ids=["sequential", "fewer workers", "then parallel", "then sequential"],
)
def test_a_killed_run_goes_on_and_reports_what_an_uninterrupted_one_does(
    suite, uninterrupted, comparable, before, after
):
    killed(suite, *before)
    in_flight = set(suite_in_flight(suite))
    resumed = suite.eval("--resume", *after)

    assert resumed.returncode == 1, resumed.stderr
    assert comparable(suite.report()) == uninterrupted
    assert_ran_once(suite, IDS, in_flight)
    assert "with a verdict already" in resumed.stdout
    assert len(journals(suite)) == 1


def assert_ran_once(suite, case_ids, in_flight):
    """Each case ran once; what was in flight at a kill did again, unless its worker finished it all the same."""
    counts = ran(suite)
    assert set(counts) == set(case_ids)
    assert {case_id for case_id, count in counts.items() if count > 1} <= set(in_flight)
    assert max(counts.values()) <= 2


def suite_in_flight(suite):
    """The ids that were started and have no verdict in the journal."""
    finished = set()
    for line in journals(suite)[-1].read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n") and b'"CaseFinished"' in line[:30]:
            finished.add(json.loads(line)["label"].partition("::")[2])
    return set(ran(suite)) - finished


def test_a_run_may_be_killed_again_and_again(suite, uninterrupted, comparable):
    killed(suite, hold="c2", verdicts=2)
    killed(suite, "--resume", hold="c6", verdicts=4)
    killed(suite, "--resume", hold="c9", verdicts=3)
    suite.eval("--resume")
    report = suite.report()

    assert comparable(report) == uninterrupted
    assert_ran_once(suite, IDS, in_flight=["c2", "c6", "c9"])
    assert len({worker["id"] for worker in report["workers"]}) == 4
    assert sum(worker["lost"] is not None for worker in report["workers"]) == 3


def test_a_torn_journal_is_cut_off_where_it_is_torn(suite, uninterrupted, comparable):
    killed(suite, verdicts=5)
    (journal,) = journals(suite)
    with journal.open("ab") as file:
        file.write(b'{"type":"CaseFinished","at":17')
    suite.eval("--resume")

    assert comparable(suite.report()) == uninterrupted
    assert all(json.loads(line) for line in journal.read_bytes().splitlines())


def test_what_changed_runs_again_what_is_new_runs_and_what_is_gone_is_left_out(suite):
    killed(suite, hold="c5", verdicts=5)
    cases = {case_id: f"right {case_id}" for case_id in ["new", *IDS] if case_id != "c1"}
    change(suite, cases={**cases, "c2": "something else"})
    suite.eval("--resume")

    assert ran(suite)["c2"] == 2
    assert_ran_once(suite, [*IDS, "new"], in_flight=["c2", "c5"])
    statuses = {label.partition("::")[2]: result["status"] for label, result in suite.results().items()}
    assert list(statuses) == ["new", *(case_id for case_id in IDS if case_id != "c1")]
    assert statuses["c2"] == "failed"
    assert suite.report()["summary"]["planned"] == 12


def test_changed_criteria_judge_every_case_anew(suite):
    killed(suite, hold="c5", verdicts=5)
    change(suite, threshold=0.5)
    suite.eval("--resume")

    assert [ran(suite)[case_id] for case_id in IDS[:5]] == [2] * 5


def test_a_run_that_was_interrupted_goes_on(suite, uninterrupted, comparable):
    killed(suite, hold="c5", signum=signal.SIGINT)
    assert suite.report()["status"] == "interrupted"
    resumed = suite.eval("--resume")

    assert resumed.returncode == 1
    assert comparable(suite.report()) == uninterrupted


def test_a_run_that_stopped_at_its_first_failure_goes_on_to_the_next(suite):
    change(suite, cases={f"c{number}": f"right c{number}" for number in range(1, 16)})
    suite.eval("-x")
    assert set(ran(suite)) == {"c1", "c2", "c3"}
    suite.eval("--resume")

    assert ran(suite) == Counter(f"c{number}" for number in range(1, 14))
    assert suite.report()["status"] == "stopped"


def test_a_run_that_was_killed_while_files_were_loaded_goes_on(suite, uninterrupted, comparable):
    evals = suite.root / "evals" / "many_eval.py"
    evals.write_text("open('loading.txt', 'w').close()\nimport time\ntime.sleep(600)\n")
    with running(suite, "-k", "c") as process:
        wait_until((suite.root / "loading.txt").exists, process)
        process.kill()
        process.wait()
    evals.write_text(EVALS)
    resumed = suite.eval("--resume")

    assert resumed.returncode == 1, resumed.stderr
    assert comparable(suite.report()) == uninterrupted
    assert len(journals(suite)) == 1


def test_the_command_line_of_the_run_holds_but_for_what_is_given_anew(suite):
    killed(suite, "evals/many_eval.py", "-k", "c1 or c5", "--threshold", "1", hold="c10", verdicts=2)
    elsewhere = suite.root / "evals"
    resumed = suite.eval("--resume", "--threshold", "0.5", cwd=elsewhere)

    assert resumed.returncode == 0, resumed.stderr
    assert "≥ 0.50" in resumed.stdout
    assert set(suite.results()) == {f"many_eval.py::{case_id}" for case_id in ("c1", "c5", "c10", "c11")}
    settings = suite.report()["settings"]
    assert settings["threshold"] == {"value": 0.5, "source": "command line"}


def test_a_run_that_is_over_is_only_rendered_again(suite, comparable):
    suite.eval()
    before, report, content = ran(suite), suite.report(), journals(suite)[0].read_bytes()
    again = suite.eval("--resume", "-o", "elsewhere")

    assert again.returncode == 1
    assert ran(suite) == before
    assert journals(suite)[0].read_bytes() == content
    (path,) = (suite.root / "elsewhere").glob("*.json")
    rendered = json.loads(path.read_text())
    assert {**rendered, "settings": {}} == {**report, "settings": {}}
    assert "Failures" in again.stdout


def test_without_a_run_a_new_one_starts_and_says_so(suite):
    first = suite.eval("--resume")

    assert first.returncode == 1
    assert "no run of this project is there to continue" in first.stderr
    assert set(ran(suite)) == set(IDS)


def test_a_run_in_progress_is_not_continued_but_another_may_run_beside_it(suite):
    suite.write({"hold.txt": "c5"})
    with running(suite) as process:
        wait_until(lambda: "c5" in ran(suite), process)
        resumed = suite.eval("--resume")
        cleaned = suite.python("-m", "evalengine", "runs", "clean", "--keep", "0")
        listed = suite.python("-m", "evalengine", "runs")
        beside = suite.eval("-k", "c3")
        suite.write({"go": ""})
        process.wait(timeout=60)

    assert resumed.returncode == 2
    assert f"is in progress (process {process.pid})" in resumed.stderr
    assert "is in progress, and stays" in cleaned.stderr
    assert "in progress" in listed.stdout
    assert beside.returncode == 1
    assert process.returncode == 1
    assert len(journals(suite)) == 2
    assert len(list((suite.root / "eval_reports").glob("*.json"))) == 2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"hello\n", "is no journal of evalengine"),
        (b'{"evalengine_journal":99,"run_id":"x"}\n', "newer evalengine"),
        (b'{"evalengine_journal":1,"run_id":"x","root":"/somewhere/else"}\n', "of another project"),
        (b'{"evalengine_journal":1,"run_id":"x"}\n{"type":"Nonsense"}\n', "line 2: not a run event"),
    ],
)
def test_a_journal_that_is_not_to_be_continued_is_told(suite, content, told):
    suite.write({".evalengine/runs/20260101-000000-abcdef/journal.jsonl": content.decode()})
    resumed = suite.eval("--resume", "20260101")

    assert resumed.returncode == 2
    assert told in resumed.stderr
    assert resumed.stderr.count("\n") == 1
    assert not ran(suite)


# What did not pass


def test_only_what_did_not_pass_runs_again(suite):
    suite.eval()
    suite.write({"ran.txt": ""})
    change(suite, cases={**{case_id: f"right {case_id}" for case_id in IDS}, "c3": "wrong"})
    again = suite.eval("--last-failed")

    assert again.returncode == 0
    assert set(ran(suite)) == {"c3"}
    assert "11 deselected" in again.stdout


def test_what_a_killed_run_did_not_come_to_did_not_pass(suite):
    killed(suite, hold="c5", verdicts=5)
    suite.write({"ran.txt": ""})
    suite.eval("--last-failed")

    assert set(ran(suite)) == set(IDS) - {"c0", "c1", "c2", "c4"}


def test_where_everything_passed_everything_runs_and_that_is_told(suite):
    suite.eval("-k", "c1")
    suite.write({"ran.txt": ""})
    again = suite.eval("--last-failed")

    assert "every case of the last run passed" in again.stderr
    assert set(ran(suite)) == set(IDS)


def test_where_what_failed_is_gone_everything_runs_and_that_is_told(suite):
    suite.eval()
    suite.write({"ran.txt": ""})
    change(suite, cases={"c0": "right c0", "c1": "right c1"})
    again = suite.eval("--last-failed")

    assert "not among the cases found" in again.stderr
    assert set(ran(suite)) == {"c0", "c1"}


def test_a_mistyped_choice_is_no_run_that_hides_the_last_one(suite):
    suite.eval()
    suite.eval("-k", "nothing-is-called-so")
    suite.eval("--collect-only")
    suite.write({"ran.txt": ""})
    suite.eval("--last-failed")

    assert set(ran(suite)) == {"c3"}
    assert len(journals(suite)) == 2


def test_what_failed_last_can_be_resumed(suite):
    change(suite, cases=dict.fromkeys(IDS, "other"))
    suite.eval("-k", "c1 or c2 or c4")
    killed(suite, "--last-failed", hold="c2", verdicts=1)
    suite.eval("--resume")

    assert {label.partition("::")[2] for label in suite.results()} == {"c1", "c2", "c4", "c10", "c11"}


# Listing, reporting, removing


def test_runs_are_listed_shown_and_removed(suite):
    suite.eval("-k", "c3")
    killed(suite, "--threshold", "0.5", hold="c5", verdicts=5)
    first, second = (path.parent.name for path in journals(suite))
    listed = suite.python("-m", "evalengine", "runs").stdout.splitlines()
    shown = suite.python("-m", "evalengine", "runs", "show").stdout
    removed = suite.python("-m", "evalengine", "runs", "clean", first)

    assert [line.split()[0] for line in listed] == ["RUN", second, first]
    assert "cut off" in listed[1]
    assert "12: 4 passed, 1 failed, 7 not run" in listed[1]
    assert "agentflow eval --threshold 0.5" in listed[1]
    assert "1: 0 passed, 1 failed" in listed[2]
    assert f"agentflow eval --resume {second}" in shown
    assert "failed    many_eval.py::c3" in shown
    assert removed.stdout == f"removed {first}\n"
    assert [path.parent.name for path in journals(suite)] == [second]


def test_the_reports_of_a_run_are_written_again(suite):
    suite.eval()
    before = suite.report()
    again = suite.python("-m", "evalengine", "report", journals(suite)[0].parent.name, "-o", "elsewhere")

    assert again.returncode == 0, again.stderr
    (path,) = (suite.root / "elsewhere").glob("*.json")
    assert json.loads(path.read_text()) == before
    assert len(list((suite.root / "elsewhere").glob("*.html"))) == 1


def test_a_run_that_was_cut_off_is_reported_as_far_as_it_came(suite):
    killed(suite, hold="c5", verdicts=5)
    suite.python("-m", "evalengine", "report")
    report = suite.report()

    assert report["status"] == "incomplete"
    assert "agentflow eval --resume" in report["reason"]
    assert report["summary"]["status_counts"]["not_run"] == 7
    assert report["summary"]["planned"] == len(report["results"]) == 12


def test_old_runs_go_after_a_run_but_not_one_that_may_be_continued(suite):
    suite.write({"agentflow.json": {"agent": "agent:app", "evaluation": {"keep_runs": 2}}})
    killed(suite, hold="c5", verdicts=5)
    (cut_off,) = journals(suite)
    for _ in range(3):
        suite.eval("-k", "c3")

    assert cut_off.exists()
    assert len(journals(suite)) == 3
