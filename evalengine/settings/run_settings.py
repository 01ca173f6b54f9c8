"""What a run can be told: the command line as it was given, and the settings that came of it.

A flag that was given wins even where it equals the default, so that "not given" is None everywhere in
:class:`CommandLine`. The source of each setting is kept, for messages and reports.
"""

from pathlib import Path
from typing import Any

import msgspec

from evalengine.records import Record


class CommandLine(Record, kw_only=True):
    """What was said on the command line; None where nothing was."""

    targets: list[str] = []
    parallel: bool | None = None
    workers: int | None = None
    isolation: str | None = None
    max_concurrency: int | None = None
    threshold: float | None = None
    fail_on_any: bool | None = None
    timeout: float | None = None
    """Seconds."""
    run_timeout: float | None = None
    """Seconds."""
    retries: int | None = None
    max_failures: int | None = None
    fail_fast: bool | None = None
    keyword: str | None = None
    tags: list[str] = []
    limit: int | None = None
    shuffle: bool | None = None
    shuffle_seed: int | None = None
    output: str | None = None
    """A folder, relative to the working directory."""
    report: bool | None = None
    timestamp_files: bool | None = None
    open_report: bool | None = None
    judge_model: str | None = None
    collect_only: bool = False
    verbosity: int = 0
    progress: bool | None = None
    color: str | None = None
    """``auto``, ``always`` or ``never``."""
    resume: str | None = None
    """The run to continue: an id, the beginning of one, or ``last``."""
    last_failed: bool = False


class RunSettings(Record, kw_only=True):
    """Everything that is settled before anything runs."""

    root: Path
    """The folder of agentflow.json, else the working directory."""
    config_path: Path | None = None
    """The path of agentflow.json, where there is one."""
    eval_dir: Path
    targets: list[str] = []
    """As given; empty for the whole eval directory."""
    agent: str | None = None
    """``module:attr`` or a URL."""
    agent_factory: str | None = None
    agent_source: str = "agentflow.json"
    """Where the agent was said, for error messages."""
    env_file: Path | None = None
    confeval: Path | None = None
    sync_agents: str | None = None
    """``threads`` or ``serial``; None leaves it to each file."""
    parallel: bool = False
    isolation: str = "worker"
    """``worker``: cases share workers; ``case``: a fresh process for each; ``none``: the coordinator's own, for a
    debugger."""
    workers: int = 1
    max_concurrency: int = 1
    """The budget: cases in flight over all workers together; 1 where the run is sequential."""
    threshold: float | None = None
    fail_on_any: bool = False
    timeout_s: float | None = None
    """None where nobody set it: the file's own, else 300 s."""
    run_timeout_s: float | None = None
    """When the run stops, from its start; None for never."""
    import_timeout_s: float = 60.0
    """How long loading one file may take."""
    retries: int = 0
    """How often a case runs again after error, timeout or crashed."""
    max_failures: int | None = None
    """Stop after this many cases that did not pass; 1 is fail-fast."""
    keyword: str | None = None
    tags: list[str] = []
    limit: int | None = None
    shuffle_seed: int | None = None
    """None keeps the order of collection."""
    output_dir: Path
    report: bool = True
    timestamp_files: bool = True
    open_report: bool = False
    judge_model: str | None = None
    collect_only: bool = False
    verbosity: int = 0
    """-1 quiet, 0, 1 verbose."""
    progress: bool | None = None
    """None: where standard error is a terminal."""
    color: bool | None = None
    """None: where the stream is a terminal."""
    keep_runs: int = 50
    """How many runs that are over keep their journals."""
    only: list[str] | None = None
    """The labels of the cases to choose from; None for all."""
    command: CommandLine = msgspec.field(default_factory=CommandLine)
    """What these settings were made of, for whoever continues the run: its order drawn, its folders absolute."""
    cwd: Path | None = None
    """What targets are relative to."""
    sources: dict[str, str] = msgspec.field(default_factory=dict)
    """Setting to ``command line``, ``argument``, ``agentflow.json``, ``environment`` or ``default``."""
    notices: list[str] = msgspec.field(default_factory=list)
    """What the user should know, a line each."""

    @property
    def in_process(self) -> bool:
        """Whether cases run in the coordinator's own process, where a debugger may stop them for any time."""
        return self.isolation == "none"

    def described(self) -> dict[str, dict[str, Any]]:
        """Return ``{"value", "source"}`` of each setting that has a source, as builtins."""
        return {
            name: {"value": str(value) if isinstance(value, Path) else value, "source": source}
            for name, source in self.sources.items()
            for value in (getattr(self, name),)
        }
