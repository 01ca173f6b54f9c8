"""The names that eval files import, under every path they import them from."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import evalengine

FALLBACK = Path(evalengine.__file__).parent / "fallback"
PACKAGE = "agentflow.qa.evaluation"

NAMES = {
    "config": "CriteriaConfig CriterionConfig EvalConfig EvalPresets MatchType ReporterConfig Rubric UserSimulatorConfig",
    "config.presets": "EvalPresets",
    "config.eval_config": "CriteriaConfig CriterionConfig EvalConfig MatchType ReporterConfig Rubric UserSimulatorConfig",
    "config.criterion_config": "CriterionConfig Rubric",
    "config.reporter_config": "ReporterConfig UserSimulatorConfig",
    "config.types": "MatchType",
    "criteria": "BaseCriterion SyncCriterion CompositeCriterion WeightedCriterion ToolNameMatchCriterion "
    "TrajectoryMatchCriterion NodeOrderMatchCriterion ResponseMatchCriterion RougeMatchCriterion ExactMatchCriterion "
    "ContainsKeywordsCriterion",
    "criteria.base": "BaseCriterion SyncCriterion CompositeCriterion WeightedCriterion",
    "criteria.trajectory": "ToolNameMatchCriterion TrajectoryMatchCriterion NodeOrderMatchCriterion",
    "criteria.response": "ResponseMatchCriterion RougeMatchCriterion ExactMatchCriterion ContainsKeywordsCriterion",
    "dataset": "EvalCase EvalSet EvalSetBuilder Invocation MessageContent SessionInput StepType ToolCall TrajectoryStep",
    "dataset.eval_set": "EvalCase EvalSet Invocation MessageContent SessionInput StepType ToolCall TrajectoryStep",
    "dataset.builder": "EvalSetBuilder",
    "eval_result": "CriterionResult EvalCaseResult EvalReport EvalSummary NodeDetail",
    "execution": "ExecutionResult NodeResponseData",
    "execution.result": "ExecutionResult NodeResponseData",
    "token_usage": "TokenUsage",
    "simulators": "ConversationScenario",
    "simulators.user_simulator": "ConversationScenario",
}
SERVED = [(path, name) for path, names in NAMES.items() for name in names.split()]

METHODS = {
    "EvalSetBuilder": "add_case add_multi_turn add_tool_test build save from_file from_conversations quick",
    "EvalCase": "single_turn multi_turn model_dump model_validate",
    "EvalConfig": "default strict relaxed from_file to_file enable_criterion disable_criterion with_rubrics model_dump",
    "EvalPresets": "response_quality tool_usage conversation_flow comprehensive quick_check safety_check custom combine",
    "CriterionConfig": "tool_name_match trajectory node_order response_match rouge_match contains_keywords exact_match "
    "llm_judge rubric_based factual_accuracy hallucination safety simulation_goals",
    "CriterionResult": "success failure model_validate",
    "EvalCaseResult": "success failure model_dump",
    "EvalSummary": "from_results",
    "EvalReport": "create format_summary",
    "EvalSet": "from_file to_file add_case get_case filter_by_tags model_dump model_validate",
}

LATER = [
    (PACKAGE, "QuickEval"),
    (PACKAGE, "AgentEvaluator"),
    (PACKAGE, "ReporterManager"),
    (PACKAGE, "print_report"),
    (PACKAGE, "TrajectoryCollector"),
    (PACKAGE, "LLMJudgeCriterion"),
    (f"{PACKAGE}.criteria", "SafetyCriterion"),
    (f"{PACKAGE}.collectors.trajectory_collector", "TrajectoryCollector"),
    (f"{PACKAGE}.reporters.manager", "ReporterManager"),
    (f"{PACKAGE}.simulators.user_simulator", "UserSimulator"),
    (f"{PACKAGE}.quick_eval", "QuickEval"),
    (f"{PACKAGE}.evaluator", "AgentEvaluator"),
]


@pytest.fixture(autouse=True)
def _only_our_agentflow(monkeypatch):
    """Import our stand-in, whatever else is called agentflow here."""
    for name in [name for name in sys.modules if name.split(".")[0] == "agentflow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(FALLBACK))
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "agentflow"]:
        del sys.modules[name]


@pytest.mark.parametrize(("path", "name"), SERVED)
def test_a_name_is_served_by_its_module_and_by_the_package_alike(path, name):
    module, package = importlib.import_module(f"{PACKAGE}.{path}"), importlib.import_module(PACKAGE)
    assert getattr(module, name) is getattr(package, name)
    assert name in module.__all__
    assert name in package.__all__


@pytest.mark.parametrize("path", ["", *[f".{path}" for path in NAMES]])
def test_everything_a_module_lists_is_there(path):
    module = importlib.import_module(f"{PACKAGE}{path}")
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in METHODS.items() for name in names.split()]
)
def test_a_kind_has_the_frameworks_methods(kind, name):
    assert callable(getattr(getattr(importlib.import_module(PACKAGE), kind), name))


@pytest.mark.parametrize(("module", "name"), LATER)
def test_a_name_that_is_not_served_says_what_to_install(module, name):
    with pytest.raises(ImportError, match=f"does not provide {module}.{name} yet; install 10xscale-agentflow"):
        getattr(importlib.import_module(module), name)


def test_a_name_that_nobody_knows_is_missing_as_usual():
    assert not hasattr(importlib.import_module(PACKAGE), "NoSuchName")


def test_a_name_of_the_framework_itself_says_that_it_is_not_installed():
    with pytest.raises(ImportError, match="pip install 10xscale-agentflow"):
        importlib.import_module("agentflow").StateGraph  # noqa: B018


def test_packages_are_imported_from_packages():
    code = "from agentflow import qa; from agentflow.qa import evaluation; from agentflow.qa.evaluation import *; EvalSet"
    run_python(code)


def test_a_missing_part_of_the_framework_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("agentflow.core")


def test_the_stand_in_can_be_told_from_the_framework():
    assert importlib.import_module("agentflow").__evalengine_fallback__ is True


def run_python(code):
    paths = [str(FALLBACK.parent.parent), str(FALLBACK)]
    program = f"import sys; sys.path += {paths!r}\n{code}"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    return done.stdout


def test_importing_it_costs_no_engine():
    heavy = ["asyncio", "click", "jinja2", "litellm", "multiprocess", "numpy", "rouge_score", "tqdm"]
    code = f"import agentflow.qa.evaluation; print([name for name in {heavy} if name in sys.modules])"
    assert run_python(code).strip() == "[]"


PATH_FILE = "zzz_evalengine.pth"


def test_the_path_file_names_the_folder_of_the_stand_in():
    root = FALLBACK.parent.parent
    # In the sources it lies in the folder itself, installed beside the packages.
    here = next(path for path in (FALLBACK / PATH_FILE, root / PATH_FILE) if path.exists())
    assert [root / line for line in here.read_text().split()] == [FALLBACK]


def test_an_installed_framework_comes_first(tmp_path):
    package = tmp_path / "agentflow"
    package.mkdir()
    (package / "__init__.py").write_text("real = True")
    code = f"sys.path.insert(0, {str(tmp_path)!r}); import agentflow; print(agentflow.real)"
    assert run_python(code).strip() == "True"
