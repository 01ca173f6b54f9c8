"""Objects of other libraries taken as ours: the framework's pydantic models, mappings, and our own as they are.

Pydantic models are read by their fields (``model_dump``, ``model_fields_set``), never imported. What the framework
fills in by itself counts as not set: ids it draws, time limits, turns, and the judge and simulator models it names
where the author named none. Its empty lists state nothing.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from evalengine.cases import ConversationScenario, EvalCase, EvalSet
from evalengine.config import (
    FRAMEWORK_DEFAULT_MODEL,
    REPORTED_NAMES,
    CriteriaConfig,
    CriterionConfig,
    EvalConfig,
    UserSimulatorConfig,
    field_name,
)
from evalengine.errors import ConfigurationError
from evalengine.evalset_json import normalise
from evalengine.records import GeneratedId, Record

R = TypeVar("R", bound=Record)

_DRAWN_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_SETTINGS = ("parallel", "max_concurrency", "timeout")


def as_eval_set(value: Any) -> EvalSet:
    """Return an eval set, of ours, the framework's, a mapping, or a builder that was not told to ``build()``.

    Raises ConfigurationError that names the type where it is none of these.
    """
    if isinstance(value, EvalSet):
        if not all(isinstance(case, EvalCase) for case in value.eval_cases):
            value.eval_cases = [as_eval_case(case) for case in value.eval_cases]
        return value
    if isinstance(value, Mapping):
        plain = normalise(value)
        if "eval_cases" not in plain:
            raise _refusal(value, "an EvalSet", "eval_set_id, name, eval_cases")
        return EvalSet.model_validate(plain)
    if _is_model(value, "eval_cases"):
        eval_set = EvalSet.model_validate(normalise(value.model_dump()))
        _mark_drawn_set_id(value, eval_set)
        for theirs, ours in zip(value.eval_cases, eval_set.eval_cases, strict=True):
            _mark_drawn_ids(theirs, ours)
        return eval_set
    build = getattr(value, "build", None)
    if callable(build) and hasattr(value, "cases"):
        return as_eval_set(build())
    raise _refusal(value, "an EvalSet", "eval_set_id, name, eval_cases")


def as_eval_case(value: Any) -> EvalCase:
    """Return a case, of ours, the framework's or a mapping."""
    if isinstance(value, EvalCase):
        return value
    if isinstance(value, Mapping) or _is_model(value, "conversation"):
        plain = value if isinstance(value, Mapping) else value.model_dump()
        [case] = EvalSet.model_validate(normalise({"eval_cases": [plain]})).eval_cases
        if not isinstance(value, Mapping):
            _mark_drawn_ids(value, case)
        return case
    raise _refusal(value, "an EvalCase", "eval_id, conversation")


def as_eval_config(value: Any) -> EvalConfig:
    """Return a configuration, of ours, the framework's, a mapping, or criteria alone."""
    if isinstance(value, EvalConfig):
        if not isinstance(value.criteria, CriteriaConfig):
            value.criteria = as_criteria(value.criteria)
        if value.user_simulator_config is not None:
            value.user_simulator_config = as_simulator_config(value.user_simulator_config)
        return value
    if isinstance(value, CriteriaConfig):
        return EvalConfig(criteria=value)
    if isinstance(value, Mapping):
        return EvalConfig.model_validate(value)
    if _is_model(value, "criteria"):
        return _config_of_model(value)
    if _is_model(value, "tool_name_match"):
        return EvalConfig(criteria=as_criteria(value))
    raise _refusal(value, "an EvalConfig", "criteria")


def as_criteria(value: Any) -> CriteriaConfig:
    """Return criteria, of ours, the framework's or a mapping."""
    if isinstance(value, CriteriaConfig):
        return value
    if isinstance(value, Mapping):
        return CriteriaConfig(**{name: _criterion_or_list(config) for name, config in value.items()})
    if not _is_model(value, "tool_name_match"):
        raise _refusal(value, "a CriteriaConfig", ", ".join(REPORTED_NAMES))
    criteria = CriteriaConfig()
    for name in type(value).model_fields:
        config = getattr(value, name)
        if name == "custom":
            criteria.custom = list(config or ())
        elif config is not None:
            setattr(criteria, field_name(name), _as_criterion(config))
    return criteria


def as_scenario(value: Any) -> ConversationScenario:
    """Return a scenario, of ours, the framework's or a mapping; its ``max_turns`` only where somebody set them."""
    return _as_record(
        value,
        ConversationScenario,
        "starting_prompt",
        lambda plain: _without_unset(value, plain, ("max_turns",)),
    )


def as_simulator_config(value: Any) -> UserSimulatorConfig:
    """Return a simulator's configuration; its model and turns only where somebody set them."""

    def without_defaults(plain: dict[str, Any]) -> dict[str, Any]:
        plain = _without_unset(value, plain, ("max_invocations",))
        if plain.get("model") == FRAMEWORK_DEFAULT_MODEL:
            plain["model"] = None
        return plain

    return _as_record(value, UserSimulatorConfig, "max_invocations", without_defaults)


def _as_record(
    value: Any, kind: type[R], telling_field: str, adjust: Callable[[dict[str, Any]], dict[str, Any]]
) -> R:
    if isinstance(value, kind):
        return value
    if isinstance(value, Mapping):
        return kind.model_validate(value)
    if _is_model(value, telling_field):
        return kind.model_validate(adjust(value.model_dump()))
    raise _refusal(value, f"a {kind.__name__}", ", ".join(kind.__struct_fields__))


def _config_of_model(value: Any) -> EvalConfig:
    plain = value.model_dump(exclude={"criteria", "user_simulator_config"})
    config = EvalConfig.model_validate(_without_unset(value, plain, _SETTINGS))
    config.criteria = as_criteria(value.criteria)
    simulator = getattr(value, "user_simulator_config", None)
    config.user_simulator_config = None if simulator is None else as_simulator_config(simulator)
    return config


def _as_criterion(value: Any) -> CriterionConfig:
    config = CriterionConfig.model_validate(value)
    if config.judge_model == FRAMEWORK_DEFAULT_MODEL and not isinstance(value, CriterionConfig):
        config.judge_model = None
    return config


def _criterion_or_list(value: Any) -> Any:
    return value if value is None or isinstance(value, Mapping | list) else _as_criterion(value)


def _mark_drawn_set_id(theirs: Any, ours: EvalSet) -> None:
    """Mark the set's id where nobody chose it; the framework's builder passes on what it drew, so form tells."""
    if "eval_set_id" not in theirs.model_fields_set or _DRAWN_ID.fullmatch(ours.eval_set_id):
        ours.eval_set_id = GeneratedId(ours.eval_set_id)


def _mark_drawn_ids(theirs: Any, ours: EvalCase) -> None:
    if "eval_id" not in theirs.model_fields_set:
        ours.eval_id = GeneratedId(ours.eval_id)
    for their_turn, turn in zip(theirs.conversation, ours.conversation, strict=True):
        if "invocation_id" not in their_turn.model_fields_set:
            turn.invocation_id = GeneratedId(turn.invocation_id)


def _without_unset(value: Any, plain: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """Return the fields of a model without those settings that its author left alone."""
    unset = {name for name in settings if name not in value.model_fields_set}
    return {name: item for name, item in plain.items() if name not in unset}


def _is_model(value: Any, field: str) -> bool:
    """Tell whether a value is a pydantic model (not a class of it) with that field."""
    return (
        not isinstance(value, type)
        and callable(getattr(value, "model_dump", None))
        and hasattr(value, "model_fields_set")
        and hasattr(value, field)
    )


def _refusal(value: Any, wanted: str, fields: str) -> ConfigurationError:
    kind = f"the class {value.__name__}" if isinstance(value, type) else f"a value of type {type(value).__name__}"
    return ConfigurationError(f"expected {wanted} (an object or a mapping with {fields}), got {kind}")
