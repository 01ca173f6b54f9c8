"""The worker's end of its socket: frames in and out, on its own loop, never blocking it.

What is sent within one turn of the loop leaves in one write. While user code is imported the loop stands still;
then what piles up beyond a bound is written at once. The end of the stream means that the coordinator is gone.
"""

import asyncio
import contextvars
import os
import select
import socket
from collections.abc import Callable
from typing import NoReturn

import msgspec

from evalengine import wire
from evalengine.framing import FrameDecoder, FramingError, frame

_READ_BYTES = 256 * 1024
_MOST_PENDING_BYTES = 4 * 1024 * 1024

_exit = os._exit
_select = select.select
_encode = wire.encode
ORPHANED = wire.EXIT_ORPHANED
GARBLED = wire.EXIT_GARBLED
BROKEN = wire.EXIT_BROKEN


class Link:
    """Reads commands, hands them on in order, and writes messages."""

    def __init__(
        self, descriptor: int, loop: asyncio.AbstractEventLoop, on_commands: Callable[[list[wire.Command]], None]
    ) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._socket.setblocking(False)
        self._loop = loop
        self._on_commands = on_commands
        self.leave: Callable[[int], NoReturn] = _exit
        """Ends the process, with a code that says why."""
        self._decoder = FrameDecoder()
        self._outgoing = bytearray()
        self._flush_scheduled = False
        self._is_writing = False
        self._is_abandoned = False
        # What is written is nobody's: not in the context of the case that said it.
        self._context = contextvars.copy_context()
        self._drained: list[asyncio.Future[None]] = []
        loop.add_reader(self._socket, self._readable)
        os.register_at_fork(after_in_child=self._abandon)

    def _abandon(self) -> None:
        """In a fork that user code made: let go of the socket, which is the worker's alone."""
        self._is_abandoned = True
        self._socket.close()

    def send(self, message: wire.Message) -> None:
        """Queue a message; it leaves at the end of this turn of the loop."""
        self.send_framed(self.framed(message))

    def framed(self, message: wire.Message) -> bytes:
        """Return a message as it is sent."""
        return frame(_encode(message))

    def send_framed(self, framed: bytes) -> None:
        """Queue a message that is framed already."""
        if self._is_abandoned:
            _exit(ORPHANED)
        self._outgoing += framed
        if len(self._outgoing) > _MOST_PENDING_BYTES and not self._loop.is_running():
            self.flush_now(None)
        elif not self._flush_scheduled and not self._is_writing:
            self._flush_scheduled = True
            self._loop.call_soon(self._flush, context=self._context)

    def send_now(self, framed: bytes) -> None:
        """Send a message that somebody waits for; what is queued leaves with it."""
        self.send_framed(framed)
        if not self._is_writing:
            self._write_some()

    async def flushed(self) -> None:
        """Wait until everything that is queued has left this process; what is said next outlives its death."""
        while self._outgoing:
            drained = self._loop.create_future()
            self._drained.append(drained)
            await drained

    def _flush(self) -> None:
        self._flush_scheduled = False
        self._write_some()
        if not self._outgoing and self._drained:
            for waiting in self._drained:
                if not waiting.done():
                    waiting.set_result(None)
            self._drained.clear()
        if self._outgoing and not self._is_writing:
            self._is_writing = True
            self._loop.add_writer(self._socket, self._flush)
        elif not self._outgoing and self._is_writing:
            self._is_writing = False
            self._loop.remove_writer(self._socket)

    def _write_some(self) -> None:
        if not self._outgoing:
            return
        try:
            sent = self._socket.send(self._outgoing)
        except BlockingIOError:
            return
        except OSError:
            self.leave(ORPHANED)
        del self._outgoing[:sent]

    def flush_now(self, timeout_s: float | None) -> None:
        """Write everything that is queued, waiting at most ``timeout_s`` seconds for each piece."""
        while self._outgoing:
            if not _select([], [self._socket], [], timeout_s)[1]:
                return
            self._write_some()

    def _readable(self) -> None:
        if self._is_abandoned:
            _exit(ORPHANED)
        try:
            data = self._socket.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.leave(ORPHANED)
        try:
            commands = [wire.decode_command(payload) for payload in self._decoder.feed(data)]
        except (FramingError, msgspec.MsgspecError):
            # Somebody wrote to our socket, or read from it: nothing on it can be trusted any more.
            self.leave(GARBLED)
        self._on_commands(commands)
