"""A descriptor that text goes to: it takes what it can take now, and nobody waits for the rest.

Rules: the blocking mode of a descriptor that others share is never changed. A regular file takes everything; a pipe
that has room takes one atomic write; a terminal is opened anew, without blocking, where that is possible.
"""

import contextlib
import os
import select
import stat
import sys
from typing import TextIO

_UNSURE_BYTES = 512
"""What anything that says it has room is thought to take."""


class Outlet:
    """The descriptor of a stream. Every method may raise OSError: nobody reads, nothing is left to write to."""

    def __init__(self, stream: TextIO) -> None:
        """Take a stream's descriptor; raises OSError or ValueError where it has none that can be asked."""
        if sys.platform == "win32":
            raise ValueError("pipes of this system cannot be asked whether they have room")
        stream.flush()
        self._descriptor = stream.fileno()
        self._own: int | None = None
        self._most = _most_at_once(self._descriptor)
        self.is_terminal = os.isatty(self._descriptor)
        if self.is_terminal:
            with contextlib.suppress(OSError):
                path = os.ttyname(self._descriptor)
                self._own = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)

    def offer(self, data: bytes | memoryview) -> int:
        """Write as much as goes without waiting; return how many bytes went."""
        descriptor = self._descriptor if self._own is None else self._own
        sent = 0
        while sent < len(data):
            if self._own is None and self._most is not None and not self.has_room():
                break
            most = len(data) if self._most is None else sent + self._most
            try:
                sent += os.write(descriptor, data[sent:most])
            except BlockingIOError:  # Whoever shares the descriptor may have set it so.
                break
        return sent

    def has_room(self, wait_s: float = 0.0) -> bool:
        """Tell whether something can be written, within so many seconds."""
        try:
            return bool(select.select([], [self._descriptor], [], wait_s)[1])
        except ValueError:  # A number beyond what select can ask about.
            return True

    def widen(self, size: int) -> None:
        """Let a pipe hold so many bytes more, where the system lets it: they outlast this process then."""
        with contextlib.suppress(ImportError, AttributeError, OSError):
            import fcntl

            now = fcntl.fcntl(self._descriptor, fcntl.F_GETPIPE_SZ)
            fcntl.fcntl(self._descriptor, fcntl.F_SETPIPE_SZ, now + size)

    def close(self) -> None:
        """Give back what was opened here; the stream's own descriptor stays."""
        own, self._own = self._own, None
        if own is not None:
            with contextlib.suppress(OSError):
                os.close(own)


def _most_at_once(descriptor: int) -> int | None:
    """Return what a descriptor with room takes without blocking; None for everything."""
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return None
    return select.PIPE_BUF if stat.S_ISFIFO(mode) else _UNSURE_BYTES
