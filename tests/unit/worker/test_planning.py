import pytest

from evalengine.cases import ConversationScenario, EvalCase, EvalSet, Invocation
from evalengine.errors import ConfigurationError
from evalengine.wire import CriterionSpec, decode_case
from evalengine_worker.planning import FoundSet, Planner, scenario_set


def case(**fields):
    return EvalCase(conversation=[Invocation.simple("q")], **fields)


def planned(*sets, criteria=()):
    planner = Planner([FoundSet(EvalSet(name=name, eval_cases=cases), name) for name, cases in sets], criteria)
    return list(planner.cases()), planner.warnings


def test_drawn_ids_of_several_sets_do_not_clash():
    cases, warnings = planned(("s", [case(), case()]), ("t", [case(), case(eval_id="case_2")]))
    assert [each.eval_id for each in cases] == ["case_1", "s_case_2", "t_case_1", "case_2"]
    assert warnings == []


def test_the_payload_carries_the_unique_id():
    cases, _ = planned(("s", [case(eval_id="a"), case(eval_id="a")]))
    assert [decode_case(each.payload).eval_id for each in cases] == ["a", "a#2"]


def test_the_digest_depends_on_case_id_and_criteria_only():
    from evalengine.config import CriterionConfig

    strict = CriterionSpec("exact_match", "exact_match", CriterionConfig(threshold=1.0))
    [first], _ = planned(("s", [case(eval_id="a")]))
    [again], _ = planned(("t", [case(eval_id="a")]))
    [other_id], _ = planned(("s", [case(eval_id="b")]))
    [judged], _ = planned(("s", [case(eval_id="a")]), criteria=[strict])
    assert first.digest == again.digest
    assert len({first.digest, other_id.digest, judged.digest}) == 3


@pytest.mark.parametrize(("skip", "reason"), [("why", "why"), (True, "skipped"), (False, None), ("", None)])
def test_skip(skip, reason):
    [found], _ = planned(("s", [case(eval_id="a", metadata={"skip": skip})]))
    assert found.skip == reason


def test_scenarios_are_bounded_by_their_own_turns_then_the_files_then_ten():
    scenarios = [
        ConversationScenario(scenario_id=each, starting_prompt="hi", max_turns=turns)
        for each, turns in (("a", 3), ("b", None))
    ]
    turns = [
        [each.scenario.max_turns for each in scenario_set(scenarios, "s", most).eval_set.eval_cases]
        for most in (5, None)
    ]
    assert turns == [[3, 5], [3, 10]]


def test_a_scenario_without_a_start_is_named():
    with pytest.raises(ConfigurationError, match="scenario 'a' has no starting_prompt"):
        scenario_set([ConversationScenario(scenario_id="a")], "s", None)
