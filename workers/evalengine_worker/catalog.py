"""The eval files of this worker: loaded to find their cases, or used to run them.

A file is imported at most once in a process. Its entry points are called by ``load`` only; ``use`` takes what the
file gives to a run of its cases: agent and custom criteria. User code is called while the loop stands still, so a
file may call ``asyncio.run`` itself; what is async in it runs on the worker's loop. What importing a file changes
of the process is there for all cases of this worker, of whatever file.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import msgspec

from evalengine import wire
from evalengine.cases import EvalSet
from evalengine.errors import ConfigurationError
from evalengine.foreign import as_simulator_config
from evalengine_worker import failures, modules
from evalengine_worker.agents.lookup import AgentError, adapt
from evalengine_worker.agents.turn import Agent
from evalengine_worker.configuration import Resolved, resolve
from evalengine_worker.planning import FoundSet, Planner, scenario_set
from evalengine_worker.project import LoadError, Project, Run, import_guarded, read_config
from evalengine_worker.protocols import (
    EntryPoint,
    EntryPointError,
    Kind,
    find_entry_points,
    read_scenarios,
    read_sets,
)

SYNC_AGENTS = ("threads", "serial")
_OWN_AGENT_NAMES = ("app", "agent")


class LoadedFile(NamedTuple):
    """A file whose entry points were called: its cases are planned as they are iterated."""

    spec: wire.FileSpec
    planner: Planner
    needs_model: list[str]
    warnings: list[str]
    has_entry_point: bool


class FileInUse(NamedTuple):
    """What a file gives to the run of its cases."""

    spec: wire.FileSpec
    agent: Agent
    custom: list[Any]


class Catalog:
    """Loads files, and remembers what they define."""

    def __init__(self, project: Project, run: Run) -> None:
        self._project = project
        self._run = run
        self._modules: dict[str, ModuleType] = {}
        self._changed_process: set[str] = set()
        self._resolved: dict[str, Resolved] = {}

    # Loading

    def load(self, command: wire.Load) -> LoadedFile:
        """Import a file and call its entry points; raises LoadError."""
        if self._project.problem is not None:
            raise self._project.problem
        self._project.import_confeval()
        if command.path.endswith(".json"):
            return self._load_json(command)
        digest = modules.digest_of(command.path)
        module = self._module(command.path, command.label)
        try:
            resolved = self._resolve(command.path, command.label, module)
            found = find_entry_points(module)
            sets = [each for entry in found.entry_points for each in self._sets(module, entry, command.path)]
        except EntryPointError as error:
            raise LoadError(str(error)) from error.__cause__
        loaded = self._loaded(command, module, resolved, sets, found.warnings, bool(found.entry_points))
        return loaded._replace(spec=msgspec.structs.replace(loaded.spec, digest=digest))

    def _load_json(self, command: wire.Load) -> LoadedFile:
        resolved = self._resolve(command.path, command.label, None)
        try:
            eval_set = EvalSet.from_file(command.path)
        except (OSError, ValueError, TypeError) as error:
            text = failures.message(error).replace(command.path, command.label)
            raise LoadError(text or failures.one_line(error)) from None
        stem = Path(command.path).name.removesuffix(".json").removesuffix(".evalset")
        return self._loaded(command, None, resolved, [FoundSet(eval_set, stem)], [], has_entry_point=True)

    def _loaded(
        self,
        command: wire.Load,
        module: ModuleType | None,
        resolved: Resolved,
        sets: list[FoundSet],
        warnings: list[str],
        has_entry_point: bool,
    ) -> LoadedFile:
        spec = self._spec(command, module, resolved)
        if any(found.eval_set.eval_cases for found in sets):
            self._agent(spec, module)
        needs_model = list(resolved.needs_model)
        if any(found.is_scenarios and found.eval_set.eval_cases for found in sets):
            needs_model.append("scenarios")
        return LoadedFile(spec, Planner(sets, resolved.specs), needs_model, warnings, has_entry_point)

    def _sets(self, module: ModuleType, entry: EntryPoint, path: str) -> Iterator[FoundSet]:
        stem = Path(path).stem
        try:
            value = self._called(entry)
            if entry.kind is Kind.SETS:
                name = stem if entry.name == "get_eval_set" else entry.name
                yield from [FoundSet(eval_set, name) for eval_set in read_sets(entry, value)]
            else:
                yield scenario_set(read_scenarios(entry, value), stem, self._scenario_turns(module))
        except (EntryPointError, LoadError):
            raise
        except BaseException as error:
            raise LoadError(f"{entry.name}() failed: {failures.one_line(error)}") from error

    def _called(self, entry: EntryPoint) -> Any:
        value = entry.value() if callable(entry.value) else entry.value
        if hasattr(value, "__await__"):
            value = self._run(value)
        if hasattr(value, "__aiter__"):
            value = self._run(_collected(value))
        return value

    def _scenario_turns(self, module: ModuleType) -> int | None:
        given = getattr(module, "SIMULATOR_CONFIG", None)
        return None if given is None else as_simulator_config(given).max_invocations

    def _spec(self, command: wire.Load, module: ModuleType | None, resolved: Resolved) -> wire.FileSpec:
        own_agent = next((name for name in _OWN_AGENT_NAMES if _is_agent(getattr(module, name, None))), None)
        own_custom = resolved.source == "file" and bool(resolved.custom)
        sync_agents = getattr(module, "sync_agents", None)
        if sync_agents is not None and sync_agents not in SYNC_AGENTS:
            msg = f"{command.label}: sync_agents is {sync_agents!r}, must be 'threads' or 'serial'"
            raise LoadError(msg, configuration=True)
        needs_module = module is not None and (
            own_agent is not None
            or own_custom
            or sync_agents is not None
            or command.path in self._changed_process
            or modules.imports_more_than_the_api(command.path)
        )
        return wire.FileSpec(
            path=command.path,
            label=command.label,
            criteria=resolved.specs,
            criteria_from=resolved.source,
            needs_module=needs_module,
            own_agent=own_agent,
            sync_agents=self._project.sync_agents or sync_agents or "threads",
            timeout_s=resolved.timeout_s,
            max_concurrency=resolved.max_concurrency,
        )

    # Using

    def use(self, spec: wire.FileSpec) -> FileInUse:
        """Take what a file gives to the run of its cases; raises LoadError."""
        is_new = spec.needs_module and spec.path not in self._modules
        if is_new and spec.digest and modules.digest_of(spec.path) != spec.digest:
            raise LoadError("it was changed or removed after its cases were collected; run it again")
        module = self._module(spec.path, spec.label) if spec.needs_module else None
        needs_custom = any(each.custom is not None for each in spec.criteria)
        self._project.import_confeval()
        custom = self._resolve(spec.path, spec.label, module).custom if needs_custom else []
        return FileInUse(spec, self._agent(spec, module), custom)

    # What both need

    def _module(self, path: str, label: str) -> ModuleType:
        module = self._modules.get(path)
        if module is None:
            environ, folders = dict(os.environ), list(sys.path)
            module = self._modules[path] = import_guarded(path, self._project.root, label)
            folders.append(str(Path(path).parent))
            if dict(os.environ) != environ or any(folder not in folders for folder in sys.path):
                self._changed_process.add(path)
        return module

    def _resolve(self, path: str, label: str, module: ModuleType | None) -> Resolved:
        if path not in self._resolved:
            self._resolved[path] = self._resolved_anew(label, module)
        return self._resolved[path]

    def _resolved_anew(self, label: str, module: ModuleType | None) -> Resolved:
        given = self._project.given_config()
        if given is None and module is not None:
            config = read_config(module, label, self._run)
            given = None if config is None else ("file", config)
        confeval = None if given is not None else self._project.confeval_config()
        try:
            return resolve([given, confeval], self._project.judge_model)
        except ConfigurationError as error:
            where = "confeval.py" if confeval is not None else label
            raise LoadError(f"{where}: {error}", configuration=True) from error

    def _agent(self, spec: wire.FileSpec, module: ModuleType | None) -> Agent:
        if spec.own_agent is None:
            return self._project.agent()
        try:
            return adapt(getattr(module, spec.own_agent), f"{spec.own_agent!r} of {spec.label}")
        except AgentError as error:
            raise LoadError(str(error)) from error.__cause__


def _is_agent(value: Any) -> bool:
    """Tell whether what a file calls ``app`` or ``agent`` is meant as one: a module of that name is not."""
    return value is not None and not isinstance(value, ModuleType)


async def _collected(iterator: Any) -> list[Any]:
    return [item async for item in iterator]
