"""The entry of the console scripts ``agentflow`` and ``evalengine``, and of ``python -m evalengine``.

Rules: whatever goes wrong is one line on standard error and a documented exit code, never a traceback of ours; a
reader that leaves (``| head``) changes neither.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from evalengine._version import __version__
from evalengine.cli.in_process import Invocation
from evalengine.cli.streams import claim_standard_descriptors, print_error, settle_streams

if TYPE_CHECKING:
    from evalengine.engine.process import Host

FRAMEWORK_COMMANDS = frozenset({"api", "audit", "build", "config", "dev", "play", "skills", "test", "version"})
"""Commands of the agentflow framework's own program, which carries the same name."""

INTERRUPTED = 130
FAILED = 3


class _ReaderLeft(Exception):  # noqa: N818 - no error: whoever read a help page has read enough
    """Standard output is a pipe without a reader."""


class Program(click.Group):
    """The commands by name; each is imported when it is asked for."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the arguments; help and version are printed on the way."""
        try:
            return super().make_context(*args, **kwargs)
        except BrokenPipeError:
            raise _ReaderLeft from None  # click would end the process with 1.

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _ReaderLeft from None

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order that help shows them."""
        return ["eval", "runs", "report", "init", "completion"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        match cmd_name:
            case "eval":
                from evalengine.cli.eval_command import eval_command

                return eval_command
            case "runs":
                from evalengine.cli.runs_command import runs_command

                return runs_command
            case "report":
                from evalengine.cli.report_command import report_command

                return report_command
            case "init":
                from evalengine.cli.init_command import init_command

                return init_command
            case "completion":
                from evalengine.cli.completion_command import completion_command

                return completion_command
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; say of one of the framework's where it is."""
        if args and self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            raise click.UsageError(self._unknown(ctx, args[0]), ctx)
        return super().resolve_command(ctx, args)

    def _unknown(self, ctx: click.Context, name: str) -> str:
        if name in FRAMEWORK_COMMANDS:
            return (
                f"No such command {name!r}: it belongs to the agentflow framework's own command line, whose "
                "console script this one replaced; reinstall 10xscale-agentflow-cli to have it back"
            )
        from evalengine.errors import nearest

        return f"No such command {name!r}{nearest(name, self.list_commands(ctx))}"


@click.command(
    cls=Program,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  agentflow init --prod          lay out a project that runs offline
  agentflow eval --parallel      evaluate it on all cores
  agentflow eval --resume        go on with a run that was cut off
  agentflow runs                 list the runs of this project
  agentflow eval --help          everything that eval can do""",
)
@click.version_option(__version__, "--version", "-V", message="evalengine %(version)s")
@click.pass_context
def program(ctx: click.Context) -> None:
    """Evaluate AI agents: run suites of cases on worker processes, and gate on their pass rate."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(args: Sequence[str] | None = None, host: "Host | None" = None) -> int:
    """Run the command line and return its exit code; raises SystemExit only for shell completion.

    ``host`` carries the worker of a run without isolation; without one, such a run goes on in another program.
    """
    claim_standard_descriptors()
    given = list(sys.argv[1:] if args is None else args)
    try:
        code = _run(given, host)
    finally:
        settle_streams()
    return code


def _run(args: list[str], host: "Host | None") -> int:
    try:
        result = program.main(args=args, standalone_mode=False, obj=Invocation(args, host))
    except Exception as error:  # noqa: BLE001 - the last line of defence
        code, message = _told(error, args)
        if message:
            print_error(message)
        return code
    return result if isinstance(result, int) else 0


def _told(error: Exception, args: list[str]) -> tuple[int, str]:
    """Return the exit code of an error and the line that tells it."""
    from evalengine.errors import EvalEngineError

    match error:
        case _ReaderLeft():
            return 0, ""
        case click.ClickException():
            return error.exit_code, _in_one_line(error)
        case EvalEngineError():
            return int(error.exit_code), str(error)
        case click.Abort():
            return INTERRUPTED, "interrupted"
        case OSError():
            return FAILED, error.strerror or str(error)
    if "-v" in args or "--verbose" in args:
        import traceback

        traceback.print_exception(error)
    what = f"internal error: {type(error).__name__}: {error}"
    return FAILED, f"{what} (please report it; -v shows where it was)"


NOT_YET = frozenset(
    {
        "--baseline",
        "--fail-on-regression",
        "--junit",
        "--markdown",
        "--repeat",
        "--shard",
    }
)
"""Flags that are announced and not there yet: no other flag is what was meant."""


def _in_one_line(error: click.ClickException) -> str:
    message = error.format_message().rstrip(".")
    if isinstance(error, click.NoSuchOption) and error.option_name in NOT_YET:
        message = f"{error.option_name} is not there yet in evalengine {__version__}"
    context = getattr(error, "ctx", None)
    if context is None:
        return message
    return f"{message} (see '{context.command_path} --help')"
