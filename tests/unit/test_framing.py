"""Framing: what goes in comes out, however it is cut."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalengine.framing import MAX_PAYLOAD_BYTES, FrameDecoder, FramingError, frame

PAYLOADS = st.lists(st.binary(max_size=60), max_size=8)


def cut(data, places):
    bounds = [0, *sorted({place % (len(data) + 1) for place in places}), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(bounds)]


@given(PAYLOADS, st.lists(st.integers(0, 10_000), max_size=12))
def test_payloads_survive_any_split(payloads, places):
    stream = b"".join(map(frame, payloads))
    decoder = FrameDecoder()
    found = [payload for piece in cut(stream, places) for payload in decoder.feed(piece)]
    assert found == payloads
    assert decoder.pending_bytes == 0


@given(PAYLOADS)
def test_payloads_survive_byte_by_byte(payloads):
    decoder = FrameDecoder()
    stream = b"".join(map(frame, payloads))
    assert [payload for byte in stream for payload in decoder.feed(bytes([byte]))] == payloads


def test_a_torn_frame_is_pending_and_gives_nothing():
    decoder = FrameDecoder()
    assert decoder.feed(frame(b"hello")[:-1]) == []
    assert decoder.pending_bytes == len(frame(b"hello")) - 1


def test_a_stray_write_is_no_frame():
    with pytest.raises(FramingError, match="not a frame"):
        FrameDecoder().feed(b"Traceback (most recent call last)")


@pytest.mark.parametrize("length", [MAX_PAYLOAD_BYTES + 1, 0xFFFFFFFF])
def test_an_announced_length_over_the_cap_is_refused_before_it_arrives(length):
    with pytest.raises(FramingError):
        FrameDecoder().feed(b"EVE1" + length.to_bytes(4, "big"))


def test_a_payload_over_the_cap_is_not_framed():
    class Huge(bytes):
        def __len__(self):
            return MAX_PAYLOAD_BYTES + 1

    with pytest.raises(FramingError, match="over the limit"):
        frame(Huge())
