"""What a custom criterion returned, read as a result: a truth value, a number, a result, or nothing to compare."""

import math
from numbers import Number
from typing import Any

from evalengine.results import CriterionResult, NotApplicable, TokenUsage

_ACCEPTED = (
    "True or False, a score from 0 to 1, a CriterionResult, or NotApplicable where there is nothing to compare"
)
_RESULT_FIELDS = ("criterion", "score", "passed")
_TOKEN_FIELDS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens")


def interpret_value(name: str, value: Any, threshold: float) -> CriterionResult | NotApplicable:
    """Read a value as the result of the criterion of that name.

    A score that is not finite or not in [0, 1], and a value of any other kind, become an error result. The verdict
    of a CriterionResult stands as its author gave it.
    """
    if isinstance(value, NotApplicable):
        return NotApplicable(
            criterion=value.criterion or name, threshold=value.threshold or threshold, reason=value.reason
        )
    if isinstance(value, CriterionResult):
        return _checked(value, name)
    if all(hasattr(value, field) for field in _RESULT_FIELDS):
        return _checked(_from_fields(value), name)
    number = _number(value)
    if number is None:
        return CriterionResult.failure(name, f"returned {_kind(value)}; accepted are {_ACCEPTED}", threshold)
    return _scored(name, number, threshold)


def _scored(name: str, score: float, threshold: float) -> CriterionResult:
    problem = _problem(score)
    if problem:
        return CriterionResult.failure(name, problem, threshold)
    details = {"reason": f"score {score:.2f}, needs {threshold:.2f}"}
    return CriterionResult.success(name, score, threshold, details)


def _checked(result: CriterionResult, name: str) -> CriterionResult:
    """Return the result under a name, with a score that counts or an error."""
    result = result.model_copy(update={"criterion": result.criterion or name})
    if result.error is not None:
        return result.model_copy(update={"score": 0.0, "passed": False})
    number = _number(result.score)
    problem = f"gave a score of type {type(result.score).__name__}" if number is None else _problem(number)
    if problem:
        return CriterionResult.failure(result.criterion, problem, result.threshold)
    return result.model_copy(update={"score": number, "passed": bool(result.passed)})


def _problem(score: float) -> str | None:
    if not math.isfinite(score):
        return f"gave a non-finite score: {score}"
    if not 0.0 <= score <= 1.0:
        return f"gave a score outside of 0 to 1: {score}"
    return None


def _number(value: Any) -> float | None:
    """Return a truth value or a number of any library as a float; None where it is neither."""
    try:
        if type(value).__module__ == "numpy":
            value = value.item()
        if isinstance(value, Number) and not isinstance(value, complex):
            return float(value)  # type: ignore[arg-type]
    except (AttributeError, TypeError, ValueError, OverflowError):
        return None
    return None


def _from_fields(value: Any) -> CriterionResult:
    """Convert the result of another library by its fields."""
    usage = getattr(value, "token_usage", None)
    error = getattr(value, "error", None)
    details = getattr(value, "details", None)
    return CriterionResult(
        criterion=str(value.criterion or ""),
        score=value.score,
        passed=bool(value.passed),
        threshold=_number(getattr(value, "threshold", 0.0)) or 0.0,
        details=dict(details) if isinstance(details, dict) else {},
        error=None if error is None else str(error),
        token_usage=TokenUsage(*(int(getattr(usage, field, 0) or 0) for field in _TOKEN_FIELDS)),
    )


def _kind(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
