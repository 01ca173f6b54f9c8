"""How far a sequence is the expected one: by position, as a subsequence, as a multiset.

All take the expected and the actual sequence; ``fits(actual, expected)`` need not be an equivalence, since a call
with any arguments fits an expectation that states none.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")
Fits = Callable[[T, T], bool]


def matched_positions(expected: Sequence[T], actual: Sequence[T], fits: Fits[T]) -> int:
    """Count the positions at which the actual item fits the expected one."""
    return sum(fits(got, wanted) for wanted, got in zip(expected, actual, strict=False))


def common_subsequence(expected: Sequence[Hashable], actual: Sequence[Hashable]) -> int:
    """Return the length of the longest common subsequence of equal items.

    One pass over ``actual`` with a bit of one integer for each item of ``expected`` (Hyyrö, 2004).
    """
    places: dict[Hashable, int] = {}
    for place, item in enumerate(expected):
        places[item] = places.get(item, 0) | 1 << place
    return _subsequence(len(expected), (places.get(item, 0) for item in actual))


def fitting_subsequence(expected: Sequence[T], actual: Sequence[T], fits: Fits[T]) -> int:
    """Return how many expected items can be fitted in order."""
    return _subsequence(
        len(expected),
        (sum(1 << place for place, wanted in enumerate(expected) if fits(got, wanted)) for got in actual),
    )


def _subsequence(length: int, fitting_places: Iterable[int]) -> int:
    full = (1 << length) - 1
    row = full
    for places in fitting_places:
        if places:
            taken = row & places
            row = ((row + taken) | (row - taken)) & full
    return length - row.bit_count()


def assign(expected: Sequence[T], actual: Sequence[T], fits: Fits[T]) -> list[int | None]:
    """Give each expected item an actual one that fits, none twice, so that as many as possible have one.

    Returns for each expected item the index of its actual item, or None. (Augmenting paths, Kuhn 1955.)
    """
    choices = [[place for place, got in enumerate(actual) if fits(got, wanted)] for wanted in expected]
    assigned: list[int | None] = [None] * len(expected)
    owner: dict[int, int] = {}
    for wanted in range(len(expected)):
        _augment(wanted, choices, assigned, owner)
    return assigned


def _augment(start: int, choices: list[list[int]], assigned: list[int | None], owner: dict[int, int]) -> None:
    """Find an actual item for ``start``, moving others where that frees one; breadth first."""
    came_from: dict[int, int] = {}
    queue = [start]
    for wanted in queue:
        for place in choices[wanted]:
            if place in came_from:
                continue
            came_from[place] = wanted
            if place not in owner:
                _reassign(place, came_from, assigned, owner)
                return
            queue.append(owner[place])


def _reassign(free: int, came_from: dict[int, int], assigned: list[int | None], owner: dict[int, int]) -> None:
    """Walk back from a free item: each expected item on the way takes it and frees the one it held."""
    place: int | None = free
    while place is not None:
        wanted = came_from[place]
        freed = assigned[wanted]
        assigned[wanted], owner[place] = place, wanted
        place = freed
