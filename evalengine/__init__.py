"""evalengine: the multiprocess batch engine behind ``agentflow eval``.

The names below are imported when they are first used, so that an eval file's import costs no engine.
"""

from typing import TYPE_CHECKING, Any

from evalengine._version import __version__

if TYPE_CHECKING:
    from evalengine.api import evaluate, evaluate_async, evaluate_stream
    from evalengine.criteria.custom import criterion
    from evalengine.recording import CaseContext, record_node, record_tool
    from evalengine.results import NotApplicable

__all__ = [
    "CaseContext",
    "NotApplicable",
    "__version__",
    "criterion",
    "evaluate",
    "evaluate_async",
    "evaluate_stream",
    "record_node",
    "record_tool",
]

_HOMES = {
    "evaluate": "evalengine.api",
    "evaluate_async": "evalengine.api",
    "evaluate_stream": "evalengine.api",
    "criterion": "evalengine.criteria.custom",
    "NotApplicable": "evalengine.results",
    "CaseContext": "evalengine.recording",
    "record_node": "evalengine.recording",
    "record_tool": "evalengine.recording",
}


def __getattr__(name: str) -> Any:
    """Import a public name from its home on first use."""
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(_HOMES[name]), name)
    message = f"module 'evalengine' has no attribute {name!r}"
    raise AttributeError(message)
