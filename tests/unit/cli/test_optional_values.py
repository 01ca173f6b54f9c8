"""Options that may stand without their value."""

import pytest

from evalengine.cli.optional_values import Optional, is_whole_number, with_values

OPTIONS = {"--shuffle": Optional("random", is_whole_number), "--color": Optional("always", {"never"}.__contains__)}


@pytest.mark.parametrize(
    ("args", "rewritten"),
    [
        ([], []),
        (["--shuffle"], ["--shuffle=random"]),
        (["--shuffle", "7", "x"], ["--shuffle=7", "x"]),
        (["--shuffle", "-7"], ["--shuffle=-7"]),
        (["--shuffle", "evals"], ["--shuffle=random", "evals"]),
        (["--shuffle", "--color", "never"], ["--shuffle=random", "--color=never"]),
        (["--shuffle=7"], ["--shuffle=7"]),
        (["x", "--color", "x"], ["x", "--color=always", "x"]),
        (["--", "--shuffle", "7"], ["--", "--shuffle", "7"]),
        (["--shuffle", "--", "7"], ["--shuffle=random", "--", "7"]),
    ],
)
def test_a_value_is_taken_only_where_it_can_be_one(args, rewritten):
    assert with_values(args, OPTIONS) == rewritten


@pytest.mark.parametrize(
    ("text", "whole"), [("7", True), ("-7", True), ("7.0", False), ("", False), ("evals", False)]
)
def test_whole_numbers(text, whole):
    assert is_whole_number(text) is whole
