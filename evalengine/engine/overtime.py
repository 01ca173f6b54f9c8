"""Whether an attempt whose result came had more time than its own, or less.

Its time is what it took by the worker's clock, without what others robbed it of by blocking the worker's loop, and
without the pauses of the coordinator. By that clock a case that blocks the loop beyond its limit is ``timeout``
though no cancellation could reach it, and one that was cancelled though it had not had its time runs again, alone.
"""

from evalengine.engine.commands import Accept, Requeue
from evalengine.engine.facts import AttemptFinished
from evalengine.engine.states import Attempt
from evalengine.results import Status


def answer_to(
    attempt: Attempt, fact: AttemptFinished, timeout_s: float, paused_s: float, stop_reason: str | None
) -> Accept | Requeue:
    """Say what a result counts as; ``paused_s`` is how long the coordinator stood still while the attempt ran."""
    is_stopped = attempt.cancelled is Status.NOT_RUN
    if not is_stopped and fact.took_s - fact.robbed_s - paused_s > timeout_s:
        return Accept(fact.worker, fact.key, Status.TIMEOUT, f"timed out after {timeout_s:g} s")
    is_robbed = fact.status is Status.TIMEOUT and attempt.overdue and fact.robbed_s > 0
    if is_robbed and stop_reason is None:
        reason = f"others blocked its worker's loop for {fact.robbed_s:.1f} s"
        return Requeue(fact.key, reason, alone=True)
    return Accept(fact.worker, fact.key, fact.status)
