"""``agentflow report``: the reports of a run, written again from its journal."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalengine.cli.surroundings import open_page, working_directory

if TYPE_CHECKING:
    from evalengine.journal.past import Past


@click.command(
    "report",
    epilog="""\b
Examples:
  agentflow report                             of the last run
  agentflow report 20260513-1423               of the run whose id begins so
  agentflow report last --output ci/reports    into another folder
\b
Cases of a run that was cut off are reported as not run. The exit code is 0 where the reports are
written, whatever is in them; agentflow eval --resume gates.""",
)
@click.argument("run", required=False, default="last", metavar="[RUN]")
@click.option(
    "-o", "--output", metavar="FOLDER", type=click.Path(), help="Where they go.  [default: as configured]"
)
@click.option("--timestamp-files/--no-timestamp-files", default=None, help="Put the time into their names.")
@click.option("--open", "open_report", is_flag=True, help="Open the HTML report in the browser.")
@click.option("-q", "--quiet", is_flag=True, help="Print failures and results alone.")
@click.option("-v", "--verbose", is_flag=True, help="Print details of every case.")
def report_command(
    run: str, output: str | None, timestamp_files: bool | None, open_report: bool, quiet: bool, verbose: bool
) -> int:
    """Write the reports of a run again, from its journal."""
    from evalengine.errors import EngineError
    from evalengine.rendering import Target, render
    from evalengine.report.console import Console
    from evalengine.settings import CommandLine, resolve

    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose contradict each other: keep one of them")
    cwd = working_directory()
    settings = resolve(CommandLine(output=output, timestamp_files=timestamp_files, report=True), cwd, os.environ)
    journal, past, unfinished = _read(settings.root, run)
    console = Console(
        sys.stdout,
        sys.stderr,
        verbosity=verbose - quiet,
        color=settings.color,
        progress=False,
        environ=os.environ,
    )
    target = Target(folder=settings.output_dir, timestamped=settings.timestamp_files)
    outcome = render(journal, past, target, [console], unfinished)
    console.finish(outcome.document, outcome.report_paths)
    if outcome.problem is not None:
        raise EngineError(outcome.problem)
    if open_report:
        open_page(outcome.report_paths[0])
    return 0


def _read(root: Path, name: str) -> "tuple[Path, Past, str]":
    """Return the journal of a run, what it has come to, and what is to be said where it is not over."""
    from evalengine.errors import DiscoveryError
    from evalengine.journal.runs import find_run, read_run

    run = find_run(root, name)
    if run is None:
        raise DiscoveryError("no run of this project is there to report: agentflow eval makes one")
    in_progress = run.in_progress
    past = read_run(run)
    if past.plan is None:
        raise DiscoveryError(f"run {run.id} was not planned yet, so that there is nothing to report")
    unfinished = "it is in progress" if in_progress else "it was cut off; agentflow eval --resume goes on with it"
    return run.journal, past, unfinished
