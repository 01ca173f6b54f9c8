"""Recording: attributed by context variable, never guessed."""

import asyncio
import contextvars
import threading

import pytest

from evalengine.cases import EvalCase, SessionInput, StepType
from evalengine.recording import (
    CaseContext,
    Recorder,
    current_recorder,
    record_node,
    record_tool,
    recording,
    unattributed,
)


@pytest.fixture
def recorder():
    with recording(Recorder()) as recorder:
        yield recorder


def test_tools_and_nodes_are_kept_in_order(recorder):
    record_node("A")
    record_tool("t", {"x": 1}, result="r")
    record_node("B")
    assert recorder.nodes == ["A", "B"]
    assert [(step.step_type, step.name) for step in recorder.steps] == [
        (StepType.NODE, "A"),
        (StepType.TOOL, "t"),
        (StepType.NODE, "B"),
    ]
    assert (recorder.tools[0].args, recorder.tools[0].result) == ({"x": 1}, "r")


def test_a_tool_that_raised_is_still_a_call(recorder):
    record_tool("t", error=ValueError("boom"))
    assert recorder.tools[0].result == "ValueError: boom"
    assert recorder.steps[0].metadata == {"error": "ValueError: boom"}


def test_a_recorded_call_keeps_the_arguments_it_was_made_with(recorder):
    args = {"x": 1}
    record_tool("t", args)
    args["x"] = 2
    assert recorder.tools[0].args == {"x": 1}


def test_a_call_outside_of_any_case_is_counted_and_attributed_to_nobody():
    before = unattributed.count
    contextvars.Context().run(record_tool, "t")
    contextvars.Context().run(record_node, "n")
    assert unattributed.count == before + 2


def test_recording_ends_with_its_block():
    with recording(Recorder()):
        pass
    assert current_recorder() is None


def test_concurrent_tasks_never_see_each_others_calls():
    async def case(name):
        with recording(Recorder()) as recorder:
            for _ in range(5):
                record_tool(name)
                await asyncio.sleep(0)
        return [call.name for call in recorder.tools]

    async def both():
        return await asyncio.gather(case("a"), case("b"))

    assert asyncio.run(both()) == [["a"] * 5, ["b"] * 5]


def test_a_thread_started_by_to_thread_inherits_the_case():
    async def case():
        with recording(Recorder()) as recorder:
            await asyncio.to_thread(record_tool, "t")
        return len(recorder.tools)

    assert asyncio.run(case()) == 1


def test_a_bare_thread_belongs_to_no_case(recorder):
    thread = threading.Thread(target=contextvars.Context().run, args=(record_tool, "t"))
    thread.start()
    thread.join()
    assert recorder.tools == []


def make_context():
    case = EvalCase(eval_id="c", session_input=SessionInput(user_id="u", state={"a": 1}, config={"b": 2}))
    return CaseContext(case, "thread-1", Recorder()), case


def test_a_context_has_the_session_and_changes_stay_its_own():
    context, case = make_context()
    context.state["a"] = 5
    assert (context.user_id, context.thread_id, context.config) == ("u", "thread-1", {"b": 2})
    assert case.session_input.state == {"a": 1}


def test_a_context_has_no_invocation_where_the_case_has_no_turns():
    assert make_context()[0].invocation is None


def test_a_contexts_recorders_write_to_its_own_case():
    recorder = Recorder()
    context = CaseContext(EvalCase(), "t", recorder)
    context.record_node("n")
    context.record_tool("t")
    assert (recorder.nodes, [call.name for call in recorder.tools]) == (["n"], ["t"])
