"""What user code prints: attributed to the case it runs for, else to the worker's log.

``sys.stdout`` and ``sys.stderr`` are routers. A write from Python goes by context variable into the buffer of its
case, or of the file being imported; from anywhere else (threads without a case, a case that has ended) into the
log. What C code and child processes write goes to the log by itself, being descriptors 1 and 2.
"""

import io
import os
import sys
from collections import deque
from contextvars import ContextVar
from typing import Any

from evalengine_worker.plain import clean_text

HEAD_CHARACTERS = 32 * 1024
TAIL_CHARACTERS = 32 * 1024

_getpid = os.getpid
_write = os.write


class Output:
    """What one case printed: its head and its tail, bounded, and a mark for what is missing between them."""

    __slots__ = ("_head", "_head_left", "_skipped", "_tail", "_tail_size", "is_open")

    def __init__(self) -> None:
        self._head: list[str] = []
        self._head_left = HEAD_CHARACTERS
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._skipped = 0
        self.is_open = True

    def write(self, text: str) -> None:
        """Add text."""
        if self._head_left:
            kept = text[: self._head_left]
            self._head.append(kept)
            self._head_left -= len(kept)
            text = text[len(kept) :]
        if text:
            self._add_to_tail(text)

    def _add_to_tail(self, text: str) -> None:
        if len(text) > TAIL_CHARACTERS:
            self._skipped += len(text) - TAIL_CHARACTERS
            text = text[-TAIL_CHARACTERS:]
        self._tail.append(text)
        self._tail_size += len(text)
        while self._tail and self._tail_size - len(self._tail[0]) >= TAIL_CHARACTERS:
            dropped = len(self._tail.popleft())
            self._tail_size -= dropped
            self._skipped += dropped

    def text(self) -> str:
        """Return what was printed, as UTF-8 can carry it."""
        head = "".join(self._head)
        if not self._tail:
            return clean_text(head)
        mark = f"\n... {self._skipped} characters left out ...\n" if self._skipped else ""
        return clean_text(f"{head}{mark}{''.join(self._tail)}")


current_output: ContextVar[Output | None] = ContextVar("evalengine_output", default=None)


class Log:
    """The worker's own log file, on descriptors 1 and 2 and on one that user code does not know."""

    def __init__(self) -> None:
        self.writes = 0
        """How often Python-level text came here that belongs to no case; it may come while some case runs."""
        self._descriptor = 2
        self._identity: tuple[int, int] | None = None

    def open(self, path: str) -> int:
        """Send descriptors 1 and 2 to the file; return a descriptor of it."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o644)
        self._descriptor = descriptor
        status = os.fstat(descriptor)
        self._identity = (status.st_dev, status.st_ino)
        self._connect()
        return descriptor

    def _connect(self) -> None:
        for descriptor in (1, 2):
            os.dup2(self._descriptor, descriptor, inheritable=True)

    def reconnect(self) -> bool:
        """Give descriptors 1 and 2 back to the log where user code took them; tell whether it had."""
        if self._identity is None or all(self._is_log(descriptor) for descriptor in (1, 2)):
            return False
        self._connect()
        return True

    def _is_log(self, descriptor: int) -> bool:
        try:
            status = os.fstat(descriptor)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def write(self, text: str) -> None:
        """Append text; a log that cannot be written loses it."""
        self.writes += 1
        data = text.encode("utf-8", "backslashreplace")
        try:
            while data:
                data = data[_write(self._descriptor, data) :]
        except OSError:
            pass

    @property
    def size(self) -> int:
        """Bytes in the log; 0 where there is none."""
        if self._identity is None:
            return 0
        try:
            return os.fstat(self._descriptor).st_size
        except OSError:
            return 0

    def since(self, start: int, path: str | None) -> str:
        """Return what was added since the log had ``start`` bytes, bounded."""
        most = HEAD_CHARACTERS + TAIL_CHARACTERS
        try:
            with io.open(path or "", "rb") as file:  # noqa: UP020 - builtins.open may be the user's
                file.seek(max(start, self.size - most))
                return clean_text(file.read(most).decode(errors="replace"))
        except OSError:
            return ""


class _Bytes(io.RawIOBase):
    """The ``buffer`` of a router: bytes written to it are routed as text."""

    def __init__(self, router: "Router") -> None:
        self._router = router

    def write(self, data: Any) -> int:
        """Route bytes."""
        content = bytes(data)
        self._router.write(content.decode(errors="replace"))
        return len(content)

    def writable(self) -> bool:
        """Say that it is."""
        return True

    def fileno(self) -> int:
        """Return the descriptor that child processes write to."""
        return self._router.fileno()

    def close(self) -> None:
        """Stay open: the next case writes here too."""


class Router(io.TextIOBase):
    """A standard stream that hands each write to the case it comes from. Closing it does nothing."""

    def __init__(self, descriptor: int, log: Log) -> None:
        self._descriptor = descriptor
        self._log = log
        self.buffer = _Bytes(self)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """What bytes of it are."""
        return "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        """How bytes that are none are read."""
        return "replace"

    def write(self, text: str) -> int:
        """Route text."""
        if not isinstance(text, str):
            msg = f"write() argument must be str, not {type(text).__name__}"
            raise TypeError(msg)
        output = current_output.get()
        if output is not None and output.is_open:
            output.write(text)
        else:
            self._log.write(text)
        return len(text)

    def writable(self) -> bool:
        """Say that it is."""
        return True

    def isatty(self) -> bool:
        """No terminal."""
        return False

    def fileno(self) -> int:
        """Return the descriptor that child processes write to."""
        return self._descriptor

    def reconfigure(self, **_: Any) -> None:
        """Accept what programs tell standard streams, and stay as it is."""

    def flush(self) -> None:
        """Keep nothing back."""

    def close(self) -> None:
        """Stay open: the next case writes here too."""


class Streams:
    """The standard streams of this process, and their way back after user code replaced them."""

    def __init__(self) -> None:
        self.log = Log()
        self._stdout = Router(1, self.log)
        self._stderr = Router(2, self.log)
        self._stdin = io.open(os.devnull, encoding="utf-8")  # noqa: UP020, SIM115
        self.install()

    def install(self) -> bool:
        """Make the routers the standard streams; tell whether something else was."""
        if sys.stdout is self._stdout and sys.stderr is self._stderr and sys.stdin is self._stdin:
            return False
        sys.stdout, sys.stderr, sys.stdin = self._stdout, self._stderr, self._stdin
        sys.__stdout__, sys.__stderr__, sys.__stdin__ = self._stdout, self._stderr, self._stdin  # type: ignore[misc,assignment]
        return True

    def mend(self) -> None:
        """Put the routers back where user code left no stream at all, or a closed one: others print there, too."""
        if any(stream is None or getattr(stream, "closed", False) is True for stream in (sys.stdout, sys.stderr)):
            self.install()


def close_stdin() -> None:
    """Put the null device on descriptor 0: reading from it ends at once."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0, inheritable=True)
    if null != 0:
        os.close(null)
