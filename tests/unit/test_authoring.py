"""The builder and the presets, as eval files use them."""

import pytest

from evalengine.authoring import EvalPresets, EvalSetBuilder
from evalengine.cases import EvalSet, SessionInput, ToolCall
from evalengine.config import (
    MODEL_CRITERIA,
    CriteriaConfig,
    CriterionConfig,
    EvalConfig,
    MatchType,
    UserSimulatorConfig,
)
from evalengine.criteria import check, needs_model
from evalengine.errors import ConfigurationError
from evalengine.records import GeneratedId


def only_turn(builder):
    [case] = builder.build().eval_cases
    [turn] = case.conversation
    return turn


def fields(config):
    return {field for field, _ in config.criteria.enabled()}


def thresholds(config):
    return {criterion.threshold for _, criterion in config.criteria.enabled()}


def test_a_case_states_what_it_is_given():
    turn = only_turn(EvalSetBuilder().add_case("q", "r", expected_tools=["t"], expected_node_order=["A", "B"]))
    assert turn.user_content.get_text() == "q"
    assert turn.expected_final_response.get_text() == "r"
    assert turn.expected_tool_trajectory == [ToolCall(name="t")]
    assert turn.expected_node_order == ["A", "B"]


def test_a_case_may_state_nothing():
    turn = only_turn(EvalSetBuilder().add_case("q"))
    assert (turn.expected_final_response, turn.expected_tool_trajectory, turn.expects_no_tools) == (None, [], False)


def test_an_empty_list_of_tools_says_that_none_may_be_called():
    assert only_turn(EvalSetBuilder().add_case("q", expected_tools=[])).expects_no_tools is True
    conversation = EvalSetBuilder().add_multi_turn([("a", None), ("b", None)], expected_tools=[]).build()
    assert [turn.expects_no_tools for turn in conversation.eval_cases[0].conversation] == [True, False]


def test_tools_are_names_calls_and_mappings_mixed():
    tools = ["a", ToolCall(name="b", args={"x": 1}), {"name": "c", "args": {"y": 2}}]
    found = only_turn(EvalSetBuilder().add_case("q", expected_tools=tools)).expected_tool_trajectory
    assert [(call.name, call.args) for call in found] == [("a", {}), ("b", {"x": 1}), ("c", {"y": 2})]


@pytest.mark.parametrize("tools", ["get_weather", {"name": "t"}, [5], [None], [["t"]]])
def test_tools_of_another_shape_are_refused_by_the_cases_name(tools):
    with pytest.raises(ConfigurationError, match="'mine'"):
        EvalSetBuilder().add_case("q", case_id="mine", expected_tools=tools)


def test_a_tool_test_without_a_response_states_none():
    turn = only_turn(EvalSetBuilder().add_tool_test("q", "t", {"x": 1}))
    assert turn.expected_final_response is None
    assert turn.expected_tool_trajectory == [ToolCall(name="t", args={"x": 1})]


def test_a_tool_test_with_a_response_states_it():
    turn = only_turn(EvalSetBuilder().add_tool_test("q", "t", expected_response="r"))
    assert turn.expected_final_response.get_text() == "r"


def test_a_conversation_has_its_tools_and_nodes_on_the_first_turn():
    builder = EvalSetBuilder().add_multi_turn(
        [("a", "b"), ("c", None)], expected_tools=["t"], expected_node_order=["N"]
    )
    first, second = builder.build().eval_cases[0].conversation
    assert (first.expected_tool_trajectory, first.expected_node_order) == ([ToolCall(name="t")], ["N"])
    assert (second.expected_tool_trajectory, second.expected_node_order) == ([], [])
    assert (first.expected_final_response.get_text(), second.expected_final_response) == ("b", None)


@pytest.mark.parametrize("conversation", [[], ["ab"], [("a",)], [("a", "b", "c")], [5]])
def test_a_conversation_of_another_shape_is_refused(conversation):
    with pytest.raises(ConfigurationError, match="case 'mine'"):
        EvalSetBuilder().add_multi_turn(conversation, case_id="mine")


def test_ids_are_given_or_the_place():
    cases = EvalSetBuilder().add_case("q", case_id="own").add_case("q").add_tool_test("q", "t").build().eval_cases
    assert [case.eval_id for case in cases] == ["own", "case_2", "case_3"]


@pytest.mark.parametrize(
    "add",
    [
        lambda builder, **more: builder.add_case("q", **more),
        lambda builder, **more: builder.add_multi_turn([("q", "r")], **more),
        lambda builder, **more: builder.add_tool_test("q", "t", **more),
    ],
)
def test_every_kind_of_case_takes_what_describes_it(add):
    builder = add(
        EvalSetBuilder(),
        name="n",
        description="d",
        tags=["x"],
        metadata={"skip": "later"},
        session_input={"user_id": "u"},
    )
    [case] = builder.build().eval_cases
    assert (case.name, case.description, case.tags, case.metadata) == ("n", "d", ["x"], {"skip": "later"})
    assert case.session_input == SessionInput(user_id="u")


def test_a_single_tag_may_be_a_text():
    assert EvalSetBuilder().add_case("q", tags="slow").build().eval_cases[0].tags == ["slow"]


def test_what_is_added_after_building_is_not_in_the_set():
    builder = EvalSetBuilder("s").add_case("q")
    built = builder.build()
    builder.add_case("r")
    assert len(built) == 1


def test_a_sets_id_counts_as_drawn():
    assert isinstance(EvalSetBuilder("s").build().eval_set_id, GeneratedId)


def test_a_saved_set_reads_back_as_a_builder(tmp_path):
    saved = EvalSetBuilder("s").add_case("q", "r", case_id="a").save(tmp_path / "s.json")
    builder = EvalSetBuilder.from_file(tmp_path / "s.json")
    assert builder.build() == saved
    assert len(builder.add_case("x").build()) == 2


def test_logged_conversations_become_cases():
    eval_set = EvalSetBuilder.from_conversations([{"user": "a", "assistant": "b"}, {"user": "c"}])
    assert eval_set.name == "conversation_tests"
    assert [case.eval_id for case in eval_set] == ["conv_1", "conv_2"]
    assert eval_set.eval_cases[1].conversation[0].expected_final_response is None


def test_pairs_become_cases():
    eval_set = EvalSetBuilder.quick(("a", "b"), ("c", "d"))
    assert isinstance(eval_set, EvalSet)
    assert [case.eval_id for case in eval_set] == ["test_1", "test_2"]
    assert len(EvalSetBuilder.quick()) == 0


PRESETS = [
    EvalPresets.response_quality,
    EvalPresets.tool_usage,
    EvalPresets.conversation_flow,
    EvalPresets.comprehensive,
    EvalPresets.quick_check,
    EvalPresets.safety_check,
]


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_takes_a_threshold_for_all_of_its_criteria(preset):
    assert thresholds(preset(0.33)) == thresholds(preset(threshold=0.33)) == {0.33}


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_can_be_meant_and_names_no_judge(preset):
    for field, criterion in preset().criteria.enabled():
        check(field, criterion)
        assert criterion.judge_model is None


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (EvalPresets.response_quality(), {"response_match", "llm_judge"}),
        (EvalPresets.response_quality(use_llm_judge=False), {"response_match"}),
        (EvalPresets.tool_usage(), {"tool_name_match", "trajectory", "response_match"}),
        (EvalPresets.conversation_flow(), {"response_match", "trajectory"}),
        (EvalPresets.quick_check(), {"rouge_match"}),
        (EvalPresets.safety_check(), {"hallucination", "safety"}),
        (
            EvalPresets.comprehensive(use_llm_judge=False),
            {"tool_name_match", "trajectory", "response_match", "rouge_match"},
        ),
        (
            EvalPresets.comprehensive(),
            {
                "tool_name_match",
                "trajectory",
                "response_match",
                "rouge_match",
                "llm_judge",
                "factual_accuracy",
                "hallucination",
                "safety",
            },
        ),
    ],
)
def test_presets_check_what_they_promise(config, expected):
    assert fields(config) == expected


@pytest.mark.parametrize(
    "config",
    [
        EvalPresets.response_quality(use_llm_judge=False),
        EvalPresets.tool_usage(),
        EvalPresets.conversation_flow(),
        EvalPresets.quick_check(),
        EvalPresets.comprehensive(use_llm_judge=False),
    ],
)
def test_presets_without_a_model_judge_need_no_model(config):
    assert not any(needs_model(field, criterion) for field, criterion in config.criteria.enabled())


@pytest.mark.parametrize(("strict", "mode"), [(True, MatchType.EXACT), (False, MatchType.IN_ORDER)])
def test_tool_usage_compares_calls_exactly_or_in_order(strict, mode):
    trajectory = EvalPresets.tool_usage(strict=strict).criteria.trajectory
    assert (trajectory.match_type, trajectory.check_args) == (mode, True)


def test_a_judge_model_goes_to_every_criterion_that_judges():
    criteria = EvalPresets.comprehensive(judge_model="m").criteria
    judged = [
        getattr(criteria, field).judge_model for field in (*MODEL_CRITERIA & fields(EvalConfig(criteria=criteria)),)
    ]
    assert {*judged, criteria.response_match.judge_model} == {"m"}


def test_custom_sets_only_what_has_a_threshold():
    assert fields(EvalPresets.custom()) == set()
    config = EvalPresets.custom(0.1, 0.2, 0.3, MatchType.ANY_ORDER, False, 0.4, 0.5, 0.6, "m")
    found = {field: criterion.threshold for field, criterion in config.criteria.enabled()}
    assert found == {
        "response_match": 0.1,
        "tool_name_match": 0.2,
        "trajectory": 0.2,
        "llm_judge": 0.3,
        "hallucination": 0.4,
        "safety": 0.5,
        "factual_accuracy": 0.6,
    }
    assert config.criteria.trajectory.match_type is MatchType.ANY_ORDER
    assert config.criteria.trajectory.check_args is False


def test_combining_joins_criteria_and_the_later_wins():
    config = EvalPresets.combine(EvalPresets.tool_usage(threshold=0.7), EvalPresets.response_quality(threshold=0.6))
    assert fields(config) == {"tool_name_match", "trajectory", "response_match", "llm_judge"}
    assert config.criteria.response_match.threshold == 0.6
    assert config.criteria.trajectory.threshold == 0.7


def test_combining_adds_up_custom_criteria_without_doubles():
    def first(execution, case):
        return True

    def second(execution, case):
        return True

    configs = [EvalConfig(criteria=CriteriaConfig(custom=custom)) for custom in ([first], [first, second])]
    assert EvalPresets.combine(*configs).criteria.custom == [first, second]


def test_combining_keeps_the_settings_of_the_last_that_has_them():
    first = EvalConfig(timeout=5.0, max_concurrency=2, user_simulator_config=UserSimulatorConfig(model="m"))
    combined = EvalPresets.combine(first, EvalConfig(timeout=7.0), EvalConfig())
    assert (combined.timeout, combined.max_concurrency, combined.user_simulator_config.model) == (7.0, 2, "m")


def test_changing_a_combination_leaves_its_parts():
    part = EvalConfig(criteria=CriteriaConfig(rouge_match=CriterionConfig()))
    EvalPresets.combine(part).disable_criterion("rouge_match")
    assert part.criteria.rouge_match.enabled is True
