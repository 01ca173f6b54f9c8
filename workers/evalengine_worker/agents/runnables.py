"""Agents that are objects with ``ainvoke`` or ``invoke``: compiled graphs and runnables.

They are given ``{"messages": […]}`` and a config with the case's thread and user ids, under the names of agentflow
(top level) and of LangGraph (``configurable``). A graph that keeps threads itself is sent what is new only.
"""

import sys
from typing import Any

from evalengine_worker.agents.calling import Parameter, parameters
from evalengine_worker.agents.settling import settle
from evalengine_worker.agents.turn import Turn
from evalengine_worker.threads import Outcome, run_in_thread


class RunnableAgent:
    """Invokes a graph or runnable."""

    def __init__(self, runnable: Any) -> None:
        awaited: Any = getattr(runnable, "ainvoke", None)
        self.is_sync = not callable(awaited)
        self._invoke: Any = runnable.invoke if self.is_sync else awaited
        known = parameters(self._invoke)
        self._first: Parameter | None = known[0] if known else None
        self._takes_config = known is None or len(known) > 1
        self._keeps_threads = bool(_attribute(runnable, "checkpointer") or _attribute(runnable, "_checkpointer"))
        self._message_type = _message_type(runnable)

    async def respond(self, turn: Turn) -> Outcome:
        """Invoke it: on the loop where it can be awaited, else in a thread of its own."""
        args = [self._input(turn)]
        if self._takes_config:
            args.append(_config(turn))
        if self.is_sync:
            outcome = await run_in_thread(self._invoke, *args)
            return outcome if outcome.error is not None else await settle(outcome.value)
        try:
            given = self._invoke(*args)
        except BaseException as error:  # noqa: BLE001 - SystemExit of an agent is the error of its case
            return Outcome(error=error)
        return await settle(given)

    def _input(self, turn: Turn) -> Any:
        if self._first is not None and self._first.is_text:
            return turn.text
        messages: list[Any] = turn.messages[-1:] if self._keeps_threads else turn.messages
        if self._message_type is not None:
            make = self._message_type.text_message
            messages = [make(_text(message), role=message["role"]) for message in messages]
        if self._first is not None and self._first.name == "messages":
            return messages
        return {**turn.context.state, "messages": messages}


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else " ".join(str(block.get("text", "")) for block in content)


def _config(turn: Turn) -> dict[str, Any]:
    context = turn.context
    ids = {"thread_id": context.thread_id, "user_id": context.user_id}
    configurable = context.config.get("configurable")
    given = configurable if isinstance(configurable, dict) else {}
    return {**ids, **context.config, "configurable": {**ids, **given}}


def _attribute(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:  # noqa: BLE001 - a property is user code
        return None


def _message_type(runnable: Any) -> Any:
    """Return the framework's own message class, which its graphs insist on."""
    if type(runnable).__module__.partition(".")[0] != "agentflow":
        return None
    return getattr(sys.modules.get("agentflow.core.state"), "Message", None)
