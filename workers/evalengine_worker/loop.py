"""The worker: commands in, messages out, attempts as tasks on one loop.

Commands are carried out in their order. Loading or using a file runs user code that may block or start a loop of
its own, so it is done between two turns of the loop, on the main thread, while attempts in flight stand still;
commands behind it wait. User code that stops the loop, or leaves it with SystemExit, only makes it start again.
"""

import asyncio
import contextlib
import contextvars
import os
import platform
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from evalengine import wire
from evalengine.breadcrumbs import word_of
from evalengine.errors import EvalEngineError
from evalengine.result_log import ResultLog
from evalengine.results import EvalCaseResult, Status
from evalengine.start_marks import StartMarks
from evalengine_worker import failures, outcomes, stacks
from evalengine_worker.capture import Output, Streams, current_output
from evalengine_worker.case import Attempt
from evalengine_worker.catalog import Catalog, FileInUse
from evalengine_worker.endings import enable_fault_handler, note_endings
from evalengine_worker.hygiene import Hygiene, Snapshot
from evalengine_worker.interrupts import Interrupts
from evalengine_worker.leftovers import Leftovers, busy_pool_threads
from evalengine_worker.link import BROKEN, Link
from evalengine_worker.project import LoadError, Project
from evalengine_worker.tasks import WorkerLoop

_GOODBYE_WAIT_S = 1.0
_CHANCE_S = 0.1
"""How long a cancelled case gets to end before it is told that it does not; its tasks have half of that."""
_LEFT = (("thread", "threads"), ("child process", "child processes"))

_getpid = os.getpid
_exit = os._exit


class Worker:
    """One worker process, from its Ready to its Goodbye."""

    def __init__(self, descriptor: int, loop: WorkerLoop, streams: Streams) -> None:
        self.worker: int | None = None
        self.spill_dir: str | None = None
        self.captures = True
        self.serial = asyncio.Lock()
        self._loop = loop
        self._streams = streams
        self._log_path: str | None = None
        self._link = Link(descriptor, loop, self._received)
        self._commands: deque[wire.Command] = deque()
        self._blocking: wire.Load | wire.UseFile | None = None
        self._catalog: Catalog | None = None
        self._files: dict[int, FileInUse | LoadError] = {}
        self._running: dict[wire.RunKey, Attempt] = {}
        self._begun: set[wire.RunKey] = set()
        self._clean_context = contextvars.copy_context()
        self._hygiene = Hygiene(streams)
        self._leftovers = Leftovers()
        self._loop_settings = loop.settings()
        self._marks: StartMarks | None = None
        self._results: ResultLog | None = None
        self._standby: dict[wire.RunKey, wire.RunCase] = {}
        self._steps = loop.steps
        self._interrupts = Interrupts(loop.steps)
        self._is_over = False
        self.send = self._link.send
        self.flushed = self._link.flushed

    def serve(self) -> None:
        """Say Ready, and serve until told to end."""
        self.send(wire.Ready(pid=_getpid(), python=platform.python_version()))
        while not self._is_over:
            # A task that user code started may raise these; asyncio lets them out of the loop, the worker goes on.
            with contextlib.suppress(SystemExit, KeyboardInterrupt):
                self._loop.run_forever()
            self._run_blocking()
        self._link.flush_now(_GOODBYE_WAIT_S)

    # Commands

    def _received(self, commands: list[wire.Command]) -> None:
        self._commands += commands
        self._carry_out()

    def _carry_out(self) -> None:
        """Carry out commands until one needs the loop to stand still."""
        while self._commands and self._blocking is None:
            command = self._commands.popleft()
            match command:
                case wire.RunCase():
                    self._take_case(command)
                case wire.BeginCase():
                    self._begin_case(command.key)
                case wire.WithdrawCases():
                    self.send(wire.CasesWithdrawn(keys=list(self._standby)))
                    self._standby.clear()
                case wire.CancelCase() | wire.TellStack() if command.key in self._running:
                    self._look_at(self._running[command.key], command)
                case wire.Load() | wire.UseFile():
                    self._blocking = command
                    self._loop.stop()
                case wire.Configure():
                    self._configure(command)
                case wire.Shutdown():
                    self.send(wire.Goodbye())
                    self._is_over = True
                    self._loop.stop()

    def _look_at(self, attempt: Attempt, command: wire.CancelCase | wire.TellStack) -> None:
        """See where an attempt is, before it is cancelled for its time, or because it does not end."""
        if isinstance(command, wire.TellStack):
            # Others may have kept the loop until now: it gets the time to end.
            self._loop.call_later(_CHANCE_S, self._tell_stack, attempt, context=self._clean_context.copy())
            return
        if command.status == Status.TIMEOUT:
            attempt.stack = self._stack_of(attempt)
        attempt.cancel(command)

    def _tell_stack(self, attempt: Attempt) -> None:
        if self._running.get(attempt.command.key) is attempt:
            self.send(wire.StackTold(*attempt.command.key, self._stack_of(attempt) or attempt.stack))

    def _configure(self, command: wire.Configure) -> None:
        self.worker, self.spill_dir, self._log_path = command.worker, command.spill_dir, command.log_path
        self.captures = command.capture
        if command.log_path is not None:
            enable_fault_handler(self._streams.log.open(command.log_path))
        if command.marks_path is not None:
            with contextlib.suppress(OSError, ValueError):
                self._marks = StartMarks(Path(command.marks_path))
        if command.results_path is not None:
            with contextlib.suppress(OSError):
                self._results = ResultLog(Path(command.results_path))
        if command.crumbs_path is not None:
            with contextlib.suppress(OSError, ValueError):
                self._steps.crumbs.open(Path(command.crumbs_path))
        note_endings(self._steps.crumbs, self._streams.log.write)
        self._interrupts.install()
        sys.argv = [command.root]
        project = Project(command, self._run_to_end)
        project.enter()
        self._catalog = Catalog(project, self._run_to_end)

    def soon(self, callback: Callable[[], None]) -> None:
        """Call back in the next turn of the loop, outside of any case's context."""
        self._loop.call_soon(callback, context=self._clean_context)

    def mark(self, key: wire.RunKey) -> bool:
        """Mark an attempt as begun, where the coordinator will see it even if this process dies now."""
        if self._marks is None:
            return False
        self._marks.add(key)
        return True

    def _run_to_end(self, awaitable: Awaitable[Any]) -> Any:
        """Run something awaitable of a file that is being loaded, on the loop that agents will run on."""

        async def wait() -> Any:
            return await awaitable

        return self._loop.run_until_complete(wait())

    # Files

    def _run_blocking(self) -> None:
        command, self._blocking = self._blocking, None
        if command is None or self._catalog is None:
            return
        before, running = Snapshot(), self._leftovers.running()
        asyncio.set_event_loop(self._loop)
        output = Output()
        log_start = self._streams.log.size
        token = current_output.set(output)
        try:
            with self._steps.importing(command.file):
                if isinstance(command, wire.Load):
                    self._load(self._catalog, command, output, log_start)
                else:
                    self._use(self._catalog, command)
        finally:
            current_output.reset(token)
            output.is_open = False
        self._streams.install()
        if self._running:
            self._hygiene.absorb(before)
        else:
            self._hygiene.forget()
        self._leftovers.learn(running)
        self._loop.call_soon(self._carry_out)

    def _load(self, catalog: Catalog, command: wire.Load, output: Output, log_start: int) -> None:
        try:
            loaded = catalog.load(command)
            count = 0
            for case in loaded.planner.cases():
                self.send(wire.CaseFound(file=command.file, case=case))
                count += 1
        except LoadError as error:
            self._load_failed(command, error, self._printed(output, log_start))
        except EvalEngineError as error:
            self._load_failed(command, LoadError(str(error)), self._printed(output, log_start))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this file's
            broken = LoadError(failures.one_line(error))
            broken.__cause__ = error
            self._load_failed(command, broken, self._printed(output, log_start))
        else:
            self.send(
                wire.FileLoaded(
                    file=command.file,
                    spec=loaded.spec,
                    cases=count,
                    warnings=[*loaded.warnings, *loaded.planner.warnings],
                    has_entry_point=loaded.has_entry_point,
                    output=self._printed(output, log_start),
                    needs_model=loaded.needs_model,
                )
            )

    def _load_failed(self, command: wire.Load, error: LoadError, output: str) -> None:
        cause = error.__cause__
        self.send(
            wire.FileFailed(
                file=command.file,
                error=error.error,
                traceback=None if cause is None or error.configuration else failures.describe(cause).traceback,
                output=output,
                configuration=error.configuration,
            )
        )

    def _use(self, catalog: Catalog, command: wire.UseFile) -> None:
        try:
            self._files[command.file] = catalog.use(command.spec)
        except LoadError as error:
            self._files[command.file] = error
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this file's
            broken = self._files[command.file] = LoadError(failures.one_line(error))
            broken.__cause__ = error

    def _printed(self, output: Output, log_start: int) -> str:
        """Return what was printed since, with what came by way of the log where nothing else ran."""
        text = output.text()
        if not self._running and self._streams.log.size > log_start:
            text += self._streams.log.since(log_start, self._log_path)
        return text

    # Cases

    def _take_case(self, command: wire.RunCase) -> None:
        if self._results is not None:
            self._results.taken(command.taken)
        if command.standby:
            self._standby[command.key] = command
        else:
            self._run_case(command)

    def _begin_case(self, key: wire.RunKey) -> None:
        command = self._standby.pop(key, None)
        if command is not None:
            self._run_case(command)

    def next_key(self) -> wire.RunKey | None:
        """Return the attempt that is to take the place of one that ends; None where none stands by."""
        return next(iter(self._standby), None) if self._results is not None else None

    def conclude(self, message: wire.Finished) -> None:
        """Send a result, and go on with the attempt that takes its place.

        The result is on disk first. It leaves first, too, unless the next agent cannot keep it: one that runs in a
        thread.
        """
        framed = self._link.framed(message)
        following = self._standby.pop(message.next, None) if message.next is not None else None
        if self._results is not None and not self._results.append(framed):
            # What cannot be kept is sent, and from here on each start waits for the coordinator.
            self._results = None
        if following is None:
            self._link.send_now(framed)
        elif self._results is not None and self._runs_in_thread(following):
            self._run_case(following)
            self._link.send_framed(framed)
        else:
            self._link.send_now(framed)
            self._run_case(following)

    def _runs_in_thread(self, command: wire.RunCase) -> bool:
        file = self._files.get(command.file)
        return isinstance(file, FileInUse) and file.agent.is_sync and file.spec.sync_agents != "serial"

    def _run_case(self, command: wire.RunCase) -> None:
        file = self._files.get(command.file)
        if file is None or isinstance(file, LoadError):
            self._refuse(command, file or LoadError(f"file {command.file} was not announced to this worker"))
            return
        attempt = Attempt(command, file, self)
        self._running[command.key] = attempt
        task = self._loop.create_own_task(attempt.run(), self._clean_context.copy())
        attempt.start(task)

    def _refuse(self, command: wire.RunCase, error: LoadError) -> None:
        """Answer for a case whose file could be loaded elsewhere but not here."""
        self.send(wire.Started(case=command.case, repeat=command.repeat, attempt=command.attempt))
        result = outcomes.identified(command, None, self.worker)
        outcomes.add_case(result, wire.decode_case(command.payload))
        result.error = f"worker {self.worker} cannot use the file: {error.error}"
        if error.__cause__ is not None:
            result.traceback = failures.describe(error.__cause__).traceback
        message = outcomes.finished(command, outcomes.encode(result), self.spill_dir, 0)
        self.conclude(msgspec.structs.replace(message, next=self.next_key()))

    def begin(self, attempt: Attempt) -> None:
        """Take note that an attempt's own code runs from here."""
        if self._begun:
            attempt.is_alone = False
            for key in self._begun:
                self._running[key].is_alone = False
        else:
            self._hygiene.begin()
            self._loop_settings = self._loop.settings()
            attempt.log_start, attempt.log_writes = self._streams.log.size, self._streams.log.writes
            attempt.found = (self._leftovers.threads(), self._leftovers.children())
        self._begun.add(attempt.command.key)
        self._steps.begin(attempt.command.key)

    def _stack_of(self, attempt: Attempt) -> str:
        thread = self._steps.crumbs.thread_of(word_of(attempt.command.key))
        return stacks.of_attempt(attempt.task, attempt.tasks, thread)

    def end(self, attempt: Attempt, result: EvalCaseResult) -> int:
        """Take note that an attempt is over; add notes and output; return what is left running here."""
        key = attempt.command.key
        del self._running[key]
        if key not in self._begun:
            return 0
        self._begun.discard(key)
        attempt.robbed_s = self._steps.end(key)
        self._add_stack(attempt, result)
        attempt.output.is_open = False
        result.output = attempt.output.text()
        nobody_else_wrote = attempt.is_alone and self._streams.log.writes == attempt.log_writes
        if nobody_else_wrote and self._streams.log.size > attempt.log_start:
            result.output += self._streams.log.since(attempt.log_start, self._log_path)
        threads, children = self._leftovers.threads(), self._leftovers.children()
        if attempt.is_cancelled:
            threads += busy_pool_threads(self._loop)
        if attempt.is_alone:
            for what, left in zip(_LEFT, (threads - attempt.found[0], children - attempt.found[1]), strict=True):
                if left > 0:
                    result.notes.append(f"left {left} {what[left > 1]} running")
        if self._begun:
            self._streams.mend()
        else:
            self._settle(attempt, result)
        return attempt.stubborn_tasks + threads + children

    def _add_stack(self, attempt: Attempt, result: EvalCaseResult) -> None:
        """Say where a case was when its time was over: interrupted, or cancelled."""
        stack = self._interrupts.taken(word_of(attempt.command.key))
        if stack is not None and result.status is not Status.TIMEOUT:
            result.passed, result.status = False, Status.TIMEOUT
            result.error = "its time was over"
        if result.status is Status.TIMEOUT:
            result.traceback = stack or attempt.stack or None

    def _settle(self, attempt: Attempt, result: EvalCaseResult) -> None:
        try:
            changes = self._hygiene.settle()
        except Exception as error:  # noqa: BLE001 - user code broke what looking at the process needs
            problem = f"left its process in a state that cannot be undone: {failures.one_line(error)}"
            result.notes.append(f"{problem}; the worker was replaced")
            self._loop.call_soon(self.break_off, error)
            return
        if self._loop.settings() != self._loop_settings:
            self._loop.restore(self._loop_settings)
            changes.append("changed settings of the event loop; restored")
        if attempt.is_alone:
            result.notes += changes
        else:
            for change in changes:
                self.send(wire.Notice(text=f"worker {self.worker}: one of several cases at once {change}"))

    def break_off(self, error: BaseException) -> None:
        """End this process, which user code has made unfit, after what is said already; never returns."""
        try:
            self._streams.log.write(f"the worker cannot go on: {failures.describe(error).traceback}\n")
            self._link.flush_now(_GOODBYE_WAIT_S)
        finally:
            _exit(BROKEN)
