"""Seven tasks for two workers: the first meets a fault, six nap and return a value of their own.

Pools import this module; an agent of ours has a copy of its text beside it. So it imports the standard library
alone, and nothing in it knows which pool runs it. Each start is noted in a file, by one write that nothing tears.
"""

import ctypes
import fcntl
import itertools
import os
import signal
import socket
import stat
import struct
import sys
import termios
import threading
import time
from pathlib import Path

TASKS = 7
NAP_S = 0.4
BEFORE_S = 0.1
"""What passes before the fault: a neighbour runs then."""
LONG_S = 60
SMALL_BUFFER_BYTES = 16 * 1024
"""What our sockets hold once a task is to die in the middle of a frame."""
LONG_PIECE_BYTES = 256 * 1024
"""What is longer is the frame: nothing else that is sent is."""
TOLD = "killed in a frame"


class NotRebuiltError(Exception):
    """An exception whose class cannot be called with its own arguments, as unpickling does."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def own_value(number: int) -> str:
    """Return what a task must return."""
    return f"own value {number}"


def perform(fault: str, number: int, log: str, size: int) -> str:
    """Run one task; ``size`` is how many characters are returned where a frame must be long."""
    note(log, f"start {number}")
    time.sleep(NAP_S if number else BEFORE_S)
    return own_value(number) if number else meet(fault, log, size)


def meet(fault: str, log: str, size: int) -> str:
    """Meet a fault; return the task's own value where it lets that happen."""
    if fault == "frame":
        die_in_a_frame(log)
        return own_value(0) + "." * size
    FAULTS[fault]()
    return own_value(0)


def note(log: str, words: str) -> None:
    """Add a line to the log."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{words}\n".encode())
    os.close(descriptor)


def _fork_and_die() -> None:
    if os.fork() == 0:
        time.sleep(LONG_S)
    os._exit(7)


def _raise() -> None:
    raise NotRebuiltError("one", "two")


FAULTS = {
    "segfault": lambda: ctypes.string_at(0),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "exit": lambda: os._exit(0),
    "fork_and_die": _fork_and_die,
    "not_rebuilt": _raise,
    "fork": os.fork,
}


def die_in_a_frame(log: str) -> None:
    """Have a thread kill the process while a long value is on its way out of it.

    A send to a blocking pipe or socket is seen in /proc. One that never blocks is not, but the bytes that wait in
    the socket are; its buffer is made small first, so that it holds the beginning of the frame only.
    """
    for descriptor in _streams():
        if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            with socket.socket(fileno=os.dup(descriptor)) as channel:
                channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL_BUFFER_BYTES)
    threading.Thread(target=_kill_when_sending, args=(log,), daemon=True).start()


def _kill_when_sending(log: str) -> None:
    end = time.monotonic() + LONG_S
    own = str(threading.get_native_id())
    for turn in itertools.count():
        if time.monotonic() > end:
            return
        if turn % 20 == 0:
            streams = _streams()
        where = _half_sent(streams) or _blocked(own)
        if where:
            note(log, f"{TOLD}: {where}")
            os.kill(os.getpid(), signal.SIGKILL)


def _streams() -> list[int]:
    """Return the descriptors of all sockets and pipes of this process, the standard ones left out."""
    found = []
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - the names are what is wanted
        try:
            mode = os.fstat(int(name)).st_mode
        except OSError:
            continue
        if int(name) > 2 and (stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)):
            found.append(int(name))
    return found


def _blocked(own: str) -> str:
    """Tell of a thread that is blocked in writing a long piece."""
    for thread in Path("/proc/self/task").iterdir():
        try:
            words = [] if thread.name == own else (thread / "syscall").read_text().split()
        except OSError:
            continue
        if len(words) > 3 and int(words[0]) in _WRITES and int(words[3], 16) > LONG_PIECE_BYTES:
            return f"blocked in system call {words[0]}"
    return ""


_WRITES = {1, 44} if os.uname().machine == "x86_64" else {64, 206}
"""The numbers of write and sendto."""


def _half_sent(streams: list[int]) -> str:
    """Tell of a socket in which the beginning of something long waits."""
    for descriptor in streams:
        try:
            waiting = struct.unpack("i", fcntl.ioctl(descriptor, termios.TIOCOUTQ, b"\0" * 4))[0]
        except OSError:
            continue
        if waiting > SMALL_BUFFER_BYTES // 2:
            return f"{waiting} bytes wait in a socket"
    return ""


if sys.platform != "linux":
    raise ImportError("the faults are provoked by means of /proc")
