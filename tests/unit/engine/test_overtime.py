"""Whose time was over, by the worker's clock."""

from evalengine.engine.commands import Accept, Requeue
from evalengine.engine.facts import AttemptFinished
from evalengine.engine.overtime import answer_to
from evalengine.engine.states import Attempt, Worker
from evalengine.results import Status
from evalengine.wire import RunKey

KEY = RunKey(0)


def answer(status=Status.PASSED, *, took=0.0, robbed=0.0, paused=0.0, cancelled=None, stopping=None):
    attempt = Attempt(0, KEY, Worker(1))
    attempt.cancelled = cancelled
    fact = AttemptFinished(1, KEY, status, took_s=took, robbed_s=robbed)
    return answer_to(attempt, fact, 10.0, paused, stopping)


def test_a_result_within_its_time_counts_as_it_is():
    assert answer(took=9.9) == Accept(1, KEY, Status.PASSED)


def test_a_result_that_took_longer_is_a_timeout_whatever_it_says():
    assert answer(took=10.1) == Accept(1, KEY, Status.TIMEOUT, "timed out after 10 s")


def test_what_others_took_is_given_back():
    assert answer(took=15.0, robbed=6.0) == Accept(1, KEY, Status.PASSED)
    assert answer(took=17.0, robbed=6.0).status is Status.TIMEOUT


def test_the_time_in_which_the_coordinator_stood_still_is_given_back():
    assert answer(took=15.0, paused=6.0) == Accept(1, KEY, Status.PASSED)


def test_who_was_cancelled_for_the_time_of_others_runs_again_alone():
    given = answer(Status.TIMEOUT, took=12.0, robbed=6.0, cancelled=Status.TIMEOUT)
    assert isinstance(given, Requeue)
    assert given.alone
    assert "6.0 s" in given.reason


def test_who_was_cancelled_for_its_own_time_does_not():
    assert answer(Status.TIMEOUT, took=9.99, cancelled=Status.TIMEOUT) == Accept(1, KEY, Status.TIMEOUT)


def test_nobody_runs_again_once_the_run_is_stopping():
    given = answer(Status.TIMEOUT, took=12.0, robbed=6.0, cancelled=Status.TIMEOUT, stopping="enough")
    assert given == Accept(1, KEY, Status.TIMEOUT)


def test_who_was_stopped_is_not_run_however_long_it_took():
    assert answer(Status.NOT_RUN, took=20.0, cancelled=Status.NOT_RUN) == Accept(1, KEY, Status.NOT_RUN)
