"""The ``-k`` expression, tags, and cases named by id."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalengine.errors import ConfigurationError, NoCasesError
from evalengine.selection import Selection, check_ids

LABEL = "sub/weather_eval.py::London-1[a]#2"


@pytest.mark.parametrize(
    ("expression", "kept"),
    [
        ("weather", True),
        ("WEATHER", True),
        ("london", True),
        ("tokyo", False),
        ("not tokyo", True),
        ("not not london", True),
        ("weather and london", True),
        ("weather and tokyo", False),
        ("weather or tokyo", True),
        ("tokyo or oslo or london", True),
        ("weather and not tokyo", True),
        ("tokyo and x or london", True),
        ("london or tokyo and x", True),
        ("tokyo and (x or london)", False),
        ("not (tokyo or oslo)", True),
        ("((london))", True),
        ("not(tokyo)and(london)", True),
        ("weather_eval.py::London-1[a]#2", True),
        ("sub/", True),
        ("smoke", True),
        ("Regression", True),
        ("'regression set'", True),
        ('"set" and smoke', True),
        ("'regression  set'", False),
        ("notlondon", False),
        ("android", False),
        ("'not' or 'and'", False),
    ],
)
def test_expressions(expression, kept):
    assert Selection(expression).keeps(LABEL, "Regression set", ["smoke", "slow"]) is kept


@pytest.mark.parametrize("expression", [None, "", "  "])
def test_no_expression_keeps_all(expression):
    assert Selection(expression).keeps(LABEL, "", [])


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("a and", "expected a name, 'not' or '(', found the end at column 6"),
        ("and a", "expected a name, 'not' or '(', found 'and' at column 1"),
        ("a b", "expected 'and', 'or' or the end, found 'b' at column 3"),
        ("a or or b", "expected a name, 'not' or '(', found 'or' at column 6"),
        ("(a", "expected ')', found the end at column 3"),
        ("a)", "expected 'and', 'or' or the end, found ')' at column 2"),
        ("()", "expected a name, 'not' or '(', found ')' at column 2"),
        ("a and 'b", "a quote that is not closed at column 7"),
        ("  not", "expected a name, 'not' or '(', found the end at column 6"),
        ("a 'b'", "expected 'and', 'or' or the end, found 'b' at column 3"),
    ],
)
def test_a_mistake_is_told_with_its_column(expression, message):
    with pytest.raises(ConfigurationError) as caught:
        Selection(expression)
    assert str(caught.value) == f"-k {expression!r} (command line): {message}"


@pytest.mark.parametrize("expression", ["(" * 10_000, "not " * 10_000 + "a", "(" * 60 + "a" + ")" * 60])
def test_deep_nesting_is_a_mistake_and_no_crash(expression):
    with pytest.raises(ConfigurationError, match="nested too deep"):
        Selection(expression)


@given(st.text(alphabet="ab ()'\"notandr", max_size=30))
def test_any_text_compiles_or_is_told(expression):
    try:
        kept = Selection(expression).keeps(LABEL, "set", [])
    except ConfigurationError as error:
        told = str(error)
        kept = None
    assert kept in {True, False} or "at column" in told


_NAMES = st.sampled_from(["x", "y", "z"])
_TREES = st.recursive(
    _NAMES,
    lambda inner: st.tuples(st.sampled_from(["and", "or"]), inner, inner) | st.tuples(st.just("not"), inner),
    max_leaves=8,
)


def written(tree):
    match tree:
        case str():
            return tree
        case ("not", inner):
            return f"not ({written(inner)})"
        case (word, left, right):
            return f"({written(left)}) {word} ({written(right)})"


def meant(tree, names):
    match tree:
        case str():
            return tree in names
        case ("not", inner):
            return not meant(inner, names)
        case ("and", left, right):
            return meant(left, names) and meant(right, names)
        case (_, left, right):
            return meant(left, names) or meant(right, names)


@given(_TREES, st.sets(_NAMES))
def test_an_expression_means_what_it_says(tree, names):
    assert Selection(written(tree)).keeps("", "", sorted(names)) == meant(tree, names)


# Tags


def test_any_of_the_tags_is_enough():
    selection = Selection(tags=["smoke", "fast"])
    assert selection.keeps(LABEL, "", ["smoke"])
    assert selection.keeps(LABEL, "", ["slow", "fast"])
    assert not selection.keeps(LABEL, "", ["slow"])
    assert not selection.keeps(LABEL, "", [])


def test_a_tag_is_matched_as_it_is_written():
    assert not Selection(tags=["smoke"]).keeps(LABEL, "", ["Smoke"])
    assert not Selection(tags=["smoke"]).keeps(LABEL, "", ["smoke-test"])


def test_tags_and_expression_must_both_hold():
    selection = Selection("london", ["smoke"])
    assert selection.keeps(LABEL, "", ["smoke"])
    assert not selection.keeps(LABEL, "", [])
    assert not selection.keeps("x::tokyo", "", ["smoke"])


def test_nothing_kept_says_what_was_asked_and_the_nearest_tag():
    error = Selection("london", ["smok"]).nothing_kept(7, ["smoke", "slow"])
    assert str(error) == (
        "No eval cases selected: -k 'london' with --tag smok keeps none of 7; did you mean 'smoke' or 'slow'?"
    )


# Ids


def file(label, ids):
    return SimpleNamespace(label=label, selected_ids=ids)


def test_ids_that_exist_pass():
    check_ids([file("x", ["a"]), file("y", None)], {"x": ["a", "b"], "y": []})


def test_a_file_that_could_not_be_loaded_is_not_asked():
    check_ids([file("x", ["a"])], {})


@pytest.mark.parametrize(
    ("known", "hint"),
    [
        (["weather_london", "weather_tokyo"], "; did you mean 'weather_london' or 'weather_tokyo'?"),
        (["a", "b"], "; known: a, b"),
        ([], ""),
    ],
)
def test_an_id_that_does_not_exist_names_the_nearest(known, hint):
    with pytest.raises(NoCasesError) as caught:
        check_ids([file("x_eval.py", ["weather_londn"])], {"x_eval.py": known})
    assert str(caught.value) == f"No case 'weather_londn' in x_eval.py{hint}"


def test_many_known_ids_are_not_all_listed():
    with pytest.raises(NoCasesError, match="and 90 more"):
        check_ids([file("x", ["?"])], {"x": [f"case_{number}" for number in range(100)]})
