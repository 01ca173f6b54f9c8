"""What a worker finished last, in a file of its own: on disk before the worker goes on to its next case by itself.

Each entry is the frame that also goes to the coordinator. Who reads the file, after the worker or the coordinator
died, takes from it what it had not been told. Once all of it has been taken, the worker starts the file anew.
"""

import os
from pathlib import Path

from evalengine.framing import FrameDecoder, FramingError

_KEEP_BYTES = 1024 * 1024
"""A file shorter than this is not worth starting anew."""


def read(path: Path) -> list[bytes]:
    """Return the payloads in the file, without a torn last one; none where there is no such file."""
    try:
        return FrameDecoder().feed(path.read_bytes())
    except (OSError, FramingError):
        return []


class ResultLog:
    """The worker's side of the file."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._size = 0
        self._count = 0
        self._write = os.write
        self._truncate = os.ftruncate

    def append(self, framed: bytes) -> bool:
        """Add a frame; tell whether it is in the file whole."""
        self._count += 1
        try:
            written = self._write(self._descriptor, framed)
            if written == len(framed):
                self._size += written
                return True
            self._truncate(self._descriptor, self._size)
        except OSError:
            pass
        return False

    def taken(self, count: int) -> None:
        """Take that so many of all that were ever to be added are known elsewhere."""
        if self._size > _KEEP_BYTES and count == self._count:
            try:
                self._truncate(self._descriptor, 0)
            except OSError:
                return
            self._size = 0
