"""Driving an agent through a case, turn by turn, into the record of what it did.

The history that an agent is given holds its own actual answers. Tool calls and nodes that a result states win over
those recorded meanwhile. What the record holds is plain data that the agent has no hold of any more.
"""

import copy
import time
from typing import Any

from evalengine.cases import EvalCase, Invocation, StepType, ToolCall, TrajectoryStep
from evalengine.recording import CaseContext, Recorder
from evalengine.results import ExecutionResult, TurnResult
from evalengine_worker.agents.results import Answer, UnreadableResultError, read
from evalengine_worker.agents.turn import Agent, Turn
from evalengine_worker.plain import Plain

_monotonic = time.monotonic
_wall_clock = time.time


class Conversation:
    """One conversation with an agent. ``execution`` is what it did so far, also after an error."""

    def __init__(
        self, case: EvalCase, agent: Agent, context: CaseContext, recorder: Recorder, plain: Plain
    ) -> None:
        self._case = case
        self._agent = agent
        self._context = context
        self._recorder = recorder
        self._plain = plain
        self._history: list[dict[str, Any]] = []
        self._recorded_tools = 0
        self._recorded_nodes = 0
        self._recorded_steps = 0
        self.execution = ExecutionResult()
        self.error: BaseException | None = None

    async def hold(self, is_stopped: Any) -> None:
        """Go through the turns until the last, an error, or until ``is_stopped()``."""
        started = _monotonic()
        try:
            for number, invocation in enumerate(self._case.conversation):
                await self._take_turn(number, invocation)
                if self.error is not None or is_stopped():
                    break
        finally:
            self.execution.duration_seconds = _monotonic() - started

    async def _take_turn(self, number: int, invocation: Invocation) -> None:
        message = invocation.user_content
        text = message.get_text()
        self._history.append({"role": message.role, "content": message.content})
        self._context.turn = number
        outcome = None
        try:
            outcome = await self._agent.respond(Turn(self._copied_history(), text, self._context))
            if outcome.error is None:
                self._keep(number, text, read(outcome.value, text, self._plain))
            else:
                self.error = outcome.error
        except UnreadableResultError as error:
            self.error = error
        finally:
            if outcome is None or self.error is not None:
                self._keep(number, text, Answer(""), is_answered=False)

    def _copied_history(self) -> list[dict[str, Any]]:
        return [
            {**message} if isinstance(message["content"], str) else copy.deepcopy(message)
            for message in self._history
        ]

    def _keep(self, number: int, text: str, answer: Answer, *, is_answered: bool = True) -> None:
        """Add a turn to the record."""
        execution = self.execution
        calls = answer.tool_calls or self._new_calls()
        nodes = self._new_nodes() if answer.nodes is None else answer.nodes
        steps = self._steps(answer, calls, nodes)
        self._advance()
        execution.tool_calls += calls
        execution.node_visits += nodes
        execution.trajectory += steps
        execution.messages.append({"role": "user", "content": text})
        if is_answered:
            self._history.append({"role": "assistant", "content": answer.text})
            execution.actual_response = answer.text
            execution.messages += answer.messages or [{"role": "assistant", "content": answer.text}]
        execution.token_usage = execution.token_usage + answer.usage if execution.turns else answer.usage
        execution.turns.append(
            TurnResult(
                turn_index=number,
                user_input=text,
                agent_response=answer.text,
                tool_calls=calls,
                node_visits=nodes,
                trajectory_steps=len(steps),
            )
        )

    def _new_calls(self) -> list[ToolCall]:
        plain = self._plain
        return [
            ToolCall(name=plain.text(call.name), args=plain.mapping(call.args), result=plain.convert(call.result))
            for call in self._recorder.tools[self._recorded_tools :]
        ]

    def _new_nodes(self) -> list[str]:
        return [self._plain.text(name) for name in self._recorder.nodes[self._recorded_nodes :]]

    def _steps(self, answer: Answer, calls: list[ToolCall], nodes: list[str]) -> list[TrajectoryStep]:
        """Return the turn's steps: recorded ones in their order, what the result states at the turn's end."""
        stated_calls, stated_nodes = bool(answer.tool_calls), answer.nodes is not None
        steps = [
            self._plain_step(step)
            for step in self._recorder.steps[self._recorded_steps :]
            if not (stated_calls if step.step_type is StepType.TOOL else stated_nodes)
        ]
        now = _wall_clock() if stated_calls or stated_nodes else None
        if stated_nodes:
            steps += [TrajectoryStep.node(name, timestamp=now) for name in nodes]
        if stated_calls:
            steps += [TrajectoryStep.tool(call.name, call.args, timestamp=now) for call in calls]
        return steps

    def _plain_step(self, step: TrajectoryStep) -> TrajectoryStep:
        plain = self._plain
        return TrajectoryStep(
            step_type=step.step_type,
            name=plain.text(step.name),
            args=plain.mapping(step.args) if step.args else {},
            timestamp=step.timestamp,
            metadata=plain.mapping(step.metadata) if step.metadata else {},
        )

    def _advance(self) -> None:
        recorder = self._recorder
        self._recorded_tools = len(recorder.tools)
        self._recorded_nodes = len(recorder.nodes)
        self._recorded_steps = len(recorder.steps)
