"""The names of ``agentflow.qa.evaluation`` that eval files import, served by evalengine.

Python finds this package only where the agentflow framework itself is not installed: it stands at the very end of
the import path, and an installed ``agentflow`` always comes first.
"""

from typing import Any

__evalengine_fallback__ = True
"""Tells this package from the framework."""

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    """Say what to install for everything of the framework that is not served here."""
    if name.startswith("_") or name == "qa":
        message = f"module 'agentflow' has no attribute {name!r}"
        raise AttributeError(message)
    message = (
        f"cannot import {name!r} from 'agentflow': the agentflow framework itself is not installed, "
        f"only evalengine's 'agentflow.qa.evaluation'; pip install 10xscale-agentflow"
    )
    raise ImportError(message, name="agentflow")
