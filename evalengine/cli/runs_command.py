"""``agentflow runs``: which runs this project has, what came of them, and which may go."""

import re
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalengine.cli.streams import print_to_stderr
from evalengine.cli.surroundings import working_directory

if TYPE_CHECKING:
    from evalengine.journal.past import Past
    from evalengine.journal.runs import Overview, RunFolder

_AGE = re.compile(r"(\d+(?:\.\d+)?)([smhdw]?)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_NOT_PASSED_SHOWN = 50

_wall_clock = time.time


@click.group(
    "runs",
    invoke_without_command=True,
    epilog="""\b
Examples:
  agentflow runs                             list them, the last one first
  agentflow runs show 20260513-1423          what one was, and which cases did not pass
  agentflow runs clean --keep 10             remove all but the last ten
  agentflow runs clean --older-than 30d      remove what is older than thirty days
\b
An id may be shortened as long as one run alone begins so; "last" is the last run. A run that was cut
off or interrupted goes on with: agentflow eval --resume RUN""",
)
@click.pass_context
def runs_command(ctx: click.Context) -> int:
    """List the runs of this project, show one, or remove old ones."""
    return _list() if ctx.invoked_subcommand is None else 0


@runs_command.command("list")
def list_command() -> int:
    """List the runs, the last one first."""
    return _list()


def _list() -> int:
    from evalengine.journal.runs import overview, runs_of
    from evalengine.report.stream import SafeStream

    root = _root()
    rows = [_row(overview(run)) for run in runs_of(root)]
    if not rows:
        print_to_stderr("No runs", f"under {root}: agentflow eval makes one")
        return 0
    titles = ("RUN", "STARTED", "STATUS", "CASES", "COMMAND")
    widths = [max(len(row[column]) for row in [titles, *rows]) for column in range(len(titles) - 1)]
    out = SafeStream(sys.stdout)
    for row in [titles, *rows]:
        out.line("  ".join([*map(str.ljust, row[:-1], widths), row[-1]]).rstrip())
    out.flush()
    return 0


def _row(run: "Overview") -> tuple[str, ...]:
    from evalengine.report.plain_text import clip, one_line

    what = run.problem or _command(run.command)
    return (one_line(run.id), _when(run.began_at), run.status, _cases(run), clip(one_line(what), 200))


def _cases(run: "Overview") -> str:
    """Return ``7: 5 passed, 1 failed, 1 not run``."""
    from evalengine.report.gate import describe_counts

    if run.planned is None:
        return "-"
    passed = run.counts.get("passed", 0)
    return f"{run.planned}: {', '.join([f'{passed} passed', *describe_counts(run.counts)])}"


def _when(at: float | None) -> str:
    return "-" if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _command(command: Mapping[str, Any]) -> str:
    """Return what was given, as it could be typed again."""
    from evalengine.settings.continued import as_typed

    return as_typed(command)


def _root() -> Path:
    from evalengine.settings import project_root

    return project_root(working_directory())


# Show


@runs_command.command("show")
@click.argument("run", required=False, default="last", metavar="[RUN]")
def show_command(run: str) -> int:
    """Show what a run was, how far it came, and which cases did not pass."""
    from evalengine.errors import DiscoveryError
    from evalengine.journal.runs import find_run, read_run
    from evalengine.report.stream import SafeStream

    root = _root()
    found = find_run(root, run)
    if found is None:
        raise DiscoveryError("no run of this project is there: agentflow eval makes one")
    out = SafeStream(sys.stdout)
    for line in _told(found, read_run(found)):
        out.line(line)
    out.flush()
    return 0


def _told(run: "RunFolder", past: "Past") -> Iterator[str]:
    from evalengine.journal.runs import overview
    from evalengine.report.plain_text import one_line

    shown = overview(run)
    yield f"Run      {run.id}"
    yield f"Folder   {one_line(str(run.path))}"
    yield f"Started  {_when(past.began_at)}{f', in {past.parts} parts' if past.parts > 1 else ''}"
    yield f"Status   {shown.status}{_how(past)}"
    yield f"Cases    {_cases(shown)}"
    yield f"Command  {one_line(_command(shown.command))}"
    if past.started is not None:
        yield f"In       {one_line(past.started.cwd)}"
        yield f"Version  {past.started.engine_version}"
    yield from _not_passed(past)
    if shown.status not in {"complete", "in progress"}:
        yield ""
        yield f"Go on with it: agentflow eval --resume {run.id}"


def _how(past: "Past") -> str:
    if past.finished is None:
        return ""
    reason = f": {past.finished.reason}" if past.finished.reason else ""
    return f", exit code {past.finished.exit_code}{reason}"


def _not_passed(past: "Past") -> Iterator[str]:
    from evalengine.report.plain_text import one_line

    lines = [
        f"  {status.value:<8}  {one_line(planned.label)}{f' ({repeat + 1})' if planned.repeats > 1 else ''}"
        for planned, repeat, status in past.outcomes()
        if status.value not in {"passed", "skipped"}
    ]
    if lines:
        yield ""
        yield "Not passed"
        yield from lines[:_NOT_PASSED_SHOWN]
    if len(lines) > _NOT_PASSED_SHOWN:
        yield f"  … and {len(lines) - _NOT_PASSED_SHOWN} more"


# Clean


@runs_command.command(
    "clean",
    epilog="""\b
With both --keep and --older-than, what both would remove goes. A run in progress is never removed.
After each run the oldest ones beyond "keep_runs" of agentflow.json (50) go by themselves, but none
that was cut off or interrupted in the last seven days.""",
)
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Remove all but the last N.")
@click.option("--older-than", "age", metavar="AGE", help="Remove those last written before: 30d, 12h, 90m.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and remove nothing.")
def clean_command(runs: tuple[str, ...], keep: int | None, age: str | None, dry_run: bool) -> int:
    """Remove runs: those named, or the old ones."""
    from evalengine.errors import UsageError
    from evalengine.journal.runs import remove
    from evalengine.report.stream import SafeStream

    out = SafeStream(sys.stdout)
    for run in _chosen(_root(), runs, keep, age):
        if run.in_progress:
            if runs:
                raise UsageError(f"run {run.id} is in progress and was not removed: wait for its end")
            print_to_stderr("notice:", f"{run.id} is in progress, and stays")
        elif dry_run:
            out.line(f"would remove {run.id}")
        elif remove(run):
            out.line(f"removed {run.id}")
        else:
            print_to_stderr("notice:", f"{run.id} could not be removed")
    out.flush()
    return 0


def _chosen(root: Path, names: tuple[str, ...], keep: int | None, age: str | None) -> "list[RunFolder]":
    from evalengine.errors import UsageError
    from evalengine.journal.runs import find_run, runs_of

    if names:
        if keep is not None or age is not None:
            raise UsageError("runs are named, or chosen by --keep and --older-than: keep one of them")
        return [run for name in dict.fromkeys(names) if (run := find_run(root, name)) is not None]
    if keep is None and age is None:
        raise UsageError("say which runs are to go: --keep N, --older-than AGE, or their ids")
    oldest = _wall_clock() - (_age_s(age) if age is not None else 0.0)
    return [run for run in runs_of(root)[keep or 0 :] if age is None or run.touched_at < oldest]


def _age_s(text: str) -> float:
    """Return the seconds of ``30d``, ``12h``, ``90m``; a number alone counts days."""
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter(f"{text!r} is no age: write 30d, 12h or 90m", param_hint="'--older-than'")
    return float(found[1]) * _SECONDS[found[2] or "d"]
