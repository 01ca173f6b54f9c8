"""The lexical judge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalengine.criteria.lexical import judge


@pytest.mark.parametrize(
    ("expected", "response"),
    [
        ("London", "The weather in London is cloudy."),
        ("LONDON!", "london"),
        ("new york", "I flew to New-York, yesterday"),
        ("14 C", "cloudy, 14 C"),
        ("東京は晴れ", "はい、東京は晴れです。"),
        ("\uff34\uff4f\uff4b\uff59\uff4f", "Tokyo"),
        ("👍", "Done 👍"),
        ("3.14", "pi is 3.14."),
    ],
)
def test_an_expected_answer_that_stands_in_the_response_scores_one(expected, response):
    assert judge(expected, response).score == 1.0


@pytest.mark.parametrize(
    ("expected", "response", "share"),
    [
        ("cat", "concatenate", 0.0),
        ("12", "12.5", 0.0),
        ("the cat sat", "the dog sat", 2 / 3),
        ("a b c d", "d c b a", 1 / 4),
        ("one two", "", 0.0),
        ("👍", "👎", 0.0),
    ],
)
def test_else_the_share_of_words_in_order_counts(expected, response, share):
    assert judge(expected, response).score == pytest.approx(share)


@given(st.text(min_size=1).filter(str.strip), st.text(), st.text())
def test_a_response_that_quotes_the_expected_answer_scores_one(expected, before, after):
    assert judge(expected, f"{before} {expected} {after}").score == 1.0


@given(st.text(), st.text())
def test_the_score_is_in_range(expected, response):
    assert 0.0 <= judge(expected, response).score <= 1.0


def test_the_reason_says_how_much_was_found():
    assert judge("the cat sat", "the dog sat").reason == "2 of 3 words found in order"
