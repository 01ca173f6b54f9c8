"""Loading eval files in a real worker: protocols, configuration, what is told of broken files."""

import json
import sys
from pathlib import Path

import pytest

from evalengine import wire

sys.path.insert(0, str(Path(__file__).parent))

from worker_peer import WorkerPeer, write_project

AGENT = "async def app(messages):\n    return 'got ' + messages[-1]['content']\n"
IMPORTS = """
from agentflow.qa.evaluation import (ConversationScenario, CriteriaConfig, CriterionConfig, EvalCase, EvalConfig, EvalSet,
    EvalSetBuilder, Invocation, UserSimulatorConfig)
def make(name, *ids):
    builder = EvalSetBuilder(name=name)
    for each in ids:
        builder.add_case(query="hello", expected="got hello", case_id=each)
    return builder.build()
"""


@pytest.fixture
def start(tmp_path):
    peers = []

    def start(files, **configure):
        write_project(tmp_path, {"agents.py": AGENT, **files})
        peers.append(WorkerPeer(tmp_path, **{"agent": "agents:app", **configure}))
        return peers[-1]

    yield start
    assert [peer.close() for peer in peers] == [(0, "")] * len(peers)


def load(start, text, **configure):
    peer = start({"evals/x_eval.py": IMPORTS + text}, **configure)
    return peer.load("evals/x_eval.py")


def ids(cases):
    return [case.eval_id for case in cases]


PROTOCOLS = {
    "plain": "def get_eval_set(): return make('s', 'a', 'b')",
    "async": "async def get_eval_set(): return make('s', 'a', 'b')",
    "own loop": "import asyncio\nasync def fetch(): return make('s', 'a', 'b')\ndef get_eval_set(): return asyncio.run(fetch())",
    "annotated": "def cases() -> EvalSet: return make('s', 'a', 'b')",
    "string": "from __future__ import annotations\ndef cases() -> EvalSet: return make('s', 'a', 'b')",
    "type checking": "def cases() -> 'elsewhere.EvalSet': return make('s', 'a', 'b')",
    "alias": "Cases = EvalSet\ndef cases() -> Cases: return make('s', 'a', 'b')",
    "optional": "from typing import Optional\ndef cases() -> Optional[EvalSet]: return make('s', 'a', 'b')",
    "list": "def cases() -> list[EvalSet]: return [make('s', 'a'), make('t', 'b')]",
    "iterator": "from typing import Iterator\ndef cases() -> Iterator[EvalSet]:\n    yield make('s', 'a')\n    yield make('t', 'b')",
    "async iterator": "from typing import AsyncIterator\nasync def cases() -> AsyncIterator[EvalSet]:\n    yield make('s', 'a')\n    yield make('t', 'b')",
    "decorated": "import functools\n@functools.cache\ndef cases() -> EvalSet: return make('s', 'a', 'b')",
    "two names": "def cases() -> EvalSet: return make('s', 'a', 'b')\nalso = cases",
    "both": "def get_eval_set() -> EvalSet: return make('s', 'a')\ndef more() -> EvalSet: return make('t', 'b')",
    "builder": "def get_eval_set(): return EvalSetBuilder('s').add_case('q', case_id='a').add_case('q', case_id='b')",
    "private helper": "def _part() -> EvalSet: return make('t', 'c')\ndef cases() -> EvalSet: return make('s', 'a', 'b')",
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_gives_its_cases(start, name):
    text = PROTOCOLS[name]
    future = "from __future__ import annotations\n" if "__future__" in text else ""
    peer = start({"evals/x_eval.py": future + IMPORTS + text.replace("from __future__ import annotations\n", "")})
    loaded, cases = peer.load("evals/x_eval.py")
    assert (getattr(loaded, "error", None), ids(cases)) == (None, ["a", "b"])


def test_sets_come_in_the_order_of_their_definition_each_with_a_name(start):
    text = "def late() -> EvalSet: return make('', 'b')\ndef get_eval_set(): return make('', 'a')"
    _, cases = load(start, text)
    assert [(case.set_name, case.eval_id) for case in cases] == [("late", "b"), ("x_eval", "a")]


def test_ids_nobody_chose_are_places_and_never_part_of_the_digest(start):
    text = "def get_eval_set():\n    return EvalSet(eval_cases=[EvalCase(conversation=[Invocation.simple('q')]) for _ in range(2)])"
    peer = start({"evals/x_eval.py": IMPORTS + text})
    (_, first), (_, second) = peer.load("evals/x_eval.py"), peer.load("evals/x_eval.py")
    assert ids(first) == ["case_1", "case_2"]
    assert [case.digest for case in first] == [case.digest for case in second]
    assert len({case.digest for case in first}) == 2


def test_an_id_used_twice_is_told_apart_with_a_warning(start):
    loaded, cases = load(start, "def get_eval_set(): return make('s', 'a', 'a', 'a#2', 'a')")
    assert ids(cases) == ["a", "a#3", "a#2", "a#4"]
    assert len(loaded.warnings) == 2


def test_scenarios_become_cases_and_need_a_model(start):
    text = """
SIMULATOR_CONFIG = UserSimulatorConfig(max_invocations=4)
SCENARIOS = [ConversationScenario(scenario_id="s1", description="what", starting_prompt="hi", goals=["g"])]
def get_eval_set(): return make("s", "a")
"""
    loaded, cases = load(start, text)
    assert [(case.eval_id, case.name, case.is_scenario) for case in cases] == [
        ("s1", "what", True),
        ("a", "", False),
    ]
    assert wire.decode_case(cases[0].payload).scenario.max_turns == 4
    assert loaded.needs_model == ["scenarios"]


def test_a_function_with_parameters_is_warned_about_and_not_called(start):
    loaded, cases = load(start, "def cases(name) -> EvalSet: return make(name, 'a')")
    assert (cases, loaded.has_entry_point) == ([], False)
    assert loaded.warnings == ["cases() is annotated -> EvalSet but requires name; it was not called"]


def test_an_imported_function_is_not_an_entry_point(start):
    files = {
        "helpers.py": f"{IMPORTS}\ndef cases() -> EvalSet: return make('s', 'a')",
        "evals/x_eval.py": "from helpers import cases",
    }
    loaded, cases = start(files).load("evals/x_eval.py")
    assert (cases, loaded.has_entry_point) == ([], False)


def test_skip_and_tags_are_told(start):
    text = "def get_eval_set(): return EvalSetBuilder('s').add_case('q', case_id='a', tags=['t'], metadata={'skip': 'not yet'})"
    _, [case] = load(start, text)
    assert (case.skip, case.tags) == ("not yet", ["t"])


def test_json_sets_are_loaded(start):
    case = {
        "eval_id": "a",
        "conversation": [{"invocation_id": "", "user_content": {"role": "user", "parts": [{"text": "hi"}]}}],
    }
    peer = start({"evals/x.evalset.json": json.dumps({"eval_set_id": "s", "eval_cases": [case]})})
    assert ids(peer.load("evals/x.evalset.json")[1]) == ["a"]


BROKEN = {
    "raises": ("raise ValueError('no')", "ValueError: no"),
    "exits": ("import sys\nsys.exit(3)", "SystemExit: 3"),
    "interrupts": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "syntax": ("def", "SyntaxError: invalid syntax (x_eval.py, line"),
    "null bytes": ("\0", "SyntaxError: source code string cannot contain null bytes"),
    "import": ("import nowhere", "ModuleNotFoundError: No module named 'nowhere'"),
    "stdin": ("input()", "EOFError: EOF when reading a line"),
    "entry point raises": ("def get_eval_set(): raise ValueError('no')", "get_eval_set() failed: ValueError: no"),
    "entry point gives None": ("def get_eval_set(): pass", "get_eval_set() returned None; it must return an EvalSet"),
    "entry point gives a number": ("def get_eval_set(): return 5", "get_eval_set gives something else than it should: expected an EvalSet"),
    "no conversation": ("def get_eval_set(): return EvalSet(eval_cases=[EvalCase(eval_id='a')])", "case 'a' of set 'x_eval' has no conversation and no scenario"),
    "unserialisable": ("def get_eval_set(): return EvalSetBuilder('s').add_case('q', case_id='a', metadata={'x': object()})", "case 'a' cannot be serialized"),
    "parameters": ("def get_eval_set(name): pass", "get_eval_set() must take no arguments, but requires name"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_fails_with_one_line(start, name):
    text, error = BROKEN[name]
    failed, _ = load(start, text)
    assert isinstance(failed, wire.FileFailed)
    assert failed.error.startswith(error)
    assert not failed.configuration
    assert "evalengine" not in (failed.traceback or "")


def test_a_missing_and_an_unreadable_file_fail(start):
    peer = start({"evals/bad.evalset.json": "{"})
    missing, _ = peer.load("evals/none_eval.py")
    bad, _ = peer.load("evals/bad.evalset.json")
    assert missing.error.startswith("FileNotFoundError")
    assert bad.error.startswith("evals/bad.evalset.json: not JSON")


CONFIGURATION = {
    "threshold": ("EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig(trajectory=CriterionConfig(threshold=80)))", "criterion trajectory: threshold is 80"),
    "unknown": ("EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig(trajektory=CriterionConfig()))", "unknown criterion 'trajektory'; did you mean 'trajectory'?"),
    "timeout": ("EVAL_CONFIG = EvalConfig(timeout=0)", "timeout is 0, must be a positive number of seconds"),
    "concurrency": ("EVAL_CONFIG = EvalConfig(max_concurrency=0)", "max_concurrency is 0, must be"),
    "custom": ("EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig(custom=[3]))", "custom criteria are functions"),
    "sync_agents": ("sync_agents = 'one'\ndef get_eval_set(): return make('s', 'a')", "sync_agents is 'one'"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGURATION)
def test_a_value_that_cannot_be_meant_is_a_configuration_error(start, name):
    text, error = CONFIGURATION[name]
    failed, _ = load(start, text)
    assert isinstance(failed, wire.FileFailed)
    assert failed.configuration
    assert failed.error.startswith(f"evals/x_eval.py: {error}")


CASES = "\ndef get_eval_set(): return make('s', 'a')\n"
ROUGE = "EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig(exact_match=CriterionConfig(threshold=0.5)), timeout=3, max_concurrency=2)\n"


def test_the_built_in_criteria_hold_where_nobody_configures(start):
    loaded, _ = load(start, CASES)
    assert (loaded.spec.criteria_from, {each.field for each in loaded.spec.criteria}) == (
        "builtin",
        {"tool_name_match", "node_order", "response_match"},
    )


def test_confeval_holds_where_the_file_has_no_config(start, tmp_path):
    peer = start(
        {"confeval.py": IMPORTS + ROUGE, "evals/x_eval.py": IMPORTS + CASES, "evals/y_eval.py": IMPORTS + CASES + "EVAL_CONFIG = EvalConfig()"},
        confeval=str(tmp_path / "confeval.py"),
    )  # fmt: skip
    specs = [peer.load(f"evals/{name}_eval.py")[0].spec for name in "xy"]
    assert [(spec.criteria_from, [each.field for each in spec.criteria]) for spec in specs] == [
        ("confeval", ["exact_match"]),
        ("file", []),
    ]
    assert [(spec.timeout_s, spec.max_concurrency) for spec in specs] == [(3.0, 2), (None, None)]


def test_a_broken_confeval_is_an_error_of_each_file(start, tmp_path):
    peer = start({"confeval.py": "1/0", "evals/x_eval.py": IMPORTS + CASES}, confeval=str(tmp_path / "confeval.py"))
    errors = [peer.load("evals/x_eval.py")[0].error for _ in range(2)]
    assert errors == ["confeval.py cannot be imported: ZeroDivisionError: division by zero"] * 2


def test_a_broken_confeval_is_nothing_to_a_file_with_a_config_of_its_own(start, tmp_path):
    text = CASES + "EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig())"
    peer = start({"confeval.py": "1/0", "evals/x_eval.py": IMPORTS + text}, confeval=str(tmp_path / "confeval.py"))
    assert peer.run_file("evals/x_eval.py")["a"].status == "passed"


def test_confeval_sets_things_up_in_every_worker(start, tmp_path):
    files = {"confeval.py": "import os\nos.environ['FROM_CONFEVAL'] = 'yes'", "evals/x_eval.py": IMPORTS + CASES,
             "agents.py": "import os\ndef app(query: str): return os.environ['FROM_CONFEVAL']"}  # fmt: skip
    peers = [start(files, confeval=str(tmp_path / "confeval.py")) for _ in range(2)]
    loaded, cases = peers[0].load("evals/x_eval.py")
    assert [peer.run(loaded, cases)[0].actual_response for peer in peers] == ["yes", "yes"]


def test_custom_criteria_of_the_file_judge(start):
    text = (
        CASES
        + """
from evalengine.criteria.custom import criterion
@criterion(threshold=0.5)
def short(execution, case): return len(execution.actual_response) < 100
@criterion
async def polite(execution, case):
    print("judging")
    return 0.25
@criterion
def broken(execution, case): raise ValueError("no")
EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig(custom=[short, polite, broken]))
"""
    )
    peer = start({"evals/x_eval.py": IMPORTS + text})
    [result] = peer.run_file("evals/x_eval.py").values()
    assert [(each.criterion, each.score, each.passed) for each in result.criterion_results] == [
        ("short", 1.0, True),
        ("polite", 0.25, False),
        ("broken", 0.0, False),
    ]
    assert (result.status, result.error) == ("error", "criterion broken: ValueError: no")
    assert "raise ValueError" in result.traceback
    assert result.output == "judging\n"


def test_what_an_import_prints_is_the_files_and_what_it_changes_of_the_folder_is_undone(start, tmp_path):
    text = "import os\nprint('hello')\nos.system('echo child')\nos.chdir('/')" + CASES + "print(os.getcwd())\n"
    peer = start({"evals/x_eval.py": IMPORTS + text, "evals/y_eval.py": "import os\nprint(os.getcwd())"})
    assert peer.load("evals/x_eval.py")[0].output == "hello\n/\nchild\n"
    assert peer.load("evals/y_eval.py")[0].output == f"{tmp_path}\n"


NEEDED = {
    "": False,
    "import json": False,
    "import helper": True,
    "from . import sibling": True,
    "import os\nos.environ['X'] = '1'": True,
    "import sys\nsys.path.append('/nowhere')": True,
    "sync_agents = 'serial'": True,
    "app = lambda messages: 'x'": True,
}


@pytest.mark.parametrize("text", NEEDED)
def test_a_file_is_needed_elsewhere_only_for_more_than_its_cases(start, text):
    peer = start({"helper.py": "", "evals/sibling.py": "", "evals/x_eval.py": f"{IMPORTS}\n{text}\n{CASES}"})
    loaded, _ = peer.load("evals/x_eval.py")
    assert loaded.spec.needs_module is NEEDED[text]


def test_files_are_real_modules_with_unique_names(start):
    text = (
        IMPORTS
        + """
import sys, pickle
from dataclasses import dataclass
@dataclass
class Thing:
    name: "str"
    def __eq__(self, other): return self.name == other.name
assert pickle.loads(pickle.dumps(Thing("a"))) == Thing("a")
assert sys.modules[__name__].__file__ == __file__
assert sys.argv == [__file__]
from .sibling import WORD
def get_eval_set(): return make(WORD, __name__)
if __name__ == "__main__": raise SystemExit
"""
    )
    files = {f"{folder}/{name}": content
             for folder in ("evals", "other-evals", "pkg/evals")
             for name, content in (("x_eval.py", text), ("sibling.py", f"WORD = {folder!r}"))}  # fmt: skip
    peer = start({**files, "pkg/__init__.py": "", "pkg/evals/__init__.py": ""})
    found = [peer.load(f"{folder}/x_eval.py") for folder in ("evals", "other-evals", "pkg/evals")]
    assert [getattr(each, "error", None) for each, _ in found] == [None] * 3
    assert [case.set_name for _, [case] in found] == ["evals", "other-evals", "pkg/evals"]
    first, second, third = [case.eval_id for _, [case] in found]
    assert (first, third) == ("evals.x_eval", "pkg.evals.x_eval")
    assert second.startswith("_evalfiles_")


def test_a_sibling_is_importable_by_its_bare_name(start):
    peer = start({"evals/deep/aid.py": "X = 1", "evals/deep/x_eval.py": IMPORTS + "import aid" + CASES})
    assert ids(peer.load("evals/deep/x_eval.py")[1]) == ["a"]


def test_the_env_file_fills_in_what_is_not_set(start, tmp_path, monkeypatch):
    monkeypatch.setenv("SET_BEFORE", "kept")
    text = "import os\nprint(os.environ['SET_BEFORE'], os.environ['FROM_FILE'])" + CASES
    peer = start(
        {".env": "export FROM_FILE='a b' # comment\nSET_BEFORE=changed\n", "evals/x_eval.py": IMPORTS + text},
        env_file=str(tmp_path / ".env"),
    )
    assert peer.load("evals/x_eval.py")[0].output == "kept a b\n"


def test_a_missing_env_file_is_a_configuration_error(start):
    failed, _ = load(start, CASES, env_file=".env")
    assert (failed.error, failed.configuration) == ("env file '.env' of agentflow.json not found", True)
