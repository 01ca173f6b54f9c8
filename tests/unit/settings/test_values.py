"""Every bad value is told with its setting, source, rule and the nearest value that would do."""

import pytest

from evalengine.errors import ConfigurationError
from evalengine.settings.values import BY_KEY, BY_NAME, SETTINGS, check, shown


def refusal(name, value, said="the setting", where="the source"):
    with pytest.raises(ConfigurationError) as caught:
        check(BY_NAME[name], value, said, where)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("threshold", 80, "the setting is 80 (the source): must be between 0 and 1; did you mean 0.8?"),
        ("threshold", 80.0, "the setting is 80 (the source): must be between 0 and 1; did you mean 0.8?"),
        ("threshold", -0.5, "the setting is -0.5 (the source): must be between 0 and 1; nearest valid: 0"),
        ("threshold", 101, "the setting is 101 (the source): must be between 0 and 1; nearest valid: 1"),
        ("max_concurrency", 0, "the setting is 0 (the source): must be at least 1; nearest valid: 1"),
        ("workers", -2, "the setting is -2 (the source): must be at least 1; nearest valid: 1"),
        ("limit", 0, "the setting is 0 (the source): must be at least 1; nearest valid: 1"),
        ("max_failures", 0, "the setting is 0 (the source): must be at least 1; nearest valid: 1"),
        ("shuffle_seed", -7, "the setting is -7 (the source): must be at least 0; did you mean 7?"),
        ("timeout_s", -5, "the setting is -5 (the source): must be a number of seconds above 0; did you mean 5?"),
        (
            "timeout_s",
            0,
            "the setting is 0 (the source): must be a number of seconds above 0; leave it out for the default of 300",
        ),
        (
            "sync_agents",
            "Serialised",
            "the setting is \"Serialised\" (the source): must be 'threads' or 'serial'; did you mean 'serial'?",
        ),
        ("output_dir", " ", 'the setting is " " (the source): must name a folder'),
        ("judge_model", "", 'the setting is "" (the source): must name a model'),
    ],
)
def test_a_value_out_of_range(name, value, message):
    assert refusal(name, value) == message


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("threshold", "0.8", 'is "0.8" (the source): must be a number, between 0 and 1; did you mean 0.8?'),
        ("threshold", True, "is true (the source): must be a number, between 0 and 1"),
        ("threshold", [], "is a list (the source): must be a number, between 0 and 1"),
        ("max_concurrency", True, "is true (the source): must be a whole number, at least 1"),
        ("max_concurrency", 4.0, "is 4.0 (the source): must be a whole number, at least 1; did you mean 4?"),
        ("max_concurrency", 2.5, "is 2.5 (the source): must be a whole number, at least 1"),
        ("max_concurrency", "0", 'is "0" (the source): must be a whole number, at least 1'),
        ("parallel", "true", 'is "true" (the source): must be true or false; did you mean true?'),
        ("parallel", "perhaps", 'is "perhaps" (the source): must be true or false'),
        ("parallel", 1, "is 1 (the source): must be true or false; did you mean true?"),
        ("output_dir", 3, "is 3 (the source): must name a folder"),
        ("timeout_s", {}, "is an object (the source): must be a number of seconds above 0"),
    ],
)
def test_a_value_of_the_wrong_kind(name, value, message):
    assert refusal(name, value).startswith(f"the setting {message}")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["threshold", "timeout_s"])
def test_no_setting_takes_a_number_that_is_not_finite(name, value):
    assert "must be" in refusal(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("threshold", 0), ("threshold", 1), ("workers", 1), ("timeout_s", 0.01), ("shuffle_seed", 0)],
)
def test_the_ends_of_a_range_belong_to_it(name, value):
    assert check(BY_NAME[name], value, "", "") == value


def test_a_whole_number_becomes_the_kind_of_its_setting():
    assert type(check(BY_NAME["threshold"], 1, "", "")) is float


def test_a_long_value_is_shortened():
    assert len(shown("x" * 1000)) <= 60


def test_names_and_keys_are_unique():
    assert len(BY_NAME) == len(SETTINGS)
    assert len(BY_KEY) == sum(1 for setting in SETTINGS if setting.key)
