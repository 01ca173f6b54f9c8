"""The coordinator's end of a worker's private socket: frames in and out, never blocking.

Frames sent within one turn of the loop leave in one write. A stream that is no longer ours, an unreadable
message or the end of the stream closes the channel, once, with the reason.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence

import msgspec

from evalengine import wire
from evalengine.framing import FrameDecoder, FramingError, frame

_READ_BYTES = 256 * 1024
_READS_A_TURN = 16


class Channel:
    """One worker's socket on the loop."""

    def __init__(
        self,
        sock: socket.socket,
        loop: asyncio.AbstractEventLoop,
        on_messages: Callable[[Sequence[wire.Message]], None],
        on_closed: Callable[[str], None],
    ) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._loop = loop
        self._on_messages = on_messages
        self._on_closed = on_closed
        self._decoder = FrameDecoder()
        self._outgoing = bytearray()
        self._flush_scheduled = False
        self._writing = False
        self.is_open = True
        loop.add_reader(sock, self._readable)

    def send(self, command: wire.Command) -> None:
        """Queue a command; it leaves at the end of this turn of the loop."""
        if not self.is_open:
            return
        self._outgoing += frame(wire.encode(command))
        if not self._flush_scheduled and not self._writing:
            self._flush_scheduled = True
            self._loop.call_soon(self._flush)

    def flush(self) -> None:
        """Write what is queued now, where the socket takes it."""
        if self._outgoing and not self._writing:
            self._flush()

    def _flush(self) -> None:
        self._flush_scheduled = False
        if not self.is_open or not (self._outgoing or self._writing):
            return
        try:
            sent = self._sock.send(self._outgoing)
            del self._outgoing[:sent]
        except BlockingIOError:
            pass
        except OSError:
            # The reader tells of the end, after what the worker still had to say.
            self._outgoing.clear()
        if self._outgoing and not self._writing:
            self._writing = True
            self._loop.add_writer(self._sock, self._flush)
        elif not self._outgoing and self._writing:
            self._writing = False
            self._loop.remove_writer(self._sock)

    def _readable(self) -> None:
        self._read(_READS_A_TURN)

    def drain(self) -> None:
        """Read everything a dead worker had sent; its last messages count."""
        while self.is_open and self._read(_READS_A_TURN):
            pass

    def _read(self, most: int) -> bool:
        """Read at most so many times and deliver; tell whether there may be more."""
        messages: list[wire.Message] = []
        reason: str | None = None
        more = True
        for _ in range(most):
            try:
                data = self._sock.recv(_READ_BYTES)
                if not data:
                    reason = "its channel was closed"
                    break
                messages += map(wire.decode_message, self._decoder.feed(data))
                if len(data) < _READ_BYTES:
                    break
            except BlockingIOError:
                more = False
                break
            except (OSError, FramingError, msgspec.DecodeError, msgspec.ValidationError) as error:
                reason = f"its channel broke: {error}"
                break
        if messages:
            self._on_messages(messages)
        if reason is not None:
            self.close()
            self._on_closed(reason)
            return False
        return more

    def close(self) -> None:
        """Close the socket; nothing is called back after this."""
        if not self.is_open:
            return
        self.is_open = False
        self._loop.remove_reader(self._sock)
        if self._writing:
            self._loop.remove_writer(self._sock)
        with contextlib.suppress(OSError):
            self._sock.close()
