"""The judge of ``response_match`` that needs no model, by the words of the expected answer.

1.0 where the normalised expected answer (case, width and punctuation unified) stands in the response as whole
words, else the share of its words found in order: longest common subsequence over the expected words. An expected
answer without a word in it (``"👍"``, ``"!"``) is looked for as it is.
"""

from typing import NamedTuple

from evalengine.criteria.sequences import common_subsequence
from evalengine.criteria.tokens import fold, words

NAME = "lexical"


class Verdict(NamedTuple):
    """A score in [0, 1] and, in a few words, what it rests on."""

    score: float
    reason: str


def judge(expected: str, response: str) -> Verdict:
    """Judge a response against the expected answer."""
    wanted, said = words(expected), words(response)
    if not wanted:
        found = fold(expected) in fold(response)
        return Verdict(float(found), "found as it is" if found else "not found")
    if stands_in(wanted, said):
        return Verdict(1.0, "all of it found, as whole words")
    common = common_subsequence(wanted, said)
    return Verdict(common / len(wanted), f"{common} of {len(wanted)} words found in order")


def stands_in(wanted: list[str], said: list[str]) -> bool:
    """Tell whether the wanted words stand in what was said, next to each other."""
    return f" {' '.join(wanted)} " in f" {' '.join(said)} "
