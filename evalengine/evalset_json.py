"""The JSON of eval sets that other tools write, brought to the shape of :mod:`evalengine.cases`.

Plain data in, plain data out. The framework's own files have our shape already; Google ADK's
``*.evalset.json`` says ``parts`` for a message's content, ``final_response`` and ``intermediate_data``.
"""

from collections.abc import Mapping
from typing import Any


def normalise(data: Any) -> Any:
    """Bring the decoded JSON of an eval set to our field names; what is ours already is left as it is."""
    if not isinstance(data, Mapping):
        return data
    cases = data.get("eval_cases")
    if not isinstance(cases, list):
        return data
    return {**_without_null_texts(data), "eval_cases": [_case(case) for case in cases]}


def _without_null_texts(data: Mapping[Any, Any]) -> dict[Any, Any]:
    """Leave out names and descriptions that are null: they are not set."""
    return {key: value for key, value in data.items() if value is not None or key not in ("name", "description")}


def _case(case: Any) -> Any:
    if not isinstance(case, Mapping):
        return case
    turns = case.get("conversation")
    session = case.get("session_input")
    normal = _without_null_texts(case)
    if isinstance(turns, list):
        normal["conversation"] = [_turn(turn) for turn in turns]
    if session is None:
        normal.pop("session_input", None)
    return normal


def _turn(turn: Any) -> Any:
    if not isinstance(turn, Mapping):
        return turn
    normal = dict(turn)
    normal["user_content"] = _message(turn.get("user_content"), "user")
    if "final_response" in turn:
        normal["expected_final_response"] = _message(turn["final_response"], "assistant")
    data = turn.get("intermediate_data")
    if isinstance(data, Mapping):
        normal["expected_tool_trajectory"] = [_tool(use) for use in data.get("tool_uses") or _calls_in_events(data)]
        normal["expected_intermediate_responses"] = _intermediate_responses(data)
    if _states_placeholder(normal):
        normal["expected_final_response"] = None
    return normal


def _states_placeholder(turn: Mapping[str, Any]) -> bool:
    """Tell whether the response is what the framework's builder puts where its author stated none."""
    response, tools = turn.get("expected_final_response"), turn.get("expected_tool_trajectory")
    if not (isinstance(response, Mapping) and isinstance(tools, list) and len(tools) == 1):
        return False
    [tool] = tools
    return isinstance(tool, Mapping) and response.get("content") == f"Result from {tool.get('name')}"


def _calls_in_events(data: Mapping[str, Any]) -> list[Any]:
    """Return the function calls of ADK's newer ``invocation_events``."""
    calls = []
    for event in data.get("invocation_events") or ():
        content = event.get("content") if isinstance(event, Mapping) else None
        parts = content.get("parts") if isinstance(content, Mapping) else None
        calls += [
            part["function_call"] for part in parts or () if isinstance(part, Mapping) and part.get("function_call")
        ]
    return calls


def _intermediate_responses(data: Mapping[str, Any]) -> list[Any]:
    """Return the texts of (author, parts) pairs as messages."""
    pairs = [pair for pair in data.get("intermediate_responses") or () if isinstance(pair, list | tuple)]
    messages = [_message({"parts": pair[-1]}, "assistant") for pair in pairs if pair]
    return [message for message in messages if message is not None]


def _tool(use: Any) -> Any:
    if not isinstance(use, Mapping):
        return use
    return {"name": use.get("name"), "args": use.get("args") or {}, "call_id": use.get("id")}


def _message(message: Any, role: str) -> Any:
    if not isinstance(message, Mapping) or "parts" not in message:
        return message
    texts = [part["text"] for part in message["parts"] or () if isinstance(part, Mapping) and part.get("text")]
    return {"role": role, "content": "\n".join(texts)} if texts or role == "user" else None
