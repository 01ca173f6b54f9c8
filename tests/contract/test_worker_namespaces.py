"""A project's own top-level names are its own, and the engine keeps its modules."""

import sys
from pathlib import Path

import pytest

from evalengine.results import Status

sys.path.insert(0, str(Path(__file__).parent))

from worker_peer import WorkerPeer, write_project

OWN = ["workers", "tests", "cases", "graph", "msgspec", "queue", "token", "code", "secrets", "uuid", "six", "numpy"]
"""Names that clash with the engine's checkout, its libraries or the standard library."""

EVALS = """
from agentflow.qa.evaluation import EvalSet, EvalSetBuilder, EvalConfig, CriteriaConfig, CriterionConfig
import asyncio, concurrent.futures, dataclasses, decimal, logging.handlers
import {names}
assert {{module.MINE for module in ({names},)}} == {{"mine"}}
EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig(
    rouge_match=CriterionConfig(threshold=0.5), response_match=CriterionConfig(threshold=0.5)))
def get_eval_set() -> EvalSet:
    return EvalSetBuilder(name="s").add_case(query="hello", expected="mine hello", case_id="a").build()
""".format(names=", ".join(OWN))

AGENT = """
import queue, msgspec
from evalengine import record_node
def app(query: str):
    import code, uuid
    record_node("N")
    if query == "fail": raise ValueError
    return f"{queue.MINE} {query}"
"""


@pytest.fixture
def project(tmp_path):
    files = {
        f"{name}.py"
        if name in ("msgspec", "queue", "token", "code", "uuid")
        else f"{name}/__init__.py": "MINE = 'mine'"
        for name in OWN
    }
    shadows = {"collections/notes.txt": "a folder without code shadows nothing", "types.py": "raise SystemExit"}
    return write_project(tmp_path, {**files, **shadows, "graph/agent.py": AGENT, "tests/x_eval.py": EVALS})


def test_such_a_project_runs_unharmed(project):
    peer = WorkerPeer(project, agent="graph.agent:app")
    results = peer.run_file("tests/x_eval.py")
    assert peer.close() == (0, "")
    assert (results["a"].status, results["a"].error) == (Status.PASSED, None)
    assert [each.score for each in results["a"].criterion_results] == [1.0, 1.0]


def test_errors_are_told_with_their_traceback_there_too(project):
    write_project(project, {"tests/x_eval.py": EVALS.replace('query="hello"', 'query="fail"')})
    peer = WorkerPeer(project, agent="graph.agent:app")
    results = peer.run_file("tests/x_eval.py")
    peer.close()
    assert results["a"].error == "ValueError"
    assert 'if query == "fail": raise ValueError' in results["a"].traceback


def test_a_worker_imports_nothing_heavy(tmp_path):
    text = """
import sys
from agentflow.qa.evaluation import EvalSetBuilder
heavy = {"click", "jinja2", "litellm", "tqdm", "rouge_score", "numpy", "multiprocess", "ray"}
print(sorted(heavy & set(sys.modules)), [name for name in sys.modules if name.startswith(("evalengine.engine", "evalengine.cli", "evalengine.report"))])
async def app(messages): return "hello"
def get_eval_set(): return EvalSetBuilder("s").add_case("q", expected="hello", case_id="a")
"""
    peer = WorkerPeer(write_project(tmp_path, {"x_eval.py": text}))
    loaded, cases = peer.load("x_eval.py")
    [result] = peer.run(loaded, cases)
    peer.close()
    assert (loaded.output, result.status) == ("[] []\n", Status.PASSED)
