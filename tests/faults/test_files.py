"""What an eval file does when it is loaded costs that file at most: one table of files, run together."""

import json
import os
import sys
from typing import NamedTuple

import pytest

HEAD = "from agentflow.qa.evaluation import *\n"
ONE_CASE = """
def get_eval_set():
    builder = EvalSetBuilder(name="one")
    builder.add_case(query="x", expected="x", case_id="c")
    return builder.build()
"""


class BadFile(NamedTuple):
    """A file that cannot be loaded, and what must be said of it."""

    name: str
    content: str
    error: str


IMPORT_TIMEOUT_S = 2
LATE = f"loading it took longer than {IMPORT_TIMEOUT_S} s"
HANGS = [
    BadFile("sleep_eval.py", "import time; time.sleep(3600)", LATE),
    BadFile("loop_for_ever_eval.py", "while True: pass", LATE),
    BadFile("loop_in_c_eval.py", "import collections, itertools; collections.deque(itertools.count(), 0)", LATE),
    BadFile("entry_eval.py", "import time\ndef get_eval_set(): time.sleep(3600)", LATE),
    BadFile("wait_eval.py", "import asyncio\nasync def get_eval_set(): await asyncio.Event().wait()", LATE),
    BadFile(
        "endless_eval.py",
        "import time\ndef f() -> 'list[EvalSet]':\n    while True: time.sleep(0.01); yield EvalSet(name='s')",
        LATE,
    ),
    BadFile("child_eval.py", "import subprocess; subprocess.run(['sleep', '4322'])", LATE),
    BadFile("deaf_eval.py", "import signal; signal.signal(15, signal.SIG_IGN)\nwhile True: signal.pause()", LATE),
]
BROKEN = [
    BadFile("segv_eval.py", "import ctypes; ctypes.string_at(0)", "killed by SIGSEGV"),
    BadFile("exit_eval.py", "import os; os._exit(0)", "exited with 0"),
    BadFile("sys_exit_eval.py", "import sys; sys.exit(0)", "SystemExit: 0"),
    BadFile("arguments_eval.py", "import argparse; argparse.ArgumentParser().parse_args(['-x'])", "SystemExit: 2"),
    BadFile("interrupt_eval.py", "raise KeyboardInterrupt", "KeyboardInterrupt"),
    BadFile("input_eval.py", "input()", "EOFError"),
    BadFile("syntax_eval.py", "def f(:", "SyntaxError: invalid syntax (syntax_eval.py, line 2)"),
    BadFile("null_eval.py", "x = '\0'", "null bytes"),
    BadFile("coding_eval.py", "", "SyntaxError"),
    BadFile("module_eval.py", "import no_such_module", "No module named 'no_such_module'"),
    BadFile("name_eval.py", "from agentflow.qa.evaluation import Nothing", "cannot import name 'Nothing'"),
    BadFile("recursion_eval.py", "f = lambda: f()\nf()", "RecursionError"),
    BadFile("none_eval.py", "def get_eval_set(): pass", "returned None"),
    BadFile("number_eval.py", "def get_eval_set(): return 5", "a value of type int"),
    BadFile("mapping_eval.py", "def get_eval_set(): return {'a': 1}", "a value of type dict"),
    BadFile("raises_eval.py", "def get_eval_set(): raise ValueError('a\\nb')", "ValueError: a b"),
    BadFile("leaves_eval.py", "def get_eval_set(): raise SystemExit(2)", "get_eval_set() failed: SystemExit: 2"),
    BadFile("requires_eval.py", "def get_eval_set(x): pass", "must take no arguments"),
    BadFile("value_eval.py", "get_eval_set = 5", "must be a function"),
    BadFile("agent_eval.py", f"app = 5\n{ONE_CASE}", "'app' of agent_eval.py is a value of type int"),
    BadFile("class_eval.py", f"class app: pass\n{ONE_CASE}", "is the class app"),
    BadFile("cut.evalset.json", "{", "not JSON"),
    BadFile("list.evalset.json", "[]", "Expected `object`, got `array`"),
    BadFile("deep.evalset.json", "[" * 100_000, "RecursionError"),
]
SOUND = {
    "bom_eval.py": ONE_CASE,
    "prints_eval.py": f"print('x' * 5_000_000)\n{ONE_CASE}",
    "moves_eval.py": f"import os, sys\nos.chdir('/')\nsys.argv.clear()\nsys.stdout = None\n{ONE_CASE}",
    "thread_eval.py": f"import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()\n{ONE_CASE}",
    "fork_eval.py": f"import os\nos.fork()\n{ONE_CASE}",
    "pool_eval.py": f"import multiprocessing\nmultiprocessing.Pool(1).map(abs, [1])\n{ONE_CASE}",
    "run_eval.py": f"import asyncio\nasyncio.run(asyncio.sleep(0))\n{ONE_CASE}",
    "main_eval.py": f"{ONE_CASE}\nif __name__ == '__main__': raise ValueError\n",
}
MODES = {"one by one": [], "many at once": ["--parallel", "--max-concurrency", "4", "--workers", "2"]}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="faults of POSIX systems")


@pytest.fixture(scope="module", params=MODES)
def loaded(request, make_project):
    """The run of all files."""
    files = {name: f"{HEAD}{content}" for name, content in SOUND.items()}
    files |= {file.name: file.content if file.name.endswith("json") else HEAD + file.content for file in BROKEN}
    files["bom_eval.py"] = "\ufeff" + files["bom_eval.py"]
    files["coding_eval.py"] = "# coding: no-such-coding\n"
    project = make_project("files").write({f"evals/{name}": content for name, content in files.items()})
    project.write({"agentflow.json": '{"agent": "agent:app"}', "agent.py": "def app(query): return query"})
    os.mkfifo(project.root / "evals" / "pipe_eval.py")
    (project.root / "evals" / "loop_eval.py").symlink_to("loop_eval.py")
    return project.eval(*MODES[request.param])


def test_each_broken_file_is_an_error_with_its_cause(loaded):
    errors = {each["file"]: each["error"] for each in loaded.report["file_errors"]}
    assert errors.keys() == {"loop_eval.py", *(file.name for file in BROKEN)}
    assert [(file, errors[file.name]) for file in BROKEN if file.error not in errors[file.name]] == []
    assert loaded.exit_code == 1


def test_the_other_files_run(loaded):
    verdicts = loaded.verdicts()
    assert verdicts["report"] == {(f"{name}::c", "passed"): 1 for name in SOUND}
    assert verdicts["console"] == verdicts["report"]
    assert verdicts["journal"] == verdicts["report"]


@pytest.fixture(scope="module", params=[[], ["--parallel", "--max-concurrency", "8", "--workers", "4"]])
def late(request, make_project):
    """The run of files that never end loading, and of sound ones."""
    files = {"first_eval.py": ONE_CASE, "last_eval.py": ONE_CASE} | {file.name: file.content for file in HANGS}
    project = make_project("late").write({f"evals/{name}": HEAD + content for name, content in files.items()})
    settings = {"agent": "agent:app", "evaluation": {"import_timeout": IMPORT_TIMEOUT_S}}
    project.write({"agentflow.json": json.dumps(settings), "agent.py": "def app(query): return query"})
    return project.eval(*request.param)


def test_a_file_that_hangs_is_an_error_after_its_time(late):
    errors = {each["file"]: each["error"] for each in late.report["file_errors"]}
    assert errors.keys() == {file.name for file in HANGS}
    assert [(file, errors[file.name]) for file in HANGS if file.error not in errors[file.name]] == []
    assert late.exit_code == 1


def test_its_traceback_shows_where_it_hung_where_that_can_be_interrupted(late):
    tracebacks = {each["file"]: each["traceback"] or "" for each in late.report["file_errors"]}
    assert "time.sleep(3600)" in tracebacks["sleep_eval.py"]
    assert "get_eval_set" in tracebacks["entry_eval.py"]


def test_the_files_beside_it_run(late):
    verdicts = late.verdicts()
    assert verdicts["report"] == {("first_eval.py::c", "passed"): 1, ("last_eval.py::c", "passed"): 1}
    assert verdicts["console"] == verdicts["journal"] == verdicts["report"]
    assert "Traceback" not in late.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no /proc")
def test_no_process_of_it_is_left(late, processes):
    assert processes("sleep\0004322\0") == {}


SHARED = {"agentflow.json": '{"agent": "agent:app"}', "agent.py": "def app(query): return query"}


@pytest.mark.parametrize(
    ("agent", "error"),
    [
        ("import time; time.sleep(3600)", LATE),
        ("import os; os._exit(3)", "exited with 3"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("import ctypes; ctypes.string_at(0)", "killed by SIGSEGV"),
        ("import no_such_module", "No module named 'no_such_module'"),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_an_agent_that_cannot_be_imported_is_an_error_of_each_file_that_needs_it(project, mode, agent, error):
    settings = {"agent": "agent:app", "evaluation": {"import_timeout": IMPORT_TIMEOUT_S}}
    own = f"def app(query): return query\n{ONE_CASE}"
    project.write({"agentflow.json": json.dumps(settings), "agent.py": agent})
    project.write({"evals/a_eval.py": HEAD + ONE_CASE, "evals/own_eval.py": HEAD + own})
    run = project.eval(*MODES[mode])
    assert [(each["file"], error in each["error"]) for each in run.report["file_errors"]] == [("a_eval.py", True)]
    assert run.verdicts()["report"] == {("own_eval.py::c", "passed"): 1}
    assert run.exit_code == 1


@pytest.mark.parametrize("change", ["open(__file__, 'a').write('# changed')", "import os; os.remove(__file__)"])
@pytest.mark.parametrize("mode", MODES)
def test_a_file_that_is_changed_after_its_cases_were_collected_decides_nothing(project, mode, change):
    """Who has loaded it goes on with what it loaded; whoever would have to import it now says so."""
    changing = f"""{HEAD}import asyncio

async def app(query):  # Its own agent: every worker that runs its cases imports the file.
    await asyncio.sleep(0.05)
    return query

def get_eval_set():
    builder = EvalSetBuilder(name="changing")
    for number in range(12):
        builder.add_case(query="x", expected="x", case_id=str(number))
    return builder.build()

{change}
"""
    project.write({**SHARED, "evals/changing_eval.py": changing, "evals/other_eval.py": HEAD + ONE_CASE})
    run = project.eval(*MODES[mode])
    verdicts = run.verdicts()
    assert verdicts["console"] == verdicts["journal"] == verdicts["report"]
    assert run.results.pop("other_eval.py::c")["status"] == "passed"
    assert len(run.results) == 12
    told = "it was changed or removed after its cases were collected"
    odd = {each["label"] for each in run.results.values() if each["status"] != "passed"}
    assert all(told in run.results[label]["error"] for label in odd)
    assert odd == set() if mode == "one by one" else 0 < len(odd) < 12


def test_a_file_of_very_many_cases_is_collected(project):
    many = f"""{HEAD}
def get_eval_set():
    builder = EvalSetBuilder(name="many")
    for number in range(20_000):
        builder.add_case(query=str(number), expected=str(number), case_id=str(number))
    return builder.build()
"""
    project.write({**SHARED, "evals/many_eval.py": many})
    run = project.eval("--limit", "2")
    assert run.verdicts()["report"] == {("many_eval.py::0", "passed"): 1, ("many_eval.py::1", "passed"): 1}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_heavy_agent_is_imported_once_a_worker_and_nowhere_else(project, workers):
    heavy = (
        "import os\nwith open('imports', 'a') as file: file.write(f'{os.getpid()} ')\ndef app(query): return query"
    )
    project.write({**SHARED, "agent.py": heavy})
    project.write({f"evals/{name}_eval.py": HEAD + ONE_CASE for name in "abcdef"})
    run = project.eval("--parallel", "--workers", str(workers))
    imports = (project.root / "imports").read_text(encoding="utf-8").split()
    known = {str(event["pid"]) for event in run.events if event["type"] == "WorkerStarted"}
    assert run.exit_code == 0
    assert len(imports) == len(set(imports)) <= workers
    assert set(imports) <= known


def test_a_pool_of_an_unguarded_file_breeds_no_processes(project, processes):
    """Its children import the file again, and would start pools of their own."""
    breeds = f"""{HEAD}import multiprocessing, os, time
with open("imports", "a") as file: file.write("x")
multiprocessing.get_context("spawn").Pool(2).map(time.sleep, [4323])
"""
    project.write({**SHARED, "evals/breeds_eval.py": breeds, "evals/other_eval.py": HEAD + ONE_CASE})
    settings = {"agent": "agent:app", "evaluation": {"import_timeout": IMPORT_TIMEOUT_S}}
    run = project.write({"agentflow.json": json.dumps(settings)}).eval()
    assert [each["file"] for each in run.report["file_errors"]] == ["breeds_eval.py"]
    assert run.verdicts()["report"] == {("other_eval.py::c", "passed"): 1}
    assert len((project.root / "imports").read_text(encoding="utf-8")) <= 3
    assert processes("multiprocessing", project.root) == {}


def test_relative_and_circular_imports_work_or_say_what_is_wrong(project):
    project.write(
        {
            **SHARED,
            "evals/__init__.py": "",
            "evals/shared.py": "QUERY = 'x'",
            "evals/relative_eval.py": f"{HEAD}from .shared import QUERY\n{ONE_CASE}",
            "evals/later.py": "def query():\n    from .circle_eval import QUERY\n    return QUERY",
            "evals/circle_eval.py": f"{HEAD}from . import later\nQUERY = 'x'\nassert later.query()\n{ONE_CASE}",
            "evals/at_once.py": "from .knot_eval import QUERY",
            "evals/knot_eval.py": f"{HEAD}from . import at_once\nQUERY = 'x'\n{ONE_CASE}",
        }
    )
    run = project.eval()
    assert run.verdicts()["report"] == {("circle_eval.py::c", "passed"): 1, ("relative_eval.py::c", "passed"): 1}
    [error] = run.report["file_errors"]
    assert error["file"] == "knot_eval.py"
    assert "cannot import name 'QUERY' from partially initialized module" in error["error"]


def test_standard_error_has_no_traceback(loaded):
    assert "Traceback" not in loaded.stderr
