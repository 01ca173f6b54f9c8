"""The library that starts processes, in surroundings that are hard on it: a run works, or says what is wrong."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

EVALS = """
from agentflow.qa.evaluation import EvalSetBuilder

def get_eval_set():
    builder = EvalSetBuilder(name="set")
    for number in range(6):
        builder.add_case(query=str(number), expected=str(number), case_id=f"c{number}")
    return builder.build()
"""
# Which process asks for a worker, how its worker came to be, and what it finds there.
AGENT = """
import gc, os

def app(query):
    parent = open(f"/proc/{os.getppid()}/cmdline").read()
    kind = "forked" if "multiprocess.forkserver" in parent else "spawned"
    preloaded = "preloaded" if gc.get_freeze_count() > 1000 else "bare"
    with open("workers", "a") as file:
        file.write(f"{os.getpid()} {kind} {preloaded}\\n")
    return query
"""
# Runs in every Python process that is started; of the command line that started it, it knows where it is.
SITE = """
import os, sys

def is_fork_server():
    return any("multiprocess.forkserver" in argument for argument in sys.orig_argv)

def is_spawned():
    return any("multiprocess.spawn" in argument for argument in sys.orig_argv)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == NAME:
            open("provoked", "w").close()
            FAULT

"""
MODES = {"one by one": [], "many at once": ["--parallel", "--max-concurrency", "8", "--workers", "2"]}

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@pytest.fixture(params=MODES)
def options(request):
    return MODES[request.param]


@pytest.fixture
def project(project):
    return project.write({"agentflow.json": '{"agent": "agent:app"}', "agent.py": AGENT, "evals/a_eval.py": EVALS})


def run(project, *args, site=None, **environment):
    """``agentflow eval`` with other variables, and with a ``sitecustomize`` in every process."""
    environment = {**os.environ, **environment}
    if site is not None:
        project.write({"site/sitecustomize.py": site})
        path = [str(project.root / "site"), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    command = [sys.executable, "-m", "evalengine", "eval", "--no-progress", *args]
    return subprocess.run(
        command, cwd=project.root, env=environment, capture_output=True, text=True, timeout=100, check=False
    )


def workers(project):
    """How the workers that ran cases came to be."""
    lines = (project.root / "workers").read_text(encoding="utf-8").splitlines()
    return {tuple(line.split()[1:]) for line in lines}


def all_passed(project, done, says=""):
    assert (done.returncode, done.stderr) == (0, says)
    [report] = (project.root / "eval_reports").glob("*.json")
    results = json.loads(report.read_text(encoding="utf-8"))["results"]
    assert [(each["label"], each["status"]) for each in results] == [
        (f"a_eval.py::c{number}", "passed") for number in range(6)
    ]


def failing(name, fault):
    """A site in whose fork server the import of a module does something else."""
    finder = SITE.replace("NAME", repr(name)).replace("FAULT", fault)
    return f"{finder}\nif is_fork_server():\n    sys.meta_path.insert(0, Finder())\n"


def test_workers_are_forked_with_everything_imported(project, options):
    all_passed(project, run(project, *options))
    assert workers(project) == {("forked", "preloaded")}


# M01: a preload that fails


@pytest.mark.parametrize("fault", ["raise RuntimeError", "raise SystemExit(3)", "raise KeyboardInterrupt"])
def test_workers_import_themselves_what_the_fork_server_could_not(project, options, fault):
    """The finder leaves with the fork server's own first attempt, so that the workers' succeeds."""
    once = f"sys.meta_path.remove(self); {fault}"
    all_passed(project, run(project, *options, site=failing("evalengine_worker.main", once)))
    assert (project.root / "provoked").exists()
    assert {kind for kind, _ in workers(project)} == {"forked"}


@pytest.mark.parametrize("fault", ["raise RuntimeError", "raise SystemExit(3)", "os._exit(7)"])
def test_without_a_fork_server_workers_are_spawned(project, options, fault):
    done = run(project, *options, site=failing("evalengine.engine.preload", fault))
    assert (project.root / "provoked").exists()
    # The fork server is the library's: it says itself what it dies of.
    all_passed(project, done, says=done.stderr if fault == "raise RuntimeError" else "")
    assert {kind for kind, _ in workers(project)} == {"spawned"}


def test_a_fork_server_with_a_second_thread_forks_nothing(project, options):
    thread = (
        "import threading; threading.Thread(target=__import__('time').sleep, args=(4324,), daemon=True).start()"
    )
    site = failing("evalengine_worker.main", f"sys.meta_path.remove(self); {thread}")
    done = run(project, *options, site=site)
    all_passed(project, done)
    assert (project.root / "provoked").exists()
    assert {kind for kind, _ in workers(project)} == {"spawned"}


# M02: a package that is found by edits of sys.path only


def test_workers_are_preloaded_also_where_the_path_was_edited_by_the_caller(project):
    places = [str(Path(place).resolve()) for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    script = f"""
import sys
sys.path[:0] = {places!r}
import os
os.environ.pop("PYTHONPATH", None)
import evalengine
from agent import app
report = evalengine.evaluate("agent:app", "set.json", workers=1)
print(report.summary.passed_cases)
"""
    cases = [{"eval_id": "c", "conversation": [{"user_content": {"role": "user", "parts": [{"text": "x"}]}}]}]
    project.write({"script.py": script, "set.json": json.dumps({"eval_set_id": "s", "eval_cases": cases})})
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=project.root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert workers(project) == {("forked", "preloaded")}


# M03 and M10: the caller's script


def test_the_callers_script_runs_once_and_needs_no_guard(project):
    """It reads its arguments and writes a file at its top, as it may: nobody else imports it."""
    script = """
import sys
with open("runs", "a") as file:
    file.write("x")
wanted = sys.argv[1]
import evalengine
from agentflow.qa.evaluation import EvalSetBuilder
builder = EvalSetBuilder(name="set")
for number in range(4):
    builder.add_case(query="x", expected="x", case_id=str(number))
report = evalengine.evaluate(lambda query: query, builder.build(), workers=2)
print(wanted, report.summary.passed_cases)
"""
    project.write({"script.py": script})
    done = subprocess.run(
        [sys.executable, "script.py", "wanted"],
        cwd=project.root,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("wanted 4\n", "")
    assert (project.root / "runs").read_text(encoding="utf-8") == "x"


# M04: children that die before they have read what they were sent


@pytest.mark.parametrize("where", ["is_spawned()", "is_fork_server() or is_spawned()"])
def test_where_no_process_starts_the_run_ends_and_says_so(project, options, where):
    done = run(project, *options, site=f"{SITE.partition('class')[0]}\nif {where}:\n    os._exit(7)\n")
    if where == "is_spawned()":  # Nobody needs them.
        all_passed(project, done)
        return
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("Error: workers do not start: 5 in a row exited with 7")


# M05: a grandchild that holds every descriptor


@pytest.mark.parametrize("leave", ["os.fork() or time.sleep(4325)", "os.system('sleep 4325 &')"])
def test_a_grandchild_that_holds_all_descriptors_does_not_keep_the_end_waiting(project, options, processes, leave):
    project.write({"agent.py": f"import os, time\n\ndef app(query):\n    {leave}\n    return query\n"})
    done = run(project, *options)
    all_passed(project, done)
    assert processes("sleep 4325") == {}
    assert processes("multiprocess", project.root) == {}


# M07: threads that start processes and end


def test_workers_outlive_the_thread_that_asked_for_them(project):
    script = """
import asyncio, threading, time
import evalengine
from agentflow.qa.evaluation import EvalSetBuilder

builder = EvalSetBuilder(name="set")
for number in range(8):
    builder.add_case(query="x", expected="x", case_id=str(number))
eval_set = builder.build()

def agent(query):
    time.sleep(0.05)
    return query

streams = []
thread = threading.Thread(target=lambda: streams.append(evalengine.evaluate_stream(agent, eval_set, workers=2)))
thread.start()
thread.join()
print(sum(result.passed for result in streams[0]))

async def main():
    stream = await asyncio.to_thread(evalengine.evaluate_stream, agent, eval_set, workers=2)
    print([result.passed async for result in stream].count(True))
    reports = await asyncio.gather(*(asyncio.to_thread(evalengine.evaluate, agent, eval_set) for _ in range(2)))
    print([report.summary.passed_cases for report in reports])

asyncio.run(main())
"""
    project.write({"script.py": script})
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=project.root, capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.stdout, done.stderr) == ("8\n8\n[8, 8]\n", "")


# M09: the library and its namesake


def test_agents_may_use_the_standard_librarys_processes(project, options):
    agent = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

def app(query):
    assert multiprocessing.current_process().name == "MainProcess"
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        return str(pool.submit(int, query).result())
"""
    project.write({"agent.py": agent})
    all_passed(project, run(project, *options))


# M11 and M12: what the library is sensitive to


def test_a_long_folder_for_temporary_files_is_no_trouble(project, options):
    with tempfile.TemporaryDirectory(prefix="long-") as folder:
        long = Path(folder) / ("a" * 100)
        long.mkdir()
        done = run(project, *options, TMPDIR=str(long))
        all_passed(project, done)
        assert list(long.iterdir()) == []


@pytest.mark.parametrize("folder", ["missing", "unwritable"])
def test_no_folder_for_temporary_files_is_no_trouble(project, options, folder):
    place = "/nowhere" if folder == "missing" else "/proc"
    all_passed(project, run(project, *options, TMPDIR=place))
