"""The error tree and the exit codes of a run.

Every error a user can cause is an :class:`EvalEngineError` whose message says what is wrong, with which thing,
where it came from and what to do; the command line prints it as one line and ends with its ``exit_code``.
"""

import difflib
from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """The documented exit codes of ``agentflow eval``."""

    OK = 0
    GATE_NOT_MET = 1
    USAGE = 2
    ENGINE_FAILED = 3
    NO_CASES = 5
    HANGUP = 129
    INTERRUPTED = 130
    TERMINATED = 143


class EvalEngineError(Exception):
    """The root of all errors that evalengine raises on purpose."""

    exit_code: ExitCode = ExitCode.ENGINE_FAILED


class UsageError(EvalEngineError):
    """A command line, configuration file or API call that cannot be meant; nothing has run."""

    exit_code = ExitCode.USAGE


class ConfigurationError(UsageError, ValueError):
    """A setting, criterion or field with a value that cannot be meant."""


class DiscoveryError(UsageError):
    """A target, folder or project that is not there or cannot be read."""


class NoCasesError(EvalEngineError):
    """Discovery ended with nothing to run."""

    exit_code = ExitCode.NO_CASES


class EngineError(EvalEngineError):
    """The engine itself could not finish: workers do not start, reports cannot be written."""


class CountsDoNotAddUpError(EngineError):
    """The verdicts of a run do not add up to what was planned: a fault of the engine, never hidden."""


class RecordingError(EvalEngineError):
    """The journal of a run cannot be read or written."""


class UnreadableJournalError(RecordingError):
    """A journal that is damaged, not ours, or of a newer version; nothing has run."""

    exit_code = ExitCode.USAGE


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which of the known names is meant: ``"; did you mean 'threshold'?"`` or all of them."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(known)}" if known else ""
