"""Criteria that users write: functions under ``@criterion``, objects of a :class:`BaseCriterion` subclass.

A function takes ``(execution, case)`` and gives True or False, a score in [0, 1] or a CriterionResult; an object
has ``evaluate(actual, expected)``. Both may be async. Objects of the framework's own ``BaseCriterion`` are taken by
their methods, and what they return by its fields. What cannot be read as a score becomes an error result that
says what is accepted; it never becomes a score.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from evalengine.cases import EvalCase
from evalengine.config import CriterionConfig, criterion_name
from evalengine.criteria.checks import is_score
from evalengine.criteria.verdicts import interpret_value
from evalengine.errors import ConfigurationError
from evalengine.results import CriterionResult, ExecutionResult, NotApplicable, TokenUsage

Outcome = CriterionResult | NotApplicable
F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_THRESHOLD = 0.8
_THRESHOLD_ATTRIBUTE = "criterion_threshold"
_COROUTINE_FLAG = 0x80


@overload
def criterion(function: F, /) -> F: ...


@overload
def criterion(*, threshold: float = ..., name: str | None = ...) -> Callable[[F], F]: ...


def criterion(
    function: Callable[..., Any] | None = None,
    /,
    *,
    threshold: float = DEFAULT_THRESHOLD,
    name: str | None = None,
) -> Any:
    """Mark a function ``(execution, case) -> bool | float | CriterionResult`` as a criterion.

    ``@criterion`` alone passes at 0.8 under the function's own name. Raises ConfigurationError for a threshold
    outside of [0, 1].
    """

    def mark(function: F) -> F:
        if isinstance(function, type) or not callable(function):
            msg = f"@criterion marks a function (execution, case), not {_kind_of(function)}"
            raise ConfigurationError(msg)
        setattr(function, _THRESHOLD_ATTRIBUTE, _checked(name or criterion_name(function), threshold))
        if name:
            function.name = name  # type: ignore[attr-defined]
        return function

    return mark if function is None else mark(function)


class BaseCriterion(ABC):
    """A criterion as a class: set ``name``, and write ``evaluate`` (or derive from :class:`SyncCriterion`)."""

    name: str = "base_criterion"
    description: str = ""

    def __init__(self, config: CriterionConfig | None = None) -> None:
        self.config = config or CriterionConfig()

    @abstractmethod
    async def evaluate(self, actual: ExecutionResult, expected: EvalCase) -> Outcome:
        """Score what the agent did against what the case expects."""

    def validate_config(self) -> list[str]:
        """Return what is wrong with the configuration; nothing where it can be meant."""
        threshold = self.config.threshold
        return [] if is_score(threshold) else [f"threshold is {threshold!r}, but must be a number from 0 to 1"]

    @property
    def threshold(self) -> float:
        """The score from which on it passes."""
        return self.config.threshold

    @property
    def is_enabled(self) -> bool:
        """Whether it runs at all."""
        return self.config.enabled

    def _result(
        self, score: float, details: dict[str, Any] | None = None, token_usage: TokenUsage | None = None
    ) -> CriterionResult:
        """Make this criterion's result of a score."""
        return CriterionResult.success(self.name, score, self.threshold, details, token_usage)

    def _failure(self, error: str) -> CriterionResult:
        """Make this criterion's result of an error."""
        return CriterionResult.failure(self.name, error, self.threshold)

    def _extract_question(self, expected: EvalCase) -> str:
        """Return what the user says first."""
        return expected.conversation[0].user_content.get_text() if expected.conversation else ""

    def _extract_last_expected_response(self, expected: EvalCase) -> str:
        """Return the last response that a turn states."""
        stated = [turn.expected_final_response for turn in expected.conversation if turn.expected_final_response]
        return stated[-1].get_text() if stated else ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, threshold={self.threshold})"


class SyncCriterion(BaseCriterion):
    """A criterion that awaits nothing: write ``evaluate_sync``. It is run in a thread."""

    @abstractmethod
    def evaluate_sync(self, actual: ExecutionResult, expected: EvalCase) -> Outcome:
        """Score what the agent did against what the case expects."""

    async def evaluate(self, actual: ExecutionResult, expected: EvalCase) -> Outcome:
        """Score, for callers that await."""
        return self.evaluate_sync(actual, expected)


class CompositeCriterion(BaseCriterion):
    """Several criteria as one: the lowest score where all are required, else the highest.

    Parts that do not apply are left out; a part's error is the whole's.
    """

    name = "composite_criterion"
    description = "Combines several criteria"

    def __init__(
        self, criteria: Sequence[Any], require_all: bool = True, config: CriterionConfig | None = None
    ) -> None:
        super().__init__(config)
        self.criteria = [resolve(part) for part in criteria]
        self.require_all = require_all

    async def evaluate(self, actual: ExecutionResult, expected: EvalCase) -> Outcome:
        """Score by all parts."""
        results = await _score_parts(self, self.criteria, actual, expected)
        if not isinstance(results, list):
            return results
        scores = [result.score for _, result in results]
        details = {
            "require_all": self.require_all,
            "sub_results": [result.model_dump() for _, result in results],
        }
        return self._result(min(scores) if self.require_all else max(scores), details)


class WeightedCriterion(BaseCriterion):
    """The weighted mean of several criteria.

    Parts that do not apply are left out; a part's error is the whole's.
    """

    name = "weighted_criterion"
    description = "Weighs several criteria"

    def __init__(
        self, criteria_weights: Sequence[tuple[Any, float]], config: CriterionConfig | None = None
    ) -> None:
        super().__init__(config)
        self.criteria_weights = [(resolve(part), weight) for part, weight in criteria_weights]
        if any(not weight > 0 for _, weight in self.criteria_weights):
            msg = f"{self.name}: weights must be above 0, got {[weight for _, weight in self.criteria_weights]}"
            raise ConfigurationError(msg)

    async def evaluate(self, actual: ExecutionResult, expected: EvalCase) -> Outcome:
        """Score by all parts."""
        results = await _score_parts(self, [part for part, _ in self.criteria_weights], actual, expected)
        if not isinstance(results, list):
            return results
        weighed = [(result, self.criteria_weights[place][1]) for place, result in results]
        mean = sum(result.score * weight for result, weight in weighed) / sum(weight for _, weight in weighed)
        parts = [
            {"criterion": result.criterion, "score": result.score, "weight": weight} for result, weight in weighed
        ]
        # The rounding of a mean of ones must not fail a threshold of 1.
        return self._result(min(1.0, round(mean, 12)), {"sub_results": parts})


async def _score_parts(
    whole: BaseCriterion, parts: Sequence[Any], actual: ExecutionResult, expected: EvalCase
) -> list[tuple[int, CriterionResult]] | Outcome:
    """Score parts in order; gives (place, result) of those that apply, or what the whole comes to without them."""
    results: list[tuple[int, CriterionResult]] = []
    for place, part in enumerate(parts):
        value = call(part, actual, expected)
        if hasattr(value, "__await__"):
            value = await value
        outcome = interpret(part, value, threshold_of(part))
        if isinstance(outcome, NotApplicable):
            continue
        if outcome.error is not None:
            return whole._failure(f"{outcome.criterion}: {outcome.error}")  # noqa: SLF001 - of this module
        results.append((place, outcome))
    if results:
        return results
    return NotApplicable(criterion=whole.name, threshold=whole.threshold, reason="none of its criteria applies")


def resolve(item: Any) -> Any:
    """Return what a ``custom`` list holds as a criterion that can be called; a class is instantiated.

    Raises ConfigurationError for anything that is no criterion, and for one that is configured so that it cannot
    be meant.
    """
    item = _instance(item) if isinstance(item, type) else item
    if not (callable(item) or callable(getattr(item, "evaluate", None))):
        msg = (
            f"custom criteria are functions (execution, case) or objects of a BaseCriterion subclass, "
            f"not {_kind_of(item)}"
        )
        raise ConfigurationError(msg)
    validate = getattr(item, "validate_config", None)
    problems = list(validate() or ()) if callable(validate) else []
    if problems:
        msg = f"criterion {criterion_name(item)}: {'; '.join(map(str, problems))}"
        raise ConfigurationError(msg)
    _checked(criterion_name(item), threshold_of(item))
    return item


def _instance(item: type) -> Any:
    try:
        return item()
    except TypeError as error:
        msg = f"custom criterion {item.__name__} cannot be made without arguments: list an object of it ({error})"
        raise ConfigurationError(msg) from None


def is_enabled(criterion: Any) -> bool:
    """Tell whether a criterion runs: an object says so by its config."""
    return bool(getattr(criterion, "is_enabled", True))


def threshold_of(criterion: Any) -> float:
    """Return the score from which on a criterion passes."""
    threshold = getattr(criterion, _THRESHOLD_ATTRIBUTE, None)
    if threshold is None:
        threshold = getattr(criterion, "threshold", None)
    return DEFAULT_THRESHOLD if threshold is None else threshold


def is_async(criterion: Any) -> bool:
    """Tell whether calling it gives something to await; else it belongs in a thread."""
    if _sync_method(criterion) is not None:
        return False
    target = getattr(criterion, "evaluate", None) or criterion
    return _is_coroutine_function(target) or _is_coroutine_function(getattr(type(target), "__call__", None))  # noqa: B004


def call(criterion: Any, execution: ExecutionResult, case: EvalCase) -> Any:
    """Call a criterion; gives what it returns, which may be awaitable."""
    method = _sync_method(criterion) or getattr(criterion, "evaluate", None) or criterion
    return method(execution, case)


def _sync_method(criterion: Any) -> Callable[..., Any] | None:
    """Return ``evaluate_sync``, where ``evaluate`` only wraps it."""
    method = getattr(criterion, "evaluate_sync", None)
    evaluate = getattr(type(criterion), "evaluate", None)
    wraps = getattr(evaluate, "__qualname__", "") == "SyncCriterion.evaluate"
    return method if callable(method) and wraps else None


def _is_coroutine_function(function: Any) -> bool:
    function = getattr(function, "__func__", function)
    while hasattr(function, "func"):  # functools.partial
        function = function.func
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & _COROUTINE_FLAG)


def interpret(criterion: Any, value: Any, threshold: float) -> Outcome:
    """Read what a criterion returned as a result under the criterion's name."""
    return interpret_value(criterion_name(criterion), value, threshold)


def _checked(name: str, threshold: Any) -> float:
    if not is_score(threshold):
        msg = f"criterion {name}: threshold is {threshold!r}, but must be a number from 0 to 1"
        raise ConfigurationError(msg)
    return float(threshold)


def _kind_of(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a value of type {type(value).__name__}"
