"""Eval sets of other tools."""

import pytest

from evalengine.cases import EvalSet
from evalengine.evalset_json import normalise

ADK = {
    "eval_set_id": "home",
    "name": "home",
    "description": None,
    "eval_cases": [
        {
            "eval_id": "lamp",
            "conversation": [
                {
                    "invocation_id": "i1",
                    "user_content": {"parts": [{"text": "Turn the lamp on"}, {"text": "please"}], "role": "user"},
                    "final_response": {"parts": [{"text": "Done."}], "role": "model"},
                    "intermediate_data": {
                        "tool_uses": [{"id": "u1", "name": "set_lamp", "args": {"on": True}}, {"name": "wait"}],
                        "intermediate_responses": [["agent", [{"text": "One moment."}]]],
                    },
                    "creation_timestamp": 1.5,
                }
            ],
            "session_input": {"app_name": "home", "user_id": "u", "state": {"a": 1}},
            "creation_timestamp": 1.5,
        }
    ],
}


def adk_turn(**changes):
    turn = {**ADK["eval_cases"][0]["conversation"][0], **changes}
    data = {**ADK, "eval_cases": [{**ADK["eval_cases"][0], "conversation": [turn]}]}
    return EvalSet.model_validate(normalise(data)).eval_cases[0].conversation[0]


def test_adk_parts_become_text():
    turn = adk_turn()
    assert turn.user_content.get_text() == "Turn the lamp on\nplease"
    assert turn.expected_final_response.get_text() == "Done."


def test_adk_tool_uses_become_expected_calls():
    calls = adk_turn().expected_tool_trajectory
    assert [(call.name, call.args, call.call_id) for call in calls] == [
        ("set_lamp", {"on": True}, "u1"),
        ("wait", {}, None),
    ]


def test_adk_function_calls_in_events_become_expected_calls():
    events = [
        {"author": "agent", "content": {"parts": [{"function_call": {"name": "set_lamp", "args": {"on": True}}}]}},
        {"author": "agent", "content": None},
    ]
    calls = adk_turn(intermediate_data={"invocation_events": events}).expected_tool_trajectory
    assert [(call.name, call.args) for call in calls] == [("set_lamp", {"on": True})]


def test_adk_intermediate_responses_are_kept():
    assert [message.get_text() for message in adk_turn().expected_intermediate_responses] == ["One moment."]


def test_an_adk_turn_without_a_response_states_none():
    assert adk_turn(final_response=None).expected_final_response is None


def test_an_adk_response_without_text_states_none():
    assert adk_turn(final_response={"parts": [{"function_call": {}}]}).expected_final_response is None


def test_an_adk_case_without_a_session_loads():
    data = {"eval_set_id": "s", "eval_cases": [{"eval_id": "a", "conversation": [], "session_input": None}]}
    assert EvalSet.model_validate(normalise(data)).eval_cases[0].session_input.user_id == "test_user"


def placeholder_turn(response, tools):
    turn = {
        "user_content": {"role": "user", "content": "q"},
        "expected_tool_trajectory": [{"name": tool} for tool in tools],
        "expected_final_response": {"role": "assistant", "content": response},
    }
    data = {"eval_cases": [{"conversation": [turn]}]}
    return EvalSet.model_validate(normalise(data)).eval_cases[0].conversation[0]


def test_the_frameworks_placeholder_is_no_expectation():
    assert placeholder_turn("Result from f", ["f"]).expected_final_response is None


@pytest.mark.parametrize(
    ("response", "tools"),
    [("Result from g", ["f"]), ("Result from f", ["f", "f"]), ("Result from f", []), ("Result from f.", ["f"])],
)
def test_a_response_like_the_placeholder_is_kept(response, tools):
    assert placeholder_turn(response, tools).expected_final_response.get_text() == response


@pytest.mark.parametrize(
    "data", [None, [], "x", {"eval_cases": None}, {"eval_cases": [1, {"conversation": [2, None]}]}]
)
def test_what_has_another_shape_is_left_to_validation(data):
    assert normalise(data) == data
