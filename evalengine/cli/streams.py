"""Standard streams at the start and at the end: closed, broken or full ones must not change what a run does."""

import contextlib
import os
import sys


def claim_standard_descriptors() -> None:
    """Open descriptors 0 to 2 where the caller closed them: no socket of ours or of a child gets their numbers."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # The lowest free number is this one.
            os.set_inheritable(opened, True)


def settle_streams() -> None:
    """Flush standard output and error; one that fails is silenced, or the interpreter would exit with 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                _point_at_null(stream.fileno())


def _point_at_null(descriptor: int) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, descriptor)
    finally:
        os.close(null)


def print_error(message: str) -> None:
    """Print ``Error: …`` on standard error, in one line."""
    print_to_stderr("Error:", message, red=True)


def print_to_stderr(prefix: str, message: str, *, red: bool = False) -> None:
    """Print a line on standard error; a stream that cannot take it is no error of its own."""
    if sys.stderr is None:
        return
    if red and _wants_color():
        prefix = f"\033[31m{prefix}\033[0m"
    from evalengine.report.stream import SafeStream

    stream = SafeStream(sys.stderr)
    stream.line(f"{prefix} {_one_line(message)}")
    stream.settle()
    stream.close()


def _one_line(text: str) -> str:
    """Escape what a terminal would obey: names of files and values come from anywhere."""
    joined = " ".join(text.splitlines())
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in joined)


def _wants_color() -> bool:
    from evalengine.settings import color_of

    wanted = color_of(None, os.environ)
    return sys.stderr.isatty() if wanted is None else wanted
