"""Which attempts a worker began last, in a small file that both sides map: a microsecond to write.

A worker marks an attempt before its code runs. The Started frame tells the same, but it may still lie in the worker
when the worker dies, or when user code blocks its loop; then the coordinator reads the marks. The file is a ring of
slots: a mark stays until thousands of later ones have taken its place, also when its attempt is over, so that only
attempts are looked for whose frames did not come.
"""

import mmap
import os
import struct
from pathlib import Path

SLOTS = 4096

_SLOT = struct.Struct("<IIQ")

Mark = tuple[int, int, int]
"""(case, repeat, attempt)."""


def make_file(path: Path) -> None:
    """Make the file for a worker: no marks, no disk used yet."""
    with path.open("wb") as file:
        file.truncate(SLOTS * _SLOT.size)


def read(path: Path) -> list[Mark]:
    """Return the marks in the file, of a worker that lives or has died; none where there is no such file."""
    try:
        data = path.read_bytes()
    except OSError:
        return []
    size = len(data) - len(data) % _SLOT.size
    return [(case - 1, repeat, attempt) for case, repeat, attempt in _SLOT.iter_unpack(data[:size]) if case]


class StartMarks:
    """The worker's side of the file."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            self._map = mmap.mmap(descriptor, SLOTS * _SLOT.size)
        finally:
            os.close(descriptor)
        self._next = 0

    def add(self, mark: Mark) -> None:
        """Mark an attempt as begun."""
        case, repeat, attempt = mark
        _SLOT.pack_into(self._map, self._next * _SLOT.size, case + 1, repeat, attempt)
        self._next = (self._next + 1) % SLOTS
