"""What holds for every file of this worker: the environment, confeval.py, the configured agent.

Each is found once; a failure is remembered, and is the failure of every file that needs it.
"""

import contextlib
import os
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

import cloudpickle
import msgspec

from evalengine import wire
from evalengine.config import EvalConfig
from evalengine.errors import ConfigurationError
from evalengine.foreign import as_eval_config
from evalengine_worker import environment, failures, modules, namespaces
from evalengine_worker.agents.lookup import AgentError, adapt, import_object
from evalengine_worker.agents.turn import Agent
from evalengine_worker.configuration import Given

Run = Callable[[Awaitable[Any]], Any]
"""Runs an awaitable on the worker's loop, which stands still while files are loaded."""

# What user code may replace after this module is imported.
_unpickle = cloudpickle.loads


class LoadError(Exception):
    """A file that cannot be loaded: one line, and the exception behind it as its cause."""

    def __init__(self, error: str, *, configuration: bool = False) -> None:
        super().__init__(error)
        self.error = error
        self.configuration = configuration


class Project:
    """The project that this worker runs files of."""

    def __init__(self, configure: wire.Configure, run: Run) -> None:
        self._configure = configure
        self._run = run
        self._confeval_config: Given | None = None
        self._confeval_is_read = False
        self._agent: Agent | None = None
        self._failures: dict[str, LoadError] = {}
        self._given: Given | None = None
        self.problem: LoadError | None = None

    @property
    def root(self) -> str:
        """The project root."""
        return self._configure.root

    @property
    def judge_model(self) -> str | None:
        """The judge that the command line, agentflow.json or the environment names."""
        return self._configure.judge_model

    @property
    def sync_agents(self) -> str | None:
        """How sync agents run, where agentflow.json or the caller says so."""
        return self._configure.sync_agents

    def enter(self) -> None:
        """Set the process up for the project; a problem is kept for the files to tell."""
        try:
            if self._configure.env_file is not None:
                environment.load_env_file(self._configure.env_file)
        except ConfigurationError as error:
            self.problem = LoadError(str(error), configuration=True)
        namespaces.enter_project(self.root, self._configure.sys_path)

    # What a Python caller handed over

    def given_config(self) -> Given | None:
        """Return the configuration that a Python caller handed over, which holds for every file."""
        if self._given is None and (self._configure.given_config or self._configure.pickled_custom):
            encoded = self._configure.given_config
            config = msgspec.msgpack.decode(encoded, type=EvalConfig) if encoded else EvalConfig()
            if self._configure.pickled_custom is not None:
                config.criteria.custom = list(self._unpickled(self._configure.pickled_custom, "custom criteria"))
            self._given = "api", config
        return self._given

    def _unpickled(self, data: bytes, what: str) -> Any:
        try:
            return _unpickle(data)
        except BaseException as error:  # unpickling runs the caller's code
            msg = f"the {what} handed over cannot be rebuilt in a worker process: {failures.one_line(error)}"
            raise LoadError(msg) from error

    # confeval.py

    def import_confeval(self) -> None:
        """Import confeval.py, where there is one, since it may set things up for agents; errors stay untold."""
        with contextlib.suppress(LoadError):
            self.confeval_config()

    def confeval_config(self) -> Given | None:
        """Return the configuration of confeval.py, or None where there is none."""
        path = self._configure.confeval
        if path is None:
            return None
        name = os.path.relpath(path, self.root)
        self._once("confeval", lambda: self._read_confeval(path, name))
        return self._confeval_config

    def _read_confeval(self, path: str, name: str) -> None:
        if not self._confeval_is_read:
            module = import_guarded(path, self.root, name, f"{name} cannot be imported")
            config = read_config(module, name, self._run)
            self._confeval_config = None if config is None else ("confeval", config)
            self._confeval_is_read = True

    # The agent

    def agent(self) -> Agent:
        """Return the configured agent; raises LoadError where it cannot be found or there is none."""
        self._once("agent", self._find_agent)
        if self._agent is None:
            raise LoadError('no agent: define `app` in the file or set "agent" in agentflow.json')
        return self._agent

    def _find_agent(self) -> None:
        configure = self._configure
        if self._agent is not None:
            return
        source = configure.agent_source
        if configure.pickled_agent is not None:
            self._agent = adapt(self._unpickled(configure.pickled_agent, "agent"), "the agent handed over")
        elif configure.agent_factory is not None:
            self._agent = self._from_factory(configure.agent_factory, source)
        elif configure.agent is not None:
            what = f"agent {configure.agent!r} of {source}"
            self._agent = adapt(import_object(configure.agent, what), what)

    def _from_factory(self, spec: str, source: str) -> Agent:
        what = f"agent_factory {spec!r} of {source}"
        factory = import_object(spec, what)
        if not callable(factory):
            raise AgentError(f"{what} is not callable; it must be a function that returns an agent")
        try:
            made = factory()
            if hasattr(made, "__await__"):
                made = self._run(made)
        except BaseException as error:  # a factory that exits is a broken factory
            raise AgentError(f"{what} failed: {failures.one_line(error)}") from error
        return adapt(made, f"what {what} returned")

    def _once(self, what: str, find: Callable[[], None]) -> None:
        failure = self._failures.get(what)
        if failure is None:
            try:
                find()
                return
            except AgentError as error:
                failure = LoadError(str(error))
                failure.__cause__ = error.__cause__
            except LoadError as error:
                failure = error
            self._failures[what] = failure
        again = LoadError(failure.error, configuration=failure.configuration)
        raise again from failure.__cause__


def import_guarded(path: str, root: str, label: str, broken: str = "") -> ModuleType:
    """Import a user's file; whatever it raises becomes a LoadError. The working directory is as before."""
    folder = _current_folder()
    try:
        return modules.import_file(path, root)
    except ConfigurationError as error:
        raise LoadError(f"{label}: {error}", configuration=True) from error
    except BaseException as error:  # a file that exits is a broken file
        line = _without_framework(error) or failures.one_line(error)
        raise LoadError(f"{broken}: {line}" if broken else line) from error
    finally:
        if folder is not None and _current_folder() != folder:
            os.chdir(folder)


def _current_folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - a string is all that is needed
    except OSError:
        return None


def _without_framework(error: BaseException) -> str | None:
    """Say what is wrong where an installed agentflow lacks what eval files import."""
    if not isinstance(error, ImportError) or not str(error.name or "").startswith("agentflow"):
        return None
    import sys

    package = sys.modules.get("agentflow")
    if package is None or hasattr(package, "__evalengine_fallback__"):
        return None
    where = getattr(package, "__file__", None) or getattr(package, "__path__", "?")
    if isinstance(error, ModuleNotFoundError) and str(error.name) in ("agentflow.qa", "agentflow.qa.evaluation"):
        return (
            f"the agentflow package that is installed ({where}) has no qa.evaluation: upgrade it "
            "(pip install -U 10xscale-agentflow), or uninstall it to use evalengine's own names"
        )
    return None


def read_config(module: ModuleType, label: str, run: Run) -> EvalConfig | None:
    """Return a module's get_eval_config() or EVAL_CONFIG; raises LoadError for one that cannot be meant."""
    function = getattr(module, "get_eval_config", None)
    value = getattr(module, "EVAL_CONFIG", None)
    if function is None and value is None:
        return None
    try:
        if callable(function):
            value = function()
            if hasattr(value, "__await__"):
                value = run(value)
        return as_eval_config(value)
    except ConfigurationError as error:
        raise LoadError(f"{label}: {error}", configuration=True) from error
    except BaseException as error:
        raise LoadError(f"{label}: get_eval_config() failed: {failures.one_line(error)}") from error
