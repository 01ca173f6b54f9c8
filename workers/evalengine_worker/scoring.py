"""Scoring an execution by the criteria of its file. A criterion that raises is a result that says so.

Built-in criteria run on the loop but for costly ones; a criterion of the user's gets copies of its own, on the loop
where it is async, else in a thread.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from evalengine import criteria, wire
from evalengine.cases import EvalCase
from evalengine.criteria import custom, rouge
from evalengine.records import plain_string
from evalengine.results import CriterionResult, ExecutionResult, NotApplicable
from evalengine_worker import failures, namespaces
from evalengine_worker.agents.settling import settle
from evalengine_worker.plain import Plain, clean_text
from evalengine_worker.threads import Outcome, call, run_in_thread

Scored = CriterionResult | NotApplicable


class Scoring:
    """Scores one execution; ``failure`` is the first exception that a criterion raised."""

    def __init__(
        self, execution: ExecutionResult, case: EvalCase, payload: bytes, plain: Plain, own: Sequence[Any]
    ) -> None:
        self._execution = execution
        self._case = case
        self._payload = payload
        self._plain = plain
        self._own = own
        self.results: list[CriterionResult] = []
        self.not_applicable: list[NotApplicable] = []
        self.failure: failures.Failure | None = None

    async def score(self, specs: Sequence[wire.CriterionSpec], is_stopped: Callable[[], bool]) -> None:
        """Score by each criterion in order, until ``is_stopped()``."""
        for spec in specs:
            scored = await (self._by_built_in(spec) if spec.custom is None else self._by_custom(spec, spec.custom))
            if is_stopped():
                return
            if isinstance(scored, NotApplicable):
                self.not_applicable.append(scored)
            else:
                self.results.append(scored)

    async def _by_built_in(self, spec: wire.CriterionSpec) -> Scored:
        arguments = (criteria.score, spec.field, spec.config, self._execution, self._case)
        outcome: Outcome
        if not criteria.is_costly(spec.field, self._execution, self._case):
            outcome = call(*arguments)
        elif namespaces.is_shadowed() and not rouge.is_loaded():
            # Its package must not find modules of the project; only here nothing else imports meanwhile.
            with namespaces.own_modules():
                outcome = call(*arguments)
        else:
            outcome = await run_in_thread(*arguments)
        if outcome.error is not None:
            return self._failed(spec, outcome.error)
        scored: Scored = outcome.value
        return scored

    async def _by_custom(self, spec: wire.CriterionSpec, place: int) -> Scored:
        criterion = self._own[place]
        arguments = (criterion, _copied(self._execution), wire.decode_case(self._payload))
        if custom.is_async(criterion):
            outcome = call(custom.call, *arguments)
        else:
            outcome = await run_in_thread(custom.call, *arguments)
        if outcome.error is None:
            outcome = await settle(outcome.value)
        if outcome.error is not None:
            return self._failed(spec, outcome.error)
        return self._interpreted(spec, criterion, outcome.value)

    def _interpreted(self, spec: wire.CriterionSpec, criterion: Any, value: Any) -> Scored:
        outcome = call(custom.interpret, criterion, value, spec.config.threshold)
        if outcome.error is not None:
            return self._failed(spec, outcome.error)
        scored: Scored = outcome.value
        if isinstance(scored, NotApplicable):
            scored.reason = clean_text(scored.reason)
            return scored
        scored.details = self._plain.mapping(scored.details)
        if scored.error is not None:
            scored.error = clean_text(str(scored.error))
        return scored

    def _failed(self, spec: wire.CriterionSpec, error: BaseException) -> CriterionResult:
        failure = failures.describe(error)
        self.failure = self.failure or failure
        return CriterionResult.failure(spec.reported_as, failure.error, spec.config.threshold)


def _copied(execution: ExecutionResult) -> ExecutionResult:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(execution, enc_hook=plain_string), type=ExecutionResult)
