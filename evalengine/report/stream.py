"""An output stream that cannot hurt the run: whatever happens to it, it only falls silent.

Rules: a reader that left, a full device, a closed descriptor or an encoding that lacks a character never raises.
A stream that failed once is pointed at the null device, so that the interpreter's own flush at exit is quiet too.
"""

import contextlib
import os
from typing import TextIO


class SafeStream:
    """Buffers lines for a stream, and writes them in one go."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._pending: list[str] = []
        self._encoding = getattr(stream, "encoding", None) or "utf-8"

    @property
    def pending(self) -> int:
        """How many pieces wait to be written."""
        return len(self._pending)

    def line(self, text: str = "") -> None:
        """Take a line; it is written at the next flush."""
        self._pending.append(text)

    def flush(self) -> None:
        """Write what waits; give the stream up where that fails."""
        if not self._pending:
            return
        text = "\n".join(self._pending) + "\n"
        self._pending.clear()
        if self._stream is None:
            return
        try:
            self._stream.write(self._encodable(text))
            self._stream.flush()
        except (OSError, ValueError):
            self._give_up(self._stream)

    def _encodable(self, text: str) -> str:
        try:
            text.encode(self._encoding)
        except UnicodeError:
            for character, plain in (("≥", ">="), ("…", "..."), ("→", "->")):
                text = text.replace(character, plain)
            return text.encode(self._encoding, "backslashreplace").decode(self._encoding)
        return text

    def _give_up(self, stream: TextIO) -> None:
        self._stream = None
        with contextlib.suppress(OSError, ValueError, AttributeError):
            descriptor = stream.fileno()
            os.fstat(descriptor)  # A closed number may be anybody's by the time it is reused.
            null = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(null, descriptor)
            finally:
                os.close(null)
