"""What cases did to their process: undone when the worker is idle, and told.

The state is noted when a worker that ran nothing starts a case, and compared when it runs nothing again: with
several cases in flight nobody can tell whose change it was, and undoing it would pull the rug from under others.
What importing a file changed is meant, and stays.
"""

import _signal  # type: ignore[import-not-found]
import gc
import os
import signal
import sys
import warnings
from contextlib import suppress
from typing import Any

from evalengine_worker.capture import Streams

# signal.getsignal makes an enum of every answer, which takes longer than all the rest.
_signal_handler = _signal.getsignal
_SIGNALS = tuple(
    number
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGCHLD", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGQUIT")
    if (number := getattr(signal, name, None)) is not None
)
try:
    import resource
except ImportError:  # not on Windows
    _LIMITS: tuple[int, ...] = ()
else:
    _LIMITS = tuple(
        number
        for name in ("NOFILE", "AS", "DATA", "FSIZE", "STACK", "CPU", "NPROC")
        if (number := getattr(resource, f"RLIMIT_{name}", None)) is not None
    )
    _getrlimit = resource.getrlimit
_getitimer = getattr(signal, "getitimer", None)
_CAREFUL_UMASK = 0o077
_getcwd, _chdir, _umask = os.getcwd, os.chdir, os.umask


class Snapshot:
    """The state of a process that user code may change."""

    __slots__ = (
        "alarm",
        "collects",
        "environ",
        "filters",
        "folder",
        "handlers",
        "limits",
        "modules",
        "path",
        "recursion",
        "umask",
    )

    def __init__(self) -> None:
        self.folder = _folder()
        self.environ = _environ()
        self.path = sys.path[:]
        self.handlers = [_signal_handler(number) for number in _SIGNALS]
        self.alarm = _getitimer is not None and _getitimer(signal.ITIMER_REAL)[0] > 0
        self.limits = [_getrlimit(number) for number in _LIMITS]
        self.recursion = sys.getrecursionlimit()
        # The process has a careful mask for an instant; other threads may create files in it.
        self.umask = _umask(_CAREFUL_UMASK)
        _umask(self.umask)
        self.filters = warnings.filters[:]
        self.modules = len(sys.modules)
        self.collects = gc.isenabled()

    def equals(self, other: "Snapshot") -> bool:
        """Tell whether nothing differs that is anybody's doing."""
        return (
            self.environ == other.environ
            and self.folder == other.folder
            and self.path == other.path
            and self.handlers == other.handlers
            and self.alarm == other.alarm
            and self.limits == other.limits
            and self.recursion == other.recursion
            and self.umask == other.umask
            and self.collects == other.collects
            and (self.modules != other.modules or self.filters == other.filters)
        )

    def absorb(self, before: "Snapshot", after: "Snapshot") -> None:
        """Take over what changed between two other snapshots, since it was meant."""
        for name in self.__slots__:
            if name != "environ" and getattr(before, name) != getattr(after, name):
                setattr(self, name, getattr(after, name))
        for key in before.environ.keys() | after.environ.keys():
            if before.environ.get(key) != after.environ.get(key):
                if key in after.environ:
                    self.environ[key] = after.environ[key]
                else:
                    self.environ.pop(key, None)


def _folder() -> str | None:
    try:
        return _getcwd()
    except OSError:
        return None


def _environ() -> dict[Any, Any]:
    """Return a copy of the environment, encoded as the system has it: that is the fast way."""
    encoded = getattr(os.environ, "_data", None)
    return dict(encoded if isinstance(encoded, dict) else os.environ)


class Hygiene:
    """Watches over one process. ``begin`` when it stops being idle, ``settle`` when it is idle again."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._baseline = Snapshot()
        self._is_current = False

    def begin(self) -> None:
        """Note the state before a case that runs alone so far; after a case that changed nothing it is known."""
        if not self._is_current:
            self._baseline = Snapshot()

    def forget(self) -> None:
        """Note the state anew before the next case: a file was imported."""
        self._is_current = False

    def absorb(self, before: Snapshot) -> None:
        """Take what changed since ``before`` for meant: a file was imported while cases ran."""
        self._baseline.absorb(before, Snapshot())

    def settle(self) -> list[str]:
        """Undo what changed; return in words what it was."""
        was, now = self._baseline, Snapshot()
        self._is_current = now.equals(was)
        told = [] if self._is_current else self._undo(was, now)
        if self._is_current:
            self._baseline = now
        if self._streams.install():
            told.append("the standard streams")
        if self._streams.log.reconnect():
            told.append("file descriptors 1 or 2")
        return [f"changed {words}; restored" for words in told]

    def _undo(self, was: Snapshot, now: Snapshot) -> list[str]:
        if now.modules != was.modules:
            # Libraries set filters when they are imported; that is no case's doing.
            was.filters = now.filters
        return [
            words
            for words, changed, restore in (
                ("the working directory", now.folder != was.folder, self._restore_folder),
                ("the environment", now.environ != was.environ, self._restore_environ),
                ("sys.path", now.path != was.path, self._restore_path),
                ("the alarm clock", now.alarm and not was.alarm, self._stop_alarm),
                ("signal handlers", now.handlers != was.handlers, self._restore_handlers),
                ("resource limits", now.limits != was.limits, self._restore_limits),
                ("the recursion limit", now.recursion != was.recursion, self._restore_recursion),
                ("the umask", now.umask != was.umask, self._restore_umask),
                ("warning filters", now.filters != was.filters, self._restore_filters),
                ("garbage collection", now.collects != was.collects, self._restore_collection),
            )
            if changed and restore()
        ]

    def _restore_folder(self) -> bool:
        if self._baseline.folder is None:
            return False
        try:
            _chdir(self._baseline.folder)
        except OSError:
            return False
        return True

    def _restore_environ(self) -> bool:
        decode = _decoded if isinstance(getattr(os.environ, "_data", None), dict) else str
        was = {decode(key): decode(value) for key, value in self._baseline.environ.items()}
        for key in list(os.environ):
            if key not in was:
                del os.environ[key]
        for key, value in was.items():
            if os.environ.get(key) != value:
                os.environ[key] = value
        return True

    def _restore_path(self) -> bool:
        sys.path[:] = self._baseline.path
        return True

    def _restore_handlers(self) -> bool:
        is_theirs = False
        for number, handler in zip(_SIGNALS, self._baseline.handlers, strict=True):
            current = _signal_handler(number)
            if handler is not None and current != handler:
                is_theirs = is_theirs or not is_debugger(getattr(current, "__self__", None))
                signal.signal(number, handler)
        return is_theirs

    def _stop_alarm(self) -> bool:
        signal.setitimer(signal.ITIMER_REAL, 0)
        return True

    def _restore_limits(self) -> bool:
        for number, (soft, _) in zip(_LIMITS, self._baseline.limits, strict=True):
            # What was lowered for good stays lowered.
            hard = _getrlimit(number)[1]
            with suppress(OSError, ValueError):
                resource.setrlimit(number, (soft, hard))
        return True

    def _restore_recursion(self) -> bool:
        try:
            sys.setrecursionlimit(self._baseline.recursion)
        except RecursionError:
            return False
        return True

    def _restore_umask(self) -> bool:
        _umask(self._baseline.umask)
        return True

    def _restore_filters(self) -> bool:
        warnings.filters[:] = self._baseline.filters  # type: ignore[index]
        return True

    def _restore_collection(self) -> bool:
        (gc.enable if self._baseline.collects else gc.disable)()
        return True


def is_debugger(value: Any) -> bool:
    """Tell whether this is one of Python's own debuggers, or made from it."""
    bdb = sys.modules.get("bdb")
    return bdb is not None and isinstance(value, getattr(bdb, "Bdb", ()))


def _decoded(value: Any) -> str:
    return os.fsdecode(value)
