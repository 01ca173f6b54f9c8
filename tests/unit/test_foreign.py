"""Objects of the framework, by look-alikes of its pydantic models; with the real ones where they are installed."""

import importlib.util

import pytest

from evalengine import foreign
from evalengine.authoring import EvalSetBuilder
from evalengine.cases import ConversationScenario, EvalCase, EvalSet, ToolCall
from evalengine.config import CriteriaConfig, CriterionConfig, EvalConfig, UserSimulatorConfig
from evalengine.criteria import needs_model
from evalengine.errors import ConfigurationError
from evalengine.records import GeneratedId

DRAWN = "0b0e7a53-8f6f-4a0c-9d5e-2f8f4a2b7c11"
BARE = "gemini-2.5-flash"


class Model:
    """A look-alike of a pydantic model: fields with defaults, and which were set."""

    model_fields: dict[str, object] = {}

    def __init__(self, **fields):
        self.model_fields_set = set(fields)
        for name, value in {**self.model_fields, **fields}.items():
            setattr(self, name, value)

    def model_dump(self, exclude=()):
        return {name: _dump(getattr(self, name)) for name in self.model_fields if name not in exclude}


def _dump(value):
    if isinstance(value, Model):
        return value.model_dump()
    return [_dump(item) for item in value] if isinstance(value, list) else value


class Message(Model):
    model_fields = {"role": "user", "content": "", "metadata": {}}


class Call(Model):
    model_fields = {"name": "", "args": {}, "call_id": None, "result": None}


class Turn(Model):
    model_fields = {
        "invocation_id": DRAWN,
        "user_content": Message(content="q"),
        "expected_tool_trajectory": [],
        "expected_node_order": [],
        "expected_intermediate_responses": [],
        "expected_final_response": None,
    }


class Case(Model):
    model_fields = {
        "eval_id": DRAWN,
        "name": "",
        "description": "",
        "conversation": [],
        "session_input": Model(),
        "tags": [],
        "metadata": {},
    }


class Set(Model):
    model_fields = {"eval_set_id": DRAWN, "name": "", "description": "", "eval_cases": [], "metadata": {}}


class Criterion(Model):
    model_fields = {
        "threshold": 0.8,
        "match_type": "EXACT",
        "judge_model": BARE,
        "num_samples": 3,
        "rubrics": [],
        "keywords": [],
        "check_args": False,
        "enabled": True,
        "api_style": "responses",
    }


class Criteria(Model):
    model_fields = {"tool_name_match": None, "trajectory": None, "response_match": None, "llm_judge": None}


class Simulator(Model):
    model_fields = {"model": BARE, "max_invocations": 10, "temperature": 0.7}


class Config(Model):
    model_fields = {
        "criteria": Criteria(),
        "user_simulator_config": None,
        "parallel": False,
        "max_concurrency": 4,
        "timeout": 300.0,
        "verbose": False,
    }


class Scenario(Model):
    model_fields = {"scenario_id": "", "starting_prompt": "", "goals": [], "max_turns": 10, "metadata": {}}


def test_a_set_is_read_by_its_fields():
    turn = Turn(
        expected_tool_trajectory=[Call(name="t", args={"x": 1})],
        expected_final_response=Message(role="assistant", content="r"),
        expected_node_order=["N"],
    )
    found = foreign.as_eval_set(Set(name="s", eval_cases=[Case(eval_id="a", tags=["x"], conversation=[turn])]))
    [case] = found.eval_cases
    assert (found.name, case.eval_id, case.tags) == ("s", "a", ["x"])
    assert case.conversation[0].expected_tool_trajectory == [ToolCall(name="t", args={"x": 1})]
    assert case.conversation[0].expected_final_response.get_text() == "r"
    assert case.conversation[0].expected_node_order == ["N"]


def test_ids_that_were_not_set_count_as_drawn():
    found = foreign.as_eval_set(Set(eval_cases=[Case(conversation=[Turn()])]))
    ids = [found.eval_set_id, found.eval_cases[0].eval_id, found.eval_cases[0].conversation[0].invocation_id]
    assert all(isinstance(identity, GeneratedId) for identity in ids)


def test_ids_that_were_set_are_the_authors():
    turn = Turn(invocation_id="i")
    found = foreign.as_eval_set(Set(eval_set_id="s", eval_cases=[Case(eval_id="c", conversation=[turn])]))
    ids = [found.eval_set_id, found.eval_cases[0].eval_id, found.eval_cases[0].conversation[0].invocation_id]
    assert ids == ["s", "c", "i"]
    assert not any(isinstance(identity, GeneratedId) for identity in ids)


def test_a_set_id_that_the_builder_drew_and_passed_on_counts_as_drawn():
    assert isinstance(foreign.as_eval_set(Set(eval_set_id=DRAWN)).eval_set_id, GeneratedId)


def test_empty_lists_state_nothing():
    found = foreign.as_eval_case(Case(conversation=[Turn(expected_tool_trajectory=[])]))
    assert found.conversation[0].expects_no_tools is False


def test_the_builders_placeholder_is_no_expectation():
    turn = Turn(
        expected_tool_trajectory=[Call(name="t")],
        expected_final_response=Message(role="assistant", content="Result from t"),
    )
    assert foreign.as_eval_case(Case(conversation=[turn])).conversation[0].expected_final_response is None


def test_our_own_objects_are_taken_as_they_are():
    for take, own in [
        (foreign.as_eval_set, EvalSet()),
        (foreign.as_eval_case, EvalCase()),
        (foreign.as_eval_config, EvalConfig()),
        (foreign.as_criteria, CriteriaConfig()),
        (foreign.as_scenario, ConversationScenario()),
        (foreign.as_simulator_config, UserSimulatorConfig()),
    ]:
        assert take(own) is own


def test_our_set_may_hold_the_frameworks_cases():
    found = foreign.as_eval_set(EvalSet(eval_cases=[Case(eval_id="a"), EvalCase(eval_id="b")]))
    assert [type(case) for case in found] == [EvalCase, EvalCase]


def test_a_builder_that_was_not_told_to_build_is_built():
    assert len(foreign.as_eval_set(EvalSetBuilder("s").add_case("q"))) == 1


def test_mappings_are_taken():
    case = {"eval_id": "a", "conversation": [{"user_content": {"role": "user", "content": "q"}}]}
    assert foreign.as_eval_set({"eval_set_id": "s", "eval_cases": [case]}).eval_cases[0].eval_id == "a"
    assert foreign.as_eval_case(case).eval_id == "a"
    assert foreign.as_eval_config({"criteria": {"rouge_match": {}}, "timeout": 5}).timeout == 5
    assert foreign.as_criteria({"tool_trajectory_avg_score": {"threshold": 0.3}}).trajectory.threshold == 0.3
    assert foreign.as_scenario({"scenario_id": "s", "max_turns": 10}).max_turns == 10
    assert foreign.as_simulator_config({"model": "m"}).model == "m"


def test_settings_that_were_not_set_are_not_set():
    found = foreign.as_eval_config(Config())
    assert (found.timeout, found.max_concurrency, found.parallel) == (None, None, None)


def test_settings_that_were_set_count_even_where_they_equal_the_default():
    found = foreign.as_eval_config(Config(timeout=300.0, max_concurrency=4, parallel=False))
    assert (found.timeout, found.max_concurrency, found.parallel) == (300.0, 4, False)


def test_criteria_are_read_by_their_fields():
    criterion = Criterion(threshold=0.3, match_type="IN_ORDER", check_args=True)
    found = foreign.as_eval_config(Config(criteria=Criteria(trajectory=criterion)))
    assert list(found.criteria.enabled()) == [
        ("trajectory", CriterionConfig(threshold=0.3, match_type="IN_ORDER", check_args=True))
    ]


def test_the_judge_that_the_framework_fills_in_counts_as_not_configured():
    criteria = foreign.as_criteria(Criteria(response_match=Criterion(judge_model=BARE)))
    assert criteria.response_match.judge_model is None
    assert not needs_model("response_match", criteria.response_match)


def test_a_judge_that_the_author_named_is_kept():
    criteria = foreign.as_criteria(Criteria(response_match=Criterion(judge_model="openai/gpt")))
    assert criteria.response_match.judge_model == "openai/gpt"


def test_criteria_alone_are_a_configuration():
    theirs = Criteria(llm_judge=Criterion())
    assert [field for field, _ in foreign.as_eval_config(theirs).criteria.enabled()] == ["llm_judge"]
    ours = CriteriaConfig(rouge_match=CriterionConfig())
    assert foreign.as_eval_config(ours).criteria is ours


def test_our_configuration_may_hold_the_frameworks_parts():
    config = EvalConfig()
    config.criteria = Criteria(trajectory=Criterion())
    config.user_simulator_config = Simulator(model="m")
    found = foreign.as_eval_config(config)
    assert isinstance(found.criteria, CriteriaConfig)
    assert found.user_simulator_config == UserSimulatorConfig(model="m")


def test_criteria_of_a_mapping_may_be_objects():
    assert foreign.as_criteria({"trajectory": Criterion(threshold=0.2)}).trajectory.threshold == 0.2


def test_a_simulator_that_names_nothing_configures_nothing():
    found = foreign.as_eval_config(Config(user_simulator_config=Simulator())).user_simulator_config
    assert (found.model, found.max_invocations) == (None, None)


def test_a_simulators_own_settings_are_kept():
    found = foreign.as_simulator_config(Simulator(model="m", max_invocations=10))
    assert (found.model, found.max_invocations) == ("m", 10)


@pytest.mark.parametrize(("fields", "turns"), [({}, None), ({"max_turns": 10}, 10)])
def test_a_scenarios_turns_count_where_they_were_set(fields, turns):
    found = foreign.as_scenario(Scenario(scenario_id="s", goals=["g"], **fields))
    assert (found.scenario_id, found.goals, found.max_turns) == ("s", ["g"], turns)


TAKERS = [
    foreign.as_eval_set,
    foreign.as_eval_case,
    foreign.as_eval_config,
    foreign.as_criteria,
    foreign.as_scenario,
    foreign.as_simulator_config,
]


@pytest.mark.parametrize("take", TAKERS)
@pytest.mark.parametrize("value", [None, 5, "text", object(), [1], Message()])
def test_anything_else_is_refused_by_its_type(take, value):
    with pytest.raises(ConfigurationError, match=f"got a value of type {type(value).__name__}"):
        take(value)


@pytest.mark.parametrize("take", TAKERS)
def test_a_class_is_no_object_of_it(take):
    with pytest.raises(ConfigurationError, match="got the class Set"):
        take(Set)


@pytest.mark.parametrize("take", TAKERS[:4])
def test_a_value_that_cannot_be_meant_is_a_configuration_error(take):
    broken = {
        foreign.as_eval_set: {"eval_cases": [{"eval_id": 5}]},
        foreign.as_eval_case: {"eval_id": 5},
        foreign.as_eval_config: {"timeout": "long"},
        foreign.as_criteria: {"rouge_mach": {}},
    }[take]
    with pytest.raises(ConfigurationError):
        take(broken)


def real_framework():
    """The framework's evaluation package, or None where it is not installed (or only our stand-in is)."""
    spec = importlib.util.find_spec("agentflow")
    if spec is None or "fallback" in (spec.origin or "") or importlib.util.find_spec("agentflow.qa") is None:
        return None
    return importlib.import_module("agentflow.qa.evaluation")


def test_the_frameworks_own_objects_are_taken():
    theirs = real_framework()
    if theirs is None:
        pytest.skip("the agentflow framework is not installed")
    built = theirs.EvalSetBuilder("s").add_tool_test("q", "t", case_id="a").build()
    found = foreign.as_eval_set(built)
    assert found.eval_cases[0].conversation[0].expected_final_response is None
    assert isinstance(found.eval_set_id, GeneratedId)
    config = foreign.as_eval_config(theirs.EvalPresets.response_quality())
    assert config.timeout is None
    assert config.criteria.response_match.judge_model is None
    assert foreign.as_scenario(theirs.ConversationScenario(scenario_id="x")).max_turns is None
