"""An output stream that cannot hurt the run: whatever happens to it, it only falls silent.

Rules: a reader that left, a full device, a closed descriptor or an encoding that lacks a character never raises.
A stream that failed once is pointed at the null device, so that the interpreter's own flush at exit is quiet too.
A reader that does not read is not waited for while a run goes on: some lines are kept for it, and of more the
oldest are left out, which it is told where they would have stood.
"""

import contextlib
import os
import time
from collections import deque
from typing import Any, TextIO

from evalengine.report.outlet import Outlet

PATIENCE_S = 5.0
"""How long a reader may take nothing at the end, before what is left is given up."""
TERMINAL_PATIENCE_S = 10.0
"""The same for a terminal: somebody may have stopped it, to read."""
_MOST_WAITING_BYTES = 384 * 1024


class SafeStream:
    """Buffers lines for a stream, and writes them in one go."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._pending: list[str] = []
        self._encoding = getattr(stream, "encoding", None) or "utf-8"
        self._outlet: Outlet | None = None
        self._is_asked = False
        self._waiting: deque[memoryview] = deque()
        self._waiting_bytes = 0
        self._left_out = 0
        self.lost_lines = 0
        """How many lines were never written, because nobody read."""

    @property
    def pending(self) -> int:
        """How many pieces wait to be written."""
        return len(self._pending)

    def line(self, text: str = "") -> None:
        """Take a line; it is written at the next flush."""
        self._pending.append(text)

    def flush(self) -> None:
        """Write everything, however long the reader takes; give the stream up where that fails."""
        self.settle(patience_s=None)

    def offer(self) -> None:
        """Write what the stream takes now; the rest waits for the next time."""
        self._take_pending()
        try:
            self._write_waiting()
        except OSError:
            self._give_up()

    def settle(self, patience_s: float | None = PATIENCE_S) -> None:
        """Write everything; give up after so many seconds in which nobody read, None for never."""
        self.offer()
        if not self._waiting or self._outlet is None:
            return
        if patience_s is not None:
            self._outlet.widen(self._waiting_bytes)
        try:
            self._write_waiting()
            give_up = _after(patience_s)
            while self._waiting and time.monotonic() < give_up:
                if self._outlet.has_room(0.2) and self._write_waiting():
                    give_up = _after(patience_s)
        except OSError:
            self._give_up()
        if self._waiting:
            self.lost_lines += sum(bytes(block).count(b"\n") for block in self._waiting)
            self._give_up()

    def offer_now(self, text: str) -> None:
        """Write a text that means nothing later: now, or not at all."""
        if self._waiting or self._stream is None:
            return
        self._open()
        try:
            if self._outlet is None:
                self._write_plainly(text)
            else:
                self._outlet.offer(self._encodable(text).encode(self._encoding))
        except (OSError, ValueError):
            self._give_up()

    def _take_pending(self) -> None:
        if not self._pending:
            return
        text = "\n".join(self._pending) + "\n"
        self._pending.clear()
        if self._stream is None:
            return
        self._open()
        if self._outlet is None:
            try:
                self._write_plainly(text)
            except (OSError, ValueError):
                self._give_up()
            return
        self._keep(self._encodable(text).encode(self._encoding))

    def _open(self) -> None:
        if not self._is_asked and self._stream is not None:
            self._is_asked = True
            with contextlib.suppress(OSError, ValueError, AttributeError):
                self._outlet = Outlet(self._stream)

    def _keep(self, block: bytes) -> None:
        """Let a block wait; the oldest that are not half written make room for it."""
        self._waiting.append(memoryview(block))
        self._waiting_bytes += len(block)
        while self._waiting_bytes > _MOST_WAITING_BYTES and len(self._waiting) > 2:  # noqa: PLR2004 - one is being written
            dropped = self._waiting[1]
            del self._waiting[1]
            self._waiting_bytes -= len(dropped)
            self._left_out += bytes(dropped).count(b"\n")

    def _write_waiting(self) -> bool:
        """Write what goes now; tell whether anything went."""
        moved = False
        while self._waiting and self._outlet is not None:
            block = self._waiting[0]
            sent = self._outlet.offer(block)
            self._waiting_bytes -= sent
            moved = moved or sent > 0
            if sent < len(block):
                self._waiting[0] = block[sent:]
                break
            self._waiting.popleft()
            self._tell_left_out()
        return moved

    def _tell_left_out(self) -> None:
        """Say of blocks that were dropped how many lines they were, where they would have stood."""
        if self._left_out:
            self.lost_lines += self._left_out
            note = f"... {self._left_out} lines left out: nobody read them in time\n".encode(self._encoding)
            self._left_out = 0
            self._waiting.appendleft(memoryview(note))
            self._waiting_bytes += len(note)

    def _write_plainly(self, text: str) -> None:
        assert self._stream is not None
        self._stream.write(self._encodable(text))
        self._stream.flush()

    def _encodable(self, text: str) -> str:
        try:
            text.encode(self._encoding)
        except UnicodeError:
            for character, plain in (("≥", ">="), ("…", "..."), ("→", "->")):
                text = text.replace(character, plain)
            return text.encode(self._encoding, "backslashreplace").decode(self._encoding)
        return text

    def close(self) -> None:
        """Give back what was opened; the stream itself stays."""
        outlet, self._outlet = self._outlet, None
        self._is_asked = False
        if outlet is not None:
            outlet.close()

    def _give_up(self) -> None:
        stream, self._stream = self._stream, None
        self._waiting.clear()
        self._waiting_bytes = self._left_out = 0
        self.close()
        with contextlib.suppress(OSError, ValueError, AttributeError):
            assert stream is not None
            descriptor = stream.fileno()
            os.fstat(descriptor)  # A closed number may be anybody's by the time it is reused.
            null = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(null, descriptor)
            finally:
                os.close(null)


def _after(patience_s: float | None) -> float:
    return float("inf") if patience_s is None else time.monotonic() + patience_s


class Glimpses:
    """A file for what is only worth seeing now, as a bar is: nothing waits for a stream that does not take it."""

    def __init__(self, stream: TextIO, safe: SafeStream) -> None:
        self._stream = stream
        self._safe = safe

    def write(self, text: str) -> int:
        """Write the text, or drop it."""
        self._safe.offer_now(text)
        return len(text)

    def flush(self) -> None:
        """Do nothing: nothing is kept back."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
