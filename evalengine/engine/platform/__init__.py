"""What differs between operating systems: how death is told, how a process tree is ended."""

import os
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that has ended and that nobody has asked for its status yet does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    try:
        # The state follows the name, which may hold anything, in parentheses.
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (OSError, IndexError):
        return True
