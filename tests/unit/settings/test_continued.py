"""The command line of a run that is continued."""

import pytest

from evalengine.settings import CommandLine, as_recorded, chooses_anew, continued
from evalengine.settings.continued import as_typed


def test_what_was_given_holds():
    before = CommandLine(targets=["a"], parallel=True, workers=2, threshold=0.5, tags=["x"], output="/o")

    assert continued(before, CommandLine()) == before


@pytest.mark.parametrize(
    ("field", "before", "now"),
    [
        ("targets", ["a"], ["b"]),
        ("threshold", 0.5, 0.0),
        ("workers", 2, 4),
        ("report", True, False),
        ("keyword", "a", "b"),
        ("tags", ["a"], ["b"]),
    ],
)
def test_what_is_given_anew_wins(field, before, now):
    assert getattr(continued(CommandLine(**{field: before}), CommandLine(**{field: now})), field) == now


def test_limits_of_failures_do_not_contradict_each_other():
    merged = continued(CommandLine(fail_fast=True), CommandLine(max_failures=3))

    assert (merged.fail_fast, merged.max_failures) == (None, 3)


def test_a_run_that_is_sequential_now_has_no_workers_of_before():
    merged = continued(CommandLine(parallel=True, workers=2, max_concurrency=8), CommandLine(parallel=False))

    assert (merged.parallel, merged.workers, merged.max_concurrency) == (False, None, None)


def test_an_order_drawn_anew_takes_the_place_of_a_seed():
    merged = continued(CommandLine(shuffle_seed=7), CommandLine(shuffle=True))

    assert (merged.shuffle, merged.shuffle_seed) == (True, None)


def test_what_is_of_the_moment_is_not_taken_over():
    merged = continued(CommandLine(verbosity=1, open_report=True, color="never"), CommandLine(resume="last"))

    assert (merged.verbosity, merged.open_report, merged.color, merged.resume) == (0, None, None, "last")


@pytest.mark.parametrize(
    ("given", "chooses"),
    [
        ({"targets": ["a"]}, True),
        ({"keyword": "a"}, True),
        ({"limit": 1}, True),
        ({"threshold": 0.1}, False),
        ({}, False),
    ],
)
def test_whether_cases_are_chosen_anew(given, chooses):
    assert chooses_anew(CommandLine(resume="last", **given)) is chooses


def test_a_command_line_is_recorded_without_what_it_leaves_open():
    command = CommandLine(targets=["a"], parallel=False, verbosity=1, resume="last")

    assert as_recorded(command) == {"targets": ["a"], "parallel": False}


def test_a_recorded_command_line_can_be_typed_again():
    command = CommandLine(
        targets=["evals/a b.py"],
        parallel=True,
        report=False,
        keyword="x and y",
        tags=["s", "t"],
        shuffle_seed=7,
        timeout=1.5,
    )

    assert as_typed(as_recorded(command)) == (
        "agentflow eval 'evals/a b.py' --parallel --timeout 1.5 -k 'x and y' --tag s --tag t --shuffle 7 --no-report"
    )
