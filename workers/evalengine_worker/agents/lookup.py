"""Finding the agent that a ``module:attr`` names, and the adapter that can drive it."""

import difflib
import importlib
import inspect
from types import ModuleType
from typing import Any

from evalengine_worker import failures
from evalengine_worker.agents.calling import SignatureError
from evalengine_worker.agents.functions import FunctionAgent
from evalengine_worker.agents.runnables import RunnableAgent
from evalengine_worker.agents.turn import Agent
from evalengine_worker.plain import type_name

ACCEPTED = (
    "a function (sync or async, plain or generator) or an object with ainvoke or invoke, such as a compiled graph"
)


class AgentError(Exception):
    """An agent that cannot be found or driven: one line, and the exception behind it as its cause."""


def import_object(spec: str, what: str) -> Any:
    """Return what ``module:attr`` names; ``what`` names it in errors: ``agent 'a:b' of agentflow.json``."""
    if spec.startswith(("http://", "https://")):
        raise AgentError(f"{what}: agents behind a URL are not supported yet; name a module:attr")
    module_name, colon, attribute = spec.partition(":")
    if not colon or not attribute or not all(part.isidentifier() for part in module_name.split(".")):
        raise AgentError(f"{what}: must be written module:attr, such as graph.agent:app")
    found: Any = _import(module_name, what)
    for name in attribute.split("."):
        found = _attribute(found, name, what)
    return found


def _import(module_name: str, what: str) -> ModuleType:
    try:
        return importlib.import_module(module_name)
    except ImportError as error:
        raise AgentError(f"{what} cannot be imported: {failures.message(error)}") from error
    except BaseException as error:  # a module that exits is a broken module
        raise AgentError(f"{what} cannot be imported: {failures.one_line(error)}") from error


def _attribute(owner: Any, name: str, what: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        names = [each for each in vars(owner) if not each.startswith("_")] if hasattr(owner, "__dict__") else []
        close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        if not close and len(names) <= 10:  # noqa: PLR2004 - a short list is told whole
            close = names
        hint = f"; there is {', '.join(map(repr, close))}" if close else ""
        where = owner.__name__ if isinstance(owner, ModuleType) else type_name(owner)
        raise AgentError(f"{what}: {where} has no attribute {name!r}{hint}") from None


def adapt(value: Any, what: str) -> Agent:
    """Return the adapter that drives an agent; raises AgentError that names its type and what is accepted."""
    if isinstance(value, str):
        return adapt(import_object(value, what), what)
    if isinstance(value, type):
        raise AgentError(f"{what} is the class {value.__name__}; give an object of it, or use agent_factory")
    if not isinstance(value, ModuleType) and not inspect.isawaitable(value):
        if _has(value, "ainvoke") or _has(value, "invoke"):
            return RunnableAgent(value)
        if callable(value):
            try:
                return FunctionAgent(value)
            except SignatureError as error:
                raise AgentError(f"{what} cannot be called as an agent: {error}") from None
    hint = "; call its compile() first" if _has(value, "compile") else ""
    raise AgentError(f"{what} is a value of type {type_name(value)}; accepted is {ACCEPTED}{hint}")


def _has(value: Any, name: str) -> bool:
    try:
        return callable(getattr(value, name, None))
    except Exception:  # noqa: BLE001 - a property is user code
        return False
