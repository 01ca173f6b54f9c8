"""Tool names, tool calls and nodes, as the table of scores says."""

import pytest

from evalengine.cases import EvalCase, Invocation, ToolCall
from evalengine.config import CriterionConfig, MatchType
from evalengine.criteria import score
from evalengine.results import CriterionResult, ExecutionResult, NotApplicable

EXACT, IN_ORDER, ANY_ORDER = MatchType.EXACT, MatchType.IN_ORDER, MatchType.ANY_ORDER


def calls(*made):
    return [ToolCall(name=made_of) if isinstance(made_of, str) else made_of for made_of in made]


def f(**args):
    return ToolCall(name="f", args=args)


def case_of(tools=None, nodes=()):
    return EvalCase(eval_id="c", conversation=[Invocation.simple("q", None, tools, nodes)])


def run(field, expected, actual, mode=EXACT, *, check_args=False, threshold=1.0):
    config = CriterionConfig(threshold=threshold, match_type=mode, check_args=check_args)
    if field == "node_order":
        return score(field, config, ExecutionResult(node_visits=list(actual)), case_of(nodes=list(expected)))
    execution = ExecutionResult(tool_calls=calls(*actual))
    return score(field, config, execution, case_of(None if expected is None else calls(*expected)))


@pytest.mark.parametrize(
    ("expected", "actual", "share"),
    [
        ("ab", "ab", 1.0),
        ("ab", "ba", 1.0),
        ("ab", "a", 0.5),
        ("ab", "", 0.0),
        ("ab", "abxx", 1.0),
        ("aab", "ab", 2 / 3),
        ("aab", "aaab", 1.0),
    ],
)
def test_tool_names_are_a_multiset_and_extras_are_free(expected, actual, share):
    assert run("tool_name_match", expected, actual).score == pytest.approx(share)


SEQUENCES = [
    ("abc", "abc", EXACT, 1.0),
    ("abc", "abd", EXACT, 2 / 3),
    ("abc", "abcd", EXACT, 3 / 4),
    ("abc", "ab", EXACT, 2 / 3),
    ("abc", "xabc", EXACT, 0.0),
    ("abc", "", EXACT, 0.0),
    ("abc", "axbxcx", IN_ORDER, 1.0),
    ("abc", "cab", IN_ORDER, 2 / 3),
    ("abc", "bca", IN_ORDER, 2 / 3),
    ("abc", "acb", IN_ORDER, 2 / 3),
    ("abc", "x", IN_ORDER, 0.0),
    ("abc", "cba", ANY_ORDER, 1.0),
    ("aab", "ab", ANY_ORDER, 2 / 3),
    ("abc", "cbaxyz", ANY_ORDER, 1.0),
]


@pytest.mark.parametrize(("expected", "actual", "mode", "share"), SEQUENCES)
@pytest.mark.parametrize("field", ["trajectory", "node_order"])
def test_sequences_are_scored_by_mode(field, expected, actual, mode, share):
    assert run(field, expected, actual, mode).score == pytest.approx(share)


@pytest.mark.parametrize(("expected", "actual", "mode", "share"), SEQUENCES)
def test_checking_arguments_of_calls_without_any_changes_nothing(expected, actual, mode, share):
    assert run("trajectory", expected, actual, mode, check_args=True).score == pytest.approx(share)


@pytest.mark.parametrize("mode", MatchType)
def test_arguments_count_only_where_they_are_checked(mode):
    assert run("trajectory", [f(a=1)], [f(a=2)], mode).score == 1.0
    assert run("trajectory", [f(a=1)], [f(a=2)], mode, check_args=True).score == 0.0


@pytest.mark.parametrize("mode", MatchType)
def test_only_stated_arguments_are_compared(mode):
    assert run("trajectory", [f(a=1)], [f(a=1, b=2)], mode, check_args=True).score == 1.0


def test_any_order_finds_the_best_assignment_not_the_first():
    # The first expectation fits both calls; taking the first call for it would leave the second without one.
    assert run("trajectory", [f(), f(a=1)], [f(a=1), f(a=2)], ANY_ORDER, check_args=True).score == 1.0


def test_a_match_type_may_be_a_plain_string():
    result = run("trajectory", "ab", "ba", "ANY_ORDER")
    assert (result.score, result.details["match_type"]) == (1.0, "ANY_ORDER")


@pytest.mark.parametrize("field", ["tool_name_match", "trajectory"])
@pytest.mark.parametrize("actual", ["", "a"])
def test_no_expected_tools_is_nothing_to_compare(field, actual):
    outcome = run(field, None, actual)
    assert isinstance(outcome, NotApplicable)
    assert outcome.reason == "the case states no tools"


def test_no_expected_nodes_is_nothing_to_compare():
    assert isinstance(run("node_order", "", "a"), NotApplicable)


@pytest.mark.parametrize("field", ["tool_name_match", "trajectory"])
@pytest.mark.parametrize("mode", MatchType)
@pytest.mark.parametrize(("actual", "share"), [("", 1.0), ("a", 0.0)])
def test_a_case_that_forbids_tools_is_scored_by_whether_one_was_called(field, mode, actual, share):
    result = run(field, [], actual, mode)
    assert isinstance(result, CriterionResult)
    assert result.score == share


def test_a_forbidden_call_is_named():
    assert run("trajectory", [], "ab").details["reason"] == "expected no tool call; called a → b"


def test_the_expectations_of_all_turns_are_joined():
    turns = [Invocation.simple("q", expected_tools=calls(name), expected_node_order=[name]) for name in "ab"]
    case = EvalCase(eval_id="c", conversation=turns)
    execution = ExecutionResult(tool_calls=calls("a", "b"), node_visits=["a", "b"])
    for field in ("tool_name_match", "trajectory", "node_order"):
        assert score(field, CriterionConfig(threshold=1.0), execution, case).score == 1.0


def test_a_turn_that_forbids_tools_counts_only_where_no_turn_expects_one():
    turns = [Invocation.simple("q", expected_tools=[]), Invocation.simple("r", expected_tools=calls("a"))]
    execution = ExecutionResult(tool_calls=calls("a"))
    case = EvalCase(eval_id="c", conversation=turns)
    assert score("trajectory", CriterionConfig(threshold=1.0), execution, case).score == 1.0


@pytest.mark.parametrize("mode", MatchType)
def test_the_reason_names_the_arguments_that_differ(mode):
    result = run("trajectory", [f(a=1, b="x")], [f(a=1, b="y")], mode, check_args=True)
    assert result.details["reason"] == "f: b expected 'x', got 'y'"


def test_the_reason_says_where_an_argument_is_missing():
    assert run("trajectory", [f(a=1)], [f()], check_args=True).details["reason"] == "f: a expected 1, got none"


def test_the_reason_says_how_many_more_calls_differ():
    result = run("trajectory", [f(a=1), f(a=2)], [f(a=3), f(a=4)], check_args=True)
    assert result.details["reason"] == "f: a expected 1, got 3 (1 more differ)"


def test_the_reason_of_other_failures_is_expected_against_actual():
    assert run("trajectory", "ab", "b").details["reason"] == "expected calls a → b; got b"
    assert run("node_order", "ab", "").details["reason"] == "expected nodes a → b; visited none"
    assert run("tool_name_match", "ab", "b").details["reason"] == "expected a → b; called b; missing a"


def test_the_details_have_the_keys_that_reports_show():
    assert {"expected_names", "actual_names", "reason"} <= run("tool_name_match", "a", "a").details.keys()
    assert {"actual_trajectory", "expected_trajectory", "match_type", "check_args", "reason"} <= run(
        "trajectory", "a", "a"
    ).details.keys()
    assert {"actual_node_order", "expected_node_order", "match_type", "reason"} <= run(
        "node_order", "a", "a"
    ).details.keys()


def test_long_arguments_are_cut_in_the_details():
    result = run("trajectory", "f", [f(text="x" * 10_000)])
    assert len(result.details["actual_trajectory"][0]["args"]["text"]) < 3_000


def test_the_reason_stays_one_short_line_whatever_the_arguments():
    result = run("trajectory", [f(text="x\n" * 5_000)], [f(text="y\n" * 5_000)], check_args=True)
    assert "\n" not in result.details["reason"]
    assert len(result.details["reason"]) < 600


@pytest.mark.parametrize(("threshold", "passed"), [(2 / 3, True), (0.67, False)])
def test_it_passes_at_its_threshold(threshold, passed):
    assert run("trajectory", "abc", "ab", threshold=threshold).passed is passed


def test_results_carry_the_names_they_are_reported_under():
    names = [run(field, "a", "a").criterion for field in ("tool_name_match", "trajectory", "node_order")]
    assert names == ["tool_name_match_score", "tool_trajectory_avg_score", "node_order_score"]
