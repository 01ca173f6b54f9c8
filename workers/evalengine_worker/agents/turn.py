"""What an agent is given for one turn, and what every adapter of an agent looks like."""

from typing import Any, NamedTuple, Protocol

from evalengine.recording import CaseContext
from evalengine_worker.threads import Outcome


class Turn(NamedTuple):
    """One turn of a conversation, in copies of the case's own."""

    messages: list[dict[str, Any]]
    """The whole conversation as ``{"role", "content"}``, up to what the user says now."""
    text: str
    """What the user says now."""
    context: CaseContext


class Agent(Protocol):
    """An agent of whatever form, driven turn by turn."""

    is_sync: bool
    """Whether its code runs in a thread."""

    async def respond(self, turn: Turn) -> Outcome:
        """Return what the agent returned, or the exception it raised."""
