"""The examples users copy from the documentation of ``agentflow eval``, each doing what it says there."""

import pytest

WEATHER = """
# evals/weather_agents_eval.py
from agentflow.qa.evaluation import EvalSet, EvalSetBuilder


def get_eval_set() -> EvalSet:
    return (
        EvalSetBuilder(name="weather-agent-regression")
        .add_tool_test(
            query="What is the weather in London?",
            tool_name="get_weather",
            tool_args={"location": "London"},
            expected_response="London",
            case_id="weather_london",
        )
        .add_tool_test(
            query="What is the weather in Tokyo?",
            tool_name="get_weather",
            tool_args={"location": "Tokyo"},
            expected_response="Tokyo",
            case_id="weather_tokyo",
        )
        .build()
    )
"""
PER_FILE = """
from agentflow.qa.evaluation import EvalConfig, EvalSet, EvalSetBuilder
from agentflow.qa.evaluation.config.presets import EvalPresets


def get_eval_config() -> EvalConfig:
    return EvalPresets.tool_usage(threshold=0.6)


def get_eval_set() -> EvalSet:
    return (
        EvalSetBuilder(name="weather-agent-regression")
        .add_tool_test(
            query="What is the weather in London?",
            tool_name="get_weather",
            tool_args={"location": "London"},
            expected_response="London",
            case_id="weather_london",
        )
        .build()
    )
"""
CONSTANT = PER_FILE.replace(
    "def get_eval_config() -> EvalConfig:\n    return EvalPresets.tool_usage(threshold=0.6)",
    "EVAL_CONFIG = EvalPresets.tool_usage(threshold=0.6)",
)
COMBINED = PER_FILE.replace(
    "return EvalPresets.tool_usage(threshold=0.6)",
    """return EvalPresets.combine(
        EvalPresets.tool_usage(threshold=0.7),
        EvalPresets.response_quality(threshold=0.6),
    )""",
)
CONFEVAL = """
# confeval.py  (project root, next to agentflow.json)
from agentflow.qa.evaluation import CriteriaConfig, CriterionConfig, EvalConfig


EVAL_CONFIG = EvalConfig(
    criteria=CriteriaConfig(
        tool_name_match=CriterionConfig.tool_name_match(threshold=1.0),
        # response_match=CriterionConfig.response_match(threshold=0.8),
        # hallucinations=CriterionConfig.hallucination(threshold=0.8),
        rouge_match=CriterionConfig.rouge_match(threshold=0.5),
    )
)
"""
CONFEVAL_FUNCTION = """
# confeval.py
from agentflow.qa.evaluation import CriteriaConfig, CriterionConfig, EvalConfig


def get_eval_config() -> EvalConfig:
    return EvalConfig(
        criteria=CriteriaConfig(
            tool_name_match=CriterionConfig.tool_name_match(threshold=1.0),
            rouge_match=CriterionConfig.rouge_match(threshold=0.5),
        )
    )
"""
ANNOTATED = """
from agentflow.qa.evaluation import EvalSet, EvalSetBuilder
from agentflow.qa.evaluation.config.presets import EvalPresets


def get_eval_config():
    return EvalPresets.tool_usage(threshold=0.6)


def weather_cases() -> EvalSet:
    return EvalSetBuilder(name="weather").add_tool_test(
        "Weather in London?", "get_weather", {"location": "London"}, "London", case_id="a").build()


def booking_cases() -> EvalSet:
    return EvalSetBuilder(name="booking").add_tool_test(
        "Weather in Tokyo?", "get_weather", {"location": "Tokyo"}, "Tokyo", case_id="b").build()
"""
SCENARIOS = """
# evals/user_simulator_eval.py
from agentflow.qa.evaluation import ConversationScenario, UserSimulatorConfig


SIMULATOR_CONFIG = UserSimulatorConfig(
    model="gemini/gemini-2.5-flash",
    max_invocations=8,
    temperature=0.7,
)


def get_scenarios() -> list[ConversationScenario]:
    return [
        ConversationScenario(
            scenario_id="flight_booking",
            description="User wants help finding a flight",
            starting_prompt="I need to fly from London to New York next Friday.",
            goals=[
                "User receives flight options",
                "User gets pricing information",
            ],
            max_turns=10,
        ),
    ]
"""
AGENT = """
import re

def app(messages):
    city = re.search(r"London|Tokyo", messages[-1]["content"])[0]
    return {"response": city, "tool_calls": [{"name": "get_weather", "args": {"location": city}}]}
"""
SETTINGS = {
    "agent": "graph.agent:app",
    "evaluation": {
        "directory": "evals",
        "output_dir": "eval_reports",
        "threshold": 0.75,
        "parallel": False,
        "max_concurrency": 4,
        "timestamp_files": True,
    },
}


@pytest.fixture
def documented(project):
    def documented(files):
        return project.write(
            {"agentflow.json": SETTINGS, "graph/__init__.py": "", "graph/agent.py": AGENT, **files}
        )

    return documented


def test_no_flags_are_needed_and_both_reports_are_written(documented):
    project = documented({"evals/weather_agents_eval.py": WEATHER})
    done = project.eval()

    assert done.returncode == 0, done.stderr
    assert "Results: 2/2 passed (100.0%)" in done.stdout
    names = sorted(path.name for path in (project.root / "eval_reports").iterdir())
    assert [name.rpartition(".")[2] for name in names] == ["html", "json"]
    assert all(name.startswith("weather-agent-regression_2") for name in names)


def test_without_any_criteria_the_defaults_apply(documented):
    project = documented({"evals/weather_agents_eval.py": WEATHER})
    project.eval()

    criteria = project.report()["metadata"]["criteria_by_file"]["weather_agents_eval.py"]["criteria"]
    assert {name: (config["threshold"], config["match_type"]) for name, config in criteria.items()} == {
        "response_match": (0.6, "ANY_ORDER"),
        "tool_name_match": (0.6, "ANY_ORDER"),
        "node_order": (0.6, "IN_ORDER"),
    }


@pytest.mark.parametrize("text", [PER_FILE, CONSTANT], ids=["function", "constant"])
def test_a_files_own_config_wins_over_confeval(documented, text):
    project = documented({"evals/weather_agents_eval.py": text, "confeval.py": CONFEVAL})
    assert project.eval().returncode == 0

    used = project.report()["metadata"]["criteria_by_file"]["weather_agents_eval.py"]
    assert used["source"] == "file"
    assert set(used["criteria"]) == {"tool_name_match", "trajectory", "response_match"}


@pytest.mark.parametrize("text", [CONFEVAL, CONFEVAL_FUNCTION], ids=["constant", "function"])
def test_confeval_holds_for_files_without_a_config(documented, text):
    project = documented({"evals/weather_agents_eval.py": WEATHER, "confeval.py": text})
    assert project.eval().returncode == 0

    used = project.report()["metadata"]["criteria_by_file"]["weather_agents_eval.py"]
    assert used["source"] == "confeval"
    assert set(used["criteria"]) == {"tool_name_match", "rouge_match"}


def test_every_annotated_function_is_a_set_of_its_own(documented):
    project = documented({"evals/many_eval.py": ANNOTATED})
    assert project.eval().returncode == 0

    assert [result["set_name"] for result in project.report()["results"]] == ["weather", "booking"]
    assert list((project.root / "eval_reports").glob("combined_eval_*.json"))


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [("weather_agents_eval.py", COMBINED, "llm_judge"), ("user_simulator_eval.py", SCENARIOS, "scenarios")],
    ids=["model judge", "simulated user"],
)
def test_what_needs_a_model_says_so_before_anything_runs(documented, name, text, what):
    project = documented({f"evals/{name}": text})
    done = project.eval()

    assert done.returncode == 2
    assert f"{name}: {what} cannot run: no model client is configured" in done.stderr
    assert "PASSED" not in done.stdout
    assert not (project.root / "eval_reports").exists()


def test_a_file_a_folder_and_flags_as_documented(documented):
    project = documented({"evals/weather_agents_eval.py": WEATHER, "evals/regression/more_eval.py": PER_FILE})

    assert "Results: 2/2" in project.eval("evals/weather_agents_eval.py").stdout
    done = project.eval("evals/regression/", "--output", "reports/regression")
    assert "Results: 1/1" in done.stdout
    assert len(list((project.root / "reports" / "regression").iterdir())) == 2
    done = project.eval("--parallel", "--max-concurrency", "8", "--no-report")
    assert "Results: 3/3" in done.stdout
    assert "Report:" not in done.stdout


def test_the_threshold_of_agentflow_json_gates_without_flags_and_a_flag_wins_over_it(documented):
    wrong = WEATHER.replace('expected_response="Tokyo"', 'expected_response="Osaka"')
    project = documented({"evals/weather_agents_eval.py": wrong})

    assert project.eval().returncode == 1
    done = project.eval("--threshold", "0.5")
    assert done.returncode == 0
    assert "gate met: 1/2 ≥ 0.50, 1 failed" in done.stdout


def test_a_file_without_an_entry_point_is_skipped_with_a_warning(documented):
    project = documented({"evals/weather_agents_eval.py": WEATHER, "evals/empty_eval.py": "x = 1\n"})
    done = project.eval()

    assert done.returncode == 0
    assert "empty_eval.py" in done.stderr
    assert "get_eval_set" in done.stderr
