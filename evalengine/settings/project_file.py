"""agentflow.json: where it is, and what of it concerns a run.

The file belongs to the whole framework: top-level keys that other tools read are left alone. The ``evaluation``
section is ours, so that a key of it that does not exist is a mistake, and so is a value that cannot be meant.
"""

import difflib
import os
import re
from pathlib import Path
from typing import Any

import msgspec

from evalengine.errors import ConfigurationError, DiscoveryError, nearest
from evalengine.records import Record
from evalengine.settings.values import BY_KEY, check, shown

FILE_NAME = "agentflow.json"
_TOP_LEVEL_TOO = ("judge_model", "sync_agents")
_OUR_KEYS = ("agent", "agent_factory", "env", "evaluation", *_TOP_LEVEL_TOO)
_MODULE_ATTRIBUTE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


class ProjectFile(Record, kw_only=True):
    """What agentflow.json says of a run. ``values`` are those of the evaluation section, checked, by setting."""

    path: Path
    agent: str | None = None
    agent_factory: str | None = None
    env: str | None = None
    values: dict[str, Any] = {}
    notices: list[str] = []


def find(cwd: Path) -> Path | None:
    """Return the agentflow.json of the working directory or the nearest parent that has one."""
    return next((path for folder in (cwd, *cwd.parents) if os.path.lexists(path := folder / FILE_NAME)), None)


def read(path: Path, where: str) -> ProjectFile:
    """Read the file; ``where`` is how messages call it. Raises DiscoveryError, ConfigurationError."""
    document = _decode(_read_bytes(path, where), where)
    agent = _spec(document, "agent", where, urls=True)
    agent_factory = _spec(document, "agent_factory", where, urls=False)
    if agent and agent_factory:
        raise ConfigurationError(f"agent and agent_factory are both set ({where}): keep one of them")
    return ProjectFile(
        path=path,
        agent=agent,
        agent_factory=agent_factory,
        env=_text(document, "env", where),
        values=_top_level(document, where) | _evaluation(document, where),
        notices=_near_misses(document, where),
    )


def _read_bytes(path: Path, where: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DiscoveryError(f"{where} cannot be read: {error.strerror}") from None


def _decode(data: bytes, where: str) -> dict[str, Any]:
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        data.decode()
        document = msgspec.json.decode(data)
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{where} is not JSON: not UTF-8 at {_place(data, error.start)}") from None
    except msgspec.DecodeError as error:
        reason, offset = _reason(str(error), len(data))
        raise ConfigurationError(f"{where} is not JSON: {reason} at {_place(data, offset)}") from None
    except RecursionError:
        raise ConfigurationError(f"{where} is not JSON that can be meant: nested too deep") from None
    if not isinstance(document, dict):
        raise ConfigurationError(f"{where} must hold an object, not {shown(document)}")
    return document


def _reason(message: str, size: int) -> tuple[str, int]:
    """Split the decoder's ``JSON is malformed: expected ':' (byte 12)`` into what is wrong and where."""
    found = re.fullmatch(r"(?:JSON is malformed: )?(.*?)(?: \(byte (\d+)\))?", message, re.DOTALL)
    assert found is not None
    if found[2] is None:
        return "it ends too early", size
    return found[1], int(found[2])


def _place(data: bytes, offset: int) -> str:
    before = data[:offset]
    line = before.count(b"\n") + 1
    column = len(before[before.rfind(b"\n") + 1 :].decode(errors="replace")) + 1
    return f"line {line}, column {column}"


def _text(document: dict[str, Any], key: str, where: str) -> str | None:
    value = document.get(key)
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    raise ConfigurationError(f"{key} is {shown(value)} ({where}): must be a string")


def _spec(document: dict[str, Any], key: str, where: str, *, urls: bool) -> str | None:
    """Return ``module:attribute`` or a URL; whether it can be imported is found out in a worker."""
    value = _text(document, key, where)
    if value is None or _MODULE_ATTRIBUTE.fullmatch(value):
        return value
    if urls and value.startswith(("http://", "https://")):
        return value
    forms = "'module:attribute' or a URL" if urls else "'module:attribute'"
    raise ConfigurationError(f"{key} is {shown(value)} ({where}): must be {forms}{_proposed_spec(value)}")


def _proposed_spec(value: str) -> str:
    """Turn ``./graph/agent.py:app`` and ``graph.agent`` into what they mean."""
    module, _, attribute = value.strip().partition(":")
    is_path = "/" in module or "\\" in module or module.endswith(".py")
    module = module.removeprefix("./").removesuffix(".py").replace("/", ".").replace("\\", ".")
    if not attribute and not is_path and module.endswith(".app"):
        module, _, attribute = module.rpartition(".")
    proposal = f"{module}:{attribute or 'app'}"
    return f"; did you mean {proposal!r}?" if _MODULE_ATTRIBUTE.fullmatch(proposal) else ""


def _top_level(document: dict[str, Any], where: str) -> dict[str, Any]:
    return {
        BY_KEY[key].name: check(BY_KEY[key], document[key], key, where)
        for key in _TOP_LEVEL_TOO
        if document.get(key) is not None
    }


def _evaluation(document: dict[str, Any], where: str) -> dict[str, Any]:
    section = document.get("evaluation")
    if section is None:
        return {}
    if not isinstance(section, dict):
        raise ConfigurationError(f"evaluation is {shown(section)} ({where}): must be an object")
    for key in section:
        if key not in BY_KEY:
            raise ConfigurationError(f"evaluation.{key} ({where}) is no setting{nearest(key, BY_KEY)}")
    return {
        BY_KEY[key].name: check(BY_KEY[key], value, f"evaluation.{key}", where)
        for key, value in section.items()
        if value is not None
    }


def _near_misses(document: dict[str, Any], where: str) -> list[str]:
    """Point at top-level keys that look like ours, misspelt; the rest is other tools' business."""
    close = {
        key: difflib.get_close_matches(key, _OUR_KEYS, n=1, cutoff=0.8) for key in document if key not in _OUR_KEYS
    }
    return [f"{where}: nothing reads {key!r}; did you mean {found[0]!r}?" for key, found in close.items() if found]
