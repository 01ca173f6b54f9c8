"""The standard streams as the process has them, for a debugger: nothing is captured, and standard input is there.

What a case does to them is undone and told, as in a worker that captures. What has no stream to go to, such as the
last words of a case that ends the process, goes to descriptor 2.
"""

import io
import os
import sys
from contextlib import suppress
from typing import Any

from evalengine_worker.capture import Log, Streams


class OwnStreams(Streams):
    """The streams that were there at the start."""

    def __init__(self) -> None:
        self.log = _Descriptors()
        self._own: list[Any] = [sys.stdin, sys.stdout, sys.stderr]

    def install(self) -> bool:
        """Make them the standard streams; tell whether something else was. What is printed so far is seen now."""
        found = [sys.stdin, sys.stdout, sys.stderr]
        for number, stream in enumerate(self._own):
            if stream is not None and stream.closed:
                self.log.reconnect()
                self._own[number] = _opened_again(number, stream)
        sys.stdin, sys.stdout, sys.stderr = self._own
        for stream in self._own[1:]:
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        return any(one is not other for one, other in zip(found, self._own, strict=True))


def _opened_again(number: int, stream: Any) -> Any:
    mode = "w" if number else "r"
    encoding, errors = getattr(stream, "encoding", "utf-8"), getattr(stream, "errors", None)
    return io.open(number, mode, encoding=encoding, errors=errors, closefd=False)  # noqa: UP020 - builtins.open may be the user's


class _Descriptors(Log):
    """No log of its own; it knows what descriptors 0 to 2 were."""

    def __init__(self) -> None:
        super().__init__()
        self._saved = [os.dup(descriptor) for descriptor in (0, 1, 2)]
        self._identities = [_identity(descriptor) for descriptor in (0, 1, 2)]
        os.register_at_fork(after_in_child=self._abandon)

    def _abandon(self) -> None:
        """In a fork that user code made: hold nothing open that it does not know of."""
        for descriptor in self._saved:
            os.close(descriptor)
        self._saved = []

    def reconnect(self) -> bool:
        """Put back what user code closed or replaced; tell whether it had."""
        taken = [number for number in range(len(self._saved)) if _identity(number) != self._identities[number]]
        for number in taken:
            os.dup2(self._saved[number], number, inheritable=True)
        return bool(taken)


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino
