"""Which program a run without isolation goes on in."""

import os
import sys
from types import SimpleNamespace

import pytest

from evalengine.cli import in_process
from evalengine.cli.in_process import Invocation, host_of
from evalengine.errors import EngineError, UsageError

HOST = object()


def start(*, isolated=False, only_render=False, continued=None):
    settings = SimpleNamespace(in_process=not isolated)
    return SimpleNamespace(settings=settings, only_render=only_render, continued=continued)


@pytest.fixture
def replaced(monkeypatch):
    """What this program would be replaced by."""
    seen = []

    class Replaced(BaseException):
        pass

    def execv(path, args):
        seen.append((path, args))
        raise Replaced

    monkeypatch.setattr(os, "execv", execv)

    def replaced(*args):
        with pytest.raises(Replaced):
            host_of(*args)
        return seen[-1]

    return replaced


def test_the_program_is_replaced_with_its_arguments(replaced):
    path, args = replaced(start(), Invocation(["eval", "--isolation", "none", "a b"]))
    assert path == args[0] == sys.executable
    assert args[-7:] == ["-P", "-m", "evalengine_worker.debug", "eval", "--isolation", "none", "a b"]


def test_a_journal_that_is_open_is_closed_before(replaced):
    closed = []
    continued = SimpleNamespace(journal=SimpleNamespace(close=lambda: closed.append(True)))
    replaced(start(continued=continued), Invocation(["eval", "--resume"]))
    assert closed == [True]


def test_a_program_that_is_the_host_stays():
    assert host_of(start(), Invocation([], HOST)) is HOST


def test_other_runs_need_no_host():
    assert host_of(start(isolated=True), Invocation([])) is None
    assert host_of(start(isolated=True), None) is None


def test_a_run_that_is_only_reported_needs_no_host():
    assert host_of(start(only_render=True), Invocation([])) is None


def test_the_host_is_for_nothing_else():
    with pytest.raises(UsageError, match="of --isolation none alone"):
        host_of(start(isolated=True), Invocation([], HOST))


def test_an_interpreter_that_is_not_known_is_told(monkeypatch):
    monkeypatch.setattr(in_process.sys, "executable", "")
    with pytest.raises(EngineError, match="Python interpreter"):
        host_of(start(), Invocation(["eval"]))
