"""Criteria that compare what an agent said: response_match, rouge_match, exact_match, contains_keywords.

Each turn that states a response is scored against that turn's own answer, and the mean counts; the turns stand in
the details. Keywords are looked for in the answers of all turns together.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from evalengine.cases import EvalCase
from evalengine.config import REPORTED_NAMES, CriterionConfig
from evalengine.criteria import lexical, wording
from evalengine.criteria.rouge import rouge
from evalengine.criteria.tokens import fold
from evalengine.results import CriterionResult, ExecutionResult, NotApplicable

Outcome = CriterionResult | NotApplicable


class StatedTurn(NamedTuple):
    """A turn that states a response, and the answer it got."""

    place: int
    expected: str
    actual: str


class TurnScore(NamedTuple):
    """A turn's score, why, and what else is known of it; numbers are averaged over turns."""

    score: float
    reason: str
    numbers: dict[str, float] = {}


def stated_turns(execution: ExecutionResult, case: EvalCase) -> list[StatedTurn]:
    """Return the turns that state a response.

    Where the execution has no turns (a hand-made one), its one response is the answer to the last turn.
    """
    last = len(case.conversation) - 1
    turns = []
    for index, turn in enumerate(case.conversation):
        expected = turn.expected_final_response.get_text() if turn.expected_final_response else ""
        if not expected.strip():
            continue
        if index < len(execution.turns):
            answer = execution.turns[index].agent_response
        else:
            answer = execution.actual_response if index == last and not execution.turns else ""
        turns.append(StatedTurn(index, expected, answer))
    return turns


def whole_response(execution: ExecutionResult) -> str:
    """Return the answers of all turns, a line each."""
    if execution.turns:
        return "\n".join(turn.agent_response for turn in execution.turns)
    return execution.actual_response


def response_match(config: CriterionConfig, execution: ExecutionResult, case: EvalCase) -> Outcome:
    """Score by the lexical judge."""

    def score(turn: StatedTurn) -> TurnScore:
        verdict = lexical.judge(turn.expected, turn.actual)
        return TurnScore(verdict.score, f"{_against(turn)}: {verdict.reason}")

    outcome = _per_turn("response_match", config, execution, case, score)
    if isinstance(outcome, CriterionResult):
        outcome.judge = lexical.NAME
    return outcome


def rouge_match(config: CriterionConfig, execution: ExecutionResult, case: EvalCase) -> Outcome:
    """Score by ROUGE-1 F1."""

    def score(turn: StatedTurn) -> TurnScore:
        found = rouge(turn.expected, turn.actual)
        reason = f"ROUGE-1 F1 {found.f1:.2f}: {_against(turn)}"
        return TurnScore(found.f1, reason, found._asdict())

    return _per_turn("rouge_match", config, execution, case, score)


def exact_match(config: CriterionConfig, execution: ExecutionResult, case: EvalCase) -> Outcome:
    """Score 1.0 where the response is the expected one, but for surrounding white space."""

    def score(turn: StatedTurn) -> TurnScore:
        same = turn.actual.strip() == turn.expected.strip()
        return TurnScore(float(same), _against(turn))

    return _per_turn("exact_match", config, execution, case, score)


def contains_keywords(config: CriterionConfig, execution: ExecutionResult, case: EvalCase) -> Outcome:
    """Score the share of keywords that the response contains; case and width do not matter."""
    del case
    name = REPORTED_NAMES["contains_keywords"]
    if not config.keywords:
        return NotApplicable(criterion=name, threshold=config.threshold, reason="no keywords are configured")
    response = whole_response(execution)
    folded = fold(response)
    found = [keyword for keyword in config.keywords if fold(keyword) in folded]
    missing = [keyword for keyword in config.keywords if fold(keyword) not in folded]
    reason = (
        f"missing {', '.join(map(wording.quote, missing))} in {wording.quote(response)}" if missing else "all found"
    )
    details = {
        "reason": wording.line(reason),
        "found": wording.trim(found),
        "missing": wording.trim(missing),
        "keywords": wording.trim(config.keywords),
        "actual_response": wording.clip(response),
    }
    return CriterionResult.success(name, len(found) / len(config.keywords), config.threshold, details)


def _against(turn: StatedTurn) -> str:
    return f"expected {wording.quote(turn.expected.strip())}, got {wording.quote(turn.actual.strip())}"


def _per_turn(
    field: str,
    config: CriterionConfig,
    execution: ExecutionResult,
    case: EvalCase,
    score: Callable[[StatedTurn], TurnScore],
) -> Outcome:
    name = REPORTED_NAMES[field]
    turns = stated_turns(execution, case)
    if not turns:
        return NotApplicable(criterion=name, threshold=config.threshold, reason="the case expects no response")
    scores = [score(turn) for turn in turns]
    mean = sum(one.score for one in scores) / len(scores)
    details = _one_turn(turns[0], scores[0]) if len(case.conversation) == 1 else _all_turns(turns, scores)
    return CriterionResult.success(name, mean, config.threshold, details)


def _one_turn(turn: StatedTurn, scored: TurnScore) -> dict[str, Any]:
    return {
        "reason": wording.line(scored.reason),
        **scored.numbers,
        "actual_response": wording.clip(turn.actual),
        "expected_response": wording.clip(turn.expected),
    }


def _all_turns(turns: list[StatedTurn], scores: list[TurnScore]) -> dict[str, Any]:
    """Describe several turns: the weakest gives the reason, numbers are means, texts are joined."""
    weakest = min(range(len(scores)), key=lambda place: scores[place].score)
    means = {key: sum(one.numbers[key] for one in scores) / len(scores) for key in scores[0].numbers}
    shown = list(zip(turns, scores, strict=True))[: wording.MAX_ITEMS]
    return {
        "reason": wording.line(f"turn {turns[weakest].place + 1}: {scores[weakest].reason}"),
        **means,
        "actual_response": wording.clip("\n".join(turn.actual for turn in turns)),
        "expected_response": wording.clip("\n".join(turn.expected for turn in turns)),
        "turns": [{"turn": turn.place, "score": one.score, **_one_turn(turn, one)} for turn, one in shown],
    }
