"""Whose code a worker runs at this instant, in a small file that both sides map: well under a microsecond to write.

The worker writes whose step its main thread is in, and since when; for each thread of an agent, whose it is; and
what a case did to its own process just before that process ended. The coordinator reads this after a death or at a
deadline, and writes one word: whom the main thread is to be interrupted for.

All of it is words of eight bytes, each written in one go. A word that names an attempt holds (case, repeat,
attempt), one that names the import of a file holds the file, and 0 is nobody.
"""

import mmap
import os
import signal
import struct
import threading
import time
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

_CURRENT, _SINCE, _MAIN, _NOTED, _NOTE, _WANTED, _RAISED = range(7)
_THREADS = 8
_MOST_THREADS = 124
_WORDS = _THREADS + 2 * _MOST_THREADS
_SIZE_BYTES = 8 * _WORDS
_LAYOUT = struct.Struct(f"={_WORDS}Q")

EXITED, SIGNALLED, REPLACED = 1, 2, 3
"""What a note says a case was about to do to its process: end it, send it a signal, run another program in it."""

_FIRST_REAL_TIME = getattr(signal, "SIGRTMIN", None)
INTERRUPT_SIGNAL = getattr(signal, "SIGUSR1", None) if _FIRST_REAL_TIME is None else _FIRST_REAL_TIME
"""Raises in the main thread of a worker, where the wanted attempt is what runs there."""
STACKS_SIGNAL = getattr(signal, "SIGUSR2", None) if _FIRST_REAL_TIME is None else _FIRST_REAL_TIME + 1
"""Has a worker write the stacks of its threads into its log, also while C code runs."""

Mark = tuple[int, int, int]
"""(case, repeat, attempt)."""

_now_ns = time.monotonic_ns
_get_ident = threading.get_ident


def word_of(mark: Mark) -> int:
    """Return the word that names an attempt."""
    case, repeat, attempt = mark
    return (case + 1) << 32 | (repeat & 0xFFFF) << 16 | attempt & 0xFFFF


def word_of_import(file: int) -> int:
    """Return the word that names the import of a file."""
    return file + 1


def is_import(word: int) -> bool:
    """Tell whether a word names the import of a file."""
    return 0 < word < 1 << 32


def _mark_of(word: int) -> Mark | None:
    return ((word >> 32) - 1, word >> 16 & 0xFFFF, word & 0xFFFF) if word >> 32 else None


class Trail(NamedTuple):
    """What stands in the file of a worker, as the coordinator reads it."""

    current: Mark | None = None
    """The attempt whose step the main thread is in."""
    importing: int | None = None
    """The file that the main thread imports."""
    since_s: float = 0.0
    """When that step began, by the monotonic clock."""
    main_thread: int = 0
    noted: Mark | None = None
    """Whose code was about to end the process, where it was an attempt's."""
    note: tuple[int, int] = (0, 0)
    """What that code was about to do, and the exit status or signal; (0, 0) where no code was."""
    raised: Mark | None = None
    """The attempt that the main thread was last interrupted for."""
    threads: dict[int, Mark] = {}
    """By thread, the attempt it was started for."""


def make_file(path: Path) -> None:
    """Make the file for a worker: nobody runs."""
    path.write_bytes(bytes(_SIZE_BYTES))


def read(path: Path) -> Trail:
    """Return what stands in the file, of a worker that lives or has died; nothing where there is no such file."""
    try:
        words = _LAYOUT.unpack(path.read_bytes())
    except (OSError, struct.error):
        return Trail()
    current = words[_CURRENT]
    threads = {
        words[place]: mark
        for place in range(_THREADS, _WORDS, 2)
        if words[place] and (mark := _mark_of(words[place + 1])) is not None
    }
    return Trail(
        current=_mark_of(current),
        importing=current - 1 if is_import(current) else None,
        since_s=words[_SINCE] / 1e9,
        main_thread=words[_MAIN],
        noted=_mark_of(words[_NOTED]),
        note=(words[_NOTE] >> 32, words[_NOTE] & 0xFFFFFFFF),
        raised=_mark_of(words[_RAISED]),
        threads=threads,
    )


def ask_to_interrupt(path: Path, word: int) -> bool:
    """Write what the main thread is to be interrupted in; the signal must follow. Tells whether it stands there."""
    try:
        with path.open("r+b", buffering=0) as file:
            file.seek(8 * _WANTED)
            file.write(struct.pack("=Q", word))
    except OSError:
        return False
    return True


class Breadcrumbs:
    """The worker's side. Of a fork that user code makes, nothing reaches the file."""

    def __init__(self, path: Path | None = None) -> None:
        """Map the file; without one what is written is seen by this process alone."""
        self.words: Any = memoryview(array("Q", bytes(_SIZE_BYTES)))
        self.is_abandoned = False
        """Whether this is a fork of the worker."""
        self.current = 0
        """The word of the main thread's step."""
        self._free = list(range(_WORDS - 2, _THREADS - 2, -2))
        self.threads: dict[int, int] = {}
        """By thread, the word of the attempt it was started for."""
        if path is not None:
            self.open(path)

    def open(self, path: Path) -> None:
        """Write to the file from here on."""
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        try:
            self.words = memoryview(mmap.mmap(descriptor, _SIZE_BYTES)).cast("Q")
        finally:
            os.close(descriptor)
        self.words[_MAIN] = threading.main_thread().ident or 0
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._abandon)

    def _abandon(self) -> None:
        self.is_abandoned = True
        self.words = memoryview(array("Q", bytes(_SIZE_BYTES)))

    def enter(self, word: int) -> int:
        """Begin a step of the main thread; return when, in nanoseconds."""
        words = self.words
        words[_CURRENT] = 0
        words[_SINCE] = begun = _now_ns()
        words[_CURRENT] = self.current = word
        return begun

    def leave(self, outer: int) -> None:
        """End a step, and go back to the one around it, or to nobody's (0)."""
        self.words[_CURRENT] = self.current = outer

    def enter_thread(self, word: int) -> int:
        """Say whose the calling thread is; return the place to leave."""
        self.threads[_get_ident()] = word
        try:
            place = self._free.pop()
        except IndexError:
            return -1
        words = self.words
        words[place + 1] = word
        words[place] = _get_ident()
        return place

    def leave_thread(self, place: int) -> None:
        """Say that the calling thread is nobody's any more."""
        self.threads.pop(_get_ident(), None)
        if place >= 0:
            self.words[place] = 0
            self._free.append(place)

    def thread_of(self, word: int) -> int | None:
        """Return the thread that runs for an attempt, where there is one."""
        return next((ident for ident, other in list(self.threads.items()) if other == word), None)

    def note(self, word: int, kind: int, number: int) -> bool:
        """Note what code of an attempt, or of nobody (0), is about to do to this process; tell whether it counts.

        It does not where another thread is about to end the process already, which nothing prevents any more.
        """
        if self.words[_NOTE] >> 32 == EXITED:
            return False
        self.words[_NOTED] = word
        self.words[_NOTE] = kind << 32 | number & 0xFFFFFFFF
        return True

    def clear_note(self) -> None:
        """Forget the note: the process lives on."""
        self.words[_NOTE] = 0

    @property
    def wanted(self) -> int:
        """The word of the attempt that is to be interrupted."""
        return int(self.words[_WANTED])

    def note_interrupt(self, word: int) -> None:
        """Note that the main thread was interrupted for an attempt."""
        self.words[_RAISED] = word


def fatal_signals() -> Iterable[int]:
    """Return the signals whose handler tells the stack of the thread that caught them, and then lets them kill."""
    names = ("SIGSEGV", "SIGFPE", "SIGABRT", "SIGBUS", "SIGILL")
    return frozenset(number for name in names if (number := getattr(signal, name, None)) is not None)
