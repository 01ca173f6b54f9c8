"""Closed, broken and full standard streams."""

import io
import subprocess
import sys

import pytest

from evalengine.cli import streams


def shell(command):
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_changes_no_exit_code(redirection):
    done = shell(f"{sys.executable} -m evalengine --version {redirection}")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_full_device_is_told_in_one_line():
    done = shell(f"{sys.executable} -m evalengine --version >/dev/full")
    assert (done.returncode, done.stderr) == (3, "Error: No space left on device\n")


def test_a_closed_error_stream_keeps_the_exit_code():
    assert shell(f"{sys.executable} -m evalengine nonsense 2>&-").returncode == 2


def test_a_reader_that_left_gets_no_traceback():
    done = shell(f"set -o pipefail; {sys.executable} -m evalengine eval --help | true")
    assert done.returncode == 0
    assert done.stderr == ""


def test_a_character_that_the_stream_lacks_is_escaped(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stderr", stream)
    streams.print_error("naïve")
    assert stream.buffer.getvalue() == b"Error: na\\xefve\n"


def test_without_an_error_stream_nothing_is_printed(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    streams.print_error("x")
