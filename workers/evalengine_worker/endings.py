"""How this process ends: last words, and a note of what a case does from Python to end it, made just before.

The functions that can do it are replaced in ``os`` and ``signal``; what C code does is not seen. Whose the calling
code is, its context says, or its thread. In a fork of the process nothing is noted.
"""

import faulthandler
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from evalengine.breadcrumbs import EXITED, REPLACED, SIGNALLED, STACKS_SIGNAL, Breadcrumbs, fatal_signals
from evalengine_worker import stacks
from evalengine_worker.capture import current_output
from evalengine_worker.steps import current_attempt

_getpid = os.getpid
_get_ident = threading.get_ident
_FATAL = fatal_signals()


def enable_fault_handler(descriptor: int) -> None:
    """Have the last words at a deadly signal written to a descriptor, and at our own signal the stacks."""
    faulthandler.enable(descriptor, all_threads=True)
    if STACKS_SIGNAL is not None and hasattr(faulthandler, "register"):
        faulthandler.register(STACKS_SIGNAL, descriptor, all_threads=True, chain=False)
    if hasattr(os, "register_at_fork"):
        # What a child process dies of is not what this one dies of.
        os.register_at_fork(after_in_child=faulthandler.disable)


def note_endings(crumbs: Breadcrumbs, say: Callable[[str], None]) -> None:
    """Have calls that may end this process noted, and what is lost with it said."""
    _replace(crumbs, say, os, "_exit", lambda arguments: (EXITED, arguments[0]))
    _replace(
        crumbs, say, os, "kill", lambda arguments: _sent(*arguments) if _is_own_process(arguments[0]) else None
    )
    _replace(
        crumbs, say, os, "killpg", lambda arguments: _sent(*arguments) if _is_own_group(arguments[0]) else None
    )
    _replace(crumbs, say, signal, "raise_signal", lambda arguments: (SIGNALLED, arguments[0]))
    for name in ("execv", "execve"):
        _replace(crumbs, say, os, name, lambda _: (REPLACED, 0))


def _say_last_words(name: str, number: int, say: Callable[[str], None]) -> None:
    """Say what the case printed, which would be lost, and where it ends its process."""
    output = current_output.get()
    printed = output.text() if output is not None else ""
    say(f"{printed}\n{name}({number}) ended the process. {stacks.of_frame(sys._getframe(2))}")  # noqa: SLF001


def _sent(_target: int, signum: int) -> tuple[int, int]:
    return SIGNALLED, signum


def _is_own_process(pid: int) -> bool:
    return pid in (_getpid(), 0, -1) or (pid < -1 and _is_own_group(-pid))


def _is_own_group(group: int) -> bool:
    return group in (0, os.getpgrp())


def _replace(
    crumbs: Breadcrumbs,
    say: Callable[[str], None],
    module: Any,
    name: str,
    read: Callable[[tuple[Any, ...]], tuple[int, int] | None],
) -> None:
    original = getattr(module, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def noting(*args: Any, **named: Any) -> Any:
        if crumbs.is_abandoned:
            return original(*args, **named)
        word = current_attempt.get() or crumbs.threads.get(_get_ident(), 0)
        is_noted = False
        try:
            note = read((*args, *named.values()))
            if note is not None:
                # What is said comes first: whoever is named as guilty has had its say.
                if word and (note[0] != SIGNALLED or note[1] == signal.SIGKILL):
                    _say_last_words(name, note[1], say)
                is_noted = crumbs.note(word, *map(int, note))
        except Exception:  # noqa: BLE001 - wrong arguments are for the function itself to refuse
            note = None
        try:
            return original(*args, **named)
        finally:
            # What another thread's handler is still busy with kills all the same.
            if is_noted and note is not None and note[1] not in _FATAL:
                crumbs.clear_note()

    setattr(module, name, noting)
