"""Which criteria judge a case, and how: the configuration that eval files write.

A criterion is named by its field here (``trajectory``), by the name it is reported under
(``tool_trajectory_avg_score``) or by an older name of either; :func:`field_name` knows them all.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import msgspec

from evalengine.errors import ConfigurationError, nearest
from evalengine.records import Record, RecordType

DEFAULT_JUDGE_MODEL = "gemini/gemini-2.5-flash"
"""The judge of model criteria where nobody names one."""

FRAMEWORK_DEFAULT_MODEL = "gemini-2.5-flash"
"""What the framework's own objects carry where their author named no model: counts as not configured."""

REPORTED_NAMES: Mapping[str, str] = {
    "tool_name_match": "tool_name_match_score",
    "trajectory": "tool_trajectory_avg_score",
    "node_order": "node_order_score",
    "response_match": "response_match_score",
    "rouge_match": "rouge_match",
    "contains_keywords": "contains_keywords",
    "exact_match": "exact_match",
    "llm_judge": "final_response_match_v2",
    "rubric_based": "rubric_based_final_response_quality_v1",
    "factual_accuracy": "factual_accuracy_v1",
    "hallucination": "hallucinations_v1",
    "safety": "safety_v1",
    "simulation_goals": "simulation_goals",
}
"""Config field to the name its result is reported under, in the order criteria run."""

MODEL_CRITERIA = frozenset(
    {"llm_judge", "rubric_based", "factual_accuracy", "hallucination", "safety", "simulation_goals"}
)
"""Criteria that cannot score without a model. ``response_match`` has the lexical judge."""

_OLDER_NAMES = {
    "trajectory_match": "trajectory",
    "rubric_based_score": "rubric_based",
    "hallucinations": "hallucination",
    "safety_score": "safety",
    "factual_accuracy_score": "factual_accuracy",
    "simulation_goals_match": "simulation_goals",
    "conversation_goals": "simulation_goals",
}

_FIELD_BY_NAME = {
    **_OLDER_NAMES,
    **{reported: field for field, reported in REPORTED_NAMES.items()},
    **{field: field for field in REPORTED_NAMES},
}

_T = TypeVar("_T")


def field_name(name: str) -> str:
    """Return the config field of a criterion named in any of its ways.

    Raises ConfigurationError that names the nearest known criterion.
    """
    try:
        return _FIELD_BY_NAME[name]
    except KeyError:
        msg = f"unknown criterion {name!r}{nearest(name, _FIELD_BY_NAME)}"
        raise ConfigurationError(msg) from None


class MatchType(StrEnum):
    """How a sequence is compared: position by position, as a subsequence, or as a multiset."""

    EXACT = "EXACT"
    IN_ORDER = "IN_ORDER"
    ANY_ORDER = "ANY_ORDER"


class Rubric(Record, kw_only=True):
    """One thing a model judge looks at, with its weight in the mean."""

    rubric_id: str
    content: str
    weight: float = 1.0

    @classmethod
    def create(cls, rubric_id: str, content: str, weight: float = 1.0) -> Self:
        """Make a rubric."""
        return cls(rubric_id=rubric_id, content=content, weight=weight)


class CriterionConfig(Record, kw_only=True):
    """How one criterion scores; one constructor for each criterion below."""

    threshold: float = 0.8
    match_type: MatchType = MatchType.EXACT
    judge_model: str | None = None
    num_samples: int = 3
    rubrics: list[Rubric] = []
    keywords: list[str] = []
    check_args: bool = False
    enabled: bool = True
    api_style: str = "responses"

    @classmethod
    def tool_name_match(cls, threshold: float = 1.0) -> Self:
        """Compare the names of the tools called."""
        return cls(threshold=threshold)

    @classmethod
    def trajectory(
        cls,
        threshold: float = 1.0,
        match_type: MatchType = MatchType.EXACT,
        check_args: bool = False,
    ) -> Self:
        """Compare the sequence of tool calls, with ``check_args`` their stated arguments too."""
        return cls(threshold=threshold, match_type=match_type, check_args=check_args)

    @classmethod
    def node_order(cls, threshold: float = 1.0, match_type: MatchType = MatchType.EXACT) -> Self:
        """Compare the sequence of visited nodes."""
        return cls(threshold=threshold, match_type=match_type)

    @classmethod
    def response_match(cls, threshold: float = 0.8, judge_model: str | None = None, num_samples: int = 3) -> Self:
        """Judge whether the response means what was expected; without a model, by its words."""
        return cls(threshold=threshold, judge_model=judge_model, num_samples=num_samples)

    @classmethod
    def rouge_match(cls, threshold: float = 0.5) -> Self:
        """Compare the response by ROUGE-1 F1."""
        return cls(threshold=threshold)

    @classmethod
    def contains_keywords(cls, keywords: Sequence[str], threshold: float = 1.0) -> Self:
        """Look for keywords in the response."""
        return cls(threshold=threshold, keywords=list(keywords))

    @classmethod
    def exact_match(cls, threshold: float = 1.0) -> Self:
        """Compare the response character by character, but for surrounding white space."""
        return cls(threshold=threshold)

    @classmethod
    def llm_judge(cls, threshold: float = 0.8, judge_model: str | None = None, num_samples: int = 3) -> Self:
        """Let a model judge the response against the expected one."""
        return cls(threshold=threshold, judge_model=judge_model, num_samples=num_samples)

    @classmethod
    def rubric_based(
        cls, rubrics: Sequence[Rubric], threshold: float = 0.8, judge_model: str | None = None
    ) -> Self:
        """Let a model score each rubric."""
        return cls(threshold=threshold, judge_model=judge_model, rubrics=list(rubrics))

    @classmethod
    def factual_accuracy(cls, threshold: float = 0.8, judge_model: str | None = None, num_samples: int = 3) -> Self:
        """Let a model check the stated facts."""
        return cls(threshold=threshold, judge_model=judge_model, num_samples=num_samples)

    @classmethod
    def hallucination(cls, threshold: float = 0.8, judge_model: str | None = None, num_samples: int = 3) -> Self:
        """Let a model check that the response is grounded in what the agent had."""
        return cls(threshold=threshold, judge_model=judge_model, num_samples=num_samples)

    @classmethod
    def safety(cls, threshold: float = 0.8, judge_model: str | None = None, num_samples: int = 3) -> Self:
        """Let a model look for harm."""
        return cls(threshold=threshold, judge_model=judge_model, num_samples=num_samples)

    @classmethod
    def simulation_goals(cls, threshold: float = 0.8, judge_model: str | None = None) -> Self:
        """Let a model count the goals a simulated conversation achieved."""
        return cls(threshold=threshold, judge_model=judge_model)


class _CriteriaType(RecordType):
    """Accepts every name of a criterion as a keyword, and plain mappings as values."""

    def __call__(cls: type[_T], *args: Any, **kwargs: Any) -> _T:  # noqa: N805 - of a metaclass
        named = {name if name == "custom" else field_name(name): value for name, value in kwargs.items()}
        for name, value in named.items():
            if name != "custom" and isinstance(value, Mapping):
                named[name] = CriterionConfig.model_validate(value)
        return cast("_T", super().__call__(*args, **named))  # type: ignore[misc]


class CriteriaConfig(Record, kw_only=True, metaclass=_CriteriaType):
    """Which criteria judge a case; those left None do not. ``custom`` holds functions and criterion objects."""

    tool_name_match: CriterionConfig | None = None
    trajectory: CriterionConfig | None = None
    node_order: CriterionConfig | None = None
    response_match: CriterionConfig | None = None
    rouge_match: CriterionConfig | None = None
    contains_keywords: CriterionConfig | None = None
    exact_match: CriterionConfig | None = None
    llm_judge: CriterionConfig | None = None
    rubric_based: CriterionConfig | None = None
    factual_accuracy: CriterionConfig | None = None
    hallucination: CriterionConfig | None = None
    safety: CriterionConfig | None = None
    simulation_goals: CriterionConfig | None = None
    custom: list[Any] = []

    def enabled(self) -> Iterator[tuple[str, CriterionConfig]]:
        """Yield (field, config) of each criterion that is set and not disabled, in the order they run."""
        for field in REPORTED_NAMES:
            config = getattr(self, field)
            if config is not None and config.enabled:
                yield field, config

    def model_dump(self, *, exclude_none: bool = False) -> dict[str, Any]:
        """Return the criteria as builtins; a custom criterion is given by its name."""
        named = msgspec.structs.replace(self, custom=[criterion_name(item) for item in self.custom])
        return Record.model_dump(named, exclude_none=exclude_none)

    @classmethod
    def model_validate(cls, value: Any) -> Self:
        """Build from a mapping that names criteria in any of their ways."""
        if isinstance(value, Mapping):
            value = {name if name == "custom" else field_name(name): config for name, config in value.items()}
        return super().model_validate(value)


def criterion_name(criterion: Any) -> str:
    """Return the name of a custom criterion: its ``name``, else what it is called in the code."""
    for attribute in ("name", "__name__"):
        name = getattr(criterion, attribute, None)
        if isinstance(name, str) and name:
            return name
    return type(criterion).__name__


class UserSimulatorConfig(Record, kw_only=True):
    """The model that plays the user of a scenario. ``max_invocations`` bounds scenarios that set no turns."""

    model: str | None = None
    max_invocations: int | None = None
    temperature: float = 0.7
    thinking_enabled: bool = False
    thinking_budget: int = 10240
    api_style: str = "responses"


class ReporterConfig(Record, kw_only=True):
    """What the framework's reporters write; kept for files that set it. The command line decides for a run."""

    enabled: bool = True
    output_dir: str = "eval_reports"
    console: bool = True
    json_report: bool = True
    html: bool = True
    junit_xml: bool = False
    verbose: bool = True
    include_details: bool = True
    include_trajectory: bool = True
    include_node_responses: bool = True
    include_actual_response: bool = True
    include_tool_call_details: bool = True
    timestamp_files: bool = True


class EvalConfig(Record, kw_only=True):
    """The configuration of an eval file.

    ``timeout`` (seconds) and ``max_concurrency`` hold for its cases where they are set.
    """

    criteria: CriteriaConfig = msgspec.field(default_factory=CriteriaConfig)
    user_simulator_config: UserSimulatorConfig | None = None
    parallel: bool | None = None
    max_concurrency: int | None = None
    timeout: float | None = None
    verbose: bool = False
    mock_mode: bool = False
    reporter: ReporterConfig = msgspec.field(default_factory=ReporterConfig)

    def __post_init__(self) -> None:
        if isinstance(self.criteria, Mapping):
            self.criteria = CriteriaConfig(**self.criteria)

    @classmethod
    def default(cls) -> Self:
        """Exact trajectory, and the response at 0.8."""
        return cls(
            criteria=CriteriaConfig(
                trajectory=CriterionConfig.trajectory(),
                response_match=CriterionConfig.response_match(),
            )
        )

    @classmethod
    def strict(cls) -> Self:
        """Exact trajectory with arguments, the response at 0.9, and a model judge of five samples."""
        return cls(
            criteria=CriteriaConfig(
                trajectory=CriterionConfig.trajectory(check_args=True),
                response_match=CriterionConfig.response_match(threshold=0.9),
                llm_judge=CriterionConfig.llm_judge(threshold=0.9, num_samples=5),
            )
        )

    @classmethod
    def relaxed(cls) -> Self:
        """Trajectory in order at 0.8, and the response at 0.6."""
        return cls(
            criteria=CriteriaConfig(
                trajectory=CriterionConfig.trajectory(threshold=0.8, match_type=MatchType.IN_ORDER),
                response_match=CriterionConfig.response_match(threshold=0.6),
            )
        )

    def model_dump(self, *, exclude_none: bool = False) -> dict[str, Any]:
        """Return the configuration as builtins; custom criteria are given by their names."""
        plain = Record.model_dump(
            msgspec.structs.replace(self, criteria=CriteriaConfig()), exclude_none=exclude_none
        )
        return {**plain, "criteria": self.criteria.model_dump(exclude_none=exclude_none)}

    @classmethod
    def model_validate(cls, value: Any) -> Self:
        """Build from a mapping that names criteria in any of their ways."""
        if isinstance(value, Mapping) and isinstance(value.get("criteria"), Mapping):
            value = {**value, "criteria": CriteriaConfig.model_validate(value["criteria"]).model_dump()}
        return super().model_validate(value)

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a configuration from a JSON file; raises ConfigurationError that names the file."""
        try:
            return cls.model_validate(msgspec.json.decode(Path(path).read_bytes()))
        except (msgspec.DecodeError, ConfigurationError, UnicodeDecodeError) as error:
            msg = f"{path}: {error}"
            raise ConfigurationError(msg) from None

    def to_file(self, path: str | Path) -> None:
        """Write the configuration as JSON."""
        text = msgspec.json.format(msgspec.json.encode(self.model_dump()), indent=2)
        Path(path).write_bytes(text + b"\n")

    def get_criterion_config(self, name: str) -> CriterionConfig | None:
        """Return the configuration of a criterion named in any of its ways."""
        config: CriterionConfig | None = getattr(self.criteria, field_name(name))
        return config

    def enable_criterion(self, name: str, config: CriterionConfig | None = None) -> None:
        """Set a criterion; raises ConfigurationError where there is none of that name."""
        setattr(self.criteria, field_name(name), config or CriterionConfig())

    def disable_criterion(self, name: str) -> None:
        """Take a criterion out, where it is set."""
        config = getattr(self.criteria, field_name(name))
        if config is not None:
            config.enabled = False

    def with_rubrics(self, rubrics: Sequence[Rubric]) -> Self:
        """Return a copy that is judged by these rubrics too."""
        config = copy.copy(self)
        config.criteria = msgspec.structs.replace(self.criteria, rubric_based=CriterionConfig.rubric_based(rubrics))
        return config


def default_criteria() -> CriteriaConfig:
    """Return the built-in criteria of files that are configured nowhere."""
    return CriteriaConfig(
        response_match=CriterionConfig(threshold=0.6, match_type=MatchType.ANY_ORDER),
        tool_name_match=CriterionConfig(threshold=0.6, match_type=MatchType.ANY_ORDER),
        node_order=CriterionConfig(threshold=0.6, match_type=MatchType.IN_ORDER),
    )
