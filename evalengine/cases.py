"""What is to run: eval sets, cases, turns and what each turn expects.

The names, fields and JSON shape are those of the agentflow framework, so that files written for either load
in both. What is ours alone has a default that the framework ignores.
"""

import os
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

import msgspec

from evalengine.errors import ConfigurationError
from evalengine.evalset_json import normalise
from evalengine.records import GeneratedId, Record


def _draw_id() -> str:
    """Draw an id of a UUID's form, from the system's randomness: an author's seeded generator is left alone."""
    digits = os.urandom(16).hex()
    return GeneratedId(f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}")


class StepType(StrEnum):
    """The kind of a step in a trajectory."""

    NODE = "node"
    TOOL = "tool"
    MESSAGE = "message"
    CONDITIONAL = "conditional"


class ToolCall(Record, kw_only=True, eq=False):
    """A tool call, expected or made. Two calls are equal when name and arguments are."""

    name: str
    args: dict[str, Any] = {}
    call_id: str | None = None
    result: Any = None

    def matches(self, other: "ToolCall", check_args: bool = True, check_call_id: bool = False) -> bool:
        """Tell whether this call is what ``other`` expects; arguments ``other`` does not state are free."""
        if self.name != other.name:
            return False
        if check_args and any(key not in self.args or self.args[key] != value for key, value in other.args.items()):
            return False
        return not (check_call_id and self.call_id != other.call_id)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolCall):
            return NotImplemented
        return self.name == other.name and self.args == other.args

    def __hash__(self) -> int:
        return hash(self.name)


class TrajectoryStep(Record, kw_only=True):
    """One step of an execution: a node that ran, a tool that was called."""

    step_type: StepType
    name: str
    args: dict[str, Any] = {}
    timestamp: float | None = None
    metadata: dict[str, Any] = {}

    @classmethod
    def node(cls, name: str, timestamp: float | None = None, **metadata: Any) -> Self:
        """Make a node step."""
        return cls(step_type=StepType.NODE, name=name, timestamp=timestamp, metadata=metadata)

    @classmethod
    def tool(
        cls,
        name: str,
        args: dict[str, Any] | None = None,
        timestamp: float | None = None,
        **metadata: Any,
    ) -> Self:
        """Make a tool step."""
        return cls(step_type=StepType.TOOL, name=name, args=args or {}, timestamp=timestamp, metadata=metadata)


class MessageContent(Record, kw_only=True):
    """A message: a role and a text, or a list of content blocks."""

    role: str
    content: str | list[dict[str, Any]]
    metadata: dict[str, Any] = {}

    @classmethod
    def user(cls, text: str) -> Self:
        """Make a message of the user."""
        return cls(role="user", content=text)

    @classmethod
    def assistant(cls, text: str) -> Self:
        """Make a message of the assistant."""
        return cls(role="assistant", content=text)

    def get_text(self) -> str:
        """Return the text; of content blocks, their texts joined by a space."""
        if isinstance(self.content, str):
            return self.content
        return " ".join(str(block["text"]) for block in self.content if "text" in block)


class Invocation(Record, kw_only=True):
    """One turn: what the user says, and what is expected of the agent.

    ``expects_no_tools`` states that no tool may be called; an empty ``expected_tool_trajectory`` alone states
    nothing, since files of the framework always carry one.
    """

    invocation_id: str = msgspec.field(default_factory=_draw_id)
    user_content: MessageContent
    expected_tool_trajectory: list[ToolCall] = []
    expected_node_order: list[str] = []
    expected_intermediate_responses: list[MessageContent] = []
    expected_final_response: MessageContent | None = None
    expects_no_tools: bool = False

    @classmethod
    def simple(
        cls,
        user_query: str,
        expected_response: str | None = None,
        expected_tools: Sequence[ToolCall] | None = None,
        expected_node_order: Sequence[str] | None = None,
    ) -> Self:
        """Make a turn from plain strings; ``expected_tools=[]`` states that no tool may be called."""
        return cls(
            user_content=MessageContent.user(user_query),
            expected_final_response=MessageContent.assistant(expected_response) if expected_response else None,
            expected_tool_trajectory=list(expected_tools or ()),
            expected_node_order=list(expected_node_order or ()),
            expects_no_tools=expected_tools is not None and not expected_tools,
        )


class SessionInput(Record, kw_only=True):
    """What a case's session starts with."""

    app_name: str = ""
    user_id: str = "test_user"
    state: dict[str, Any] = {}
    config: dict[str, Any] = {}


class ConversationScenario(Record, kw_only=True):
    """A conversation that a simulated user leads: where it starts, where it should get, in how many turns."""

    scenario_id: str = ""
    description: str = ""
    starting_prompt: str = ""
    conversation_plan: str = ""
    goals: list[str] = []
    max_turns: int | None = None
    metadata: dict[str, Any] = {}


class EvalCase(Record, kw_only=True):
    """A case: a conversation of one turn or more, and what is expected of it."""

    eval_id: str = msgspec.field(default_factory=_draw_id)
    name: str = ""
    description: str = ""
    conversation: list[Invocation] = []
    session_input: SessionInput = msgspec.field(default_factory=SessionInput)
    tags: list[str] = []
    metadata: dict[str, Any] = {}
    scenario: ConversationScenario | None = None

    @classmethod
    def single_turn(
        cls,
        eval_id: str,
        user_query: str,
        expected_response: str | None = None,
        expected_tools: Sequence[ToolCall] | None = None,
        expected_node_order: Sequence[str] | None = None,
        name: str = "",
        description: str = "",
    ) -> Self:
        """Make a case of one turn."""
        turn = Invocation.simple(user_query, expected_response, expected_tools, expected_node_order)
        return cls(eval_id=eval_id, name=name, description=description, conversation=[turn])

    @classmethod
    def multi_turn(
        cls,
        eval_id: str,
        conversation: Sequence[tuple[str, str | None]],
        expected_tools: Sequence[ToolCall] | None = None,
        name: str = "",
        description: str = "",
    ) -> Self:
        """Make a case of (query, expected response) turns; the expected tools stand on the first turn."""
        turns = [
            Invocation.simple(query, expected, expected_tools if turn == 0 else None)
            for turn, (query, expected) in enumerate(conversation)
        ]
        return cls(eval_id=eval_id, name=name, description=description, conversation=turns)

    def expectations(self) -> list[dict[str, Any]]:
        """Return, a turn each, ``user_input`` and the ``response``, ``tools``, ``nodes`` that are expected.

        What a turn does not state is left out; ``tools`` is an empty list where no tool may be called.
        """
        return [_expectation(turn) for turn in self.conversation]


def _expectation(turn: Invocation) -> dict[str, Any]:
    stated: dict[str, Any] = {"user_input": turn.user_content.get_text()}
    if turn.expected_final_response is not None:
        stated["response"] = turn.expected_final_response.get_text()
    if turn.expected_tool_trajectory or turn.expects_no_tools:
        stated["tools"] = [{"name": call.name, "args": call.args} for call in turn.expected_tool_trajectory]
    if turn.expected_node_order:
        stated["nodes"] = turn.expected_node_order
    return stated


class EvalSet(Record, kw_only=True):
    """A named collection of cases."""

    eval_set_id: str = msgspec.field(default_factory=_draw_id)
    name: str = ""
    description: str = ""
    eval_cases: list[EvalCase] = []
    metadata: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self.eval_cases)

    def __iter__(self) -> Iterator[EvalCase]:
        return iter(self.eval_cases)

    def add_case(self, case: EvalCase) -> None:
        """Append a case."""
        self.eval_cases.append(case)

    def get_case(self, eval_id: str) -> EvalCase | None:
        """Return the case of that id, or None."""
        return next((case for case in self.eval_cases if case.eval_id == eval_id), None)

    def filter_by_tags(self, tags: Sequence[str]) -> list[EvalCase]:
        """Return the cases that carry all of the tags."""
        return [case for case in self.eval_cases if all(tag in case.tags for tag in tags)]

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a set from a JSON file, ours, the framework's or Google ADK's ``*.evalset.json``.

        Raises ConfigurationError that names the file and the offending value.
        """
        try:
            return cls.model_validate(normalise(msgspec.json.decode(Path(path).read_bytes())))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            msg = f"{path}: not JSON: {error}"
            raise ConfigurationError(msg) from None
        except ConfigurationError as error:
            msg = f"{path}: {error}"
            raise ConfigurationError(msg) from None

    def to_file(self, path: str | Path) -> None:
        """Write the set as JSON that the framework reads too."""
        Path(path).write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")

    def save(self, path: str | Path) -> None:
        """Write the set as JSON; another name of :meth:`to_file`."""
        self.to_file(path)
