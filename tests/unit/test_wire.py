"""The wire: every command and message survives it, and nothing else is taken for one."""

import math

import msgspec
import pytest

from evalengine import wire
from evalengine.cases import EvalCase, ToolCall
from evalengine.config import CriterionConfig
from evalengine.records import GeneratedId

SPEC = wire.FileSpec(
    path="/p/a_eval.py",
    label="a_eval.py",
    criteria=[wire.CriterionSpec("rouge_match", "rouge_match", CriterionConfig(threshold=0.5))],
)
PLANNED = wire.PlannedCase(eval_id="a", set_id="s", set_name="set", digest="d", payload=b"\x00\xff", tags=["t"])

COMMANDS = [
    wire.Configure(worker=1, root="/p", eval_dir="/p/evals", pickled_agent=b"\x80"),
    wire.Load(file=0, path="/p/a_eval.py", label="a_eval.py"),
    wire.UseFile(file=0, spec=SPEC),
    wire.RunCase(
        case=3, repeat=1, attempt=2, file=0, eval_id="a", set_id="s", set_name="n", label="l", payload=b"x"
    ),
    wire.BeginCase(case=3, repeat=1, attempt=2),
    wire.WithdrawCases(),
    wire.CancelCase(case=3, repeat=1, attempt=2, status="timeout", reason="r"),
    wire.TellStack(case=3, repeat=1, attempt=2),
    wire.Shutdown(),
]
MESSAGES = [
    wire.Ready(pid=5, python="3.12"),
    wire.CaseFound(file=0, case=PLANNED),
    wire.FileLoaded(file=0, spec=SPEC, cases=1, warnings=["w"]),
    wire.FileFailed(file=0, error="e", traceback="t"),
    wire.Started(case=3, repeat=1, attempt=2),
    wire.Finished(case=3, repeat=1, attempt=2, result=b"{}", next=wire.RunKey(4)),
    wire.CasesWithdrawn(keys=[wire.RunKey(3, 1, 2)]),
    wire.StackTold(case=3, repeat=1, attempt=2, stack="File"),
    wire.Notice("n"),
    wire.Goodbye(),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda item: type(item).__name__)
def test_a_command_survives(command):
    assert wire.decode_command(wire.encode(command)) == command


@pytest.mark.parametrize("message", MESSAGES, ids=lambda item: type(item).__name__)
def test_a_message_survives(message):
    assert wire.decode_message(wire.encode(message)) == message


@pytest.mark.parametrize("message", MESSAGES, ids=lambda item: type(item).__name__)
def test_a_message_is_no_command(message):
    with pytest.raises(msgspec.ValidationError):
        wire.decode_command(wire.encode(message))


def test_all_commands_and_messages_are_tried_here():
    assert {type(item) for item in COMMANDS} == set(wire.Command.__args__)
    assert {type(item) for item in MESSAGES} == set(wire.Message.__args__)


@pytest.mark.parametrize("frame", [item for item in COMMANDS + MESSAGES if hasattr(item, "key")])
def test_a_run_is_named_in_full(frame):
    assert frame.key == wire.RunKey(case=3, repeat=1, attempt=2)


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x90", wire.encode(["Started", "x", 0, 1])])
def test_garbage_is_refused(data):
    with pytest.raises(msgspec.MsgspecError):
        wire.decode_message(data)


def test_every_decoded_case_is_a_copy_of_its_own():
    payload = wire.encode_case(EvalCase.single_turn("a", "q", expected_tools=[ToolCall(name="t", args={"x": 1})]))
    wire.decode_case(payload).conversation[0].expected_tool_trajectory[0].args["x"] = 2
    assert wire.decode_case(payload).conversation[0].expected_tool_trajectory[0].args == {"x": 1}


def test_a_generated_id_travels_as_text():
    assert wire.decode_case(wire.encode_case(EvalCase(eval_id=GeneratedId("x")))).eval_id == "x"


def test_a_value_that_is_no_plain_data_is_refused_when_encoding():
    with pytest.raises((TypeError, NotImplementedError)):
        wire.encode_case(EvalCase(metadata={"lock": object()}))


def test_digest_input_does_not_depend_on_the_order_of_keys():
    assert wire.encode_any({"a": 1, "b": 2}) == wire.encode_any({"b": 2, "a": 1})


def test_scores_keep_their_exact_value():
    config = CriterionConfig(threshold=math.nextafter(0.1, 1))
    spec = wire.FileSpec("p", "l", [wire.CriterionSpec("rouge_match", "rouge_match", config)])
    decoded = wire.decode_command(wire.encode(wire.UseFile(0, spec)))
    assert decoded.spec.criteria[0].config.threshold == config.threshold
