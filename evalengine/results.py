"""What came of a case: its execution, its criteria, its one status; and of a run: summary and report.

The JSON of :class:`EvalCaseResult` is one entry of the report's ``results``; the keys of the framework's report
come first, ours after them.
"""

import math
import time
from array import array
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Self

import msgspec

from evalengine.cases import StepType, ToolCall, TrajectoryStep
from evalengine.records import Record


class Status(StrEnum):
    """The one verdict of a case. Only ``passed`` is a pass."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    SKIPPED = "skipped"
    NOT_RUN = "not_run"


ERROR_STATUSES = frozenset({Status.ERROR, Status.TIMEOUT, Status.CRASHED})
"""What the summary's ``error_cases`` counts."""


class TokenUsage(Record):
    """Tokens of one model call or of many; ``total_tokens`` is input plus output."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    total_tokens: int = 0

    def __post_init__(self) -> None:
        self.total_tokens = self.input_tokens + self.output_tokens

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_creation_tokens + other.cache_creation_tokens,
        )

    def __radd__(self, other: object) -> "TokenUsage":
        return self if other == 0 else NotImplemented

    def to_dict(self) -> dict[str, int]:
        """Return the counts as a dict."""
        return self.model_dump()


class CriterionResult(Record, kw_only=True):
    """What one criterion gave: a score in [0, 1], or an error and then no score that counts."""

    criterion: str
    score: float
    passed: bool
    threshold: float = 0.0
    details: dict[str, Any] = {}
    error: str | None = None
    token_usage: TokenUsage = msgspec.field(default_factory=TokenUsage)
    judge: str | None = None
    """Which judge gave the score: ``lexical``, a model's name, or None where nobody judges."""

    @property
    def reason(self) -> str | None:
        """The criterion's own words, where it has any."""
        return self.details.get("reason")

    @property
    def is_error(self) -> bool:
        """Whether the criterion raised instead of scoring."""
        return self.error is not None

    @classmethod
    def success(
        cls,
        criterion: str,
        score: float,
        threshold: float,
        details: dict[str, Any] | None = None,
        token_usage: TokenUsage | None = None,
    ) -> Self:
        """Make the result of a criterion that scored; it passes at ``score >= threshold``."""
        return cls(
            criterion=criterion,
            score=score,
            passed=score >= threshold,
            threshold=threshold,
            details=details or {},
            token_usage=token_usage or TokenUsage(),
        )

    @classmethod
    def failure(cls, criterion: str, error: str, threshold: float = 0.0) -> Self:
        """Make the result of a criterion that raised."""
        return cls(criterion=criterion, score=0.0, passed=False, threshold=threshold, error=error)


class NotApplicable(Record, kw_only=True):
    """A criterion that had nothing to compare in this case; it gives no score."""

    criterion: str
    threshold: float = 0.0
    reason: str = ""


class TurnResult(Record, kw_only=True):
    """One turn as it went."""

    turn_index: int
    user_input: str
    agent_response: str = ""
    tool_calls: list[ToolCall] = []
    node_visits: list[str] = []
    trajectory_steps: int = 0


class NodeResponseData(Record, kw_only=True):
    """What a node of a graph was given and answered."""

    node_name: str = ""
    input_messages: list[dict[str, Any]] = []
    response_text: str = ""
    has_tool_calls: bool = False
    tool_call_names: list[str] = []
    is_final: bool = False
    timestamp: float = 0.0
    token_usage: TokenUsage = msgspec.field(default_factory=TokenUsage)


class NodeDetail(Record, kw_only=True):
    """A node's model input and output, as the framework's report has it."""

    node_name: str = ""
    input_messages: list[dict[str, Any]] = []
    response_text: str = ""
    token_usage: TokenUsage = msgspec.field(default_factory=TokenUsage)
    timestamp: float = 0.0


class ExecutionResult(Record, kw_only=True):
    """The record of what an agent did in a case: what criteria score."""

    tool_calls: list[ToolCall] = []
    trajectory: list[TrajectoryStep] = []
    messages: list[dict[str, Any]] = []
    actual_response: str = ""
    node_responses: list[NodeResponseData] = []
    node_visits: list[str] = []
    duration_seconds: float = 0.0
    token_usage: TokenUsage = msgspec.field(default_factory=TokenUsage)
    turns: list[TurnResult] = []

    @property
    def tool_trajectory(self) -> list[TrajectoryStep]:
        """The steps that are tool calls."""
        return [step for step in self.trajectory if step.step_type == StepType.TOOL]

    def get_tool_names(self) -> list[str]:
        """Return the names of the tools called, in order."""
        return [call.name for call in self.tool_calls]


class EarlierAttempt(Record, kw_only=True):
    """An attempt at a case that was followed by a retry."""

    attempt: int
    status: Status
    error: str | None = None
    traceback: str | None = None
    duration_seconds: float = 0.0
    worker: int | None = None


class EvalCaseResult(Record, kw_only=True):
    """The result of a case: exactly one status, and everything that led to it."""

    eval_id: str
    name: str = ""
    passed: bool
    criterion_results: list[CriterionResult] = []
    actual_trajectory: list[TrajectoryStep] = []
    actual_tool_calls: list[ToolCall] = []
    actual_response: str = ""
    messages: list[dict[str, Any]] = []
    node_responses: list[NodeResponseData] = []
    node_visits: list[str] = []
    duration_seconds: float = 0.0
    error: str | None = None
    """One line: what went wrong, where something did."""
    metadata: dict[str, Any] = {}
    turn_results: list[TurnResult] = []
    token_usage: TokenUsage = msgspec.field(default_factory=TokenUsage)
    agent_token_usage: TokenUsage = msgspec.field(default_factory=TokenUsage)
    node_details: list[NodeDetail] = []
    # Ours from here on.
    status: Status = Status.NOT_RUN
    label: str = ""
    file: str = ""
    set_id: str = ""
    set_name: str = ""
    description: str = ""
    tags: list[str] = []
    repeat: int = 0
    attempts: int = 1
    flaky: bool = False
    """Whether it passed after an attempt that ended in error, timeout or crashed."""
    earlier_attempts: list[EarlierAttempt] = []
    """Those attempts. Others, lost with a worker that nobody blames them for, are counted in ``attempts`` only."""
    worker: int | None = None
    started_at: float | None = None
    """Seconds since the epoch; ``duration_seconds`` is measured on the monotonic clock."""
    finished_at: float | None = None
    not_applicable: list[NotApplicable] = []
    traceback: str | None = None
    output: str = ""
    """What the case printed, capped."""
    notes: list[str] = []
    """What the case did to its process, unattributed calls, truncations."""
    expected: list[dict[str, Any]] = []
    """Per turn: ``user_input``, and the ``response``, ``tools``, ``nodes`` that were expected, where stated."""
    judge_token_usage: TokenUsage = msgspec.field(default_factory=TokenUsage)
    simulator_token_usage: TokenUsage = msgspec.field(default_factory=TokenUsage)
    cost: float | None = None
    """US dollars, where a price is known."""

    @property
    def is_error(self) -> bool:
        """Whether the case ended in an error rather than in scores."""
        return self.error is not None

    @property
    def failed_criteria(self) -> list[CriterionResult]:
        """The criteria that did not pass."""
        return [result for result in self.criterion_results if not result.passed]

    @property
    def passed_criteria(self) -> list[CriterionResult]:
        """The criteria that passed."""
        return [result for result in self.criterion_results if result.passed]

    def get_criterion_result(self, name: str) -> CriterionResult | None:
        """Return the result of the criterion reported under that name, or None."""
        return next((result for result in self.criterion_results if result.criterion == name), None)

    @classmethod
    def success(cls, eval_id: str, criterion_results: Sequence[CriterionResult], **fields: Any) -> Self:
        """Make the result of a case that ran and was scored; it passes when every criterion did."""
        passed = all(result.passed for result in criterion_results)
        return cls(
            eval_id=eval_id,
            passed=passed,
            status=Status.PASSED if passed else Status.FAILED,
            criterion_results=list(criterion_results),
            **{name: value for name, value in fields.items() if value is not None},
        )

    @classmethod
    def failure(
        cls,
        eval_id: str,
        error: str,
        name: str = "",
        duration_seconds: float = 0.0,
        status: Status = Status.ERROR,
    ) -> Self:
        """Make the result of a case that ended in an error."""
        return cls(
            eval_id=eval_id,
            name=name,
            passed=False,
            status=status,
            error=error,
            duration_seconds=duration_seconds,
        )


class CriterionStats(Record, kw_only=True):
    """One criterion over a whole run. Errors have no score: they fail, and are left out of the average."""

    total: int = 0
    passed: int = 0
    failed: int = 0
    avg_score: float = 0.0
    pass_rate: float = 0.0
    errors: int = 0
    not_applicable: int = 0


class EvalSummary(Record, kw_only=True):
    """A run in numbers: ``planned`` is the sum of ``status_counts``, always."""

    total_cases: int = 0
    passed_cases: int = 0
    failed_cases: int = 0
    error_cases: int = 0
    pass_rate: float = 0.0
    avg_duration_seconds: float = 0.0
    total_duration_seconds: float = 0.0
    criterion_stats: dict[str, CriterionStats] = {}
    total_token_usage: TokenUsage = msgspec.field(default_factory=TokenUsage)
    per_case_token_usage: dict[str, TokenUsage] = {}
    avg_tokens_per_case: float = 0.0
    # Ours from here on.
    planned: int = 0
    status_counts: dict[str, int] = {}
    nothing_to_check: int = 0
    """Cases that passed because no criterion applied to them."""
    flaky: int = 0
    """Cases that passed after a retry."""
    agent_token_usage: TokenUsage = msgspec.field(default_factory=TokenUsage)
    judge_token_usage: TokenUsage = msgspec.field(default_factory=TokenUsage)
    simulator_token_usage: TokenUsage = msgspec.field(default_factory=TokenUsage)
    wall_seconds: float = 0.0

    @classmethod
    def from_results(cls, results: Sequence[EvalCaseResult]) -> Self:
        """Count results the way a run does."""
        tally = Tally()
        for result in results:
            tally.add(result)
        return cls.model_validate(tally.summary())


class Tally:
    """Counts results one by one, and keeps of each its tokens and scores."""

    def __init__(self) -> None:
        self.counts: dict[Status, int] = dict.fromkeys(Status, 0)
        self.nothing_to_check = 0
        self.flaky = 0
        self._criteria: dict[str, CriterionStats] = {}
        self._scores: dict[str, array[float]] = {}
        """Kept one by one: their exact sum does not depend on the order that cases end in."""
        self._duration = 0.0
        self._tokens: dict[str, TokenUsage] = {}
        self._usage = [TokenUsage(), TokenUsage(), TokenUsage(), TokenUsage()]

    @property
    def planned(self) -> int:
        """How many results were added."""
        return sum(self.counts.values())

    @property
    def not_passed(self) -> int:
        """How many ran, or should have run, and did not pass."""
        return self.planned - self.counts[Status.PASSED] - self.counts[Status.SKIPPED]

    @property
    def pass_rate(self) -> float:
        """Passed over planned without the skipped; 0.0 where nothing is left."""
        rated = self.planned - self.counts[Status.SKIPPED]
        return self.counts[Status.PASSED] / rated if rated else 0.0

    def add(self, result: EvalCaseResult) -> None:
        """Count one result."""
        self.counts[result.status] += 1
        self.flaky += result.flaky
        self._duration += result.duration_seconds
        ran = result.status in (Status.PASSED, Status.FAILED)
        if ran and not result.criterion_results:
            self.nothing_to_check += 1
        for criterion in result.criterion_results:
            self._add_criterion(criterion)
        for absent in result.not_applicable:
            self._criteria.setdefault(absent.criterion, CriterionStats()).not_applicable += 1
        usages = (
            result.token_usage,
            result.agent_token_usage,
            result.judge_token_usage,
            result.simulator_token_usage,
        )
        self._tokens[result.label or result.eval_id] = result.token_usage
        for kind, usage in enumerate(usages):
            if usage.total_tokens or usage.cache_read_tokens or usage.cache_creation_tokens:
                self._usage[kind] = self._usage[kind] + usage

    def _add_criterion(self, result: CriterionResult) -> None:
        stats = self._criteria.setdefault(result.criterion, CriterionStats())
        stats.total += 1
        if result.passed:
            stats.passed += 1
        else:
            stats.failed += 1
        if result.error is not None:
            stats.errors += 1
            return
        self._scores.setdefault(result.criterion, array("d")).append(result.score)

    def summary(self, wall_seconds: float = 0.0) -> EvalSummary:
        """Return the numbers so far."""
        for name, stats in self._criteria.items():
            scored = stats.total - stats.errors
            stats.avg_score = math.fsum(self._scores.get(name, ())) / scored if scored else 0.0
            stats.pass_rate = stats.passed / stats.total if stats.total else 0.0
        total, planned = self._usage[0], self.planned
        # Sorted, since results are added in the order they finish in, which is another each time.
        return EvalSummary(
            total_cases=planned,
            passed_cases=self.counts[Status.PASSED],
            failed_cases=self.counts[Status.FAILED],
            error_cases=sum(self.counts[status] for status in ERROR_STATUSES),
            pass_rate=self.pass_rate,
            avg_duration_seconds=self._duration / planned if planned else 0.0,
            total_duration_seconds=self._duration,
            criterion_stats=dict(sorted(self._criteria.items())),
            total_token_usage=total,
            per_case_token_usage=dict(sorted(self._tokens.items())),
            avg_tokens_per_case=total.total_tokens / planned if planned else 0.0,
            planned=planned,
            status_counts={status.value: count for status, count in self.counts.items()},
            nothing_to_check=self.nothing_to_check,
            flaky=self.flaky,
            agent_token_usage=self._usage[1],
            judge_token_usage=self._usage[2],
            simulator_token_usage=self._usage[3],
            wall_seconds=wall_seconds,
        )


class FileError(Record, kw_only=True):
    """An eval file that could not be loaded: outside of all counts, but never without consequence."""

    file: str
    error: str
    traceback: str | None = None
    output: str = ""


class EvalReport(Record, kw_only=True):
    """A whole run: its results in collection order, and their summary."""

    eval_set_id: str
    eval_set_name: str = ""
    results: list[EvalCaseResult] = []
    summary: EvalSummary = msgspec.field(default_factory=EvalSummary)
    config_used: dict[str, Any] = {}
    timestamp: float = msgspec.field(default_factory=time.time)
    metadata: dict[str, Any] = {}
    # Ours from here on.
    status: str = "complete"
    """``complete``, ``stopped``, ``interrupted`` or ``incomplete``."""
    exit_code: int = 0
    file_errors: list[FileError] = []

    @property
    def passed(self) -> bool:
        """Whether every case passed and every file loaded."""
        return self.summary.pass_rate == 1.0 and not self.file_errors

    @property
    def failed_cases(self) -> list[EvalCaseResult]:
        """The results that are no pass and were not skipped."""
        return [result for result in self.results if not result.passed and result.status != Status.SKIPPED]

    @property
    def passed_cases(self) -> list[EvalCaseResult]:
        """The results that passed."""
        return [result for result in self.results if result.passed]

    def get_case_result(self, eval_id: str) -> EvalCaseResult | None:
        """Return the first result of that id or label, or None."""
        return next((result for result in self.results if eval_id in (result.eval_id, result.label)), None)

    @classmethod
    def create(
        cls,
        eval_set_id: str,
        results: Sequence[EvalCaseResult],
        eval_set_name: str = "",
        config_used: dict[str, Any] | None = None,
    ) -> Self:
        """Make a report of results, and count them."""
        return cls(
            eval_set_id=eval_set_id,
            eval_set_name=eval_set_name,
            results=list(results),
            summary=EvalSummary.from_results(results),
            config_used=config_used or {},
        )

    def format_summary(self) -> str:
        """Return the run in a few lines of plain text."""
        summary = self.summary
        lines = [
            f"Results: {summary.passed_cases}/{summary.planned} passed ({summary.pass_rate:.1%})",
            *(
                f"  {name}: {stats.passed}/{stats.total} passed, average {stats.avg_score:.2f}"
                for name, stats in summary.criterion_stats.items()
            ),
        ]
        return "\n".join([f"{self.eval_set_name or self.eval_set_id}", *lines])
