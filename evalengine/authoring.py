"""What eval files write cases and configurations with: EvalSetBuilder and EvalPresets.

The names and signatures are the framework's. Ours differ where they would check what nobody stated: a tool test
without a response states none, and ``expected_tools=[]`` says that no tool may be called, while None says nothing.
Presets name no judge model of their own accord.
"""

import copy
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from evalengine.cases import EvalCase, EvalSet, Invocation, SessionInput, ToolCall
from evalengine.config import REPORTED_NAMES, CriteriaConfig, CriterionConfig, EvalConfig, MatchType, ReporterConfig
from evalengine.errors import ConfigurationError
from evalengine.records import GeneratedId

Tools = Sequence[str | ToolCall | Mapping[str, Any]]


class EvalSetBuilder:
    """Builds an eval set case by case; every ``add_…`` gives the builder back.

    A case without an id of its own is called ``case_<n>``, by its place.
    """

    def __init__(self, name: str = "eval_set") -> None:
        self.name = name
        self.eval_set_id: str = GeneratedId(uuid.uuid4())
        self.description = ""
        self.metadata: dict[str, Any] = {}
        self.cases: list[EvalCase] = []

    def add_case(
        self,
        query: str,
        expected: str | None = None,
        case_id: str | None = None,
        expected_tools: Tools | None = None,
        expected_node_order: Sequence[str] | None = None,
        name: str = "",
        description: str = "",
        *,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        session_input: SessionInput | Mapping[str, Any] | None = None,
    ) -> Self:
        """Add a case of one turn. ``expected_tools=[]`` states that no tool may be called."""
        eval_id = self._id(case_id)
        turn = Invocation.simple(query, expected, _tools(eval_id, expected_tools), expected_node_order)
        return self._add(eval_id, [turn], name, description, tags, metadata, session_input)

    def add_multi_turn(
        self,
        conversation: Sequence[tuple[str, str | None]],
        case_id: str | None = None,
        expected_tools: Tools | None = None,
        name: str = "",
        description: str = "",
        *,
        expected_node_order: Sequence[str] | None = None,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        session_input: SessionInput | Mapping[str, Any] | None = None,
    ) -> Self:
        """Add a conversation of (query, expected response) turns; tools and nodes are those of the whole of it."""
        eval_id = self._id(case_id)
        turns = [Invocation.simple(query, expected) for query, expected in _pairs(eval_id, conversation)]
        if not turns:
            msg = f"case {eval_id!r}: the conversation has no turns"
            raise ConfigurationError(msg)
        first = Invocation.simple("", None, _tools(eval_id, expected_tools), expected_node_order)
        turns[0].expected_tool_trajectory = first.expected_tool_trajectory
        turns[0].expected_node_order = first.expected_node_order
        turns[0].expects_no_tools = first.expects_no_tools
        return self._add(eval_id, turns, name, description, tags, metadata, session_input)

    def add_tool_test(
        self,
        query: str,
        tool_name: str,
        tool_args: Mapping[str, Any] | None = None,
        expected_response: str | None = None,
        case_id: str | None = None,
        *,
        name: str = "",
        description: str = "",
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        session_input: SessionInput | Mapping[str, Any] | None = None,
    ) -> Self:
        """Add a case of one tool call. Without ``expected_response`` it states no response."""
        eval_id = self._id(case_id)
        turn = Invocation.simple(query, expected_response, [ToolCall(name=tool_name, args=dict(tool_args or {}))])
        return self._add(eval_id, [turn], name, description, tags, metadata, session_input)

    def build(self) -> EvalSet:
        """Return the set of the cases so far; what is added later is not in it."""
        return EvalSet(
            eval_set_id=self.eval_set_id,
            name=self.name,
            description=self.description,
            eval_cases=list(self.cases),
            metadata=dict(self.metadata),
        )

    def save(self, path: str | Path) -> EvalSet:
        """Write the set as JSON, and return it."""
        eval_set = self.build()
        eval_set.to_file(path)
        return eval_set

    @classmethod
    def from_conversations(
        cls, conversations: Iterable[Mapping[str, str]], name: str = "conversation_tests"
    ) -> EvalSet:
        """Make a set of logged conversations: mappings with ``user`` and ``assistant``."""
        builder = cls(name)
        for number, logged in enumerate(conversations, 1):
            builder.add_case(logged.get("user", ""), logged.get("assistant"), case_id=f"conv_{number}")
        return builder.build()

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Return a builder that starts with the set of a JSON file."""
        eval_set = EvalSet.from_file(path)
        builder = cls(eval_set.name or "eval_set")
        builder.eval_set_id = eval_set.eval_set_id
        builder.description = eval_set.description
        builder.metadata = eval_set.metadata
        builder.cases = list(eval_set.eval_cases)
        return builder

    @classmethod
    def quick(cls, *test_pairs: tuple[str, str | None]) -> EvalSet:
        """Make a set of (query, expected response) pairs."""
        builder = cls("quick_tests")
        for number, (query, expected) in enumerate(_pairs("quick", test_pairs), 1):
            builder.add_case(query, expected, case_id=f"test_{number}")
        return builder.build()

    def _id(self, case_id: str | None) -> str:
        return case_id or f"case_{len(self.cases) + 1}"

    def _add(
        self,
        eval_id: str,
        turns: list[Invocation],
        name: str,
        description: str,
        tags: Iterable[str],
        metadata: Mapping[str, Any] | None,
        session_input: SessionInput | Mapping[str, Any] | None,
    ) -> Self:
        self.cases.append(
            EvalCase(
                eval_id=eval_id,
                name=name,
                description=description,
                conversation=turns,
                session_input=SessionInput()
                if session_input is None
                else SessionInput.model_validate(session_input),
                tags=[tags] if isinstance(tags, str) else list(tags),
                metadata=dict(metadata or {}),
            )
        )
        return self


def _tools(eval_id: str, tools: Tools | None) -> list[ToolCall] | None:
    """Return expected tools as calls; None stays None, since it says nothing."""
    if tools is None:
        return None
    if isinstance(tools, str | Mapping | ToolCall):
        msg = f"case {eval_id!r}: expected_tools is a list of tools, not {type(tools).__name__}"
        raise ConfigurationError(msg)
    return [_tool(eval_id, tool) for tool in tools]


def _tool(eval_id: str, tool: Any) -> ToolCall:
    if isinstance(tool, str):
        return ToolCall(name=tool)
    if isinstance(tool, ToolCall):
        return tool
    if isinstance(tool, Mapping) or hasattr(tool, "model_dump"):
        return ToolCall.model_validate(tool)
    msg = f"case {eval_id!r}: an expected tool is a name or a ToolCall, not {type(tool).__name__}"
    raise ConfigurationError(msg)


def _pairs(eval_id: str, conversation: Iterable[Any]) -> list[tuple[str, str | None]]:
    """Return a conversation's turns; raises ConfigurationError where one is no (query, expected) pair."""
    pairs = []
    for turn in conversation:
        if isinstance(turn, str) or not isinstance(turn, Sequence) or len(turn) != 2:  # noqa: PLR2004 - a pair
            msg = f"case {eval_id!r}: a turn is a pair (query, expected response or None), not {turn!r}"
            raise ConfigurationError(msg)
        pairs.append((turn[0], turn[1]))
    return pairs


class EvalPresets:
    """Configurations for common needs. ``threshold`` holds for all criteria of a preset."""

    @classmethod
    def response_quality(
        cls, threshold: float = 0.7, use_llm_judge: bool = True, judge_model: str | None = None
    ) -> EvalConfig:
        """Check the answer: response_match, and a model judge of one sample."""
        judge = CriterionConfig.llm_judge(threshold, judge_model, num_samples=1) if use_llm_judge else None
        return _config(response_match=CriterionConfig.response_match(threshold, judge_model), llm_judge=judge)

    @classmethod
    def tool_usage(cls, threshold: float = 1.0, strict: bool = True, check_args: bool = True) -> EvalConfig:
        """Check the tools called, and the answer. ``strict``: exactly these calls, else in this order."""
        mode = MatchType.EXACT if strict else MatchType.IN_ORDER
        return _config(
            tool_name_match=CriterionConfig.tool_name_match(threshold),
            trajectory=CriterionConfig.trajectory(threshold, mode, check_args),
            response_match=CriterionConfig.response_match(threshold),
        )

    @classmethod
    def conversation_flow(cls, threshold: float = 0.8, judge_model: str | None = None) -> EvalConfig:
        """Check each turn's response, and the tools in order."""
        return _config(
            response_match=CriterionConfig.response_match(threshold, judge_model),
            trajectory=CriterionConfig.trajectory(threshold, MatchType.IN_ORDER),
        )

    @classmethod
    def comprehensive(
        cls, threshold: float = 0.8, use_llm_judge: bool = True, judge_model: str | None = None
    ) -> EvalConfig:
        """Check all of the above, ROUGE, and the other model judges; these only with ``use_llm_judge``."""
        config = _config(
            tool_name_match=CriterionConfig.tool_name_match(threshold),
            trajectory=CriterionConfig.trajectory(threshold, MatchType.IN_ORDER, check_args=True),
            response_match=CriterionConfig.response_match(threshold, judge_model if use_llm_judge else None),
            rouge_match=CriterionConfig.rouge_match(threshold),
        )
        if use_llm_judge:
            config.criteria.llm_judge = CriterionConfig.llm_judge(threshold, judge_model)
            config.criteria.factual_accuracy = CriterionConfig.factual_accuracy(threshold, judge_model)
            config.criteria.hallucination = CriterionConfig.hallucination(threshold, judge_model)
            config.criteria.safety = CriterionConfig.safety(threshold, judge_model)
        return config

    @classmethod
    def quick_check(cls, threshold: float = 0.5) -> EvalConfig:
        """Check roughly: ROUGE alone, instant and free."""
        return _config(rouge_match=CriterionConfig.rouge_match(threshold))

    @classmethod
    def safety_check(cls, threshold: float = 0.8, judge_model: str | None = None) -> EvalConfig:
        """Check by a model that the answer is harmless, and grounded in what the agent had."""
        return _config(
            hallucination=CriterionConfig.hallucination(threshold, judge_model),
            safety=CriterionConfig.safety(threshold, judge_model),
        )

    @classmethod
    def custom(
        cls,
        response_threshold: float | None = None,
        tool_threshold: float | None = None,
        llm_judge_threshold: float | None = None,
        tool_match_type: MatchType = MatchType.IN_ORDER,
        check_tool_args: bool = True,
        hallucination_threshold: float | None = None,
        safety_threshold: float | None = None,
        factual_accuracy_threshold: float | None = None,
        judge_model: str | None = None,
    ) -> EvalConfig:
        """Check what is given a threshold."""
        config = EvalConfig()
        criteria = config.criteria
        if tool_threshold is not None:
            criteria.tool_name_match = CriterionConfig.tool_name_match(tool_threshold)
            criteria.trajectory = CriterionConfig.trajectory(tool_threshold, tool_match_type, check_tool_args)
        if response_threshold is not None:
            criteria.response_match = CriterionConfig.response_match(response_threshold, judge_model)
        if llm_judge_threshold is not None:
            criteria.llm_judge = CriterionConfig.llm_judge(llm_judge_threshold, judge_model)
        if hallucination_threshold is not None:
            criteria.hallucination = CriterionConfig.hallucination(hallucination_threshold, judge_model)
        if safety_threshold is not None:
            criteria.safety = CriterionConfig.safety(safety_threshold, judge_model)
        if factual_accuracy_threshold is not None:
            criteria.factual_accuracy = CriterionConfig.factual_accuracy(factual_accuracy_threshold, judge_model)
        return config

    @classmethod
    def combine(cls, *configs: EvalConfig) -> EvalConfig:
        """Merge configurations into a new one; where two set the same, the later wins. Custom criteria add up."""
        combined = EvalConfig()
        for config in configs:
            _merge_settings(combined, config)
            _merge_criteria(combined.criteria, config.criteria)
        return combined


def _config(**criteria: CriterionConfig | None) -> EvalConfig:
    config = EvalConfig(criteria=CriteriaConfig())
    for field, value in criteria.items():
        setattr(config.criteria, field, value)
    return config


def _merge_settings(target: EvalConfig, config: EvalConfig) -> None:
    for setting in ("user_simulator_config", "parallel", "max_concurrency", "timeout"):
        value = getattr(config, setting)
        if value is not None:
            setattr(target, setting, value)
    target.verbose = target.verbose or config.verbose
    target.mock_mode = target.mock_mode or config.mock_mode
    if config.reporter != ReporterConfig():
        target.reporter = copy.copy(config.reporter)


def _merge_criteria(target: CriteriaConfig, criteria: CriteriaConfig) -> None:
    for field in REPORTED_NAMES:
        value = getattr(criteria, field)
        if value is not None:
            setattr(target, field, msgspec.structs.replace(value))
    known = {id(item) for item in target.custom}
    target.custom = [*target.custom, *(item for item in criteria.custom if id(item) not in known)]
