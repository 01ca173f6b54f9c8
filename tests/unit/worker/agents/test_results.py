from types import SimpleNamespace as Object

import pytest

from evalengine.cases import ToolCall
from evalengine_worker.agents.results import UnreadableResultError, read
from evalengine_worker.agents.usage import read_usage
from evalengine_worker.plain import Plain


def answer(value, question="q"):
    return read(value, question, Plain())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "text"),
        ("", ""),
        ({"response": "r", "content": "c"}, "r"),
        ({"output": "o"}, "o"),
        ({"answer": ""}, ""),
        ({"response": None, "tool_calls": []}, ""),
        ({"output": {"a": 1}}, '{"a":1}'),
        ({"output": 3}, "3"),
        ({"response": {"role": "assistant", "content": "m"}}, "m"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        (Object(content="c"), "c"),
        ({"role": "assistant", "content": "m"}, "m"),
        ([{"role": "assistant", "content": "m"}], "m"),
        ([{"role": "user", "content": "q"}, {"role": "assistant", "content": "m"}], "m"),
        ({"messages": [Object(type="ai", content="m")]}, "m"),
        ({"messages": [Object(type="ai", content="m")], "output": "o"}, "o"),
        ({"choices": [{"message": {"role": "assistant", "content": "m"}}]}, "m"),
    ],
)
def test_the_text_is_found(value, text):
    assert answer(value).text == text


@pytest.mark.parametrize(
    "value", [None, 3, 1.5, True, b"bytes", object(), {}, {"text": "x"}, [], [1], str, {"role": "assistant"}, ["a"]]
)
def test_anything_else_is_refused_by_the_name_of_its_type(value):
    with pytest.raises(UnreadableResultError, match=r"the agent returned .*; accepted are a string; a mapping"):
        answer(value)


@pytest.mark.parametrize(
    "stated",
    [
        {"name": "f", "args": {"a": 1}, "result": 2, "id": "c"},
        {"name": "f", "arguments": {"a": 1}, "output": 2, "call_id": "c"},
        {"tool_name": "f", "input": {"a": 1}, "result": 2, "tool_call_id": "c"},
        {"id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}, "result": 2},
        ToolCall(name="f", args={"a": 1}, call_id="c", result=2),
        Object(name="f", args={"a": 1}, id="c", result=2),
        Object(id="c", function=Object(name="f", arguments='{"a": 1}'), result=2),
    ],
)
def test_a_stated_tool_call_is_read(stated):
    [call] = answer({"response": "x", "tool_calls": [stated]}).tool_calls
    assert (call.name, call.args, call.result, call.call_id) == ("f", {"a": 1}, 2, "c")


def test_arguments_that_are_no_mapping_are_kept():
    [call] = answer({"response": "x", "tool_calls": [{"name": "f", "arguments": "not json"}]}).tool_calls
    assert call.args == {"value": "not json"}


def test_results_find_their_calls_by_id_in_any_order():
    calls = [{"id": each, "function": {"name": "f", "arguments": "{}"}} for each in "ab"]
    tools = [{"role": "tool", "tool_call_id": each, "content": f"of {each}"} for each in "ba"]
    found = answer([{"role": "assistant", "content": None, "tool_calls": calls}, *tools]).tool_calls
    assert [call.result for call in found] == ["of a", "of b"]


def test_only_what_follows_the_question_is_this_turns():
    history = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "old", "tool_calls": [{"name": "f"}]},
    ]
    found = answer([*history, {"role": "user", "content": "q"}, {"role": "assistant", "content": "new"}])
    assert (found.text, found.tool_calls) == ("new", None)


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "cache_creation_tokens": 4}, (1, 2, 3, 4)),
        ({"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}}, (1, 2, 3, 0)),
        (
            {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 4},
            (1, 2, 3, 4),
        ),
        (
            Object(input_tokens=1, output_tokens=2, input_token_details={"cache_read": 3, "cache_creation": 4}),
            (1, 2, 3, 4),
        ),
        ({"prompt_token_count": 1, "candidates_token_count": 2}, (1, 2, 0, 0)),
        ({"input_tokens": "many", "output_tokens": -1}, (0, 0, 0, 0)),
        (None, (0, 0, 0, 0)),
    ],
)
def test_every_dialect_of_usage_is_read(usage, counts):
    found = read_usage(usage)
    assert (found.input_tokens, found.output_tokens, found.cache_read_tokens, found.cache_creation_tokens) == counts
