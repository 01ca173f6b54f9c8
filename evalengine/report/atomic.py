"""Writing a file whole or not at all: a temporary file beside it, flushed to disk, renamed over it."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from evalengine.errors import EngineError

_BUFFER_BYTES = 256 * 1024


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes ``path``'s place when the block ends well; else ``path`` is as it was.

    The temporary file never stays behind. Raises EngineError that names the path where the disk says no.
    """
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb", buffering=_BUFFER_BYTES) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        msg = f"report not writable: {path}: {error.strerror or error}"
        raise EngineError(msg) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
