"""Names of the framework that evalengine does not serve: importing one says so, and what to do."""

from collections.abc import Callable
from typing import Any


def not_served(module: str, names: frozenset[str]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that explains these names; any other is missing as usual."""

    def explain(name: str) -> Any:
        if name in names:
            message = f"evalengine does not provide {module}.{name} yet; install 10xscale-agentflow for it"
            raise ImportError(message, name=module)
        message = f"module {module!r} has no attribute {name!r}"
        raise AttributeError(message)

    return explain


MODEL_CRITERIA = frozenset(
    {
        "FactualAccuracyCriterion",
        "HallucinationCriterion",
        "LLMCallerMixin",
        "LLMJudgeCriterion",
        "RubricBasedCriterion",
        "SafetyCriterion",
        "SimulationGoalsCriterion",
        "TemplatedLLMCriterion",
    }
)
COLLECTORS = frozenset({"EventCollector", "PublisherCallback", "TrajectoryCollector", "make_trajectory_callback"})
REPORTERS = frozenset(
    {
        "BaseReporter",
        "Colors",
        "ConsoleReporter",
        "HTMLReporter",
        "JSONReporter",
        "JUnitXMLReporter",
        "ReporterManager",
        "ReporterOutput",
        "print_report",
    }
)
SIMULATORS = frozenset({"BatchSimulator", "SimulationResult", "UserSimulator"})
RUNNERS = frozenset({"AgentEvaluator", "EvaluationRunner", "QuickEval"})
TESTING = frozenset(
    {
        "EvalFixtures",
        "EvalPlugin",
        "EvalTestCase",
        "assert_criterion_passed",
        "assert_eval_passed",
        "create_eval_app",
        "create_simple_eval_set",
        "eval_test",
        "parametrize_eval_cases",
        "run_eval",
    }
)
ALL = MODEL_CRITERIA | COLLECTORS | REPORTERS | SIMULATORS | RUNNERS | TESTING
