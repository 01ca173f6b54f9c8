"""The plan: one flat pool, collection order, selection before order before limit."""

import pytest

from evalengine import wire
from evalengine.engine.planning import COMBINED, LoadedFile, make_plan, require_cases
from evalengine.errors import NoCasesError


class Everything:
    def keeps(self, label, set_name, tags):
        return True

    def nothing_kept(self, cases, known_tags=()):
        return NoCasesError(f"{cases} cases, tags {sorted(known_tags)}")


class Only(Everything):
    def __init__(self, *labels):
        self.labels = labels

    def keeps(self, label, set_name, tags):
        return label in self.labels


def loaded(label, *ids, set_name="set", selected=None):
    cases = [
        wire.PlannedCase(eval_id=id_, set_id=set_name, set_name=set_name, digest="d", payload=b"") for id_ in ids
    ]
    return LoadedFile(spec=wire.FileSpec(path=f"/p/{label}", label=label), cases=cases, selected_ids=selected)


def labels(plan):
    return [entry.label for entry in plan.entries]


def test_files_are_pooled_in_the_order_they_were_found_in_not_loaded_in():
    plan = make_plan({1: loaded("b_eval.py", "x"), 0: loaded("a_eval.py", "y", "z")}, Everything())

    assert labels(plan) == ["a_eval.py::y", "a_eval.py::z", "b_eval.py::x"]


def test_a_case_named_on_the_command_line_is_the_only_one_of_its_file():
    files = {0: loaded("a_eval.py", "x", "y", selected=["y"]), 1: loaded("b_eval.py", "x")}

    plan = make_plan(files, Everything())

    assert labels(plan) == ["a_eval.py::y", "b_eval.py::x"]
    assert plan.deselected == 1


def test_the_selection_is_made_before_the_limit():
    files = {0: loaded("a_eval.py", "x", "y", "z")}

    plan = make_plan(files, Only("a_eval.py::y", "a_eval.py::z"), limit=1)

    assert labels(plan) == ["a_eval.py::y"]
    assert plan.deselected == 2


def test_a_seed_gives_the_same_other_order_each_time():
    files = {0: loaded("a_eval.py", *map(str, range(20)))}

    first, second = (labels(make_plan(files, Everything(), shuffle_seed=7)) for _ in range(2))

    assert first == second
    assert first != labels(make_plan(files, Everything()))
    assert sorted(first) == sorted(labels(make_plan(files, Everything())))


def test_one_set_names_the_report_and_several_are_combined():
    one = make_plan({0: loaded("a_eval.py", "x", set_name="weather")}, Everything())
    two = make_plan(
        {0: loaded("a_eval.py", "x", set_name="weather"), 1: loaded("b_eval.py", "x", set_name="booking")},
        Everything(),
    )

    assert one.eval_set == ("weather", "weather")
    assert two.eval_set == (COMBINED, COMBINED)


def test_nothing_found_is_an_error_that_says_what_an_eval_file_defines():
    plan = make_plan({}, Everything())

    with pytest.raises(NoCasesError, match="No eval cases found in evals"):
        require_cases(plan, Everything(), where="evals", any_file_failed=False)


def test_nothing_selected_is_the_selections_own_error():
    plan = make_plan({0: loaded("a_eval.py", "x", "y")}, Only())

    with pytest.raises(NoCasesError, match="2 cases"):
        require_cases(plan, Only(), where="evals", any_file_failed=False)


def test_a_broken_file_explains_why_there_is_nothing_to_run():
    require_cases(make_plan({}, Everything()), Everything(), where="evals", any_file_failed=True)
