"""Chat messages in the shapes agents return them: OpenAI mappings, LangChain objects, agentflow messages."""

from collections.abc import Iterator, Sequence
from typing import Any

from evalengine_worker.agents.fields import get
from evalengine_worker.plain import Plain

_ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_CALL_BLOCKS = frozenset({"tool_call", "tool_use", "remote_tool_call", "function_call"})
_RESULT_BLOCKS = frozenset({"tool_result", "function_call_output"})


def role_of(message: Any) -> str | None:
    """Return ``user``, ``assistant``, ``system`` or ``tool``; None where it is no message."""
    for name in ("role", "type"):
        role = get(message, name)
        if isinstance(role, str) and role in _ROLES:
            return _ROLES[role]
    return None


def is_message(value: Any) -> bool:
    """Tell whether a value is a chat message: it has a role, and a content or tool calls."""
    if value is None or isinstance(value, str | int | float | bytes | list | tuple | type):
        return False
    if role_of(value) is None:
        return False
    return any(get(value, name) is not None for name in ("content", "tool_calls", "tools_calls", "refusal"))


def are_blocks(content: Sequence[Any]) -> bool:
    """Tell whether a list is one of content blocks."""
    return all(isinstance(block, str) or isinstance(get(block, "type"), str) for block in content)


def text_of(message: Any) -> str:
    """Return the text of a message; of content blocks, their texts joined."""
    content = get(message, "content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    texts = [block if isinstance(block, str) else get(block, "text") for block in content]
    return "".join(text for text in texts if isinstance(text, str))


def _blocks(message: Any) -> Sequence[Any]:
    content = get(message, "content")
    return content if isinstance(content, list | tuple) else ()


def calls_of(message: Any) -> list[Any]:
    """Return the tool calls of a message; those that stand both beside and in its content once."""
    for name in ("tool_calls", "tools_calls"):
        calls = get(message, name)
        if isinstance(calls, list | tuple) and calls:
            return list(calls)
    return [block for block in _blocks(message) if get(block, "type") in _CALL_BLOCKS]


def results_of(message: Any) -> Iterator[tuple[str | None, str | None, Any]]:
    """Yield (call id, tool name, result) for each tool result that a message carries."""
    blocks = [block for block in _blocks(message) if get(block, "type") in _RESULT_BLOCKS]
    for block in blocks:
        call_id = get(block, "call_id") or get(block, "tool_use_id") or get(block, "tool_call_id")
        result = get(block, "output")
        yield call_id, get(block, "name"), get(block, "content") if result is None else result
    if not blocks and role_of(message) == "tool":
        yield get(message, "tool_call_id"), get(message, "name"), text_of(message) or get(message, "content")


def usage_of(message: Any) -> Any:
    """Return what a message says of its tokens, in whatever shape."""
    for name in ("usage", "usages", "usage_metadata"):
        usage = get(message, name)
        if usage is not None:
            return usage
    return None


def new_ones(messages: Sequence[Any], question: str) -> list[Any]:
    """Return the messages after the last one in which the user asks the question; all, where there is none."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if role_of(message) == "user" and text_of(message).strip() == question.strip():
            return list(messages[place + 1 :])
    return list(messages)


def as_plain(message: Any, plain: Plain) -> dict[str, Any]:
    """Return a message as plain data: role, content, and the names that tie calls and results together."""
    kept: dict[str, Any] = {"role": role_of(message) or "assistant", "content": plain.text(text_of(message))}
    calls = calls_of(message)
    if calls:
        kept["tool_calls"] = plain.convert(calls)
    call_id = get(message, "tool_call_id")
    if isinstance(call_id, str):
        kept["tool_call_id"] = plain.text(call_id)
    return kept
