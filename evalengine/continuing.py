"""How a run starts: anew, as the rest of an earlier one (``--resume``), or with what failed (``--last-failed``).

A run that is continued runs under the command line it was started with, but for what is given anew; agentflow.json
and the eval files count as they are now. Where a run is over and nothing else is asked for, it is only rendered.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from evalengine.errors import RecordingError, UsageError
from evalengine.journal import Past
from evalengine.journal.runs import LAST, Continued, find_run, is_of, read_run, reopen, runs_of
from evalengine.results import Status
from evalengine.settings import CommandLine, RunSettings, chooses_anew, continued, project_root, resolve


class Start(msgspec.Struct):
    """What to run, and from where on. Whoever takes it closes the journal of ``continued``."""

    settings: RunSettings
    cwd: Path
    """What targets are relative to."""
    continued: Continued | None = None
    only_render: bool = False
    """Whether the run is over: its reports are written again and nothing runs."""


def prepare(cli: CommandLine, cwd: Path, environ: Mapping[str, str]) -> Start:
    """Settle what a command line in ``cwd`` starts.

    Raises UsageError for what cannot be meant, a run in progress and one of another root among it; RecordingError
    where the journal of the run cannot be read or written.
    """
    _check(cli)
    if cli.resume is not None:
        return _resumed(cli, cwd, environ)
    settings = resolve(cli, cwd, environ)
    if cli.last_failed:
        _choose_last_failed(settings)
    return Start(settings, cwd)


def _check(cli: CommandLine) -> None:
    if cli.resume is None:
        return
    other = "--last-failed" if cli.last_failed else "--collect-only" if cli.collect_only else None
    if other is not None:
        raise UsageError(f"--resume and {other} contradict each other: keep one of them")


def _resumed(cli: CommandLine, cwd: Path, environ: Mapping[str, str]) -> Start:
    root = project_root(cwd)
    run = find_run(root, cli.resume or LAST)
    if run is None:
        settings = resolve(cli, cwd, environ)
        settings.notices.append("--resume: no run of this project is there to continue: a new one starts")
        return Start(settings, cwd)
    opened = reopen(run, root)
    try:
        return _continued(cli, cwd, environ, opened)
    except BaseException:
        opened.journal.close()
        raise


def _continued(cli: CommandLine, cwd: Path, environ: Mapping[str, str], opened: Continued) -> Start:
    past = opened.past
    if past.started is None:
        # Ended before it could say what it was: what is asked for now is all there is to go by.
        return Start(resolve(cli, cwd, environ), cwd, opened)
    before = msgspec.convert(past.started.command, CommandLine)
    now = cli if cli.output is None else msgspec.structs.replace(cli, output=str(cwd / cli.output))
    place = cwd if now.targets or not past.started.cwd else Path(past.started.cwd)
    settings = resolve(continued(before, now), place, environ)
    if not chooses_anew(now):
        settings.only = past.started.only
    return Start(settings, place, opened, only_render=past.is_complete and not chooses_anew(now))


# What failed last


def _choose_last_failed(settings: RunSettings) -> None:
    past = _last_planned(settings.root)
    if past is None:
        settings.notices.append("--last-failed: no earlier run of this project is there: no choice is made")
        return
    run_id = past.header.run_id if past.header else ""
    passes = (Status.PASSED, Status.SKIPPED)
    labels = list(dict.fromkeys(planned.label for planned, _, status in past.outcomes() if status not in passes))
    if labels:
        settings.only = labels
    else:
        settings.notices.append(f"--last-failed: every case of the last run passed ({run_id}): no choice is made")


def _last_planned(root: Path) -> Past | None:
    """Return the last run that came to a plan; one that is in progress or cannot be read is passed over."""
    for run in runs_of(root):
        if run.in_progress:
            continue
        try:
            past = read_run(run)
        except RecordingError:
            continue
        if past.plan is not None and is_of(past, root):
            return past
    return None
