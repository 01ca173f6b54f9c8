"""Who is to blame for a lost worker: for each attempt in flight there, what becomes of it.

Nobody is blamed on a guess.

* An attempt that was cancelled because the run is being stopped is ``NOT_RUN``, whatever became of its worker.
* Where the guilty attempt is proven, it alone is blamed, and the others wait again as if nothing had been.
  (Proven to have blocked a worker that was killed before its own time was over, it is a ``SUSPECT`` first.)
* A worker that died: the only attempt that had started is ``CRASHED`` (``TIMEOUT`` if its time was over), provided
  nothing of earlier cases lived on there. Otherwise every started attempt is a ``SUSPECT``.
* A worker that was killed because an attempt did not yield: the overdue attempt is ``TIMEOUT`` if it was the only
  one (and no leftovers), or if the worker has told that it goes on though it was cancelled. Otherwise anything in
  that process may have blocked it, and the overdue are ``SUSPECT``. Those whose time was not over wait
  again.
* Where an attempt that is over is proven to be guilty, nobody in flight is.
* An attempt that never started waits again. If nothing at all had started there, or a file was being imported,
  that may be what kills: at the second such loss it is a ``SUSPECT``; alone, at the second or later, it is blamed.
* A suspect runs alone in a fresh worker, where it is the only one and so gets a verdict by the rules above.
* Once the run is stopping nothing waits again: ``NOT_RUN``, or ``TIMEOUT`` for a suspect whose time was over.
"""

from collections.abc import Mapping, Sequence
from enum import Enum, auto

from evalengine.engine.states import Attempt, Worker, WorkerState
from evalengine.results import Status
from evalengine.wire import RunKey

_PATIENCE = 2
"""Losses without a start that an attempt may have been present at before it is looked at alone."""


class Outcome(Enum):
    """What becomes of an attempt whose worker was lost."""

    CRASHED = auto()
    TIMEOUT = auto()
    NOT_RUN = auto()
    REQUEUE = auto()
    SUSPECT = auto()


VERDICTS = {
    Outcome.CRASHED: Status.CRASHED,
    Outcome.TIMEOUT: Status.TIMEOUT,
    Outcome.NOT_RUN: Status.NOT_RUN,
}
"""The outcomes that end a case; after the others it waits again."""


def judge(
    worker: Worker, proven: RunKey | None, unstarted_losses: Mapping[int, int], *, stopping: bool
) -> list[tuple[Attempt, Outcome]]:
    """Say what becomes of each attempt, in the order they were sent.

    ``unstarted_losses`` counts, by place in the plan, earlier losses of workers in which nothing had started.
    """
    guilty = next((attempt for attempt in worker.attempts.values() if attempt.key == proven), None)
    return [
        (attempt, _when_stopping(attempt, outcome) if stopping else outcome)
        for attempt in worker.attempts.values()
        for losses in [unstarted_losses.get(attempt.index, 0)]
        for outcome in [_outcome(attempt, worker, guilty, losses, is_proven=proven is not None)]
    ]


def _when_stopping(attempt: Attempt, outcome: Outcome) -> Outcome:
    if outcome is Outcome.SUSPECT and attempt.overdue:
        return Outcome.TIMEOUT
    return Outcome.NOT_RUN if outcome in (Outcome.SUSPECT, Outcome.REQUEUE) else outcome


def _outcome(attempt: Attempt, worker: Worker, guilty: Attempt | None, losses: int, *, is_proven: bool) -> Outcome:
    if attempt.cancelled is Status.NOT_RUN:
        return Outcome.NOT_RUN
    if attempt is guilty:
        return _proven(attempt, worker)
    if is_proven:
        return Outcome.REQUEUE
    return _unproven(attempt, worker) if attempt.started else _unstarted(worker, losses + 1)


def _proven(attempt: Attempt, worker: Worker) -> Outcome:
    if attempt.overdue:
        return Outcome.TIMEOUT
    if worker.state is not WorkerState.KILLED:
        return Outcome.CRASHED
    # Killed before its own time was over, it gets that time once more, alone.
    return Outcome.TIMEOUT if worker.alone else Outcome.SUSPECT


def _unproven(attempt: Attempt, worker: Worker) -> Outcome:
    is_only_one = worker.started == 1 and worker.leftovers == 0 and not worker.is_importing
    if worker.state is WorkerState.KILLED:
        if not attempt.overdue:
            return Outcome.REQUEUE
        return Outcome.TIMEOUT if is_only_one or attempt.hangs else Outcome.SUSPECT
    if not is_only_one:
        return Outcome.SUSPECT
    return Outcome.TIMEOUT if attempt.overdue else Outcome.CRASHED


def _unstarted(worker: Worker, losses: int) -> Outcome:
    if worker.started and not worker.is_importing:
        return Outcome.REQUEUE
    if not worker.alone:
        return Outcome.SUSPECT if losses >= _PATIENCE else Outcome.REQUEUE
    if losses < _PATIENCE:
        return Outcome.SUSPECT
    return Outcome.TIMEOUT if worker.state is WorkerState.KILLED else Outcome.CRASHED


def deaths_after(deaths: int, worker: Worker, outcomes: Sequence[tuple[Attempt, Outcome]]) -> int:
    """Return how many workers have died in a row, without a start and without a case being to blame."""
    if any(outcome in (Outcome.CRASHED, Outcome.TIMEOUT) for _, outcome in outcomes):
        return 0
    return deaths if worker.ever_started else deaths + 1


def is_unstarted_loss(worker: Worker, attempt: Attempt) -> bool:
    """Tell whether a lost worker may have been lost by what came before an attempt's start."""
    return not worker.started or (worker.is_importing and not attempt.started)


def explain(attempt: Attempt, status: Status, waited_s: float, cause: str) -> str:
    """Say a verdict in one line; ``waited_s`` is what the attempt, or its start, was given."""
    if status is Status.CRASHED:
        return f"the worker process died: {cause}"
    if attempt.overdue:
        return f"timed out after {waited_s:g} s and could not be cancelled; worker: {cause}"
    return f"could not be started within {waited_s:g} s; worker: {cause}"
