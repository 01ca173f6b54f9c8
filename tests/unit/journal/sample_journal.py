"""Journals of a small run: one file, four cases, in parts that end in every way."""

import msgspec

from evalengine import events
from evalengine.journal import Journal
from evalengine.results import EvalCaseResult, Status

PASSES = {"a": Status.PASSED, "b": Status.FAILED, "c": Status.PASSED, "d": Status.CRASHED}


def result(eval_id, status):
    """The JSON of a result."""
    case = EvalCaseResult(eval_id=eval_id, label=f"x_eval.py::{eval_id}", status=status, passed=status == "passed")
    return msgspec.json.encode(case)


def run_started(at=100.0, part=1, **fields):
    """The first event of a part."""
    return events.RunStarted(
        at=at, run_id="r", root="/p", settings={}, engine_version="0", part=part, cwd="/p", **fields
    )


def plan(ids="abcd", digests=None, at=101.0, kept=0):
    """The plan of a part."""
    for place, eval_id in enumerate(ids):
        yield events.CasePlanned(
            at=at,
            case=place,
            file=0,
            eval_id=eval_id,
            label=f"x_eval.py::{eval_id}",
            digest=(digests or {}).get(eval_id, "d"),
            set_id="s",
            set_name="s",
            collected=place,
        )
    yield events.PlanCompleted(at=at, planned=len(ids), eval_set_id="s", eval_set_name="s", kept=kept)


def verdict(place, eval_id, status=None, at=102.0, worker=1):
    """A verdict of a case."""
    status = PASSES[eval_id] if status is None else status
    return events.CaseFinished(
        at=at,
        case=place,
        repeat=0,
        attempt=1,
        label=f"x_eval.py::{eval_id}",
        status=status,
        duration_s=0.5,
        worker=worker,
        result=msgspec.Raw(result(eval_id, status)),
    )


def whole_run(ids="abcd"):
    """All events of a run that came to its end."""
    yield run_started()
    yield events.WorkerStarted(at=100.5, worker=1, pid=11)
    yield from plan(ids)
    yield events.Noticed(at=101.5, text="a notice of the engine")
    for place, eval_id in enumerate(ids):
        yield verdict(place, eval_id)
    yield events.WorkerStopped(at=103.0, worker=1)
    yield events.RunFinished(at=103.0, status="complete", exit_code=1, wall_seconds=3.0)


def write(root, told):
    """Write a journal of these events, and return its path."""
    journal = Journal.create(root)
    for event in told:
        journal.append(event)
    journal.close()
    return journal.path
