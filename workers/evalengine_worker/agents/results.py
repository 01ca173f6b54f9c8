"""What an agent returned, read as an answer: text, tool calls with their results, nodes, tokens.

Accepted are a string; a mapping or object with a text (``response``, ``output``, ``content``, ``answer``) and
optionally ``tool_calls``, ``nodes``, ``usage``; and chat messages, alone, in a list or under ``messages``. Anything
else is an error that names the type. All that is taken over is plain data of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from evalengine.cases import ToolCall
from evalengine.results import TokenUsage
from evalengine_worker.agents import chat
from evalengine_worker.agents.fields import get, is_text, to_arguments
from evalengine_worker.agents.usage import read_usage
from evalengine_worker.failures import PlainlyToldError
from evalengine_worker.plain import Plain, type_name

TEXT_FIELDS = ("response", "output", "content", "answer")
ACCEPTED = (
    "a string; a mapping or object with 'response', 'output', 'content' or 'answer', and optionally 'tool_calls', "
    "'nodes', 'usage'; or chat messages"
)


class UnreadableResultError(PlainlyToldError):
    """An agent returned something that is no answer."""


class Answer(msgspec.Struct):
    """What an agent said in one turn. ``tool_calls`` and ``nodes`` are None where the result states none."""

    text: str
    tool_calls: list[ToolCall] | None = None
    nodes: list[str] | None = None
    usage: TokenUsage = msgspec.field(default_factory=lambda: read_usage(None))
    messages: list[dict[str, Any]] = []


def read(value: Any, question: str, plain: Plain) -> Answer:
    """Read a result; of messages, only those after the user's ``question`` are this turn's.

    Raises UnreadableResultError.
    """
    if isinstance(value, str):
        return Answer(plain.text(value))
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        if value and all(map(chat.is_message, value)):
            return _of_messages(chat.new_ones(value, question), plain)
    elif chat.is_message(value):
        return _with_stated(_of_messages([value], plain), value, plain)
    elif value is not None and not isinstance(value, type | bytes | bytearray | int | float):
        answer = _of_structure(value, question, plain)
        if answer is not None:
            return answer
    what = "nothing (None)" if value is None else f"a value of type {type_name(value)}"
    if isinstance(value, Mapping):
        what += f" with the keys {', '.join(sorted(map(repr, list(value)[:10]))) or 'none'}"
    msg = f"the agent returned {what}; accepted are {ACCEPTED}"
    raise UnreadableResultError(msg)


def _of_structure(value: Any, question: str, plain: Plain) -> Answer | None:
    choices = get(value, "choices")
    if isinstance(choices, list) and choices and chat.is_message(message := get(choices[0], "message")):
        return _with_stated(_of_messages([message], plain), value, plain)
    messages = get(value, "messages")
    answer = None
    if isinstance(messages, Sequence) and messages and all(map(chat.is_message, messages)):
        answer = _of_messages(chat.new_ones(messages, question), plain)
    text = next((found for name in TEXT_FIELDS if (found := get(value, name)) is not None), None)
    if text is not None:
        answer = answer or Answer("")
        answer.text = _text(text, plain)
    elif answer is None and _states(value):
        answer = Answer("")
    return None if answer is None else _with_stated(answer, value, plain)


def _states(value: Any) -> bool:
    """Tell whether a structure without a text is still an answer: it has a text field, or made tool calls."""
    if isinstance(get(value, "tool_calls"), list | tuple):
        return True
    return any(name in value for name in TEXT_FIELDS) if isinstance(value, Mapping) else False


def _text(value: Any, plain: Plain) -> str:
    if is_text(value):
        return plain.text(value)
    if chat.is_message(value):
        return plain.text(chat.text_of(value))
    if isinstance(value, list) and value and chat.are_blocks(value):
        return plain.text(chat.text_of({"content": value}))
    return msgspec.json.encode(plain.convert(value)).decode()


def _with_stated(answer: Answer, value: Any, plain: Plain) -> Answer:
    """Add what the structure itself states, over what its messages say."""
    calls = get(value, "tool_calls")
    if isinstance(calls, list | tuple) and calls:
        answer.tool_calls = _merged([read_call(call, plain) for call in calls], answer.tool_calls or [])
    nodes = get(value, "nodes")
    if isinstance(nodes, list | tuple):
        answer.nodes = [plain.text(str(node)) for node in nodes]
    usage = get(value, "usage")
    if usage is None:
        usage = get(value, "usage_metadata")
    if usage is not None:
        answer.usage = read_usage(usage)
    return answer


def _merged(stated: list[ToolCall], of_messages: list[ToolCall]) -> list[ToolCall]:
    """Give stated calls the results that the messages have for them."""
    results = {call.call_id: call.result for call in of_messages if call.call_id is not None}
    for call in stated:
        if call.result is None and call.call_id in results:
            call.result = results[call.call_id]
    return stated


def _of_messages(messages: Sequence[Any], plain: Plain) -> Answer:
    calls: list[ToolCall] = []
    usage = TokenUsage()
    text = ""
    for message in messages:
        role = chat.role_of(message)
        if role == "assistant":
            calls += [read_call(call, plain) for call in chat.calls_of(message)]
            text = chat.text_of(message) or text
        for call_id, name, result in chat.results_of(message):
            _give_result(calls, call_id, name, plain.convert(result))
        stated = chat.usage_of(message)
        usage = usage if stated is None else usage + read_usage(stated)
    return Answer(
        plain.text(text),
        calls or None,
        usage=usage,
        messages=[chat.as_plain(message, plain) for message in messages],
    )


def _give_result(calls: list[ToolCall], call_id: str | None, name: str | None, result: Any) -> None:
    waiting = [call for call in calls if call.result is None]
    for call in waiting:
        if call_id is not None and call.call_id == call_id:
            call.result = result
            return
    for call in waiting:
        if call_id is None and (name is None or call.name == name):
            call.result = result
            return


def read_call(value: Any, plain: Plain) -> ToolCall:
    """Read a stated tool call: a name, a mapping or an object in any of the usual shapes."""
    if isinstance(value, str):
        return ToolCall(name=plain.text(value))
    function = get(value, "function")
    source = value if function is None or isinstance(function, str) else function
    name = get(source, "name") or get(source, "tool_name") or get(value, "tool")
    if name is None and isinstance(function, str):
        name = function
    args: Any = next(
        (found for key in ("args", "arguments", "input") if (found := get(source, key)) is not None), {}
    )
    result = next((found for key in ("result", "output", "error") if (found := get(value, key)) is not None), None)
    call_id = next((found for key in ("call_id", "id", "tool_call_id") if (found := get(value, key))), None)
    if not isinstance(name, str):
        msg = f"the agent states a tool call without a name (a value of type {type_name(value)})"
        raise UnreadableResultError(msg)
    return ToolCall(
        name=plain.text(name),
        args=plain.mapping(to_arguments(args)),
        call_id=None if call_id is None else plain.text(str(call_id)),
        result=plain.convert(result),
    )
