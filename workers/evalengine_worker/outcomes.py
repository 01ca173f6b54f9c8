"""From what happened in an attempt to the encoded EvalCaseResult, whatever is in it."""

import os
import tempfile

import msgspec

from evalengine import wire
from evalengine.cases import EvalCase
from evalengine.records import plain_string
from evalengine.results import EvalCaseResult, Status, TokenUsage
from evalengine_worker.conversation import Conversation
from evalengine_worker.failures import Failure
from evalengine_worker.plain import clean_text
from evalengine_worker.scoring import Scoring

_NO_TOKENS = TokenUsage()
"""Shared by results, which replace it and never change it."""

_encoder = msgspec.json.Encoder(enc_hook=plain_string)


def identified(command: wire.RunCase, spec: wire.FileSpec | None, worker: int | None) -> EvalCaseResult:
    """Return a result that says which attempt it is of, and nothing yet of how it went."""
    return EvalCaseResult(
        eval_id=command.eval_id,
        passed=False,
        status=Status.ERROR,
        label=command.label,
        file=spec.label if spec is not None else command.label.rpartition("::")[0],
        set_id=command.set_id,
        set_name=command.set_name,
        repeat=command.repeat,
        attempts=command.attempt,
        earlier_attempts=command.earlier,
        worker=worker,
        token_usage=_NO_TOKENS,
        agent_token_usage=_NO_TOKENS,
        judge_token_usage=_NO_TOKENS,
        simulator_token_usage=_NO_TOKENS,
    )


def add_case(result: EvalCaseResult, case: EvalCase) -> None:
    """Add what the case says of itself and expects."""
    result.name = case.name
    result.description = case.description
    result.tags = case.tags
    result.metadata = case.metadata
    result.expected = case.expectations()


def add_execution(result: EvalCaseResult, conversation: Conversation) -> None:
    """Add what the agent did."""
    execution = conversation.execution
    result.actual_trajectory = execution.trajectory
    result.actual_tool_calls = execution.tool_calls
    result.actual_response = execution.actual_response
    result.messages = execution.messages
    result.node_visits = execution.node_visits
    result.turn_results = execution.turns
    result.agent_token_usage = result.token_usage = execution.token_usage


def add_scores(result: EvalCaseResult, scoring: Scoring) -> None:
    """Add what the criteria gave, and the verdict that follows from it."""
    result.criterion_results = scoring.results
    result.not_applicable = scoring.not_applicable
    judged = [each.token_usage for each in scoring.results if each.token_usage.total_tokens]
    if judged:
        result.judge_token_usage = sum(judged, TokenUsage())
        result.token_usage = result.token_usage + result.judge_token_usage
    broken = next((each for each in scoring.results if each.error is not None), None)
    if broken is not None:
        result.status = Status.ERROR
        result.error = f"criterion {broken.criterion}: {broken.error}"
        result.traceback = scoring.failure.traceback if scoring.failure is not None else None
        return
    result.passed = all(each.passed for each in scoring.results)
    result.status = Status.PASSED if result.passed else Status.FAILED
    result.flaky = result.passed and bool(result.earlier_attempts)


def add_failure(result: EvalCaseResult, failure: Failure) -> None:
    """Make the result an error."""
    result.passed = False
    result.status = Status.ERROR
    result.error = failure.error
    result.traceback = failure.traceback


def encode(result: EvalCaseResult) -> bytes:
    """Return the JSON of a result; of one that cannot be encoded, that of an error that says why."""
    try:
        return _encoder.encode(result)
    except Exception as error:  # noqa: BLE001 - no result may end the worker
        problem = clean_text(f"the result cannot be encoded: {type(error).__name__}: {error}", 1000)
        bare = EvalCaseResult(
            eval_id=clean_text(result.eval_id),
            passed=False,
            status=Status.ERROR,
            error=problem,
            label=clean_text(result.label),
            file=clean_text(result.file),
            set_id=clean_text(result.set_id),
            set_name=clean_text(result.set_name),
            repeat=result.repeat,
            attempts=result.attempts,
            earlier_attempts=result.earlier_attempts,
            worker=result.worker,
            started_at=result.started_at,
            finished_at=result.finished_at,
            duration_seconds=result.duration_seconds,
        )
        return _encoder.encode(bare)


def finished(command: wire.RunCase, encoded: bytes, spill_dir: str | None, leftovers: int) -> wire.Finished:
    """Return the frame that carries a result, through a file where it is too long for a frame."""
    spill = None
    if len(encoded) > wire.INLINE_RESULT_BYTES and spill_dir is not None:
        spill, encoded = _spilled(encoded, spill_dir), b""
    return wire.Finished(
        case=command.case,
        repeat=command.repeat,
        attempt=command.attempt,
        result=encoded,
        spill=spill,
        leftovers=leftovers,
    )


def _spilled(encoded: bytes, folder: str) -> str:
    descriptor, path = tempfile.mkstemp(prefix="result-", suffix=".json", dir=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(encoded)
    return path
