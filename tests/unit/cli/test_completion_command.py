"""Shell completion: the scripts, and what they ask us."""

import pytest

from evalengine.cli.main import main, program


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(capsys, shell):
    assert main(["completion", shell]) == 0
    out = capsys.readouterr().out
    assert "_AGENTFLOW_COMPLETE" in out
    assert "agentflow" in out


def complete(monkeypatch, capsys, words):
    monkeypatch.setenv("_AGENTFLOW_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    with pytest.raises(SystemExit) as done:
        program.main(args=[], prog_name="agentflow")
    assert done.value.code == 0
    return capsys.readouterr().out.split()


def test_commands_are_completed(monkeypatch, capsys):
    assert complete(monkeypatch, capsys, "agentflow e") == ["plain,eval"]


def test_options_are_completed(monkeypatch, capsys):
    assert "plain,--max-concurrency" in complete(monkeypatch, capsys, "agentflow eval --max")


def test_targets_are_files(monkeypatch, capsys):
    assert complete(monkeypatch, capsys, "agentflow eval ev") == ["file,ev"]


def test_a_choice_is_completed(monkeypatch, capsys):
    assert complete(monkeypatch, capsys, "agentflow completion z") == ["plain,zsh"]
