"""``agentflow eval``: from flags to settings, from settings to a run, from its outcome to an exit code."""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evalengine.cli.in_process import Invocation, host_of
from evalengine.cli.optional_values import (
    LAST,
    RANDOM,
    Optional,
    is_whole_number,
    looks_like_run,
    seed,
    with_values,
)
from evalengine.cli.streams import print_error, print_to_stderr
from evalengine.cli.surroundings import open_page, working_directory

if TYPE_CHECKING:
    from evalengine.api import RunOutcome
    from evalengine.continuing import Start
    from evalengine.engine.process import Host
    from evalengine.report.console import Console
    from evalengine.settings import CommandLine, RunSettings

_COLORS = ("auto", "always", "never")
_OPTIONAL_VALUES = {
    "--shuffle": Optional(RANDOM, is_whole_number),
    "--color": Optional("always", _COLORS.__contains__),
    "--resume": Optional(LAST, looks_like_run),
}

_SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Which cases": ("keyword", "tags", "limit", "shuffle", "last_failed", "resume", "collect_only"),
    "How they run": (
        "parallel",
        "max_concurrency",
        "workers",
        "isolation",
        "timeout",
        "run_timeout",
        "retries",
        "judge_model",
    ),
    "When it fails": ("threshold", "fail_on_any", "fail_fast", "max_failures"),
    "Reports": ("output", "report", "timestamp_files", "open_report"),
    "Terminal": ("quiet", "verbose", "progress", "color"),
}


class EvalCommand(click.Command):
    """Shows its options by section, and lets ``--shuffle`` and ``--color`` stand alone."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give options whose value was left out their value."""
        return super().parse_args(ctx, with_values(args, _OPTIONAL_VALUES))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of each section."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records = {option.name or "": option.get_help_record(ctx) for option in options}
        for title, names in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([record for name in names if (record := records.pop(name))])
        with formatter.section("Other"):
            formatter.write_dl([record for record in records.values() if record])


_F = TypeVar("_F", bound=Callable[..., Any])


def _option(*declarations: str, **attributes: Any) -> Callable[[_F], _F]:
    """Declare an option that is None where it was not given, whatever its kind."""
    return click.option(*declarations, **{"default": None, **attributes})


@click.command(
    "eval",
    cls=EvalCommand,
    epilog="""\b
Examples:
  agentflow eval                                      everything in evals/
  agentflow eval evals/weather_eval.py                one file
  agentflow eval evals/weather_eval.py::london        one case
  agentflow eval --parallel --max-concurrency 8       eight cases at a time, on all cores
  agentflow eval -k "weather and not tokyo" -x        a choice, up to the first failure
  agentflow eval --threshold 0.8 --output ci/reports  a gate for CI
  agentflow eval --resume                             the rest of the last run, after a crash or Ctrl-C
  agentflow eval --resume 20260513-1423               of the run with that id (agentflow runs lists them)
  agentflow eval --last-failed                        what did not pass in the last run
\b
Exit codes: 0 gate met, 1 gate not met, 2 wrong usage (nothing has run), 3 the engine could not
finish, 5 no cases, 130 interrupted. Defaults stand in the "evaluation" section of agentflow.json.""",
)
@click.argument("targets", nargs=-1, metavar="[TARGET]...", type=click.Path())
@_option("-k", "keyword", metavar="EXPR", help='Cases whose label, set or tags match: "weather and not tokyo".')
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Cases with this tag, or any of several.")
@_option("--limit", type=int, metavar="N", help="The first N of the selected cases.")
@_option("--shuffle", metavar="[SEED]", callback=seed, help="A random order; the printed SEED repeats it.")
@click.option("--lf", "--last-failed", "last_failed", is_flag=True, help="What did not pass in the last run.")
@_option("--resume", metavar="[RUN]", help="Continue the last run, or RUN: only what has no verdict yet runs.")
@click.option("--collect-only", is_flag=True, help="List the cases and run none.")
@_option("-p", "--parallel/--no-parallel", help="Run cases of all files at once on worker processes.")
@_option("-c", "--max-concurrency", type=int, metavar="N", help="Cases in flight over all workers.  [default: 4]")
@_option("--workers", type=int, metavar="N", help="Worker processes.  [default: usable cores]")
@_option(
    "--isolation",
    metavar="KIND",
    help="worker: shared workers.  case: a fresh process for each case.  none: no other process, for a debugger.",
)
@_option("--timeout", type=float, metavar="SECONDS", help="Time for one case.  [default: 300]")
@_option("--run-timeout", type=float, metavar="SECONDS", help="Time for the whole run; what is left is not run.")
@_option("--retries", type=int, metavar="N", help="Run a case again, up to N times, after error, timeout or crash.")
@_option("--judge-model", metavar="MODEL", help="The model that judges responses, over that of criteria.")
@_option("-t", "--threshold", type=float, metavar="RATE", help="Least pass rate, 0 to 1; without it all must pass.")
@_option("--fail-on-any/--no-fail-on-any", help="Fail where any case fails, whatever the threshold.")
@_option("-x", "--fail-fast/--no-fail-fast", help="Stop after the first case that does not pass.")
@_option("--max-failures", type=int, metavar="N", help="Stop after N cases that do not pass.")
@_option("-o", "--output", metavar="FOLDER", type=click.Path(), help="Where reports go.  [default: eval_reports]")
@_option("--report/--no-report", help="Write HTML and JSON reports.  [default: report]")
@_option("--timestamp-files/--no-timestamp-files", help="Put the time into their names.  [default: on]")
@click.option("--open", "open_report", is_flag=True, help="Open the HTML report in the browser.")
@click.option("-q", "--quiet", is_flag=True, help="Print failures and results alone.")
@click.option("-v", "--verbose", is_flag=True, help="Print details of every case.")
@_option("--progress/--no-progress", help="A bar on standard error.  [default: on a terminal]")
@_option("--color", metavar="[WHEN]", type=click.Choice(_COLORS), help="auto, always or never.")
@click.pass_obj
def eval_command(invocation: Invocation | None, /, **given: Any) -> int:
    """Run the cases of eval files, and write reports.

    A TARGET is a file, a folder that is searched for *_eval.py, eval_*.py and *.evalset.json, or a case as
    path::id. Without one, the eval directory is searched: evals/, or what agentflow.json says.
    """
    from evalengine.continuing import prepare
    from evalengine.errors import EngineError

    start = prepare(_command_line(given), working_directory(), os.environ)
    host = host_of(start, invocation)
    with suppress(OSError):
        os.chdir(start.cwd)  # Where a run that goes on was at home: agents may count on it.
    try:
        return _perform(start, host)
    except OSError as error:  # Not left to click, which takes any broken pipe for that of its own output.
        raise EngineError(f"the run could not go on: {error}") from error


def _command_line(given: dict[str, Any]) -> "CommandLine":
    from evalengine.settings import CommandLine

    quiet, verbose, shuffle = given.pop("quiet"), given.pop("verbose"), given.pop("shuffle")
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose contradict each other: keep one of them")
    return CommandLine(
        **{**given, "targets": list(given["targets"]), "tags": list(given["tags"])},
        verbosity=verbose - quiet,
        shuffle=True if shuffle == RANDOM else None,
        shuffle_seed=shuffle if isinstance(shuffle, int) else None,
    )


def _perform(start: "Start", host: "Host | None") -> int:
    from evalengine.api import run
    from evalengine.errors import EngineError

    settings = start.settings
    if settings.collect_only:
        return _list_cases(run(start, [], host=host), settings)
    from evalengine.report.console import Console

    console = Console(
        sys.stdout,
        sys.stderr,
        verbosity=settings.verbosity,
        color=settings.color,
        progress=settings.progress,
        folder=_searched(settings, start.cwd),
        environ=os.environ,
    )
    try:
        outcome = run(start, [console], tell_state=console.tell_state, host=host)
    except BaseException:
        console.flush()  # What was said of files comes before the error.
        console.settle()
        raise
    _finish(console, outcome)
    if outcome.problem is not None:
        raise EngineError(outcome.problem)
    if settings.open_report and outcome.report_paths:
        open_page(outcome.report_paths[0])
    return int(outcome.exit_code)


def _finish(console: "Console", outcome: "RunOutcome") -> None:
    """Tell the results; a fault of ours in telling them is told, and changes nothing else."""
    problems = list(outcome.told)
    try:
        console.finish(outcome.document, outcome.report_paths)
    except Exception as error:  # noqa: BLE001
        problems.append(f"internal error in the console: {type(error).__name__}: {error}")
        for path in outcome.report_paths:
            print_to_stderr("Report:", str(path))
    for problem in problems:
        print_error(f"{problem} (please report it); the run went on")


def _searched(settings: "RunSettings", cwd: Path) -> str:
    if settings.targets:
        return " ".join(settings.targets)
    folder = settings.eval_dir
    return f"{folder.relative_to(cwd) if folder.is_relative_to(cwd) else folder}/"


def _list_cases(outcome: "RunOutcome", settings: "RunSettings") -> int:
    """Print a label a line, fit for other programs; what else there is to say goes to standard error."""
    from evalengine.report.stream import SafeStream

    out = SafeStream(sys.stdout)
    for label in outcome.collected:
        out.line(label)
    out.flush()
    for error in outcome.document.file_errors:
        print_error(f"{error.file}: {error.error}")
    if settings.verbosity >= 0:
        for notice in settings.notices:
            print_to_stderr("notice:", notice)
        cases = len(outcome.collected)
        print_to_stderr("Collected", f"{cases} case{'' if cases == 1 else 's'}")
    return int(outcome.exit_code)
