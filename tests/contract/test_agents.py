"""Every form of an agent, driven by a real worker: one table."""

import sys
from pathlib import Path

import pytest

from evalengine import wire
from evalengine.results import Status

sys.path.insert(0, str(Path(__file__).parent))

from worker_peer import WorkerPeer, write_project

AGENTS = """
import asyncio, functools, json
from dataclasses import dataclass, field
from types import SimpleNamespace as Object
from typing import Optional
from agentflow.qa.evaluation import ToolCall
from evalengine import CaseContext, record_node, record_tool

def sync_messages(messages): return f"{len(messages)} {messages[-1]['role']}: {messages[-1]['content']}"
async def async_messages(messages): return f"{len(messages)} {messages[-1]['role']}: {messages[-1]['content']}"
def text_by_name(query): return f"got {query}"
def text_by_annotation(anything: str): return f"got {anything}"
def text_by_string_annotation(anything: "str"): return f"got {anything}"
def text_by_optional(anything: Optional[str] = None): return f"got {anything}"
def messages_despite_name(message: list): return f"got {message[0]['content']}"
def keyword_only(*, messages): return f"got {messages[-1]['content']}"
def variadic(*args): return f"got {args[0][-1]['content']} of {len(args)}"
def generator(messages):
    yield "got "
    yield messages[-1]["content"]
def generator_last(messages):
    yield "thinking"
    yield {"response": "got " + messages[-1]["content"]}
def generator_returns(messages):
    yield "thinking"
    return "got " + messages[-1]["content"]
async def async_generator(messages):
    yield "got "
    await asyncio.sleep(0)
    yield messages[-1]["content"]
def returns_awaitable(messages): return async_messages(messages)
def returns_async_generator(messages): return async_generator(messages)
async def returns_generator(messages): return generator(messages)
def own_loop(messages): return asyncio.run(async_messages(messages))
partial = functools.partial(lambda greeting, messages: greeting + messages[-1]["content"], "got ")
bound_lambda = lambda messages: "got " + messages[-1]["content"]
class Callable:
    def __call__(self, messages): return "got " + messages[-1]["content"]
class AsyncCallable:
    async def __call__(self, query): return "got " + query
    def method(self, query): return "got " + query
callable_object, async_callable_object, method = Callable(), AsyncCallable(), AsyncCallable().method
def context_by_annotation(query: str, anything: "CaseContext"): return f"got {anything.case.eval_id} {anything.user_id}"
def context_by_name(query, ctx): return f"got {ctx.invocation.user_content.get_text()}"
def context_by_need(query, third): return f"got {third.turn}"
async def context_keyword(query, *, extra=1, context): return f"got {context.state['a']} {context.config['b']}"
def context_optional(query, verbose=False): return f"got {verbose}"
class Invoke:
    def invoke(self, input, config=None):
        return {"messages": [*input["messages"], {"role": "assistant", "content": f"got {config['user_id']}"}]}
class Ainvoke:
    async def ainvoke(self, input): return {"output": "got " + input["messages"][-1]["content"]}
    def invoke(self, input): raise AssertionError("ainvoke comes first")
class TextInvoke:
    def invoke(self, query): return "got " + query
class LangGraphLike:
    checkpointer = object()
    def __init__(self): self.threads = {}
    async def ainvoke(self, input, config):
        history = self.threads.setdefault(config["configurable"]["thread_id"], [])
        history += input["messages"]
        history.append(Object(type="ai", content=f"got {len(history)}", tool_calls=[], usage_metadata={"input_tokens": 1}))
        return {"messages": list(history)}
invoke, ainvoke, text_invoke, graph = Invoke(), Ainvoke(), TextInvoke(), LangGraphLike()

def mapping(messages): return {"answer": "got it", "tool_calls": [{"name": "f", "args": {"a": 1}, "result": 2}],
                               "nodes": ["N"], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
@dataclass
class Result:
    content: str = "got it"
    tool_calls: list = field(default_factory=lambda: [ToolCall(name="f", args={"a": 1}, result=2)])
    nodes: list = field(default_factory=lambda: ["N"])
    usage: object = field(default_factory=lambda: Object(input_tokens=3, output_tokens=4))
def an_object(messages): return Result()
def openai_messages(messages):
    return [{"role": "assistant", "content": None, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": json.dumps({"a": 1})}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "2"},
            {"role": "assistant", "content": "got it", "usage": {"prompt_tokens": 3, "completion_tokens": 4}}]
def langchain_messages(messages):
    return {"messages": [Object(type="human", content=messages[-1]["content"]),
        Object(type="ai", content="", tool_calls=[{"name": "f", "args": {"a": 1}, "id": "c1"}],
               usage_metadata={"input_tokens": 1, "output_tokens": 2}),
        Object(type="tool", content="2", tool_call_id="c1", name="f"),
        Object(type="ai", content=[{"type": "text", "text": "got it"}], tool_calls=[],
               usage_metadata={"input_tokens": 2, "output_tokens": 2})]}
def agentflow_messages(messages):
    return {"messages": [
        Object(role="assistant", content=[Object(type="tool_call", id="c1", name="f", args={"a": 1})],
               tools_calls=[{"id": "c1", "function": {"name": "f", "arguments": "{\\"a\\": 1}"}}],
               usages=Object(prompt_tokens=3, completion_tokens=4)),
        Object(role="tool", content=[Object(type="tool_result", call_id="c1", output=2)]),
        Object(role="assistant", content=[Object(type="text", text="got it")], tools_calls=None, usages=None)]}
def completion(messages):
    return {"choices": [{"message": {"role": "assistant", "content": "got it", "tool_calls": [
        {"id": "c1", "function": {"name": "f", "arguments": "{\\"a\\": 1}"}}]}}], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
def records(messages):
    record_node("N")
    record_tool("f", {"a": 1}, result=2)
    return "got it"
async def records_in_task(messages):
    await asyncio.gather(asyncio.to_thread(record_tool, "f", {"a": 1}, result=2))
    record_node("N")
    return "got it"
def stated_wins(messages):
    record_tool("recorded", {})
    return {"response": "got it", "tool_calls": ["f"]}
def records_by_context(query, ctx):
    try: raise ValueError("no such city")
    except ValueError as error: ctx.record_tool("f", {"a": 1}, error=error)
    return "got it"

def raises(messages): raise ValueError("broken\\non two lines")
async def exits(messages): raise SystemExit(3)
async def interrupts(messages): raise KeyboardInterrupt
def stops(messages): raise StopIteration
async def cancels_itself(messages): raise asyncio.CancelledError
class Evil(Exception):
    def __str__(self): raise RuntimeError
def evil(messages): raise Evil(1, 2)
def nothing(messages): return None
def a_lock(messages):
    import threading
    return threading.Lock()
def a_number(messages): return 3
def call_without_name(messages): return {"response": "x", "tool_calls": [{"args": {}}]}
def odd_values(messages):
    loop = []; loop.append(loop)
    return {"response": "got \\ud800 it", "tool_calls": [{"name": "f", "args": {
        "loop": loop, "big": 2**70, "nan": float("nan"), (1, 2): b"\\xff", "set": {1}, "object": object(), "text": "x" * 2_000_000}}]}
def a_class(): pass
class NotAnObject:
    def __call__(self, messages): return "x"
def no_arguments(): return "x"
def three_required(a, b, c): return "x"
number = 5
class Uncompiled:
    def compile(self): pass
uncompiled = Uncompiled()
def make(): return async_messages
async def make_async(): return async_messages
"""

EVALS = """
from agentflow.qa.evaluation import EvalSet, EvalSetBuilder, CriteriaConfig, EvalConfig
EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig())
def get_eval_set() -> EvalSet:
    return EvalSetBuilder(name="s").add_case(query="hello", case_id="one",
        session_input={"state": {"a": 1}, "config": {"b": 2}}).build()
"""

TWO_TURNS = """
from agentflow.qa.evaluation import EvalSet, EvalSetBuilder, CriteriaConfig, EvalConfig
EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig())
def get_eval_set() -> EvalSet:
    return EvalSetBuilder(name="s").add_multi_turn([("hello", None), ("more", None)], case_id="two").build()
"""

RESPONSES = {
    "sync_messages": "1 user: hello",
    "async_messages": "1 user: hello",
    "text_by_name": "got hello",
    "text_by_annotation": "got hello",
    "text_by_string_annotation": "got hello",
    "text_by_optional": "got hello",
    "messages_despite_name": "got hello",
    "keyword_only": "got hello",
    "variadic": "got hello of 1",
    "generator": "got hello",
    "generator_last": "got hello",
    "generator_returns": "got hello",
    "async_generator": "got hello",
    "returns_awaitable": "1 user: hello",
    "returns_async_generator": "got hello",
    "returns_generator": "got hello",
    "own_loop": "1 user: hello",
    "partial": "got hello",
    "bound_lambda": "got hello",
    "callable_object": "got hello",
    "async_callable_object": "got hello",
    "method": "got hello",
    "context_by_annotation": "got one test_user",
    "context_by_name": "got hello",
    "context_by_need": "got 0",
    "context_keyword": "got 1 2",
    "context_optional": "got False",
    "invoke": "got test_user",
    "ainvoke": "got hello",
    "text_invoke": "got hello",
    "graph": "got 1",
}

FULL_ANSWERS = {
    # name: (result of the tool call, nodes, input tokens, output tokens)
    "mapping": (2, ["N"], 3, 4),
    "an_object": (2, ["N"], 3, 4),
    "openai_messages": ("2", [], 3, 4),
    "langchain_messages": ("2", [], 3, 4),
    "agentflow_messages": (2, [], 3, 4),
    "completion": (None, [], 3, 4),
    "records": (2, ["N"], 0, 0),
    "records_in_task": (2, ["N"], 0, 0),
    "records_by_context": ("ValueError: no such city", [], 0, 0),
}

ERRORS = {
    "raises": "ValueError: broken on two lines",
    "exits": "SystemExit: 3",
    "interrupts": "KeyboardInterrupt",
    "stops": "StopIteration",
    "cancels_itself": "CancelledError",
    "evil": "Evil: <its message cannot be read>",
    "nothing": "the agent returned nothing (None); accepted are a string;",
    "a_lock": "the agent returned a value of type _thread.lock; accepted are a string;",
    "a_number": "the agent returned a value of type int; accepted are a string;",
    "call_without_name": "the agent states a tool call without a name",
}

REFUSED = {
    "agents:NotAnObject": "is the class NotAnObject; give an object of it, or use agent_factory",
    "agents:no_arguments": "it takes no argument",
    "agents:three_required": "it requires more than an agent is given: c",
    "agents:number": "is a value of type int; accepted is a function",
    "agents:uncompiled": "is a value of type agents.Uncompiled; accepted is a function (sync or async, plain or "
    "generator) or an object with ainvoke or invoke, such as a compiled graph; call its compile() first",
    "agents:record": "agents has no attribute 'record'; there is 'records'",
    "nowhere:app": "cannot be imported: No module named 'nowhere'",
    "agents": "must be written module:attr, such as graph.agent:app",
    "https://example.org/agent": "agents behind a URL are not supported yet",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    evals = {
        f"evals/{name}_eval.py": f"from agents import {name} as app\n{text}"
        for name in [*RESPONSES, *FULL_ANSWERS, *ERRORS, "odd_values", "stated_wins"]
        for text in [EVALS]
    }
    conversations = {
        f"evals/{name}_turns_eval.py": f"from agents import {name} as app\n{TWO_TURNS}"
        for name in ("sync_messages", "graph", "langchain_messages")
    }
    root = tmp_path_factory.mktemp("agents")
    return write_project(root, {"agents.py": AGENTS, "evals/plain_eval.py": EVALS, **evals, **conversations})


@pytest.fixture(scope="module")
def peer(project):
    peer = WorkerPeer(project)
    yield peer
    assert peer.close() == (0, "")


def run_one(peer, path):
    [result] = peer.run_file(path).values()
    return result


@pytest.mark.parametrize("name", RESPONSES)
def test_a_form_of_agent_answers(peer, name):
    result = run_one(peer, f"evals/{name}_eval.py")
    assert (result.status, result.error, result.actual_response) == (Status.PASSED, None, RESPONSES[name])


@pytest.mark.parametrize("name", FULL_ANSWERS)
def test_an_answer_with_tools_nodes_and_tokens_is_read(peer, name):
    result = run_one(peer, f"evals/{name}_eval.py")
    [call] = result.actual_tool_calls
    usage = result.agent_token_usage
    found = (call.result, result.node_visits, usage.input_tokens, usage.output_tokens)
    assert (result.error, result.actual_response) == (None, "got it")
    assert (call.name, call.args) == ("f", {"a": 1})
    assert found == FULL_ANSWERS[name]


@pytest.mark.parametrize("name", ERRORS)
def test_what_an_agent_raises_is_the_error_of_its_case(peer, name):
    result = run_one(peer, f"evals/{name}_eval.py")
    assert result.status is Status.ERROR
    assert result.error.startswith(ERRORS[name])
    assert "evalengine_worker" not in (result.traceback or "")


def test_stated_tool_calls_win_over_recorded_ones(peer):
    result = run_one(peer, "evals/stated_wins_eval.py")
    assert [call.name for call in result.actual_tool_calls] == ["f"]
    assert [step.name for step in result.actual_trajectory] == ["f"]


def test_values_that_are_no_plain_data_become_it(peer):
    result = run_one(peer, "evals/odd_values_eval.py")
    assert result.status is Status.PASSED
    assert result.actual_response == "got \\ud800 it"
    args = result.actual_tool_calls[0].args
    assert (args["big"], args["nan"], args["set"]) == (str(2**70), "NaN", [1])
    assert args["[1,2]"] == {"base64": "/w==", "bytes": 1}
    assert args["object"] == "<object object>"
    assert len(args["text"]) < 1_100_000
    assert any("type object" in note for note in result.notes)


def test_the_history_holds_the_actual_answers(peer):
    result = run_one(peer, "evals/sync_messages_turns_eval.py")
    assert [turn.agent_response for turn in result.turn_results] == ["1 user: hello", "3 user: more"]
    assert [message["content"] for message in result.messages] == ["hello", "1 user: hello", "more", "3 user: more"]


def test_a_graph_with_threads_is_sent_what_is_new_and_only_that_is_read(peer):
    result = run_one(peer, "evals/graph_turns_eval.py")
    assert [turn.agent_response for turn in result.turn_results] == ["got 1", "got 3"]
    assert result.agent_token_usage.input_tokens == 2


def test_each_turn_has_its_own_tool_calls(peer):
    result = run_one(peer, "evals/langchain_messages_turns_eval.py")
    assert [[call.name for call in turn.tool_calls] for turn in result.turn_results] == [["f"], ["f"]]


@pytest.mark.parametrize("spec", REFUSED)
def test_an_agent_that_cannot_be_driven_is_an_error_of_the_file(project, spec):
    peer = WorkerPeer(project, agent=spec)
    failed, _ = peer.load("evals/plain_eval.py")
    peer.close()
    assert isinstance(failed, wire.FileFailed)
    assert failed.error.startswith(f"agent {spec!r} of agentflow.json")
    assert REFUSED[spec] in failed.error


@pytest.mark.parametrize("factory", ["agents:make", "agents:make_async"])
def test_a_factory_makes_the_agent(project, factory):
    peer = WorkerPeer(project, agent_factory=factory)
    result = run_one(peer, "evals/plain_eval.py")
    peer.close()
    assert result.actual_response == "1 user: hello"


def test_no_agent_at_all_says_where_to_define_one(project):
    peer = WorkerPeer(project)
    failed, _ = peer.load("evals/plain_eval.py")
    peer.close()
    assert failed.error == 'no agent: define `app` in the file or set "agent" in agentflow.json'
