"""The streams of a process that captures nothing: put back, and told, where a case took them."""

import io
import os
import sys

import pytest

from evalengine_worker.own_streams import OwnStreams


@pytest.fixture
def make(monkeypatch):
    """Make the streams of this process, replaced from here on for the test."""
    made = []

    def make():
        for name in ("stdin", "stdout", "stderr"):
            monkeypatch.setattr(sys, name, io.StringIO())
        made.append(OwnStreams())
        return made[-1]

    yield make
    for streams in made:
        streams.log._abandon()


def test_the_streams_stay_those_of_the_process(make):
    streams = make()
    before = sys.stdin, sys.stdout, sys.stderr
    assert not streams.install()
    assert (sys.stdin, sys.stdout, sys.stderr) == before


def test_a_stream_that_was_replaced_is_put_back_and_told(make):
    streams = make()
    before = sys.stdout
    sys.stdout = None
    assert streams.install()
    assert sys.stdout is before
    assert not streams.install()


def test_a_stream_that_was_closed_is_opened_again(make):
    streams = make()
    sys.stderr.close()
    assert streams.install()
    assert (sys.stderr.fileno(), sys.stderr.closed) == (2, False)


def test_there_is_no_log_to_read_from(make):
    streams = make()
    assert streams.log.size == 0
    assert streams.log.since(0, None) == ""


def test_descriptors_are_put_back_where_they_were_taken(make):
    streams = make()
    assert not streams.log.reconnect()
    was = os.fstat(2)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    os.close(null)
    assert streams.log.reconnect()
    assert os.path.samestat(os.fstat(2), was)
