import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalengine.report import plain_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("\x9b31mred", "red"),
        ("\x1bcreset", "reset"),
        ("bell\x07", "bell\\x07"),
        ("back\x08space", "back\\x08space"),
        ("over\rwritten", "over\\rwritten"),
        ("\u202eright to left", "\\u202eright to left"),
        ("\u2066isolate\u2069", "\\u2066isolate\\u2069"),
        ("para\u2029graph", "para\\u2029graph"),
        ("family 👩\u200d👩", "family 👩\u200d👩"),
        ("two\r\nlines", "two\\nlines"),
        ("tab\there", "tab\\there"),
    ],
)
def test_a_line_shows_what_is_there_and_does_nothing(text, shown):
    assert plain_text.one_line(text) == shown


@given(st.text())
def test_no_text_gets_a_control_onto_the_terminal(text):
    shown = plain_text.one_line(text)

    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or 0x202A <= ord(c) <= 0x202E for c in shown)


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("天気", 4), ("e\u0301", 1), ("a\u200db", 2)])
def test_columns_are_those_of_a_terminal(text, width):
    assert plain_text.columns(text) == width
    assert plain_text.columns(plain_text.pad(text, 6)) == 6


def test_a_tail_says_what_it_leaves_out():
    assert plain_text.tail("1\n2\n3\n4\n", 2) == ["… 2 lines left out", "3", "4"]
    assert plain_text.tail("1\n2\n", 2) == ["1", "2"]
    assert plain_text.tail("", 2) == []


def test_an_excerpt_shows_the_place():
    text = "a" * 500 + "HERE" + "b" * 500

    excerpt = plain_text.around(text, 500, 100)

    assert "HERE" in excerpt
    assert excerpt.startswith("…")
    assert excerpt.endswith("…")


def test_wrapped_text_has_a_bound():
    lines = plain_text.wrapped("word " * 100, 20, 3)

    assert len(lines) == 3
    assert lines[-1].endswith("…")
