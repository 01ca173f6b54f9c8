"""Frames on a byte stream: a magic, a length, a payload. Pure: bytes in, payloads out.

A stream that does not start a frame with the magic, or announces more than the cap, is not ours any more:
the reader gives up on it instead of allocating what a stray write asked for.
"""

import struct

from evalengine.errors import EngineError

MAGIC = b"EVE1"
MAX_PAYLOAD_BYTES = 64 * 1024 * 1024
_HEADER = struct.Struct(">4sI")


class FramingError(EngineError):
    """The stream carries something else than frames."""


def frame(payload: bytes) -> bytes:
    """Return the payload with its header; raises FramingError where it is too long."""
    if len(payload) > MAX_PAYLOAD_BYTES:
        msg = f"a frame of {len(payload)} bytes is over the limit of {MAX_PAYLOAD_BYTES}"
        raise FramingError(msg)
    return _HEADER.pack(MAGIC, len(payload)) + payload


class FrameDecoder:
    """Cuts a stream into payloads, however it arrives in pieces."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def pending_bytes(self) -> int:
        """Bytes of a frame that is not complete yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes, return the payloads they complete; raises FramingError, and then is of no more use."""
        buffer = self._buffer
        buffer += data
        payloads: list[bytes] = []
        start, available = 0, len(buffer)
        while available - start >= _HEADER.size:
            magic, length = _HEADER.unpack_from(buffer, start)
            if magic != MAGIC or length > MAX_PAYLOAD_BYTES:
                msg = f"not a frame: starts with {bytes(magic)!r}, announces {length} bytes"
                raise FramingError(msg)
            end = start + _HEADER.size + length
            if end > available:
                break
            payloads.append(bytes(buffer[start + _HEADER.size : end]))
            start = end
        del buffer[:start]
        return payloads
