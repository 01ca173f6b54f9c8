"""Words in every script."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalengine.criteria.tokens import fold, tokens, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The cat, the hat!", ["the", "cat", "the", "hat"]),
        ("Погода в Лондоне", ["погода", "в", "лондоне"]),
        ("日本語 text", ["日", "本", "語", "text"]),
        ("日本go", ["日", "本", "go"]),
        ("go日本", ["go", "日", "本"]),
        ("ขอบ", ["ข", "อ", "บ"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("\uff21\uff22\uff23\uff11\uff12", ["abc12"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("a_b-c", ["a", "b", "c"]),
        ("soft\u00adhyphen", ["softhyphen"]),
        ("zero\u200bwidth", ["zero", "width"]),
        ("👍 ... !", []),
        ("", []),
    ],
)
def test_texts_are_cut_into_words(text, found):
    assert tokens(text) == found


def test_a_mark_stays_with_the_character_it_belongs_to():
    assert tokens("ที่") == ["ที่"]


def test_a_number_gives_its_parts_to_rouge_and_stays_whole_for_the_judge():
    assert tokens("3.14 and 1,000.") == ["3", "14", "and", "1", "000"]
    assert words("3.14 and 1,000.") == ["3.14", "and", "1.000"]


def test_a_keycap_is_its_digit():
    assert tokens("1\ufe0f\u20e3") == ["1"]


def test_fold_keeps_punctuation_and_collapses_white_space():
    assert fold(" \uff28ello,\n  WORLD! ") == "hello, world!"


@given(st.text())
def test_words_do_not_depend_on_case_or_normal_form(text):
    assert tokens(unicodedata.normalize("NFD", text)) == tokens(unicodedata.normalize("NFC", text))


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_upper_case_changes_nothing(text):
    assert tokens(text.upper()) == tokens(text)


@given(st.text(), st.text())
def test_a_space_always_separates(left, right):
    assert tokens(f"{left} {right}") == tokens(left) + tokens(right)


@given(st.text())
def test_no_word_holds_white_space_or_is_empty(text):
    assert all(word and not any(char.isspace() for char in word) for word in [*tokens(text), *words(text)])


@given(st.text())
def test_every_letter_and_digit_is_kept(text):
    kept = sum(unicodedata.category(char)[0] in "LN" for char in fold(text))
    assert sum(unicodedata.category(char)[0] in "LN" for word in tokens(text) for char in word) == kept
