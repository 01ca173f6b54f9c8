import os

import pytest

from evalengine.errors import ConfigurationError
from evalengine_worker.environment import load_env_file, parse


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("KEY=value", "value"),
        ("export KEY=value", "value"),
        ("  KEY = value  ", "value"),
        ("KEY=a b # comment", "a b"),
        ("KEY=a#b", "a#b"),
        ("KEY='a # b' # comment", "a # b"),
        ('KEY="a\\nb"', "a\nb"),
        ("KEY='a\\nb'", "a\\nb"),
        ("KEY=", ""),
        ("KEY=a=b", "a=b"),
        ("# KEY=value", None),
        ("no assignment", None),
        ("", None),
    ],
)
def test_a_line(line, value):
    assert parse(line).get("KEY") == value


def test_the_environment_wins(tmp_path, monkeypatch):
    monkeypatch.setenv("HERE", "kept")
    monkeypatch.setenv("GONE", "")
    monkeypatch.delenv("GONE")
    (tmp_path / ".env").write_text("HERE=no\nGONE=set\n")
    load_env_file(str(tmp_path / ".env"))
    assert (os.environ["HERE"], os.environ["GONE"]) == ("kept", "set")


def test_a_missing_file_is_named():
    with pytest.raises(ConfigurationError, match=r"env file 'nowhere' of agentflow\.json not found"):
        load_env_file("nowhere")


def test_a_file_that_is_no_text_is_named(tmp_path):
    (tmp_path / ".env").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_env_file(str(tmp_path / ".env"))
