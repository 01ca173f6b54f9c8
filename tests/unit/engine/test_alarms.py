"""Alarms: one a subject, the earliest first."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from evalengine.engine.alarms import Alarms


class Subject:
    def __init__(self):
        self.alarm_at = None


def test_without_alarms_nothing_is_due():
    alarms = Alarms()
    assert alarms.first() is None
    assert alarms.pop_due(1.0) is None


def test_never_is_no_alarm():
    alarms = Alarms()
    alarms.set(Subject(), inf)
    assert alarms.first() is None


def test_an_alarm_set_anew_is_due_at_the_new_time_only():
    alarms, subject = Alarms(), Subject()
    alarms.set(subject, 1.0)
    alarms.set(subject, 5.0)
    assert alarms.pop_due(4.0) is None
    assert alarms.pop_due(5.0) is subject
    assert alarms.pop_due(9.0) is None


def test_a_cleared_alarm_is_never_due():
    alarms, subject = Alarms(), Subject()
    alarms.set(subject, 1.0)
    subject.alarm_at = None
    assert alarms.first() is None


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99) | st.none()), max_size=400))
def test_alarms_are_due_in_order_however_often_they_were_set(settings):
    alarms, subjects, expected = Alarms(), [Subject() for _ in range(10)], {}
    for number, when in settings:
        if when is None:
            subjects[number].alarm_at = None
            expected.pop(number, None)
        else:
            alarms.set(subjects[number], float(when))
            expected[number] = float(when)
    due = []
    while (when := alarms.first()) is not None:
        due.append(when)
        assert alarms.pop_due(when) is not None
    assert due == sorted(expected.values())


def test_no_living_alarm_is_lost_among_many():
    alarms, subjects = Alarms(), [Subject() for _ in range(500)]
    for when, subject in enumerate(subjects):
        alarms.set(subject, float(when))
    assert [alarms.pop_due(1e9) for _ in subjects] == subjects


def test_dead_alarms_do_not_pile_up():
    alarms, subjects = Alarms(), [Subject() for _ in range(4)]
    for when in range(10_000):
        alarms.set(subjects[when % 4], 1e6 - when)
    assert len(alarms._heap) < 200
