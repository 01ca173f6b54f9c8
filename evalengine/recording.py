"""What an agent reports while it runs: tools it called, nodes it visited.

``record_tool`` and ``record_node`` are plain calls. They are attributed by context variable, which asyncio tasks
and the agent's own thread inherit; a call outside of any case is counted as unattributed and never guessed.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from evalengine.cases import EvalCase, Invocation, ToolCall, TrajectoryStep

_wall_clock = time.time


class Recorder:
    """Collects what one case reports, in order. Appending is atomic, so an agent's threads may share it."""

    __slots__ = ("nodes", "steps", "tools")

    def __init__(self) -> None:
        self.tools: list[ToolCall] = []
        self.nodes: list[str] = []
        self.steps: list[TrajectoryStep] = []

    def record_node(self, name: str) -> None:
        """Note that a node ran."""
        self.nodes.append(str(name))
        self.steps.append(TrajectoryStep.node(str(name), timestamp=_wall_clock()))

    def record_tool(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        *,
        result: Any = None,
        error: BaseException | str | None = None,
    ) -> None:
        """Note that a tool was called; a tool that raised is a call too, ``error`` says with what."""
        outcome = result if error is None else f"{_error_text(error)}"
        self.tools.append(ToolCall(name=str(name), args=dict(args or {}), result=outcome))
        step = TrajectoryStep.tool(str(name), dict(args or {}), timestamp=_wall_clock())
        if error is not None:
            step.metadata = {"error": _error_text(error)}
        self.steps.append(step)


def _error_text(error: BaseException | str) -> str:
    return error if isinstance(error, str) else f"{type(error).__name__}: {error}"


class _Unattributed:
    """Counts calls that no case can be named for."""

    def __init__(self) -> None:
        self.count = 0


unattributed = _Unattributed()

_current: ContextVar[Recorder | None] = ContextVar("evalengine_recorder", default=None)


def current_recorder() -> Recorder | None:
    """Return the recorder of the case that this code runs for, or None outside of any case."""
    return _current.get()


@contextmanager
def recording(recorder: Recorder) -> Iterator[Recorder]:
    """Attribute what is recorded in this context to ``recorder``."""
    token = _current.set(recorder)
    try:
        yield recorder
    finally:
        _current.reset(token)


def record_node(name: str) -> None:
    """Report that a node of the agent ran, for the case this code runs for."""
    recorder = _current.get()
    if recorder is None:
        unattributed.count += 1
    else:
        recorder.record_node(name)


def record_tool(
    name: str,
    args: Mapping[str, Any] | None = None,
    *,
    result: Any = None,
    error: BaseException | str | None = None,
) -> None:
    """Report a tool call, for the case this code runs for; calls that the agent's result states win over these."""
    recorder = _current.get()
    if recorder is None:
        unattributed.count += 1
    else:
        recorder.record_tool(name, args, result=result, error=error)


class CaseContext:
    """What an agent may know of the case it runs in, and its recorders.

    ``case`` is a copy of its own; ``turn`` counts from 0; ``state`` and ``config`` are the session's and may be
    changed: they last for the case.
    """

    __slots__ = ("_recorder", "case", "config", "state", "thread_id", "turn", "user_id")

    def __init__(self, case: EvalCase, thread_id: str, recorder: Recorder) -> None:
        self.case = case
        self.turn = 0
        self.thread_id = thread_id
        self.user_id = case.session_input.user_id
        self.state: dict[str, Any] = dict(case.session_input.state)
        self.config: dict[str, Any] = dict(case.session_input.config)
        self._recorder = recorder

    @property
    def invocation(self) -> Invocation | None:
        """The turn as the case states it, or None where a simulated user leads."""
        turns = self.case.conversation
        return turns[self.turn] if self.turn < len(turns) else None

    def record_node(self, name: str) -> None:
        """Report that a node ran."""
        self._recorder.record_node(name)

    def record_tool(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        *,
        result: Any = None,
        error: BaseException | str | None = None,
    ) -> None:
        """Report a tool call."""
        self._recorder.record_tool(name, args, result=result, error=error)
