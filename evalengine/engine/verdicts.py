"""Verdicts as the engine records them: what a worker sent, or what the engine says where no worker can."""

from pathlib import Path

import msgspec

from evalengine import wire
from evalengine.engine.planning import Plan
from evalengine.errors import EngineError
from evalengine.results import EvalCaseResult, Status
from evalengine.wire import RunKey


class _Head(msgspec.Struct):
    """What the scheduler must know of a result; decoding it checks that the rest is JSON, and leaves it."""

    eval_id: str
    passed: bool
    status: Status
    duration_seconds: float = 0.0


decode_head = msgspec.json.Decoder(_Head).decode
_encode = msgspec.json.Encoder().encode


class Received(msgspec.Struct):
    """The JSON of a result, and what it says first."""

    raw: bytes
    status: Status
    duration_s: float


def encoded(result: EvalCaseResult) -> Received:
    """Encode a result that the engine made."""
    return Received(_encode(result), result.status, result.duration_seconds)


def read_result(plan: Plan, worker: int, message: wire.Finished, folder: Path) -> Received:
    """Read what a worker sent; what cannot be read becomes an error of the case, never of the run.

    A result too long for a frame is taken from its file, which must be in ``folder``.
    """
    try:
        raw = message.result if message.spill is None else _take_spilled(Path(message.spill), folder)
        head = decode_head(raw)
        return Received(raw, head.status, head.duration_seconds)
    except (OSError, msgspec.DecodeError, EngineError) as error:
        reason = f"worker {worker} sent a result that cannot be read: {error}"
        return encoded(verdict_without_worker(plan, message.key, Status.ERROR, reason))


def timed_out(received: Received, reason: str) -> Received:
    """Make a result that came all the same one of an attempt whose time was over; what was done in it stays."""
    result = msgspec.json.decode(received.raw, type=EvalCaseResult)
    if result.status is not Status.TIMEOUT:
        result.traceback = None
    result.passed, result.status, result.error = False, Status.TIMEOUT, reason
    return encoded(result)


def _take_spilled(path: Path, folder: Path) -> bytes:
    if path.parent != folder:
        msg = f"{path} is not in the folder of the run"
        raise EngineError(msg)
    data = path.read_bytes()
    path.unlink()
    return data


def verdict_without_worker(plan: Plan, key: RunKey, status: Status, reason: str | None) -> EvalCaseResult:
    """Make the result of a case that no worker can give one for."""
    entry = plan.entries[key.case]
    case = wire.decode_case(entry.case.payload)
    return EvalCaseResult(
        eval_id=entry.case.eval_id,
        name=entry.case.name,
        description=case.description,
        passed=False,
        status=status,
        error=reason,
        label=entry.label,
        file=plan.files[entry.file].spec.label,
        set_id=entry.case.set_id,
        set_name=entry.case.set_name,
        tags=entry.case.tags,
        repeat=key.repeat,
        attempts=key.attempt,
        metadata=case.metadata,
        expected=case.expectations(),
    )
