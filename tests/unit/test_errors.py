"""Errors: exit codes, and the nearest valid name."""

import pytest

from evalengine import errors


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.UsageError, 2),
        (errors.ConfigurationError, 2),
        (errors.DiscoveryError, 2),
        (errors.EngineError, 3),
        (errors.CountsDoNotAddUpError, 3),
        (errors.RecordingError, 3),
        (errors.NoCasesError, 5),
    ],
)
def test_each_error_ends_with_its_documented_exit_code(kind, code):
    assert kind("x").exit_code == code


def test_every_error_is_an_eval_engine_error():
    kinds = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert all(issubclass(kind, errors.EvalEngineError) for kind in kinds)


def test_configuration_errors_are_value_errors():
    assert issubclass(errors.ConfigurationError, ValueError)


def test_a_close_name_is_suggested():
    assert errors.nearest("treshold", ["threshold", "parallel"]) == "; did you mean 'threshold'?"


def test_a_strange_name_gets_the_known_ones():
    assert errors.nearest("xyz", ["threshold", "parallel"]) == "; known: threshold, parallel"


def test_nothing_is_said_where_nothing_is_known():
    assert errors.nearest("xyz", []) == ""
