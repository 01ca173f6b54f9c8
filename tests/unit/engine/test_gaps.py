"""Times in which the coordinator stood still are found, each once."""

from evalengine.engine.gaps import Gaps


def test_a_timer_that_is_a_little_late_is_no_gap():
    assert Gaps(0.2).found(now=100.9, due=100.0) == 0


def test_a_timer_that_is_very_late_shows_all_that_may_have_been_lost():
    assert Gaps(0.5).found(now=160.0, due=100.0) == 60.5


def test_a_gap_is_told_once_while_the_timer_has_not_fired():
    gaps = Gaps(0.5)
    gaps.found(now=160.0, due=100.0)
    assert gaps.found(now=160.1, due=100.0) == 0


def test_a_second_gap_is_told_from_where_the_first_ended():
    gaps = Gaps(0.5)
    gaps.found(now=160.0, due=100.0)
    assert gaps.found(now=170.0, due=100.0) == 10.0
