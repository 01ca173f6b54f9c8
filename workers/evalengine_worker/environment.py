"""The ``env`` file of agentflow.json: ``KEY=VALUE`` lines that fill in what the environment does not set."""

import os
import re
from pathlib import Path

from evalengine.errors import ConfigurationError

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*(.*?)\s*$")
_QUOTED = re.compile(r"""(?s)(?:"((?:\\.|[^"\\])*)"|'([^']*)')\s*(?:#.*)?$""")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def load_env_file(path: str) -> None:
    """Set the file's variables that are not set yet. Raises ConfigurationError where it cannot be read."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        msg = f"env file {path!r} of agentflow.json not found"
        raise ConfigurationError(msg) from None
    except (OSError, UnicodeDecodeError) as error:
        msg = f"env file {path!r} of agentflow.json cannot be read: {error}"
        raise ConfigurationError(msg) from None
    for name, value in parse(text).items():
        os.environ.setdefault(name, value)


def parse(text: str) -> dict[str, str]:
    """Return the variables of an env file; lines that set none are passed over."""
    variables: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match and not line.lstrip().startswith("#"):
            variables[match[1]] = _value(match[2]).replace("\0", "")
    return variables


def _value(raw: str) -> str:
    quoted = _QUOTED.match(raw)
    if quoted is None:
        return re.sub(r"(?:^|\s+)#.*$", "", raw)
    if quoted[1] is None:
        return quoted[2]
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), quoted[1])
