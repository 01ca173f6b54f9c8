"""Wrong input, through the whole command: one clear line on standard error, the documented exit code, no traceback.

Each row is a mistake of a user: the files of the project, the arguments, what the line must say, the exit code.
"""

import json
import subprocess
import sys

import pytest

EVAL = """\
from agentflow.qa.evaluation import EvalSet, EvalSetBuilder


def get_eval_set() -> EvalSet:
    return EvalSetBuilder(name="greetings").add_case(query="Hi", expected="Hello", case_id="hello").build()
"""
AGENT = """\
def app(messages):
    return "Hello"
"""
GOOD = {"agentflow.json": {"agent": "agent:app"}, "agent.py": AGENT, "evals/hello_eval.py": EVAL}


def section(**evaluation):
    return {"agentflow.json": {"agent": "agent:app", "evaluation": evaluation}}


NOTHING_RUNS = {
    "threshold out of range": ({}, ["--threshold", "80"], "--threshold is 80 (command line): must be between 0", 2),
    "budget of nothing": ({}, ["-p", "--max-concurrency", "0"], "--max-concurrency is 0 (command line)", 2),
    "not a number": ({}, ["--limit", "ten"], "Invalid value for '--limit'", 2),
    "misspelt flag": ({}, ["--treshold", "1"], "No such option", 2),
    "flag that is not there yet": ({}, ["--repeat", "2"], "--repeat is not there yet in evalengine", 2),
    "flags that contradict": ({}, ["-x", "--max-failures", "3"], "contradict each other (command line)", 2),
    "bad expression": ({}, ["-k", "hello and"], "-k 'hello and' (command line): expected a name", 2),
    "misspelt key": (
        section(treshold=0.5),
        [],
        "evaluation.treshold (agentflow.json) is no setting; did you mean",
        2,
    ),
    "value out of range": (section(max_concurrency=0), [], "evaluation.max_concurrency is 0 (agentflow.json)", 2),
    "value of the wrong kind": (section(threshold="0.8"), [], 'evaluation.threshold is "0.8" (agentflow.json)', 2),
    "not JSON": ({"agentflow.json": '{"agent": }'}, [], "agentflow.json is not JSON: ", 2),
    "not an object": ({"agentflow.json": []}, [], "agentflow.json must hold an object, not a list", 2),
    "agent is no string": (
        {"agentflow.json": {"agent": 1}},
        [],
        "agent is 1 (agentflow.json): must be a string",
        2,
    ),
    "agent with a dot for its colon": (
        {"agentflow.json": {"agent": "myagent.app"}},
        [],
        "did you mean 'myagent:app'?",
        2,
    ),
    "agent is a path": ({"agentflow.json": {"agent": "agent.py"}}, [], "did you mean 'agent:app'?", 2),
    "missing path": ({}, ["evals/helo_eval.py"], "Path not found: evals/helo_eval.py; did you mean", 2),
    "folder for a case": ({}, ["evals::hello"], "evals is a folder", 2),
    "missing eval directory": (section(directory="tests"), [], "Eval directory 'tests/' not found", 2),
    "output is a file": ({}, ["--output", "agent.py"], "output folder 'agent.py' (command line)", 2),
    "empty folder": ({"empty/readme.txt": ""}, ["empty"], "No eval cases found", 5),
}

NOTHING_TO_RUN = {
    "unknown case": ({}, ["evals/hello_eval.py::helo"], "'hello'", 5),
    "nothing selected": ({}, ["-k", "tokyo"], "No ", 5),
    "unknown tag": ({}, ["--tag", "smoke"], "No ", 5),
    "unknown criterion": (
        {
            "evals/hello_eval.py": EVAL
            + "\n\nfrom agentflow.qa.evaluation import CriteriaConfig, CriterionConfig, EvalConfig\n"
            + "EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig(rouge_mach=CriterionConfig.rouge_match()))\n"
        },
        [],
        "rouge_match",
        2,
    ),
}

REPORTED = {
    "no entry point": ({"evals/hello_eval.py": "x = 1\n"}, [], "evals", 5),
    "agent that does not exist": ({"agentflow.json": {"agent": "nowhere:app"}}, [], "nowhere", 1),
    "attribute that does not exist": ({"agentflow.json": {"agent": "agent:ap"}}, [], "agent:ap", 1),
    "file that does not parse": ({"evals/bad_eval.py": "def ("}, [], "bad_eval.py", 1),
    "file that raises": ({"evals/bad_eval.py": "raise RuntimeError('oh no')"}, [], "oh no", 1),
    "broken confeval": ({"confeval.py": "1 / 0"}, [], "confeval.py", 1),
}


@pytest.fixture
def run(tmp_path):
    def run(files, args):
        for name, content in {**GOOD, **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        command = [sys.executable, "-m", "evalengine", "eval", "--no-progress", *args]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)

    return run


def rows(table):
    return pytest.mark.parametrize(("files", "args", "message", "code"), table.values(), ids=table.keys())


@rows(NOTHING_RUNS)
def test_nothing_runs(run, tmp_path, files, args, message, code):
    done = run(files, args)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert not (tmp_path / "eval_reports").exists()


@rows(NOTHING_TO_RUN)
def test_nothing_is_left_to_run(run, tmp_path, files, args, message, code):
    done = run(files, args)
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert done.returncode == code, done.stderr
    assert len(errors) == 1
    assert message in errors[0]
    assert "Traceback" not in done.stdout + done.stderr
    assert not (tmp_path / "eval_reports").exists()


@rows(REPORTED)
def test_a_broken_file_is_told_without_a_traceback_of_ours(run, files, args, message, code):
    done = run(files, args)
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert message in said
    assert "evalengine/" not in said


def test_the_good_project_passes(run):
    done = run({}, [])
    assert done.returncode == 0, done.stderr
    assert "hello_eval.py::hello" in done.stdout


def test_collect_only_lists_labels_alone(run, tmp_path):
    done = run({}, ["--collect-only"])
    assert (done.returncode, done.stdout) == (0, "hello_eval.py::hello\n")
    assert not (tmp_path / "eval_reports").exists()


def test_the_scaffold_passes(tmp_path):
    def agentflow(*args):
        command = [sys.executable, "-m", "evalengine", *args]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)

    assert agentflow("init", "--prod").returncode == 0
    done = agentflow("eval", "--parallel")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list((tmp_path / "eval_reports").iterdir())) == 2


def test_a_project_without_evals_is_told_how_to_get_them(tmp_path):
    def agentflow(*args):
        command = [sys.executable, "-m", "evalengine", *args]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)

    agentflow("init")
    done = agentflow("eval")
    assert done.returncode == 2
    assert "agentflow init --prod" in done.stderr
    assert agentflow("init", "--prod").returncode == 0
