"""A small synthetic run: one case of each status, two files that loaded, one that did not, a worker that died."""

from collections.abc import Iterator

import msgspec

from evalengine import events
from evalengine.cases import ToolCall
from evalengine.report.sink import Sink
from evalengine.report.summary import RunDocument, RunFold
from evalengine.results import (
    CriterionResult,
    EvalCaseResult,
    NotApplicable,
    Status,
    TokenUsage,
    TurnResult,
)

AT = 1_700_000_000.0

CRITERIA = {
    "tool_trajectory_avg_score": {"threshold": 1.0, "match_type": "EXACT", "check_args": True, "num_samples": 3},
    "response_match_score": {"threshold": 0.6, "match_type": "EXACT", "judge_model": None, "num_samples": 3},
}


def case(number: int, label: str, status: Status, **fields: object) -> EvalCaseResult:
    """Make the result of a case, as a worker would."""
    file, _, eval_id = label.partition("::")
    defaults: dict[str, object] = {
        "eval_id": eval_id,
        "name": eval_id.replace("_", " "),
        "label": label,
        "file": file,
        "set_id": "weather",
        "set_name": "weather-agent-regression",
        "status": status,
        "passed": status == Status.PASSED,
        "duration_seconds": 0.25 * (number + 1),
        "worker": None if status in (Status.SKIPPED, Status.NOT_RUN) else number % 2,
        "started_at": AT + number,
        "finished_at": AT + number + 0.25 * (number + 1),
    }
    return EvalCaseResult(**{**defaults, **fields})


def booked(city: str) -> list[ToolCall]:
    """Make the tool calls of a booking."""
    return [ToolCall(name="search_flights", args={"to": city}), ToolCall(name="book_flight", args={"to": city})]


def _passed() -> EvalCaseResult:
    return case(
        0,
        "weather_eval.py::weather_london",
        Status.PASSED,
        tags=["smoke", "weather"],
        criterion_results=[
            CriterionResult.success("tool_trajectory_avg_score", 1.0, 1.0, {"check_args": True}),
            CriterionResult.success("response_match_score", 1.0, 0.6),
        ],
        not_applicable=[NotApplicable(criterion="node_order_score", reason="no node order is expected")],
        actual_response="It is sunny in London.",
        actual_tool_calls=[ToolCall(name="get_weather", args={"location": "London"}, result="sunny")],
        expected=[
            {
                "user_input": "What is the weather in London?",
                "response": "sunny",
                "tools": [{"name": "get_weather", "args": {"location": "London"}}],
            }
        ],
        turn_results=[
            TurnResult(
                turn_index=0,
                user_input="What is the weather in London?",
                agent_response="It is sunny in London.",
                tool_calls=[ToolCall(name="get_weather", args={"location": "London"}, result="sunny")],
                node_visits=["agent", "tools", "agent"],
            )
        ],
        node_visits=["agent", "tools", "agent"],
        token_usage=TokenUsage(1000, 200),
        agent_token_usage=TokenUsage(1000, 200),
        output="looking up London\n",
        notes=["1 task was left running"],
    )


def _failed() -> EvalCaseResult:
    expected = {
        "user_input": "Book me a flight to Paris",
        "response": "Your flight to Paris is booked.",
        "tools": [{"name": call.name, "args": call.args} for call in booked("Paris")],
        "nodes": ["agent", "tools"],
    }
    return case(
        1,
        "booking_eval.py::book_wrong_city",
        Status.FAILED,
        tags=["booking"],
        criterion_results=[
            CriterionResult.success(
                "tool_trajectory_avg_score", 0.0, 1.0, {"check_args": True, "reason": "0 of 2 match"}
            ),
            CriterionResult.success("response_match_score", 0.5, 0.6, {"reason": "3 of 6 words found"}),
            CriterionResult.success("node_order_score", 1.0, 1.0),
        ],
        actual_response="Your flight to London is confirmed.",
        actual_tool_calls=booked("London"),
        expected=[expected],
        turn_results=[
            TurnResult(
                turn_index=0,
                user_input="Book me a flight to Paris",
                agent_response="Your flight to London is confirmed.",
                tool_calls=booked("London"),
            )
        ],
        output="\n".join(f"step {number}" for number in range(14)),
        token_usage=TokenUsage(500, 100),
        agent_token_usage=TokenUsage(450, 90),
        judge_token_usage=TokenUsage(50, 10),
    )


def _broken() -> Iterator[EvalCaseResult]:
    yield case(
        2,
        "booking_eval.py::agent_raises",
        Status.ERROR,
        error="ValueError: no such city: \x1b[31mAtlantis\u202e",
        traceback='Traceback (most recent call last):\n  File "graph/agent.py", line 7, in book\n'
        "    raise ValueError(city)\nValueError: no such city: Atlantis\n",
    )
    yield case(3, "booking_eval.py::hangs", Status.TIMEOUT, error="timed out after 5.0 s")
    yield case(4, "booking_eval.py::kills_itself", Status.CRASHED, error="its process was killed by SIGSEGV")
    yield case(5, "weather_eval.py::later", Status.SKIPPED, error="needs the new tool", duration_seconds=0.0)
    yield case(
        6, "weather_eval.py::never_started", Status.NOT_RUN, error="the run was stopped", duration_seconds=0.0
    )


def results() -> list[EvalCaseResult]:
    """Return the results of the run in collection order."""
    return [_passed(), _failed(), *_broken()]


def raw(results: list[EvalCaseResult]) -> list[bytes]:
    """Return results as the bytes that a worker sends."""
    return [msgspec.json.encode(result) for result in results]


def settings(**values: object) -> dict[str, object]:
    """Make the settings of a RunStarted event."""
    defaults = {"threshold": (None, "default"), "max_concurrency": (4, "agentflow.json")}
    given = {name: (value, "command line") for name, value in values.items()}
    return {name: {"value": value, "source": source} for name, (value, source) in {**defaults, **given}.items()}


def planned(number: int, result: EvalCaseResult, repeats: int = 1) -> events.CasePlanned:
    """Make the event that puts a case in the pool."""
    return events.CasePlanned(
        at=AT,
        case=number,
        collected=number,
        file=0 if result.file.startswith("weather") else 1,
        eval_id=result.eval_id,
        label=result.label,
        digest="d",
        set_id=result.set_id,
        set_name=result.set_name,
        repeats=repeats,
    )


def finished(number: int, result: EvalCaseResult, repeat: int = 0) -> events.CaseFinished:
    """Make the event of a case's verdict."""
    return events.CaseFinished(
        at=result.finished_at or AT,
        case=number,
        repeat=repeat,
        attempt=1,
        label=result.label,
        status=result.status,
        duration_s=result.duration_seconds,
        result=msgspec.Raw(msgspec.json.encode(result)),
        worker=result.worker,
    )


def _discovery() -> Iterator[events.RunEvent]:
    for number, (label, source) in enumerate([("weather_eval.py", "builtin"), ("booking_eval.py", "file")]):
        yield events.FileDiscovered(
            at=AT,
            file=number,
            path=f"/project/evals/{label}",
            label=label,
            cases=3,
            source=source,
            criteria=CRITERIA,
        )
    yield events.FileErrored(
        at=AT,
        file=2,
        path="/project/evals/broken_eval.py",
        label="broken_eval.py",
        error="ModuleNotFoundError: No module named 'nowhere'",
        traceback='Traceback (most recent call last):\n  File "broken_eval.py", line 1, in <module>\n'
        "    import nowhere\nModuleNotFoundError: No module named 'nowhere'\n",
    )


def run_events(
    outcomes: list[EvalCaseResult] | None = None, *, with_file_error: bool = True, **given: object
) -> Iterator[events.RunEvent]:
    """Yield the events of the run, its cases in pool order."""
    outcomes = results() if outcomes is None else outcomes
    yield events.RunStarted(at=AT, run_id="r1", root="/project", settings=settings(**given), engine_version="0.1.0")
    for event in _discovery():
        if with_file_error or not isinstance(event, events.FileErrored):
            yield event
    for number, result in enumerate(outcomes):
        yield planned(number, result)
    yield events.PlanCompleted(
        at=AT,
        planned=len(outcomes),
        eval_set_id="combined_eval",
        eval_set_name="combined_eval",
        config_used={"criteria": {}},
    )
    for worker in (0, 1):
        yield events.WorkerStarted(at=AT, worker=worker, pid=100 + worker)
    for number, result in enumerate(outcomes):
        if result.status == Status.CRASHED:
            yield events.WorkerLost(
                at=AT + 5, worker=0, pid=100, cause="killed by SIGSEGV", in_flight=[result.label]
            )
            yield events.WorkerStarted(at=AT + 5.1, worker=0, pid=102)
        yield finished(number, result)
    yield events.Noticed(at=AT + 8, text="workers is set without parallel: the run is sequential")
    for worker in (0, 1):
        yield events.WorkerStopped(at=AT + 9, worker=worker)
    yield events.RunFinished(at=AT + 9, status="complete", exit_code=1, wall_seconds=9.0)


def feed(sink: Sink, stream: Iterator[events.RunEvent] | list[events.RunEvent]) -> None:
    """Give a sink events as the engine does: with a CaseFinished, its result."""
    for event in stream:
        decoded = (
            msgspec.json.decode(event.result, type=EvalCaseResult)
            if isinstance(event, events.CaseFinished)
            else None
        )
        sink.handle(event, decoded)


def document(outcomes: list[EvalCaseResult] | None = None, **given: object) -> RunDocument:
    """Return the document of the run."""
    fold = RunFold()
    feed(fold, run_events(outcomes, **given))
    return fold.document()
