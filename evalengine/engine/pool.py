"""The pool: worker processes and their channels, as numbers to send to and events to hear from.

It starts, watches, kills and ends processes, and decides nothing. A worker's death is told once, after
everything it had sent was delivered.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Sequence
from typing import Any, Protocol

from evalengine import wire
from evalengine.engine.channel import Channel
from evalengine.engine.process import Death, Loss, WorkerFactory, describe_exit, kill_group, signal_group

_STATUS_WAIT_S = 0.2
_STATUS_POLL_S = 0.002
_CLOSED_CHANNEL_WAIT_S = 0.05
SHUTDOWN_GRACE_S = 2.0
"""How long a worker may take to end when it is told to."""


class PoolListener(Protocol):
    """Who hears of what workers say and how they end."""

    def on_messages(self, worker: int, messages: Sequence[wire.Message]) -> None:
        """Take what a worker said, in its order."""

    def on_lost(self, worker: int, loss: Loss) -> None:
        """Take that a worker died without being told to end, and how."""

    def on_stopped(self, worker: int) -> None:
        """Take that a worker ended as it was told."""


class _Member:
    """A worker process, its channel, and how it is ending."""

    def __init__(self, worker: int) -> None:
        self.worker = worker
        self.process: Any = None
        self.channel: Channel
        self.death: Death
        self.is_ending = False
        self.said_goodbye = False
        self.kill_reason: str | None = None
        self.is_dead = False


class Pool:
    """The worker processes of one run, on one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, factory: WorkerFactory, listener: PoolListener) -> None:
        self._loop = loop
        self._factory = factory
        self._listener = listener
        self._members: dict[int, _Member] = {}
        self._unsent: list[Channel] = []
        self._all_gone = asyncio.Event()

    @property
    def workers(self) -> list[int]:
        """The workers that are alive, ready or not."""
        return list(self._members)

    def start(self, worker: int) -> None:
        """Start a worker process; it says Ready when it is. Raises EngineError where none can be started."""
        ours, theirs = socket.socketpair()
        member = _Member(worker)
        with theirs:
            member.process = self._factory.start(theirs, f"evalengine-worker-{worker}")
        member.channel = Channel(
            ours,
            self._loop,
            lambda messages: self._heard(member, messages),
            lambda reason: self._channel_closed(member, reason),
        )
        member.death = Death(member.process, self._loop, lambda: self._died(member))
        self._members[worker] = member

    def send(self, worker: int, command: wire.Command) -> None:
        """Send a command; to a worker that is gone, nothing."""
        member = self._members.get(worker)
        if member is not None:
            member.channel.send(command)
            self._unsent.append(member.channel)

    def flush(self) -> None:
        """Let what was sent leave now, not at the end of this turn of the loop."""
        for channel in self._unsent:
            channel.flush()
        self._unsent.clear()

    def kill(self, worker: int, reason: str) -> None:
        """Kill a worker's process group; its loss is told with this reason."""
        member = self._members.get(worker)
        if member is not None and not member.is_dead:
            member.kill_reason = member.kill_reason or reason
            kill_group(member.process)

    def pid(self, worker: int) -> int | None:
        """Return the id of a worker's process, while it lives."""
        member = self._members.get(worker)
        return None if member is None or member.is_dead else member.process.pid

    def signal(self, worker: int, signum: int) -> None:
        """Send a worker's process a signal."""
        member, pid = self._members.get(worker), self.pid(worker)
        if member is not None and pid is not None and not member.death.signal(signum):
            with contextlib.suppress(OSError):
                os.kill(pid, signum)

    def signal_all(self, signum: int) -> None:
        """Send a signal to the process groups of all workers; may be called by a signal handler."""
        for member in list(self._members.values()):
            if not member.is_dead:
                signal_group(member.process, signum)

    def _heard(self, member: _Member, messages: Sequence[wire.Message]) -> None:
        if messages and isinstance(messages[-1], wire.Goodbye):
            member.said_goodbye = True
        self._listener.on_messages(member.worker, messages)

    def _channel_closed(self, member: _Member, reason: str) -> None:
        """Without a channel a worker is of no use; one that is ending gets the time to."""

        def end() -> None:
            if not member.is_dead:
                member.kill_reason = member.kill_reason or reason
                kill_group(member.process)

        self._loop.call_later(_CLOSED_CHANNEL_WAIT_S, end)

    def _died(self, member: _Member) -> None:
        member.is_dead = True
        member.channel.drain()
        member.channel.close()
        kill_group(member.process, is_dead=True)
        self._settle(member, self._loop.time() + _STATUS_WAIT_S)

    def _settle(self, member: _Member, give_up: float) -> None:
        """Wait for the exit status, which comes a moment after the death, and tell of the end."""
        exit_code = member.process.exitcode
        if exit_code is None and self._loop.time() < give_up:
            self._loop.call_later(_STATUS_POLL_S, self._settle, member, give_up)
            return
        pid = member.process.pid
        del self._members[member.worker]
        if exit_code is not None:
            member.process.close()
        if not self._members:
            self._all_gone.set()
        # A goodbye may be lost with a channel that had commands in it still.
        ended_as_told = member.said_goodbye or (member.is_ending and exit_code == 0)
        if ended_as_told and member.kill_reason is None:
            self._listener.on_stopped(member.worker)
        else:
            was_killed = member.kill_reason is not None
            cause = member.kill_reason or _cause(exit_code)
            self._listener.on_lost(member.worker, Loss(pid, cause, exit_code, was_killed))

    def stop(self, worker: int) -> None:
        """Tell a worker to end."""
        member = self._members.get(worker)
        if member is not None and not member.is_ending:
            member.is_ending = True
            self.send(worker, wire.Shutdown())
            self._loop.call_later(SHUTDOWN_GRACE_S, self._end_stopped, worker, member)

    def _end_stopped(self, worker: int, member: _Member) -> None:
        if self._members.get(worker) is member:
            self.kill(worker, f"it did not end within {SHUTDOWN_GRACE_S:g} s when told to")

    async def close(self, grace_s: float) -> None:
        """End all workers: told to, then killed after ``grace_s`` seconds; then the fork server."""
        for worker in self.workers:
            self.stop(worker)
        await self._wait_until_gone(grace_s)
        for worker in self.workers:
            self.kill(worker, "it did not end when told to")
        await self._wait_until_gone(grace_s)
        self._factory.close()

    async def _wait_until_gone(self, timeout_s: float) -> None:
        if not self._members:
            return
        self._all_gone.clear()
        await asyncio.wait([asyncio.ensure_future(self._all_gone.wait())], timeout=timeout_s)


_HINTS = {
    0: " without a word",
    wire.EXIT_ORPHANED: ", as a worker does that has lost its channel",
    wire.EXIT_GARBLED: ", as a worker does whose channel was written to or read from by others",
    wire.EXIT_BROKEN: ", as a worker does whose event loop, descriptors or built-in functions were taken from it",
}


def _cause(exit_code: int | None) -> str:
    return describe_exit(exit_code) + _HINTS.get(-1 if exit_code is None else exit_code, "")
