"""The entry: commands by name, one line for each error, and exit codes."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from evalengine._version import __version__
from evalengine.cli import main as entry
from evalengine.cli.main import main, program
from evalengine.errors import ConfigurationError, DiscoveryError, EngineError, NoCasesError

SNAPSHOTS = Path(__file__).parent / "snapshots"


@pytest.fixture
def run(capsys):
    """Run the command line in this process: exit code, standard output, standard error."""

    def run(*args):
        code = main(args)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def failing(monkeypatch):
    """Put a command in the place of ``init`` that raises."""

    def failing(error):
        @click.command("init")
        @click.option("-v", "--verbose", is_flag=True)
        def command(verbose):
            raise error

        monkeypatch.setattr("evalengine.cli.init_command.init_command", command)

    return failing


# Help


@pytest.mark.parametrize("command", ["", "eval", "runs", "runs show", "runs clean", "report", "init", "completion"])
def test_help_pages(command):
    """Set EVALENGINE_UPDATE_SNAPSHOTS=1 to write them anew."""
    args = [*command.split(), "--help"]
    result = CliRunner().invoke(program, args, prog_name="agentflow", terminal_width=80)
    assert result.exit_code == 0
    path = SNAPSHOTS / f"{command.replace(' ', '-') or 'agentflow'}.txt"
    text = "\n".join(line.rstrip() for line in result.output.splitlines()) + "\n"
    if os.environ.get("EVALENGINE_UPDATE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["eval", "runs", "report", "init", "completion"])
def test_the_short_form_of_help(run, command):
    code, out, _ = run(command, "-h")
    assert code == 0
    assert out.startswith("Usage:")


def test_no_command_shows_help(run):
    code, out, err = run()
    assert code == 0
    assert "Commands:" in out
    assert err == ""


def test_every_command_of_the_list_exists():
    context = click.Context(program)
    names = program.list_commands(context)
    assert [program.get_command(context, name).name for name in names] == names


def test_the_version(run):
    assert run("--version") == (0, f"evalengine {__version__}\n", "")


# Errors


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigurationError("a bad value"), 2),
        (DiscoveryError("a bad value"), 2),
        (EngineError("a bad value"), 3),
        (NoCasesError("a bad value"), 5),
    ],
)
def test_an_error_of_ours_is_one_line_and_its_code(run, failing, error, code):
    failing(error)
    assert run("init") == (code, "", "Error: a bad value\n")


def test_what_a_terminal_would_obey_is_escaped(run, failing):
    failing(DiscoveryError("no \x1b[31mred\nname \u202e"))
    assert run("init")[2] == "Error: no \\x1b[31mred name \\u202e\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_an_interrupt(run, failing, error):
    failing(error)
    code, _, err = run("init")
    assert code == 130
    assert "Traceback" not in err


def test_a_fault_of_ours_is_one_line(run, failing):
    failing(RuntimeError("oh\nno"))
    code, _, err = run("init")
    assert code == 3
    assert err == "Error: internal error: RuntimeError: oh no (please report it; -v shows where it was)\n"


def test_a_fault_of_ours_shows_where_it_was_when_asked(run, failing):
    failing(RuntimeError("oh no"))
    assert "Traceback" in run("init", "-v")[2]


def test_a_reader_that_left_is_no_error(run, failing):
    failing(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert run("init") == (0, "", "")


def test_output_that_cannot_be_written_is_told(run, failing):
    failing(OSError(errno.ENOSPC, "No space left on device"))
    assert run("init") == (3, "", "Error: No space left on device\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["evl"], "No such command 'evl'; did you mean 'eval'?"),
        (["frobnicate"], "No such command 'frobnicate'; known: eval, runs, report, init, completion"),
        (["api"], "No such command 'api': it belongs to the agentflow framework's own command line"),
        (["--bogus"], "No such option"),
        (["eval", "--treshold", "1"], "No such option"),
        (["eval", "--limit", "x"], "Invalid value for '--limit': 'x' is not a valid integer"),
        (["eval", "--threshold", "high"], "Invalid value for '-t' / '--threshold': 'high' is not a valid float"),
        (["eval", "--threshold"], "Option '--threshold' requires an argument"),
        (["eval", "--shuffle=x"], "Invalid value for '--shuffle': 'x' is not a whole number"),
        (["eval", "--color=pink"], "Invalid value for '--color': 'pink' is not one of"),
        (["eval", "-q", "-v"], "--quiet and --verbose contradict each other"),
        (["completion"], "Missing argument"),
        (["completion", "tcsh"], "Invalid value for '{bash|zsh|fish}': 'tcsh' is not one of"),
    ],
)
def test_wrong_usage_is_one_line(run, args, message):
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert err.startswith(f"Error: {message}")
    assert err.count("\n") == 1


def test_wrong_usage_of_a_command_names_its_help(run):
    assert " eval --help')" in run("eval", "--limit", "x")[2]


def test_errors_are_red_where_colour_is_wanted(run, failing, monkeypatch):
    failing(DiscoveryError("x"))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert run("init")[2] == "\033[31mError:\033[0m x\n"


# Start-up


def test_the_entry_imports_no_engine():
    script = "import sys, evalengine.cli.main\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "click" in loaded
    assert loaded.isdisjoint({"msgspec", "asyncio", "multiprocess", "jinja2", "tqdm", "litellm", "evalengine.api"})


def test_both_names_of_the_program_are_one(monkeypatch, run):
    for name in ("agentflow", "evalengine"):
        monkeypatch.setattr(sys, "argv", [f"/usr/bin/{name}", "--help"])
        assert entry.main() == 0
        assert run("--help")[1].startswith("Usage:")


def test_modules_of_the_working_directory_do_not_take_the_place_of_ours(tmp_path):
    for name in ("click", "msgspec", "queue", "difflib", "threading"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('the project was imported')")
    command = [sys.executable, "-m", "evalengine", "eval", "--threshold", "80"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: --threshold is 80")
