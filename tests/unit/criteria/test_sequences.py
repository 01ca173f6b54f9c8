"""Sequences: against the plain definitions, by brute force."""

import itertools
import operator

from hypothesis import given
from hypothesis import strategies as st

from evalengine.criteria.sequences import assign, common_subsequence, fitting_subsequence, matched_positions

LETTERS = st.lists(st.sampled_from("abcd"), max_size=12)
RELATIONS = st.integers(0, 4).flatmap(
    lambda wide: st.lists(st.lists(st.booleans(), min_size=wide, max_size=wide), max_size=4)
)


def table_subsequence(expected, actual, fits):
    """The textbook's table."""
    rows = [[0] * (len(actual) + 1) for _ in range(len(expected) + 1)]
    for i, wanted in enumerate(expected, 1):
        for j, got in enumerate(actual, 1):
            taken = rows[i - 1][j - 1] + 1 if fits(got, wanted) else 0
            rows[i][j] = max(rows[i - 1][j], rows[i][j - 1], taken)
    return rows[-1][-1]


@given(LETTERS, LETTERS)
def test_the_common_subsequence_is_that_of_the_table(expected, actual):
    assert common_subsequence(expected, actual) == table_subsequence(expected, actual, operator.eq)


@given(LETTERS, LETTERS)
def test_the_common_subsequence_is_symmetric_and_bounded(left, right):
    length = common_subsequence(left, right)
    assert length == common_subsequence(right, left)
    assert 0 <= length <= min(len(left), len(right))


@given(LETTERS, LETTERS)
def test_a_sequence_is_a_subsequence_of_itself_with_extras(expected, extras):
    mixed = [item for pair in itertools.zip_longest(extras, expected) for item in pair if item is not None]
    assert common_subsequence(expected, mixed) == len(expected)


@given(RELATIONS)
def test_a_fitting_subsequence_needs_no_equivalence(relation):
    wide = len(relation[0]) if relation else 0
    expected, actual = range(len(relation)), range(wide)

    def fits(got, wanted):
        return relation[wanted][got]

    assert fitting_subsequence(expected, actual, fits) == table_subsequence(expected, actual, fits)


@given(RELATIONS)
def test_the_assignment_is_a_best_one(relation):
    wide = len(relation[0]) if relation else 0
    expected, actual = range(len(relation)), range(wide)
    assigned = assign(expected, actual, lambda got, wanted: relation[wanted][got])
    taken = [place for place in assigned if place is not None]
    assert len(taken) == len(set(taken))
    assert all(relation[wanted][place] for wanted, place in enumerate(assigned) if place is not None)
    slots = [*actual, *[None] * len(relation)]
    best = max(
        sum(place is not None and relation[wanted][place] for wanted, place in enumerate(order))
        for order in itertools.permutations(slots, len(relation))
    )
    assert len(taken) == best


def test_positions_count_to_the_end_of_the_shorter():
    assert matched_positions("abc", "abd", operator.eq) == 2
    assert matched_positions("abc", "a", operator.eq) == 1
