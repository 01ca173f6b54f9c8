import traceback

import pytest

from evalengine_worker.failures import MOST_TRACEBACK_CHARACTERS, PlainlyToldError, describe, one_line


def raised(error):
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


class NeedsTwoError(Exception):
    def __init__(self, first, second):
        pass


class UnspeakableError(Exception):
    def __str__(self):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("one\ntwo"), "ValueError: one two"),
        (ValueError(), "ValueError"),
        (NeedsTwoError(1, 2), "NeedsTwoError: (1, 2)"),
        (UnspeakableError(), "UnspeakableError: <its message cannot be read>"),
        (SystemExit(3), "SystemExit: 3"),
        (StopIteration(), "StopIteration"),
        (GeneratorExit(), "GeneratorExit"),
        (ValueError("\ud800"), "ValueError: \\ud800"),
        (
            ExceptionGroup("several", [ValueError("a"), TypeError("b")]),
            "ExceptionGroup: several (2 sub-exceptions)",
        ),
    ],
)
def test_any_exception_has_one_line_and_a_traceback(error, line):
    failure = describe(raised(error))
    assert failure.error == line
    assert type(error).__name__ in failure.traceback


def test_a_long_message_is_cut():
    assert len(one_line(ValueError("x" * 10_000_000))) < 3000


def test_a_traceback_is_bounded():
    failure = describe(raised(ValueError("x" * 1_000_000)))
    assert len(failure.traceback) < MOST_TRACEBACK_CHARACTERS + 100
    assert failure.traceback.startswith("Traceback")


def test_a_chain_is_told_as_python_tells_it():
    error = raised(TypeError("second"))
    error.__cause__ = raised(ValueError("first"))
    assert describe(error).traceback == "".join(traceback.format_exception(error))


def test_a_chain_without_end_is_cut():
    error = ValueError("0")
    for number in range(1, 10_000):
        following = ValueError(str(number))
        following.__cause__ = error
        error = following
    assert describe(error).traceback.count("ValueError") == 10


def test_a_chain_that_is_a_circle_ends():
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert describe(first).traceback.count("ValueError") == 2


def test_deep_recursion_is_told_briefly():
    def deeper():
        deeper()

    try:
        deeper()
    except RecursionError as error:
        failure = describe(error)
    assert failure.error.startswith("RecursionError")
    assert failure.traceback.count("\n") < 50


def test_what_the_engine_found_itself_needs_no_traceback():
    assert describe(raised(PlainlyToldError("what is wrong"))) == ("what is wrong", None)
