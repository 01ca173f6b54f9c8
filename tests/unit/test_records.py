"""Records: pydantic's method names on msgspec structs."""

import json

import pytest

from evalengine.cases import EvalCase, MessageContent, ToolCall
from evalengine.errors import ConfigurationError
from evalengine.records import GeneratedId, plain_string


class TextLike(str):
    """A string of another library."""

    __slots__ = ()


def test_a_dump_is_builtins_all_the_way_down():
    case = EvalCase.single_turn("a", "q", "r", [ToolCall(name="t", args={"x": 1})])
    dump = case.model_dump()
    assert json.loads(json.dumps(dump)) == dump


def test_a_dump_validates_to_an_equal_record():
    case = EvalCase.single_turn("a", "q", "r", [ToolCall(name="t", args={"x": 1})])
    assert EvalCase.model_validate(case.model_dump()) == case


def test_exclude_none_leaves_out_what_is_none():
    assert "call_id" not in ToolCall(name="t").model_dump(exclude_none=True)


def test_json_text_reads_back():
    call = ToolCall(name="t", args={"x": [1, None]})
    assert ToolCall.model_validate_json(call.model_dump_json(indent=2)) == call


def test_json_that_is_none_is_a_configuration_error():
    with pytest.raises(ConfigurationError, match="not JSON"):
        ToolCall.model_validate_json("{")


def test_a_wrong_value_is_named_with_its_path():
    with pytest.raises(ConfigurationError, match=r"\$\.name"):
        ToolCall.model_validate({"name": 5})


def test_an_unknown_field_names_the_nearest_one():
    with pytest.raises(ConfigurationError, match="did you mean 'args'"):
        ToolCall(name="t", arg={})


def test_a_missing_field_is_a_type_error_that_names_the_record():
    with pytest.raises(TypeError, match="ToolCall"):
        ToolCall()


def test_a_record_of_its_own_kind_is_taken_as_it_is():
    call = ToolCall(name="t")
    assert ToolCall.model_validate(call) is call


def test_an_object_with_model_dump_is_read_by_it():
    class Foreign:
        def model_dump(self):
            return {"name": "t", "args": {"a": 1}}

    assert ToolCall.model_validate(Foreign()) == ToolCall(name="t", args={"a": 1})


def test_a_copy_replaces_fields_and_leaves_the_original():
    call = ToolCall(name="t")
    assert call.model_copy(update={"name": "u"}).name == "u"
    assert call.name == "t"


def test_a_deep_copy_shares_nothing():
    call = ToolCall(name="t", args={"list": []})
    call.model_copy(deep=True).args["list"].append(1)
    assert call.args == {"list": []}


def test_defaults_are_not_shared_between_records():
    ToolCall(name="t").args["a"] = 1
    assert ToolCall(name="u").args == {}


def test_a_subclass_of_str_is_dumped_as_text():
    dump = MessageContent(role="user", content=TextLike("hi")).model_dump()
    assert type(dump["content"]) is str


def test_a_generated_id_is_dumped_as_text():
    assert EvalCase(eval_id=GeneratedId("x")).model_dump_json().count('"eval_id":"x"') == 1


def test_plain_string_refuses_what_is_no_string():
    with pytest.raises(NotImplementedError):
        plain_string(5)
