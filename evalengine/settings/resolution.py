"""From command line, agentflow.json and environment to the settings of a run.

Everything that can be wrong with them is told here, in one line and before anything runs. Nothing is created.
"""

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from evalengine.errors import ConfigurationError, DiscoveryError, EngineError
from evalengine.selection import Selection
from evalengine.settings import project_file
from evalengine.settings.cores import usable_cores
from evalengine.settings.project_file import ProjectFile
from evalengine.settings.run_settings import CommandLine, RunSettings
from evalengine.settings.values import BY_NAME, check

COMMAND_LINE = "command line"
ARGUMENT = "argument"
ENVIRONMENT = "environment"
DEFAULT = "default"
JUDGE_VARIABLE = "EVALENGINE_JUDGE_MODEL"
CONFEVAL = "confeval.py"
_STOPPERS = {"fail_fast", "max_failures"}
_FIELDS = {
    "timeout_s": "timeout",
    "run_timeout_s": "run_timeout",
    "import_timeout_s": "",
    "output_dir": "output",
    "eval_dir": "",
    "sync_agents": "",
    "keep_runs": "",
}
"""The field of the command line that says a setting, where it is not called like it; empty where none does."""

_DEFAULTS: dict[str, Any] = {
    "eval_dir": "evals",
    "output_dir": "eval_reports",
    "parallel": False,
    "max_concurrency": 4,
    "isolation": "worker",
    "fail_on_any": False,
    "retries": 0,
    "report": True,
    "timestamp_files": True,
    "import_timeout_s": 60.0,
    "keep_runs": 50,
}


_PICKED_AS_THEY_ARE = (
    "sync_agents",
    "threshold",
    "fail_on_any",
    "isolation",
    "timeout_s",
    "run_timeout_s",
    "import_timeout_s",
    "retries",
    "limit",
    "report",
    "timestamp_files",
    "keep_runs",
)


_IDLE_IN_PROCESS = ("parallel", "max_concurrency", "workers", "timeout_s", "run_timeout_s")
"""What has no effect where cases run in the coordinator's own process."""


class _Choice:
    """Picks each setting's value by priority, and notes where it came from."""

    def __init__(self, given: dict[str, Any], source: str, in_project: dict[str, Any]) -> None:
        self.given = given
        self.source = source
        self.ranked = ((source, given), (project_file.FILE_NAME, in_project))
        self.sources: dict[str, str] = {}

    def pick(self, name: str) -> Any:
        """Return the value of the highest source that has one, else the default."""
        for source, values in self.ranked:
            if name in values:
                self.sources[name] = source
                return values[name]
        self.sources[name] = DEFAULT
        return _DEFAULTS.get(name)


def resolve(cli: CommandLine, cwd: Path, environ: Mapping[str, str], *, read_project: bool = True) -> RunSettings:
    """Resolve the settings of a run started in ``cwd``.

    Without ``read_project`` the values are the arguments of a Python caller, and neither agentflow.json nor
    confeval.py is looked for. Raises ConfigurationError or DiscoveryError (nothing has run), EngineError where
    reports cannot be written.
    """
    source = COMMAND_LINE if read_project else ARGUMENT
    given = _checked(cli, source)
    path = project_file.find(cwd) if read_project else None
    where = _shown(path, cwd) if path else project_file.FILE_NAME
    project = project_file.read(path, where) if path else None
    choice = _Choice(given, source, project.values if project else {})
    settings = _unconfigured(cli, choice, path.parent if path else cwd, cwd)
    settings.color = color_of(cli.color, environ)
    if project:
        _set_project(settings, project, where)
    if read_project:
        settings.confeval = _confeval(settings.root, settings.eval_dir)
    for name in _PICKED_AS_THEY_ARE:
        setattr(settings, name, choice.pick(name))
    if settings.in_process:
        _set_in_process(settings, choice, cli)
    else:
        _set_concurrency(settings, choice)
    _set_max_failures(settings, choice, where)
    _set_judge(settings, choice, environ)
    _set_shuffle(settings, choice, cli)
    Selection(settings.keyword, settings.tags)
    _check_reports(settings, cwd)
    settings.command, settings.cwd = _repeatable(cli, settings, cwd), cwd
    return settings


def project_root(cwd: Path) -> Path:
    """Return the folder of agentflow.json, else the working directory."""
    path = project_file.find(cwd)
    return path.parent if path else cwd


def _repeatable(cli: CommandLine, settings: RunSettings, cwd: Path) -> CommandLine:
    output = None if cli.output is None else str(_absolute(cwd / cli.output))
    return msgspec.structs.replace(cli, output=output, shuffle_seed=settings.shuffle_seed, shuffle=None)


def _checked(cli: CommandLine, source: str) -> dict[str, Any]:
    """Return what was given, by setting; raise ConfigurationError for what cannot be meant."""
    given = {}
    for name, setting in BY_NAME.items():
        field = _FIELDS.get(name, name)
        value = getattr(cli, field) if field else None
        if value is not None:
            given[name] = check(setting, value, setting.flag if source == COMMAND_LINE else field, source)
    return given


def _unconfigured(cli: CommandLine, choice: _Choice, root: Path, cwd: Path) -> RunSettings:
    """Return settings with what only the command line says, and the folders."""
    return RunSettings(
        root=root,
        eval_dir=_absolute(root / choice.pick("eval_dir")),
        output_dir=_output_dir(choice, root, cwd),
        targets=list(cli.targets),
        keyword=cli.keyword,
        tags=list(cli.tags),
        open_report=bool(cli.open_report),
        collect_only=cli.collect_only,
        verbosity=cli.verbosity,
        progress=cli.progress,
        sources=choice.sources,
    )


def _set_project(settings: RunSettings, project: ProjectFile, where: str) -> None:
    settings.config_path = project.path
    settings.agent = project.agent
    settings.agent_factory = project.agent_factory
    settings.agent_source = where
    settings.notices += project.notices
    settings.env_file = _env_file(project.env, where, settings)


def _absolute(path: Path) -> Path:
    """Make a path absolute and take ``.`` and ``..`` out of it; symbolic links stay."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - Path.absolute keeps the dots


def _shown(path: Path, cwd: Path) -> str:
    return path.relative_to(cwd).as_posix() if path.is_relative_to(cwd) else str(path)


def _env_file(env: str | None, where: str, settings: RunSettings) -> Path | None:
    """Return the env file. One that is missing is only told: it is seldom checked in, and CI sets variables."""
    if env is None:
        return None
    path = _absolute(settings.root / env)
    if path.is_dir():
        raise ConfigurationError(f"env is {env!r} ({where}): it is a folder, and must be a file")
    if not path.exists():
        settings.notices.append(f"env file {env!r} ({where}) does not exist: no variables are loaded from it")
        return None
    if not os.access(path, os.R_OK):
        raise DiscoveryError(f"env is {env!r} ({where}): the file cannot be read: permission denied")
    return path


def _confeval(root: Path, eval_dir: Path) -> Path | None:
    return next((path for folder in (root, eval_dir) if (path := folder / CONFEVAL).is_file()), None)


def _output_dir(choice: _Choice, root: Path, cwd: Path) -> Path:
    """Return the report folder: of the command line, relative to where it was typed; else to the root."""
    folder = choice.pick("output_dir")
    return _absolute((cwd if "output_dir" in choice.given else root) / folder)


def color_of(flag: str | None, environ: Mapping[str, str]) -> bool | None:
    """Tell whether to colour; None: where the stream is a terminal. The flag wins over the environment."""
    if flag in {"always", "never"}:
        return flag == "always"
    if flag == "auto":
        return None
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in {"", "0"}:
        return True
    return False if environ.get("TERM") == "dumb" else None


def _set_concurrency(settings: RunSettings, choice: _Choice) -> None:
    settings.parallel = choice.pick("parallel")
    if not settings.parallel:
        settings.sources |= {"max_concurrency": DEFAULT, "workers": DEFAULT}
        idle = [BY_NAME[name].flag for name in ("max_concurrency", "workers") if name in choice.given]
        _tell_idle(settings, idle, "without --parallel")
        return
    budget = settings.max_concurrency = choice.pick("max_concurrency")
    workers = choice.pick("workers")
    if workers is not None and workers > budget:
        settings.notices.append(
            f"{budget} workers instead of {workers}: no more than the budget of cases in flight (--max-concurrency)"
        )
    # A worker that runs one case at a time can have no more of them in flight.
    usual = budget if settings.isolation == "case" else usable_cores()
    settings.workers = min(usual if workers is None else workers, budget)


def _set_in_process(settings: RunSettings, choice: _Choice, cli: CommandLine) -> None:
    """Leave one case at a time, all the time that a debugger takes, and no bar that draws over its prompt."""
    idle = [BY_NAME[name].flag for name in _IDLE_IN_PROCESS if choice.given.get(name)]
    _tell_idle(settings, [*idle, *(["--progress"] if cli.progress else [])], "with --isolation none")
    settings.parallel, settings.progress = False, False
    settings.timeout_s, settings.run_timeout_s, settings.import_timeout_s = None, None, math.inf
    settings.sources |= dict.fromkeys((*_IDLE_IN_PROCESS, "import_timeout_s"), DEFAULT)


def _tell_idle(settings: RunSettings, flags: list[str], why: str) -> None:
    """Say of flags that they change nothing."""
    if flags:
        named = " and ".join([*([", ".join(flags[:-1])] if flags[1:] else []), flags[-1]])
        settings.notices.append(f"{named} {'have' if flags[1:] else 'has'} no effect {why}")


def _set_max_failures(settings: RunSettings, choice: _Choice, where: str) -> None:
    """Fold ``fail_fast`` into ``max_failures``; a source that says either is silent on neither."""
    settings.sources["max_failures"] = DEFAULT
    for source, values in choice.ranked:
        if values.get("fail_fast") and values.get("max_failures", 1) != 1:
            said = where if source == project_file.FILE_NAME else source
            most = values["max_failures"]
            raise ConfigurationError(f"fail-fast and max-failures {most} contradict each other ({said}): keep one")
        if settings.sources["max_failures"] == DEFAULT and not values.keys().isdisjoint(_STOPPERS):
            settings.max_failures = 1 if values.get("fail_fast") else values.get("max_failures")
            settings.sources["max_failures"] = source


def _set_judge(settings: RunSettings, choice: _Choice, environ: Mapping[str, str]) -> None:
    settings.judge_model = choice.pick("judge_model")
    if settings.judge_model is None and environ.get(JUDGE_VARIABLE, "").strip():
        settings.judge_model = environ[JUDGE_VARIABLE].strip()
        settings.sources["judge_model"] = ENVIRONMENT


def _set_shuffle(settings: RunSettings, choice: _Choice, cli: CommandLine) -> None:
    settings.shuffle_seed = choice.pick("shuffle_seed")
    if settings.shuffle_seed is None and cli.shuffle:
        settings.shuffle_seed = int.from_bytes(os.urandom(4), "big")
        settings.sources["shuffle_seed"] = choice.source
    if settings.shuffle_seed is not None:
        settings.notices.append(f"order drawn with --shuffle {settings.shuffle_seed}, which repeats it")


def _check_reports(settings: RunSettings, cwd: Path) -> None:
    if not settings.report or settings.collect_only:
        if settings.open_report:
            flag = "--no-report" if not settings.report else "--collect-only"
            settings.notices.append(f"--open has no effect with {flag}: no report is written")
        return
    said = f"output folder {_shown(settings.output_dir, cwd)!r} ({settings.sources['output_dir']})"
    existing = next(folder for folder in (settings.output_dir, *settings.output_dir.parents) if _is_there(folder))
    if not existing.is_dir():
        raise ConfigurationError(f"{said}: {_shown(existing, cwd)!r} is a file; name a folder, or use --no-report")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise EngineError(f"{said} is not writable: permission denied; name another, or use --no-report")


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)
