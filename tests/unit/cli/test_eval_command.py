"""From flags to settings: what was not given is None, short forms, and options that stand alone."""

import errno
import json
from types import SimpleNamespace

import pytest

from evalengine.cli import eval_command
from evalengine.cli.main import main
from evalengine.errors import NoCasesError
from evalengine.events import Noticed


@pytest.fixture(autouse=True)
def _project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variable in ("NO_COLOR", "FORCE_COLOR", "TERM", "EVALENGINE_JUDGE_MODEL"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def settled(monkeypatch):
    """Return the settings that a command line comes to, without running anything."""
    seen = []
    monkeypatch.setattr(eval_command, "_perform", lambda start, _host: seen.append(start.settings) or 0)

    def settled(*args):
        assert main(["eval", *args]) == 0
        return seen[-1]

    return settled


def test_nothing_given(settled, tmp_path):
    settings = settled()
    assert settings.root == tmp_path
    assert set(settings.sources.values()) == {"default"}
    assert (settings.targets, settings.tags, settings.keyword) == ([], [], None)
    assert (settings.progress, settings.color, settings.verbosity) == (None, None, 0)


@pytest.mark.parametrize(
    ("args", "field", "value"),
    [
        (["a", "b::c"], "targets", ["a", "b::c"]),
        (["--", "-k"], "targets", ["-k"]),
        (["-k", "x and y"], "keyword", "x and y"),
        (["--tag", "a", "--tag", "b"], "tags", ["a", "b"]),
        (["--limit", "3"], "limit", 3),
        (["-p"], "parallel", True),
        (["--parallel"], "parallel", True),
        (["--parallel", "--no-parallel"], "parallel", False),
        (["-p", "-c", "8"], "max_concurrency", 8),
        (["-p", "--max-concurrency", "8", "--workers", "2"], "workers", 2),
        (["--timeout", "1.5"], "timeout_s", 1.5),
        (["--judge-model", "m"], "judge_model", "m"),
        (["-t", "0.8"], "threshold", 0.8),
        (["--threshold", "1"], "threshold", 1.0),
        (["--fail-on-any"], "fail_on_any", True),
        (["-x"], "max_failures", 1),
        (["--fail-fast"], "max_failures", 1),
        (["--max-failures", "4"], "max_failures", 4),
        (["--no-report"], "report", False),
        (["--no-timestamp-files"], "timestamp_files", False),
        (["--open"], "open_report", True),
        (["--collect-only"], "collect_only", True),
        (["-q"], "verbosity", -1),
        (["-v"], "verbosity", 1),
        (["--progress"], "progress", True),
        (["--no-progress"], "progress", False),
        (["--color=never"], "color", False),
        (["--color", "always"], "color", True),
        (["--color", "auto"], "color", None),
        (["--shuffle", "7"], "shuffle_seed", 7),
        (["--shuffle=7"], "shuffle_seed", 7),
    ],
)
def test_flags(settled, args, field, value):
    settings = settled(*args)
    assert getattr(settings, field) == value
    assert field not in settings.sources or settings.sources[field] == "command line"


def test_output_is_relative_to_where_it_was_typed(settled, tmp_path):
    assert settled("-o", "out").output_dir == tmp_path / "out"
    assert settled("--output", "a/b").output_dir == tmp_path / "a" / "b"


def test_shuffle_alone_draws_a_seed_and_keeps_the_target(settled):
    settings = settled("--shuffle", "evals")
    assert settings.targets == ["evals"]
    assert settings.shuffle_seed is not None


@pytest.mark.parametrize(
    "args", [["--resume", "evals"], ["--resume", "evals/2026_eval.py"], ["--resume", "-p", "evals"]]
)
def test_resume_alone_keeps_the_target(settled, args):
    assert settled(*args).targets == [args[-1]]


@pytest.mark.parametrize("args", [["--resume", "2026"], ["--resume", "20260513-1423"], ["--resume=anything"]])
def test_resume_takes_what_may_be_a_run(args, capsys):
    assert main(["eval", *args]) == 2
    assert f"no run {args[-1].removeprefix('--resume=')!r}" in capsys.readouterr().err


def test_colour_alone_means_always_and_keeps_the_target(settled):
    settings = settled("--color", "evals")
    assert settings.targets == ["evals"]
    assert settings.color is True


def test_a_flag_that_equals_the_default_wins(settled, tmp_path):
    (tmp_path / "agentflow.json").write_text(
        json.dumps(
            {"evaluation": {"report": False, "timestamp_files": False, "max_concurrency": 9, "parallel": True}}
        )
    )
    settings = settled("--report", "--timestamp-files", "-c", "4")
    assert settings.report
    assert settings.timestamp_files
    assert settings.max_concurrency == 4


def test_a_working_directory_that_is_gone_is_told(tmp_path, monkeypatch, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["eval"]) == 2
    assert "does not exist any more" in capsys.readouterr().err


def test_every_option_has_a_section():
    in_sections = [name for names in eval_command._SECTIONS.values() for name in names]
    options = [param.name for param in eval_command.eval_command.params if param.name != "targets"]
    assert sorted(in_sections) == sorted(options)


def test_a_system_error_of_the_run_is_no_success(monkeypatch, capsys):
    def fail(start, _host):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(eval_command, "_perform", fail)
    assert main(["eval"]) == 3
    assert capsys.readouterr().err == "Error: the run could not go on: [Errno 32] Broken pipe\n"


# The run


@pytest.fixture
def ran(monkeypatch, capsys):
    """Run ``eval`` over a fake run; return exit code, standard output and standard error."""
    import evalengine.api

    def ran(run, *args):
        monkeypatch.setattr(evalengine.api, "run", run)
        code = main(["eval", "--no-progress", *args])
        said = capsys.readouterr()
        return code, said.out, said.err

    return ran


def collected(labels, errors=()):
    def run(start, sinks, **_):
        assert sinks == []
        return SimpleNamespace(exit_code=0, collected=labels, document=SimpleNamespace(file_errors=list(errors)))

    return run


def test_collected_cases_are_labels_for_other_programs(ran):
    assert ran(collected(["a::b", "a::c"]), "--collect-only") == (0, "a::b\na::c\n", "Collected 2 cases\n")


def test_quiet_collecting_says_nothing_else(ran):
    assert ran(collected(["a::b"]), "--collect-only", "-q") == (0, "a::b\n", "")


def test_notices_of_collecting_go_to_standard_error(ran):
    _, out, err = ran(collected([]), "--collect-only", "--workers", "2")
    assert out == ""
    assert err == "notice: --workers has no effect without --parallel\nCollected 0 cases\n"


def test_a_file_that_could_not_be_collected_is_told(ran):
    broken = SimpleNamespace(file="x_eval.py", error="SyntaxError: invalid syntax")
    assert "Error: x_eval.py: SyntaxError: invalid syntax\n" in ran(collected([], [broken]), "--collect-only")[2]


def test_what_was_said_comes_before_the_error(ran):
    def run(start, sinks, **_):
        sinks[0].handle(Noticed(text="a notice of the run"))
        raise NoCasesError("No eval cases found")

    code, _, err = ran(run)
    assert code == 5
    assert err.index("a notice of the run") < err.index("Error: No eval cases found")
    assert err.endswith("Error: No eval cases found\n")


@pytest.mark.parametrize(("opens", "note"), [(True, ""), (False, "no browser was found to open")])
def test_the_page_is_opened(ran, monkeypatch, tmp_path, opens, note):
    page = tmp_path / "a b.html"
    asked = []

    class Quiet:
        def __init__(self, *streams, **options):
            pass

        def finish(self, document, paths):
            pass

        def tell_state(self, lines):
            pass

    monkeypatch.setattr("evalengine.report.console.Console", Quiet)
    monkeypatch.setattr("webbrowser.open", lambda url: asked.append(url) or opens)
    outcome = SimpleNamespace(
        exit_code=1, report_paths=[page, tmp_path / "a.json"], document=None, problem=None, told=[]
    )
    code, _, err = ran(lambda start, sinks, **_: outcome, "--open")
    assert code == 1
    assert asked == [page.as_uri()]
    assert note in err
