"""One attempt at one case: Started, the agent turn by turn, the criteria, Finished.

An attempt runs as one task in a context of its own. Whatever user code raises in it is this case's error. When it
is cancelled it keeps what the agent did so far; a synchronous agent that does not end keeps it from finishing, so
that nobody takes a worker for idle in which a thread still runs.
"""

import asyncio
import os
import time
from collections.abc import Callable
from typing import Protocol

import msgspec

from evalengine import wire
from evalengine.cases import EvalCase
from evalengine.framing import MAX_PAYLOAD_BYTES
from evalengine.recording import CaseContext, Recorder, recording, unattributed
from evalengine.results import EvalCaseResult, Status
from evalengine_worker import failures, outcomes
from evalengine_worker.capture import Output, current_output
from evalengine_worker.catalog import FileInUse
from evalengine_worker.conversation import Conversation
from evalengine_worker.plain import Plain
from evalengine_worker.scoring import Scoring
from evalengine_worker.tasks import Tasks, cancel_all, current_tasks

_monotonic = time.monotonic
_wall_clock = time.time
_random = os.urandom
_CancelledError = asyncio.CancelledError
_MOST_INLINE_BYTES = MAX_PAYLOAD_BYTES - 4096
"""What fits into a frame beside the rest of its message."""


class Surroundings(Protocol):
    """What an attempt needs of the worker it runs in."""

    worker: int | None
    spill_dir: str | None
    captures: bool
    serial: asyncio.Lock

    def begin(self, attempt: "Attempt") -> None:
        """Take note that the attempt's own code runs from here."""

    def end(self, attempt: "Attempt", result: EvalCaseResult) -> int:
        """Take note that it does not any more; add notes and output; return what is left running."""

    def send(self, message: wire.Message) -> None:
        """Send a message to the coordinator."""

    def next_key(self) -> wire.RunKey | None:
        """Return the attempt that is to take this one's place; None where none stands by."""

    def conclude(self, message: wire.Finished) -> None:
        """Send a result, and go on with the attempt that takes its place."""

    def break_off(self, error: BaseException) -> None:
        """End this process, which user code has made unfit; never returns."""

    def soon(self, callback: Callable[[], None]) -> None:
        """Call back in the next turn of the loop."""

    def mark(self, key: wire.RunKey) -> bool:
        """Mark an attempt as begun, where the coordinator will see it even if this process dies now."""

    async def flushed(self) -> None:
        """Wait until what was sent has left this process."""


class Attempt:
    """One attempt at a case."""

    def __init__(self, command: wire.RunCase, file: FileInUse, surroundings: Surroundings) -> None:
        self.command = command
        self.output = Output()
        self.is_alone = True
        """Whether nothing else ran in this worker while it did; the surroundings know."""
        self.log_start = self.log_writes = 0
        self.found = (0, 0)
        """How many threads and child processes earlier cases had left running when it began."""
        self.stubborn_tasks = 0
        self.stack = ""
        """Where it was when its time was over."""
        self.robbed_s = 0.0
        """For how long others kept the loop from it."""
        self._file = file
        self._surroundings = surroundings
        self.tasks: Tasks = set()
        """What it started and what goes on."""
        self._cancel: wire.CancelCase | None = None
        self.task: asyncio.Task[None] | None = None
        self._is_running = False
        self._has_started = False

    def start(self, task: asyncio.Task[None]) -> None:
        """Know the task that runs it, to cancel it by."""
        self.task = task

    def cancel(self, command: wire.CancelCase) -> None:
        """Cancel it; it finishes with the command's status and reason, once its code has ended."""
        if self._cancel is not None:
            return
        self._cancel = command
        if self._is_running and self.task is not None:
            self.task.cancel()

    @property
    def is_cancelled(self) -> bool:
        """Whether it was told to end before its time."""
        return self._cancel is not None

    def _stops(self) -> bool:
        return self._cancel is not None

    async def run(self) -> None:
        """Run it to its end, which is a Finished frame in every case."""
        self._is_running = True
        command = self.command
        case = wire.decode_case(command.payload)
        result = outcomes.identified(command, self._file.spec, self._surroundings.worker)
        try:
            if not self.is_cancelled:
                await self._run_agent_in_turn(case, result)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is this case's
            if not self.is_cancelled:
                outcomes.add_failure(result, failures.describe(error))
        try:
            # What can be said later is: until here a slot of the budget waited for the agent to start.
            outcomes.add_case(result, case)
            await self._finish(result)
        except BaseException as error:  # noqa: BLE001 - user code broke what the engine itself stands on
            self._surroundings.break_off(error)

    async def _run_agent_in_turn(self, case: EvalCase, result: EvalCaseResult) -> None:
        if self._file.spec.sync_agents == "serial" and self._file.agent.is_sync:
            async with self._surroundings.serial:
                await self._run_agent(case, result)
        else:
            await self._run_agent(case, result)

    async def _run_agent(self, case: EvalCase, result: EvalCaseResult) -> None:
        if not case.conversation:
            raise failures.PlainlyToldError("scenarios need a simulated user, and no model client is configured")
        # Who was running when a worker died must be known of every case whose code may have killed it.
        if self._surroundings.mark(self.command.key):
            self._surroundings.soon(self._say_started)
        else:
            self._say_started()
            await self._surroundings.flushed()
        result.started_at, started = _wall_clock(), _monotonic()
        self._surroundings.begin(self)
        recorder = Recorder()
        if self._surroundings.captures:
            current_output.set(self.output)
        current_tasks.set(self.tasks)
        missed = unattributed.count
        try:
            with recording(recorder):
                await self._perform(case, recorder, result)
        finally:
            result.duration_seconds = _monotonic() - started
            result.finished_at = result.started_at + result.duration_seconds
            if self.is_alone and unattributed.count > missed:
                result.notes.append(
                    f"{unattributed.count - missed} recorded calls came from outside of the case's context and "
                    "were not attributed"
                )

    def _say_started(self) -> None:
        command = self.command
        if not self._has_started:
            self._has_started = True
            self._surroundings.send(wire.Started(case=command.case, repeat=command.repeat, attempt=command.attempt))

    async def _perform(self, case: EvalCase, recorder: Recorder, result: EvalCaseResult) -> None:
        file, payload, plain = self._file, self.command.payload, Plain()
        context = CaseContext(wire.decode_case(payload), self._thread_id(), recorder)
        conversation = Conversation(case, file.agent, context, recorder, plain)
        try:
            await conversation.hold(self._stops)
        finally:
            outcomes.add_execution(result, conversation)
        if conversation.error is not None and not self.is_cancelled:
            outcomes.add_failure(result, failures.describe(conversation.error))
        elif not self.is_cancelled:
            scoring = Scoring(conversation.execution, case, payload, plain, file.custom)
            await scoring.score(file.spec.criteria, self._stops)
            outcomes.add_scores(result, scoring)
        result.notes += plain.losses

    def _thread_id(self) -> str:
        command = self.command
        return f"{command.eval_id}-{command.repeat}-{command.attempt}-{_random(6).hex()}"

    async def _finish(self, result: EvalCaseResult) -> None:
        current_tasks.set(None)  # Its own code has ended: nothing may be raised into it any more.
        await self._clean_up(result)
        if self._cancel is not None:
            result.passed = False
            result.status = Status(self._cancel.status)
            result.error = self._cancel.reason
            result.traceback = None
        leftovers = self._surroundings.end(self, result)
        self._say_started()
        message = _frame(self.command, result, self._surroundings.spill_dir, leftovers)
        following = self._surroundings.next_key()
        if following or self.robbed_s:
            message = msgspec.structs.replace(message, next=following, robbed_s=self.robbed_s)
        self._surroundings.conclude(message)

    async def _clean_up(self, result: EvalCaseResult) -> None:
        """Cancel the tasks that the case left running; a cancellation of the case itself comes too late here."""
        if not self.tasks:
            return
        try:
            left, self.stubborn_tasks = await cancel_all(self.tasks)
        except _CancelledError:
            left = self.stubborn_tasks = len(self.tasks)
        if left:
            stubborn = f", but {self.stubborn_tasks} did not end" if self.stubborn_tasks else ""
            result.notes.append(f"left {left} asyncio task{'s' if left > 1 else ''} running; cancelled{stubborn}")


def _frame(command: wire.RunCase, result: EvalCaseResult, spill_dir: str | None, leftovers: int) -> wire.Finished:
    encoded = outcomes.encode(result)
    try:
        return outcomes.finished(command, encoded, spill_dir, leftovers)
    except OSError as error:
        if len(encoded) <= _MOST_INLINE_BYTES:
            return outcomes.finished(command, encoded, None, leftovers)
        bare = outcomes.identified(command, None, result.worker)
        bare.error = f"the result of {len(encoded)} bytes cannot be written to {spill_dir}: {error}"
        return outcomes.finished(command, outcomes.encode(bare), None, leftovers)
