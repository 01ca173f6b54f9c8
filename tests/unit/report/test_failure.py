import pytest
import sample_run

from evalengine.cases import ToolCall
from evalengine.report.failure import render_failure
from evalengine.report.paint import Paint
from evalengine.results import CriterionResult, Status, TurnResult


def told(**fields):
    result = sample_run.case(0, "a::b", Status.FAILED, **fields)
    return "\n".join(render_failure(result, Paint(False), "a::b"))


def failing(name, **details):
    return [CriterionResult.success(name, 0.25, 1.0, details)]


def test_tools_are_compared_without_arguments_that_nobody_checked():
    text = told(
        criterion_results=failing("tool_name_match_score"),
        expected=[{"tools": [{"name": "search", "args": {"q": 1}}]}],
        actual_tool_calls=[ToolCall(name="book", args={"q": 2})],
    )

    assert "expected  search\n" in text
    assert "actual    book" in text
    assert "q=" not in text


def test_arguments_are_shown_where_they_are_checked():
    text = told(
        criterion_results=failing("tool_trajectory_avg_score", check_args=True),
        expected=[{"tools": [{"name": "search", "args": {"q": "x"}}]}],
        actual_tool_calls=[ToolCall(name="search", args={"q": None})],
    )

    assert 'expected  search(q="x")' in text
    assert "actual    search(q=null)" in text


def test_no_call_at_all_is_told_as_none():
    text = told(criterion_results=failing("tool_name_match_score"), expected=[{"tools": [{"name": "search"}]}])

    assert "actual    none" in text


def test_nodes_are_compared():
    text = told(
        criterion_results=failing("node_order_score"),
        expected=[{"nodes": ["agent"]}, {"nodes": ["tools"]}],
        node_visits=["tools"],
    )

    assert "nodes     expected  agent → tools" in text


def test_only_turns_that_differ_are_told():
    text = told(
        criterion_results=failing("response_match_score"),
        expected=[{"response": "one", "user_input": "1?"}, {"response": "two", "user_input": "2?"}],
        turn_results=[
            TurnResult(turn_index=0, user_input="1?", agent_response="one"),
            TurnResult(turn_index=1, user_input="2?", agent_response="three"),
        ],
    )

    assert "turn 2    expected  two" in text
    assert "turn 1" not in text


def test_a_response_that_nobody_stated_is_shown_alone():
    text = told(criterion_results=failing("safety_v1", reasoning="rude"), actual_response="go away")

    assert "safety_v1  0.25 < 1.00  rude" in text
    assert "response  actual    go away" in text
    assert "expected" not in text


def test_missing_keywords_are_named():
    assert "missing: sun, rain" in told(criterion_results=failing("contains_keywords", missing=["sun", "rain"]))


def test_a_criterion_that_raised_says_with_what():
    text = told(criterion_results=[CriterionResult.failure("mine", "KeyError: 'x'")])

    assert "mine  error: KeyError: 'x'" in text


def test_a_long_text_is_cut_around_the_difference():
    text = told(
        criterion_results=failing("exact_match"),
        expected=[{"response": "same " * 500 + "Paris" + " same" * 500}],
        actual_response="same " * 500 + "London" + " same" * 500,
    )

    assert "Paris" in text
    assert "London" in text
    assert len(text) < 1500


@pytest.mark.parametrize("field", ["error", "traceback", "output"])
def test_a_failure_has_at_most_a_screen(field):
    text = told(
        criterion_results=[CriterionResult.failure(f"c{n}", "x" * 5000) for n in range(50)],
        **{field: "line\n" * 5000},
    )

    assert len(text.splitlines()) < 40


def test_what_an_agent_printed_cannot_act_on_the_terminal():
    text = told(
        criterion_results=failing("exact_match", reason="\x1b[2J"),
        output="\x1b]0;x\x07\r\x9b2J",
        actual_response="\x07",
    )

    assert not {"\x1b", "\x07", "\x9b", "\r"} & set(text)
