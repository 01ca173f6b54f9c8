import enum
import math
import threading
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import PurePosixPath

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalengine.cases import ToolCall
from evalengine_worker.plain import MOST_STRING_CHARACTERS, MOST_VALUES, Plain, clean_text


class Colour(enum.Enum):
    RED = "red"


class Text(str):
    __slots__ = ()

    def __str__(self):
        raise RuntimeError


@dataclass
class Point:
    x: int


class Evil:
    def __repr__(self):
        raise AssertionError("no repr is ever called")

    @property
    def model_dump(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ("a", "a"),
        (Text("a"), "a"),
        ("\ud800", "\\ud800"),
        (1, 1),
        (True, True),
        (2**63 - 1, 2**63 - 1),
        (2**64, str(2**64)),
        (1.5, 1.5),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (None, None),
        ((1, [2]), [1, [2]]),
        ({(1, 2): 3, None: 4}, {"[1,2]": 3, "null": 4}),
        (b"\xff", {"base64": "/w==", "bytes": 1}),
        (Colour.RED, "red"),
        (Decimal("1.50"), "1.50"),
        (PurePosixPath("a/b"), "a/b"),
        (date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        (Point(1), {"x": 1}),
        (ToolCall(name="f"), {"name": "f", "args": {}, "call_id": None, "result": None}),
        (threading.Lock(), "<_thread.lock object>"),
        (Evil, "<type object>"),
    ],
)
def test_a_value_becomes_plain(value, plain):
    assert Plain().convert(value) == plain


def test_an_integer_that_str_refuses_is_told_by_its_size():
    assert Plain().convert(1 << 100_000) == "<integer of 100001 bits>"


def test_an_object_is_shown_by_its_type_without_asking_it():
    plain = Plain()
    name = f"{Evil.__module__}.Evil"
    assert plain.convert([Evil(), Evil()]) == [f"<{name} object>"] * 2
    assert list(plain.losses) == [f"a value of type {name} is shown by its type only"]


def test_a_cycle_ends():
    loop = []
    loop.append(loop)
    plain = Plain()
    assert b"nested too deeply" in msgspec.json.encode(plain.convert(loop))
    assert plain.losses


def test_a_cycle_that_branches_ends():
    loop = []
    loop += [loop, loop]
    plain = Plain()
    plain.convert(loop)
    assert f"only the first {MOST_VALUES} values were kept" in plain.losses


def test_a_long_text_is_cut_with_a_mark_and_told():
    plain = Plain()
    text = plain.convert("x" * (MOST_STRING_CHARACTERS + 5))
    assert text.endswith("... [5 more characters]")
    assert plain.losses


def test_a_long_list_is_cut():
    plain = Plain()
    assert len(plain.convert(list(range(MOST_VALUES * 2)))) == MOST_VALUES
    assert plain.losses


def test_many_texts_share_one_budget():
    plain = Plain()
    texts = plain.convert(["x" * MOST_STRING_CHARACTERS] * 40)
    assert sum(map(len, texts)) < 20 * MOST_STRING_CHARACTERS


def test_what_is_converted_shares_nothing_with_the_value():
    value = {"a": [1]}
    plain = Plain().convert(value)
    value["a"].append(2)
    assert plain == {"a": [1]}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.characters(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner),
        max_leaves=20,
    )
)
def test_everything_plain_survives_json_and_msgpack(value):
    plain = Plain().convert(value)
    assert msgspec.json.decode(msgspec.json.encode(plain)) == plain
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(plain)) == plain


def test_clean_text_of_plain_text_is_the_text_itself():
    text = "plain"
    assert clean_text(text) is text
