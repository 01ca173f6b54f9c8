"""Streams whose readers do not read: nobody waits, some lines are kept, and what is left out is told."""

import contextlib
import io
import os
import pty
import sys
import threading

import pytest

from evalengine.report.stream import Glimpses, SafeStream

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes of other systems cannot be asked")


class Pipe:
    """A pipe, and a stream at its writing end."""

    def __init__(self):
        self.reader, writer = os.pipe()
        self.file = os.fdopen(writer, "w", encoding="utf-8")
        self.safe = SafeStream(self.file)

    def read(self):
        """Everything up to the end of the stream."""
        self.safe.close()
        self.file.close()
        with os.fdopen(self.reader, "rb") as file:
            return file.read().decode()


@pytest.fixture
def pipe():
    pipe = Pipe()
    yield pipe
    for close in (pipe.file.close, lambda: os.close(pipe.reader)):
        with contextlib.suppress(OSError):
            close()


def lines(first, last):
    return [f"line {number:06}" for number in range(first, last)]


def fill(safe, first, last):
    for line in lines(first, last):
        safe.line(line)
    safe.offer()


def test_what_a_reader_does_not_take_waits_for_it(pipe):
    fill(pipe.safe, 0, 10_000)
    received = bytearray()
    reading = threading.Thread(target=lambda: received.extend(read_to_end(pipe.reader)))
    reading.start()
    pipe.safe.settle()
    pipe.file.close()
    reading.join()
    assert received.decode().splitlines() == lines(0, 10_000)
    assert pipe.safe.lost_lines == 0


def read_to_end(descriptor):
    data = b""
    while piece := os.read(descriptor, 65536):
        data += piece
    return data


def test_output_for_nobody_is_bounded_and_the_end_of_it_is_kept(pipe):
    for start in range(0, 200_000, 1000):
        fill(pipe.safe, start, start + 1000)
    pipe.safe.line("the end")
    pipe.safe.settle(patience_s=0)
    text = pipe.read().splitlines()
    [place] = [number for number, line in enumerate(text) if "left out" in line]
    left_out = pipe.safe.lost_lines
    assert text[place] == f"... {left_out} lines left out: nobody read them in time"
    assert text[:place] == lines(0, place)
    assert text[place + 1 : -1] == lines(place + left_out, 200_000)
    assert text[-1] == "the end"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pipes of other systems do not grow")
def test_what_is_left_at_the_end_outlasts_the_process_in_the_pipe(pipe):
    fill(pipe.safe, 0, 20_000)
    pipe.safe.settle(patience_s=0)
    assert pipe.read().splitlines() == lines(0, 20_000)


def test_a_terminal_that_is_not_read_is_given_up(monkeypatch):
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as file:
        safe = SafeStream(file)
        fill(safe, 0, 50_000)
        safe.settle(patience_s=0)
        assert safe.lost_lines > 0
        os.close(ours)


def test_a_reader_that_leaves_silences_the_stream(pipe):
    os.close(pipe.reader)
    fill(pipe.safe, 0, 10)
    fill(pipe.safe, 10, 20)
    pipe.safe.settle()
    assert pipe.safe.lost_lines == 0


def test_a_descriptor_that_others_made_non_blocking_loses_nothing(pipe):
    os.set_blocking(pipe.file.fileno(), False)
    fill(pipe.safe, 0, 20_000)
    pipe.safe.settle(patience_s=0)
    assert pipe.read().splitlines() == lines(0, 20_000)


def test_the_mode_of_the_descriptor_is_not_changed(pipe):
    fill(pipe.safe, 0, 20_000)
    assert os.get_blocking(pipe.file.fileno())


def test_a_file_takes_everything_at_once(tmp_path):
    with (tmp_path / "out").open("w", encoding="utf-8") as file:
        safe = SafeStream(file)
        fill(safe, 0, 100_000)
        assert (tmp_path / "out").read_text(encoding="utf-8").splitlines() == lines(0, 100_000)


def test_a_stream_without_a_descriptor_is_written_to_as_it_is():
    stream = io.StringIO()
    fill(SafeStream(stream), 0, 3)
    assert stream.getvalue().splitlines() == lines(0, 3)


def test_a_bar_is_drawn_now_or_not_at_all(pipe):
    bar = Glimpses(pipe.file, pipe.safe)
    bar.write("seen")
    while pipe.safe._outlet.has_room():
        pipe.safe._outlet.offer(b"x" * 512)
    bar.write("not seen")
    text = pipe.read()
    assert text.startswith("seen")
    assert "not" not in text
