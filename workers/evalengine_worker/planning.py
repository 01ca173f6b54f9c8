"""From eval sets to planned cases: validated by a round trip, with ids that are unique in the file, and digests."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from evalengine import wire
from evalengine.cases import ConversationScenario, EvalCase, EvalSet
from evalengine.errors import ConfigurationError
from evalengine.records import GeneratedId
from evalengine_worker.failures import message

DEFAULT_MAX_TURNS = 10


class FoundSet(NamedTuple):
    """An eval set, and what to call it where it has no name: its function, or its file."""

    eval_set: EvalSet
    fallback_name: str
    is_scenarios: bool = False


def scenario_set(scenarios: Iterable[ConversationScenario], name: str, max_turns: int | None) -> FoundSet:
    """Make a set of scenarios, one case each; ``max_turns`` bounds those that set none."""
    cases = []
    for number, scenario in enumerate(scenarios, start=1):
        scenario_id = scenario.scenario_id or f"scenario_{number}"
        if not scenario.starting_prompt:
            msg = f"scenario {scenario_id!r} has no starting_prompt"
            raise ConfigurationError(msg)
        if scenario.max_turns is None:
            scenario = msgspec.structs.replace(scenario, max_turns=max_turns or DEFAULT_MAX_TURNS)  # noqa: PLW2901
        cases.append(
            EvalCase(
                eval_id=scenario_id,
                name=scenario.description,
                scenario=scenario,
                metadata=scenario.metadata,
            )
        )
    return FoundSet(EvalSet(eval_set_id=name, name=name, eval_cases=cases), name, is_scenarios=True)


class Planner:
    """Plans the cases of one file. ``warnings`` is complete when all cases are planned."""

    def __init__(self, sets: Sequence[FoundSet], criteria: Sequence[wire.CriterionSpec]) -> None:
        self._sets = sets
        self._criteria = wire.encode_any(msgspec.to_builtins(list(criteria)))
        self._taken = {
            str(case.eval_id) for found in sets for case in found.eval_set.eval_cases if _is_given(case.eval_id)
        }
        self._used: set[str] = set()
        self.warnings: list[str] = []

    def cases(self) -> Iterator[wire.PlannedCase]:
        """Yield the cases in order. Raises ConfigurationError that names a case that cannot be meant."""
        for found in self._sets:
            eval_set = found.eval_set
            name = eval_set.name or found.fallback_name
            set_id = str(eval_set.eval_set_id) if _is_given(eval_set.eval_set_id) else name
            for place, case in enumerate(eval_set.eval_cases, start=1):
                yield self._planned(case, place, set_id, name, is_scenario=found.is_scenarios)

    def _planned(
        self, case: EvalCase, place: int, set_id: str, set_name: str, *, is_scenario: bool
    ) -> wire.PlannedCase:
        eval_id = self._unique_id(case, place, set_name)
        payload, plain = _encoded(case, eval_id)
        if not plain.conversation and plain.scenario is None:
            msg = f"case {eval_id!r} of set {set_name!r} has no conversation and no scenario"
            raise ConfigurationError(msg)
        return wire.PlannedCase(
            eval_id=eval_id,
            set_id=set_id,
            set_name=set_name,
            digest=self._digest(plain),
            payload=payload,
            name=plain.name,
            tags=plain.tags,
            skip=_skip_reason(plain),
            is_scenario=is_scenario or plain.scenario is not None,
        )

    def _unique_id(self, case: EvalCase, place: int, set_name: str) -> str:
        if _is_given(case.eval_id):
            eval_id = self._told_apart(str(case.eval_id))
            if eval_id != case.eval_id:
                self.warnings.append(
                    f"case id {str(case.eval_id)!r} is not unique in this file; runs as {eval_id!r}"
                )
        else:
            eval_id = f"case_{place}"
            if eval_id in self._taken or eval_id in self._used:
                eval_id = self._told_apart(f"{set_name}_{eval_id}")
        self._used.add(eval_id)
        return eval_id

    def _told_apart(self, eval_id: str) -> str:
        if eval_id not in self._used:
            return eval_id
        number = 2
        while f"{eval_id}#{number}" in self._used or f"{eval_id}#{number}" in self._taken:
            number += 1
        return f"{eval_id}#{number}"

    def _digest(self, case: EvalCase) -> str:
        turns = [msgspec.structs.replace(turn, invocation_id="") for turn in case.conversation]
        content = wire.encode_any(msgspec.structs.replace(case, conversation=turns))
        return hashlib.sha256(content + b"\0" + self._criteria).hexdigest()


def _is_given(drawn_or_given: str) -> bool:
    return bool(drawn_or_given) and not isinstance(drawn_or_given, GeneratedId)


def _encoded(case: EvalCase, eval_id: str) -> tuple[bytes, EvalCase]:
    """Return a case as bytes and as what they say; raises ConfigurationError where it is not plain data."""
    try:
        payload = wire.encode_case(msgspec.structs.replace(case, eval_id=eval_id))
        return payload, wire.decode_case(payload)
    except (
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
        NotImplementedError,
        msgspec.MsgspecError,
    ) as error:
        what = message(error) or "a value in it is no plain data"
        msg = f"case {eval_id!r} cannot be serialized: {what}"
        raise ConfigurationError(msg) from None


def _skip_reason(case: EvalCase) -> str | None:
    skip = case.metadata.get("skip")
    if not skip:
        return None
    return skip if isinstance(skip, str) else "skipped"
