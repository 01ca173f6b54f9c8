"""What became known of a worker that died: the exact cause, whose code it was that ended it, its last words.

Whose it was is said only where it is proven: by a note that a case's own call left, or by the interpreter's last
words, which name the thread, together with the breadcrumb of that thread. An attempt that is proven to be guilty
may be over already; then nobody of those in flight is.
"""

import os
import re
import signal
from pathlib import Path
from typing import NamedTuple

from evalengine.breadcrumbs import EXITED, REPLACED, SIGNALLED, Mark, Trail, fatal_signals
from evalengine.engine.platform.memory import OomKills
from evalengine.engine.process import UNKNOWN_EXIT, Loss
from evalengine.engine.traces import Traces
from evalengine.wire import RunKey

_LAST_WORDS = "Fatal Python error"
"""How the interpreter begins what it says of a deadly signal."""
_STACK = re.compile(r"^(Current thread|Thread) 0x([0-9a-f]+)[^\n]*:\n((?:  [^\n]*\n?)*)", re.MULTILINE)
_NOISE = re.compile(r"^Extension modules: [^\n]*\n?", re.MULTILINE)
_FRAME = re.compile(r'^  File "([^"]*)", line ')
_OURS = ("/evalengine/", "/evalengine_worker/", "/multiprocess/", "/asyncio/")
_STDLIB = str(Path(os.__file__).parent) + os.sep
_MOST_TAIL_LINES = 40
_MOST_STACKS = 20


class Findings(NamedTuple):
    """What is known of a worker's end."""

    cause: str
    proven: RunKey | None = None
    """The attempt whose code ended or blocked it."""
    is_importing: bool = False
    """Whether its main thread was importing a file."""
    prime: RunKey | None = None
    """The attempt that its main thread was running, whoever ended it."""
    words: str = ""
    """What it said last, for the report."""


class Block(NamedTuple):
    """Who kept a worker from ending a case, until it was killed."""

    key: RunKey | None = None
    log_start: int = 0
    """Where in the worker's log the stacks begin that it was asked for."""


class Autopsy:
    """Examines workers that have ended."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces
        self._oom_kills = OomKills()

    def examine(self, worker: int, loss: Loss, block: Block | None = None) -> Findings:
        """Say what is known; ``block`` is what was seen before it was killed, where it was."""
        trail = self._traces.trail(worker)
        log = self._traces.log_tail(worker, 0 if block is None else block.log_start)
        is_importing = trail.importing is not None
        if loss.was_killed:
            key = block.key if block is not None else None
            thread = trail.main_thread if key is not None else None
            return Findings(loss.cause, key, is_importing, words=_stacks(log, thread) or _printed(log))
        said = log[log.rfind(_LAST_WORDS) :] if _is_said(log, loss.status) else ""
        proven = trail.noted if _is_noted(trail, loss.status) else _dying(trail, said)
        return Findings(
            self._cause(loss, trail, is_importing=is_importing),
            None if proven is None else RunKey(*proven),
            is_importing,
            None if trail.current is None else RunKey(*trail.current),
            _readable(said, log[: log.rfind(_LAST_WORDS)]) if said else _printed(log),
        )

    def _cause(self, loss: Loss, trail: Trail, *, is_importing: bool) -> str:
        cause = loss.cause
        if loss.status == -signal.SIGKILL:
            if _is_noted(trail, loss.status):
                cause = "killed by SIGKILL, which it sent to itself"
            elif self._oom_kills.any_new():
                cause = "killed by SIGKILL (out of memory)"
        return f"{cause}, while it imported a file" if is_importing else cause


def _is_said(log: str, status: int | None) -> bool:
    """Tell whether the log has the last words of this very end."""
    is_fatal = status in (None, UNKNOWN_EXIT) or -(status or 0) in fatal_signals()
    return is_fatal and _LAST_WORDS in log


def _is_noted(trail: Trail, status: int | None) -> bool:
    """Tell whether Python code has noted that it would bring about this very end."""
    kind, number = trail.note
    fits = {
        EXITED: status in (number & 0xFF, None, UNKNOWN_EXIT),
        SIGNALLED: status in (-number, None, UNKNOWN_EXIT),
        REPLACED: True,
    }
    return fits.get(kind, False)


def _dying(trail: Trail, said: str) -> Mark | None:
    """Return the attempt that the thread which died was running."""
    current = next((match for match in _STACK.finditer(said) if match[1] == "Current thread"), None)
    if current is None:
        return None
    ident = int(current[2], 16)
    return trail.current if ident == trail.main_thread else trail.threads.get(ident)


def _readable(said: str, before: str) -> str:
    """Return the interpreter's last words without noise, and what was printed before them."""
    head = said.partition("\n")[0]
    printed = _printed(before)
    current = [match for match in _STACK.finditer(said) if match[1] == "Current thread"]
    stack = _stack(current[0]) if current else _NOISE.sub("", said).strip()
    return f"{head}\n\n{stack}" + (f"\n\nPrinted before:\n{printed}" if printed else "")


def _stacks(log: str, thread: int | None) -> str:
    """Return the stacks in a log: of one thread, or of all that have frames of the user's."""
    found = list(_STACK.finditer(log))[-_MOST_STACKS:]
    wanted = [match for match in found if thread is None or int(match[2], 16) == thread]
    return "\n\n".join(stack for match in wanted if (stack := _stack(match, only_with_frames=True)))


def _stack(match: re.Match[str], *, only_with_frames: bool = False) -> str:
    lines = [line for line in match[3].splitlines() if not _is_ours(line)]
    theirs = list(lines)
    while theirs and _is_beneath(theirs[-1]):
        theirs.pop()
    lines = theirs or lines
    if not lines and only_with_frames:
        return ""
    return "\n".join(["Stack (most recent call first):", *(lines or ["  (none of the case's own)"])])


def _is_ours(line: str) -> bool:
    match = _FRAME.match(line)
    return match is None or any(part in match[1].replace("\\", "/") for part in _OURS)


def _is_beneath(line: str) -> bool:
    """Tell whether a frame is what a thread or process begins with."""
    match = _FRAME.match(line)
    return match is None or match[1] == "<string>" or (match[1].startswith(_STDLIB) and "-packages" not in match[1])


def _printed(log: str) -> str:
    return "\n".join(log.rstrip().splitlines()[-_MOST_TAIL_LINES:])


def size_of(path: Path) -> int:
    """Return the size of a file; 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
