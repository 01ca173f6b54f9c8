"""What an eval file does when it is loaded costs that file at most: one table of files, run together."""

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


def test_standard_error_has_no_traceback(loaded):
    assert "Traceback" not in loaded.stderr
