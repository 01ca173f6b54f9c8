"""The result log: what was added can be read whole, whoever died, and what is recorded elsewhere is dropped."""

import errno
import os

from hypothesis import given
from hypothesis import strategies as st

from evalengine.framing import frame
from evalengine.result_log import ResultLog, read


@given(st.lists(st.binary(max_size=300), max_size=10))
def test_what_was_added_is_read(tmp_path_factory, payloads):
    path = tmp_path_factory.mktemp("log") / "results"
    log = ResultLog(path)
    assert [log.append(frame(payload)) for payload in payloads] == [True] * len(payloads)

    assert read(path) == payloads


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=5), st.data())
def test_a_torn_end_is_left_out(tmp_path_factory, payloads, data):
    path = tmp_path_factory.mktemp("log") / "results"
    log = ResultLog(path)
    for payload in payloads:
        log.append(frame(payload))
    last = len(frame(payloads[-1]))
    os.truncate(path, path.stat().st_size - data.draw(st.integers(1, last)))

    assert read(path) == payloads[:-1]


def test_no_file_and_one_of_somebody_else_have_no_results(tmp_path):
    (tmp_path / "other").write_bytes(b"not a frame at all")

    assert read(tmp_path / "other") == read(tmp_path / "nowhere") == []


def test_the_file_starts_anew_once_it_is_long_and_all_of_it_is_taken(tmp_path):
    log = ResultLog(tmp_path / "results")
    for _ in range(3):
        log.append(frame(b"x" * 500_000))

    log.taken(2)
    assert len(read(tmp_path / "results")) == 3

    log.taken(3)
    log.append(frame(b"next"))
    assert read(tmp_path / "results") == [b"next"]


def test_a_short_file_is_left_alone(tmp_path):
    log = ResultLog(tmp_path / "results")
    log.append(frame(b"x"))
    log.taken(1)

    assert read(tmp_path / "results") == [b"x"]


def test_a_full_disk_leaves_no_half_of_an_entry_and_counts_it(tmp_path):
    log = ResultLog(tmp_path / "results")
    log.append(frame(b"x" * 1_100_000))
    write = log._write
    log._write = lambda descriptor, data: write(descriptor, data[:10])
    assert not log.append(frame(b"y" * 100))
    assert read(tmp_path / "results") == [b"x" * 1_100_000]

    def full(*_):
        raise OSError(errno.ENOSPC, "no space")

    log._write = full
    assert not log.append(frame(b"z"))
    log.taken(3)
    assert read(tmp_path / "results") == []
