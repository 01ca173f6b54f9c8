"""From flags to settings: what was not given is None, short forms, and options that stand alone."""

import errno
import json

import pytest

from evalengine.cli import eval_command
from evalengine.cli.main import main


@pytest.fixture(autouse=True)
def _project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variable in ("NO_COLOR", "FORCE_COLOR", "TERM", "EVALENGINE_JUDGE_MODEL"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def settled(monkeypatch):
    """Return the settings that a command line comes to, without running anything."""
    seen = []
    monkeypatch.setattr(eval_command, "_perform", lambda settings, cwd: seen.append(settings) or 0)

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
    def fail(settings, cwd):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(eval_command, "_perform", fail)
    assert main(["eval"]) == 3
    assert capsys.readouterr().err == "Error: the run could not go on: [Errno 32] Broken pipe\n"
