"""Worker processes: started from a fork server of our own, watched by pidfd, ended with their whole group.

The fork server is a private instance: what a Python caller does with ``multiprocess`` is neither seen nor
disturbed. Where it cannot start, processes are spawned one by one. Only a descriptor is handed to a process.
"""

import contextlib
import io
import os
import signal
import socket
import sys
import sysconfig
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from multiprocess import context, forkserver, popen_forkserver, process, reduction, spawn, util

from evalengine.engine import boot
from evalengine.errors import EngineError

_PRELOAD = "evalengine.engine.preload"
_PRELOAD_ROUGE = "evalengine.engine.preload_rouge"


class _ForkedPopen(popen_forkserver.Popen):  # type: ignore[misc]
    """Starts a process from a given fork server instead of the module's global one."""

    def __init__(self, process_object: Any, server: forkserver.ForkServer) -> None:
        self._server = server
        super().__init__(process_object)

    def _launch(self, process_object: Any) -> None:
        # The child keeps the fork server's own clean sys.path, and has no __main__ to import again.
        preparation = spawn.get_preparation_data(process_object._name)  # noqa: SLF001
        for key in ("sys_path", "init_main_from_name", "init_main_from_path"):
            preparation.pop(key, None)
        data = io.BytesIO()
        context.set_spawning_popen(self)
        try:
            reduction.dump(preparation, data)
            reduction.dump(process_object, data)
        finally:
            context.set_spawning_popen(None)
        self.sentinel, writer = self._server.connect_to_new_process(self._fds)
        # Held until the process is closed: its end tells the child that the coordinator is gone.
        held = os.dup(writer)
        self.finalizer = util.Finalize(self, util.close_fds, (held, self.sentinel))
        with open(writer, "wb") as file:  # noqa: PTH123
            file.write(data.getbuffer())
        self.pid = forkserver.read_signed(self.sentinel)


class _ForkedProcess(process.BaseProcess):  # type: ignore[misc]
    _start_method = "forkserver"
    server: forkserver.ForkServer

    @staticmethod
    def _Popen(process_object: Any) -> _ForkedPopen:  # noqa: N802 - the library's name
        return _ForkedPopen(process_object, process_object.server)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "server"}


@contextlib.contextmanager
def _starting_environment() -> Iterator[dict[str, str | None]]:
    """Hide ``__main__`` and keep the working directory off the path while a process starts.

    Yields the variables that differ meanwhile, with the values that the child must restore.
    """
    main = sys.modules["__main__"]
    hidden: dict[str, Any] = {
        name: main.__dict__[name] for name in ("__file__", "__spec__") if name in main.__dict__
    }
    main.__dict__.update(dict.fromkeys(hidden))
    changed = {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(_child_path())}
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield before
    finally:
        main.__dict__.update(hidden)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _script_folder() -> str | None:
    """Return the path entry that Python made of the caller's script or working directory, if there is one.

    Some versions hand the whole path to the fork server; a worker must not find modules of the engine's names
    there before it has imported its own.
    """
    if sys.flags.safe_path or not sys.path:
        return None
    first = sys.path[0] or str(Path.cwd())
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return None if first in given else first


def _child_path() -> list[str]:
    """PYTHONPATH for children: what it is, and where our packages are if not among installed ones."""
    given = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    installed = {os.path.realpath(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    for package in ("evalengine", "evalengine_worker"):
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            msg = f"the package {package} is not installed; install evalengine again"
            raise EngineError(msg)
        home = str(Path(spec.origin).parent.parent)
        if os.path.realpath(home) not in installed and home not in given:
            given.append(home)
    return given


class WorkerFactory(Protocol):
    """Starts workers. What it gives is a process object, with the names that the library's have.

    A worker without a process of its own has no ``pid``: it gets no signals, and is killed by ``kill()``.
    """

    def start(self, channel: socket.socket, name: str) -> Any:
        """Start a worker on the child's end of a channel; raises EngineError where none can be started."""

    def close(self) -> None:
        """End with the run."""


class Host(WorkerFactory, Protocol):
    """Carries the workers of a run in this very process, and hears its signals."""

    def listen(self, heed: Callable[[int], None]) -> None:
        """Hand each signal on that would stop the run, from now on."""


class ProcessFactory:
    """Starts worker processes for one run; closed at its end, with everything that is left."""

    def __init__(self, *, preload_rouge: bool = False) -> None:
        """Make a factory; ``preload_rouge`` lets workers come with rouge-score imported."""
        self._preload = [_PRELOAD, _PRELOAD_ROUGE] if preload_rouge else [_PRELOAD]
        self._server: forkserver.ForkServer | None = None
        self._forking = True

    def start(self, channel: socket.socket, name: str) -> Any:
        """Start a worker on the child's end of a channel; return its process object.

        Raises EngineError where neither forking nor spawning works. Call from one thread only: the fork server
        is told of the death of the thread that started it.
        """
        with _starting_environment() as before:
            if self._forking:
                try:
                    return self._fork(channel, name, before)
                except (OSError, EOFError, TypeError, AssertionError, RuntimeError) as error:
                    self._give_up_forking(error)
            try:
                return self._spawn(channel, name, before)
            except (OSError, EOFError, RuntimeError) as error:
                msg = f"a worker process cannot be started: {error}"
                raise EngineError(msg) from error

    def warm(self) -> None:
        """Let the fork server come up while the caller does something else."""
        with _starting_environment():
            try:
                self._running_server().ensure_running()
            except (OSError, EOFError, TypeError, AssertionError, RuntimeError) as error:
                self._give_up_forking(error)

    def _running_server(self) -> forkserver.ForkServer:
        if self._server is None:
            self._server = forkserver.ForkServer()
            self._server.set_forkserver_preload(self._preload)
        return self._server

    def _fork(self, channel: socket.socket, name: str, before: dict[str, str | None]) -> Any:
        worker = _ForkedProcess(target=boot.run_worker, args=(channel, before, _script_folder()), name=name)
        worker.server = self._running_server()
        worker.start()
        return worker

    def _give_up_forking(self, _error: BaseException) -> None:
        self._forking = False

    @staticmethod
    def _spawn(channel: socket.socket, name: str, before: dict[str, str | None]) -> Any:
        worker = context.SpawnContext().Process(
            target=boot.run_worker, args=(channel, before, _script_folder()), name=name
        )
        worker.start()
        return worker

    def close(self) -> None:
        """End the fork server; its guard ends whatever workers left behind."""
        server, self._server = self._server, None
        if server is not None and server._forkserver_pid is not None:  # noqa: SLF001
            with contextlib.suppress(OSError):
                server._stop()  # noqa: SLF001


class Death:
    """Watches one process: calls back once, on the loop, when it has died."""

    def __init__(self, worker: Any, loop: Any, callback: Callable[[], None]) -> None:
        self._loop = loop
        self._callback = callback
        self._descriptor, self._owned = _death_descriptor(worker)
        loop.add_reader(self._descriptor, self._died)

    def _died(self) -> None:
        self.stop()
        self._callback()

    def signal(self, signum: int) -> bool:
        """Send the process a signal, where that is sure to reach no other."""
        if self._descriptor < 0 or not self._owned:
            return False
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self._descriptor, signum)
        return True

    def stop(self) -> None:
        """Watch no longer."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            if self._owned:
                os.close(self._descriptor)
            self._descriptor = -1


def _death_descriptor(worker: Any) -> tuple[int, bool]:
    """Return a descriptor that becomes readable at the death of a process, and whether it is ours to close.

    A pidfd cannot be held open by a grandchild; the library's sentinel is the fallback.
    """
    if worker.pid is None:
        return worker.sentinel, False
    try:
        return os.pidfd_open(worker.pid), True
    except (AttributeError, OSError):
        return worker.sentinel, False


def kill_group(worker: Any, *, is_dead: bool = False) -> None:
    """Kill a process and everything in its process group; of a dead one what it left there.

    The library's exit code is not asked: it says 255 of every living process once the fork server is gone.
    """
    if worker.pid is None:
        if not is_dead:
            worker.kill()
        return
    for kill in (os.killpg,) if is_dead else (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(worker.pid, signal.SIGKILL)


class Loss(NamedTuple):
    """How a process ended that was not told to."""

    pid: int | None
    cause: str
    """In words."""
    status: int | None = None
    """Its exit code, or minus the signal; None where that is not known."""
    was_killed: bool = False
    """Whether the engine killed it; ``cause`` says why."""


def signal_group(worker: Any, signum: int) -> None:
    """Send a signal to a living process and everything in its process group."""
    if worker.pid is None:
        return
    try:
        os.killpg(worker.pid, signum)
    except PermissionError:
        pass
    except ProcessLookupError:  # It has no group of its own yet.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(worker.pid, signum)


UNKNOWN_EXIT = 255
"""What the library says of a process whose fork server died before it."""


def describe_exit(exit_code: int | None) -> str:
    """Put an exit code into words: ``killed by SIGSEGV``, ``exited with 3``."""
    if exit_code is None or exit_code == UNKNOWN_EXIT:
        return "ended in an unknown way"
    if exit_code >= 0:
        return f"exited with {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    return f"killed by {name}" + (" (possibly out of memory)" if -exit_code == signal.SIGKILL else "")
