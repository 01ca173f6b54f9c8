"""Projects that are hard on a tool: names of its modules, imports that print, chdir and read."""

import pytest

CASE = """
from agentflow.qa.evaluation import EvalSet, EvalSetBuilder

def get_eval_set() -> EvalSet:
    return EvalSetBuilder(name="s").add_case(query="hi", expected="hi", case_id="a").build()
"""


@pytest.mark.parametrize("mode", [[], ["--parallel", "-c", "4"]], ids=["sequential", "parallel"])
def test_a_project_may_have_modules_called_like_ours_and_the_standard_librarys(project, mode):
    agent = """
import asyncio, queue, msgspec
from workers import hired
from tests import tested
from cases import counted
from graph import drawn
from evals import shared

def app(messages):
    assert queue.OWN and msgspec.OWN
    return messages[-1]["content"] if hired and tested and counted and drawn and shared else "no"
"""
    project.write(
        {
            "agentflow.json": {"agent": "agent:app"},
            "agent.py": agent,
            "queue.py": "OWN = True\n",
            "msgspec.py": "OWN = True\n",
            "workers/__init__.py": "hired = True\n",
            "tests/__init__.py": "tested = True\n",
            "cases/__init__.py": "counted = True\n",
            "graph/__init__.py": "drawn = True\n",
            "evals/__init__.py": "shared = True\n",
            "evals/a_eval.py": CASE,
            "evals/b_eval.py": CASE + "\nEVAL_CONFIG = {'criteria': {'rouge_match': {'threshold': 0.5}}}\n",
        }
    )
    done = project.eval(*mode)

    assert done.returncode == 0, done.stdout + done.stderr


def test_an_eval_file_may_print_change_folder_and_read_on_import(project):
    noisy = (
        """
import os, sys
print("NOISE ON IMPORT")
os.system("echo NOISE OF A CHILD")
os.chdir("/")
try:
    answer = input("a question? ")
except EOFError:
    answer = "nothing to read"
assert sys.stdin.read() == ""
"""
        + CASE
    )
    project.write(
        {
            "agentflow.json": {"agent": "agent:app"},
            "agent.py": (
                "import os\n\ndef app(messages):\n    assert os.path.exists('agentflow.json')\n    return 'hi'\n"
            ),
            "evals/noisy_eval.py": noisy,
            "evals/quiet_eval.py": CASE,
        }
    )
    done = project.eval()

    assert done.returncode == 0, done.stdout + done.stderr
    assert "NOISE" not in done.stdout
    assert "NOISE" not in done.stderr


def test_what_a_case_prints_is_shown_where_it_fails_and_nowhere_else(project):
    agent = """
def app(messages):
    print("SAID " + messages[-1]["content"])
    return messages[-1]["content"]
"""
    evals = """
from agentflow.qa.evaluation import EvalSetBuilder
def get_eval_set():
    builder = EvalSetBuilder(name="s").add_case(query="good", expected="good", case_id="good")
    return builder.add_case(query="bad", expected="other", case_id="bad").build()
"""
    project.write({"agentflow.json": {"agent": "agent:app"}, "agent.py": agent, "evals/p_eval.py": evals})
    done = project.eval()

    assert done.returncode == 1
    assert "SAID bad" in done.stdout
    assert "SAID good" not in done.stdout


def test_two_files_of_one_name_in_two_folders_are_two_files(project):
    project.write(
        {
            "agentflow.json": {"agent": "agent:app"},
            "agent.py": "def app(messages):\n    return 'hi'\n",
            "evals/one/same_eval.py": CASE,
            "evals/two/same_eval.py": CASE,
        }
    )
    assert project.eval().returncode == 0
    assert list(project.results()) == ["one/same_eval.py::a", "two/same_eval.py::a"]


def test_the_run_leaves_only_reports_and_its_ignored_journal(project):
    project.write(
        {
            "agentflow.json": {"agent": "agent:app"},
            "agent.py": "def app(messages):\n    return 'hi'\n",
            "evals/a_eval.py": CASE,
        }
    )
    assert project.eval("--no-report").returncode == 0

    made = {path.name for path in project.root.iterdir()} - {"__pycache__"}
    assert made == {"agentflow.json", "agent.py", "evals", ".evalengine"}
    assert (project.root / ".evalengine" / ".gitignore").read_text() == "*\n"
