"""Cases: what a call matches, what a turn states, where sets are read and written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalengine.cases import (
    EvalCase,
    EvalSet,
    Invocation,
    MessageContent,
    SessionInput,
    StepType,
    ToolCall,
    TrajectoryStep,
)
from evalengine.errors import ConfigurationError
from evalengine.records import GeneratedId

ARGS = st.dictionaries(st.text(max_size=3), st.one_of(st.integers(), st.text(max_size=3), st.none()), max_size=4)


def test_a_call_matches_where_the_stated_arguments_are_equal():
    made = ToolCall(name="f", args={"a": 1, "b": 2})
    assert made.matches(ToolCall(name="f", args={"a": 1}))


def test_a_call_does_not_match_where_a_stated_argument_is_missing():
    assert not ToolCall(name="f").matches(ToolCall(name="f", args={"a": None}))


def test_a_call_of_another_name_never_matches():
    assert not ToolCall(name="f").matches(ToolCall(name="g"), check_args=False)


def test_call_ids_count_only_where_asked_for():
    made, wanted = ToolCall(name="f", call_id="1"), ToolCall(name="f", call_id="2")
    assert made.matches(wanted)
    assert not made.matches(wanted, check_call_id=True)


def test_calls_are_equal_by_name_and_arguments():
    assert ToolCall(name="f", args={"a": [1]}, call_id="1", result=3) == ToolCall(name="f", args={"a": [1]})
    assert ToolCall(name="f") != "f"


def test_equal_calls_hash_alike_whatever_their_arguments():
    assert len({ToolCall(name="f", args={"a": [1]}), ToolCall(name="f", args={"a": [1]})}) == 1


@given(ARGS, ARGS)
def test_a_call_matches_every_expectation_that_states_a_part_of_it(stated, more):
    assert ToolCall(name="f", args={**more, **stated}).matches(ToolCall(name="f", args=stated))


def test_steps_say_what_they_are():
    assert TrajectoryStep.node("n", kind="x").metadata == {"kind": "x"}
    assert TrajectoryStep.tool("t", {"a": 1}).step_type is StepType.TOOL


def test_the_text_of_content_blocks_is_joined():
    blocks = [{"type": "text", "text": "a"}, {"type": "image"}, {"text": "b"}]
    assert MessageContent(role="user", content=blocks).get_text() == "a b"


def test_no_expected_tools_says_nothing():
    assert Invocation.simple("q").expects_no_tools is False


def test_an_empty_list_of_expected_tools_says_that_none_may_be_called():
    assert Invocation.simple("q", expected_tools=[]).expects_no_tools is True


def test_an_empty_expected_response_states_none():
    assert Invocation.simple("q", "").expected_final_response is None


def test_ids_that_nobody_gave_are_marked_as_drawn():
    assert isinstance(EvalCase().eval_id, GeneratedId)
    assert not isinstance(EvalCase(eval_id="mine").eval_id, GeneratedId)


def test_a_conversation_has_its_tools_on_the_first_turn():
    case = EvalCase.multi_turn("c", [("a", "b"), ("c", None)], expected_tools=[ToolCall(name="t")])
    assert [len(turn.expected_tool_trajectory) for turn in case.conversation] == [1, 0]
    assert case.conversation[1].expected_final_response is None


def test_a_set_is_a_collection_of_cases():
    eval_set = EvalSet(name="s")
    eval_set.add_case(EvalCase(eval_id="a", tags=["x", "y"]))
    eval_set.add_case(EvalCase(eval_id="b", tags=["x"]))
    assert len(eval_set) == 2
    assert [case.eval_id for case in eval_set] == ["a", "b"]
    assert [case.eval_id for case in eval_set.filter_by_tags(["x", "y"])] == ["a"]
    assert eval_set.get_case("b") is eval_set.eval_cases[1]
    assert eval_set.get_case("c") is None


def test_a_set_reads_back_what_it_wrote(tmp_path):
    case = EvalCase.single_turn("a", "q", "дождь", [ToolCall(name="t", args={"x": 1})], ["N"])
    eval_set = EvalSet(name="s", eval_cases=[case])
    eval_set.save(tmp_path / "s.json")
    assert EvalSet.from_file(tmp_path / "s.json") == eval_set


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe"])
def test_a_file_that_is_not_json_is_named(tmp_path, content):
    path = tmp_path / "broken.evalset.json"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"broken\.evalset\.json: not JSON"):
        EvalSet.from_file(path)


def test_a_file_with_a_wrong_value_is_named_with_its_path(tmp_path):
    path = tmp_path / "wrong.evalset.json"
    path.write_text(json.dumps({"eval_cases": [{"eval_id": 7}]}))
    with pytest.raises(ConfigurationError, match=r"wrong\.evalset\.json: .*eval_cases\[0\]\.eval_id|eval_id"):
        EvalSet.from_file(path)


def test_a_session_starts_with_the_frameworks_defaults():
    assert SessionInput().user_id == "test_user"
