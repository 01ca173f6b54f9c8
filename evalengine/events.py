"""Run events: what happened, in past tense. Journal, console and reports are folds of this one stream.

Each is one JSON object with a ``type``; the journal keeps them a line each, and a result as the worker sent it.
"""

import time

import msgspec

from evalengine.results import Status

_wall_clock = time.time


class _Event(msgspec.Struct, tag_field="type", tag=True, kw_only=True, omit_defaults=True):
    at: float = msgspec.field(default_factory=_wall_clock)
    """Seconds since the epoch."""


class RunStarted(_Event, kw_only=True):
    """The first event of a run, and of each part that continues it: which run, of what, under which settings."""

    run_id: str
    root: str
    settings: dict[str, object]
    """Name to ``{"value", "source"}`` of each setting."""
    engine_version: str
    part: int = 1
    """Counts on each time the run is continued."""
    began_at: float | None = None
    """When the first part began, where this one continues a run."""
    pid: int | None = None
    command: dict[str, object] = {}
    """What the command line said, for the part that continues this one."""
    cwd: str = ""
    """What targets are relative to."""
    only: list[str] | None = None
    """The labels that --last-failed came to."""


class FileDiscovered(_Event, kw_only=True):
    """A file was loaded; ``criteria`` maps a criterion's name to its configuration."""

    file: int
    path: str
    label: str
    cases: int
    source: str
    criteria: dict[str, dict[str, object]] = {}
    warnings: list[str] = []
    output: str = ""
    skipped: bool = False
    """Whether it had no entry point."""
    timeout_s: float | None = None
    max_concurrency: int | None = None


class FileErrored(_Event, kw_only=True):
    """A file could not be loaded."""

    file: int
    path: str
    label: str
    error: str
    traceback: str | None = None
    output: str = ""


class CasePlanned(_Event, kw_only=True):
    """A case is in the pool at this place (from 0)."""

    case: int
    file: int
    eval_id: str
    label: str
    digest: str
    set_id: str
    set_name: str
    name: str = ""
    repeats: int = 1
    collected: int
    """Its place in the order of collection; ``case`` is its place in the order it runs in."""


class PlanCompleted(_Event, kw_only=True):
    """Everything to run is known."""

    planned: int
    """Cases times repeats."""
    deselected: int = 0
    eval_set_id: str
    eval_set_name: str
    config_used: dict[str, object] = {}
    kept: int = 0
    """How many have a verdict of an earlier part of the run, and do not run again."""


class WorkerStarted(_Event, kw_only=True):
    """A worker process is ready."""

    worker: int
    pid: int


class WorkerLost(_Event, kw_only=True):
    """A worker process died without being told to, or was killed by the engine."""

    worker: int
    pid: int | None
    cause: str
    """In words: ``killed by SIGSEGV``, ``exited with 3``."""
    in_flight: list[str] = []
    """Labels of the cases it was running."""


class WorkerStopped(_Event, kw_only=True):
    """A worker process ended as it was told."""

    worker: int


class _AttemptEvent(_Event, kw_only=True):
    """Speaks of one attempt, which it names in full."""

    case: int
    repeat: int
    attempt: int


class _VerdictEvent(_AttemptEvent, kw_only=True):
    """Says what an attempt came to, and where it ran."""

    label: str
    status: Status
    duration_s: float
    worker: int | None = None


class CaseStarted(_AttemptEvent, kw_only=True):
    """An attempt began."""

    worker: int


class CaseRequeued(_AttemptEvent, kw_only=True):
    """An attempt came to nothing without the case being to blame, and the case waits again."""

    reason: str


class CaseRetried(_VerdictEvent, kw_only=True):
    """An attempt ended in error, timeout or crashed, and the case runs again."""

    error: str = ""


class CaseFinished(_VerdictEvent, kw_only=True):
    """A case has its verdict. ``result`` is the JSON of an EvalCaseResult."""

    kept: bool = False
    """Whether it is told again from the journal: an earlier part of the run gave the verdict."""
    result: msgspec.Raw
    """Last, so that the journal knows where in its line it stands."""


class CaseKept(_VerdictEvent, kw_only=True):
    """What the journal writes of a kept verdict: where in the same file its result stands."""

    offset: int
    length: int


class Noticed(_Event, kw_only=True):
    """Something the user should know that belongs to no case."""

    text: str


class RunStopping(_Event, kw_only=True):
    """No further case is started."""

    reason: str


class RunFinished(_Event, kw_only=True):
    """The last event of a part: every planned case has its verdict."""

    status: str
    """``complete``, ``stopped``, ``interrupted`` or ``incomplete``."""
    exit_code: int
    wall_seconds: float
    """Of all parts together."""
    reason: str = ""
    counts: dict[str, int] = {}
    """How many cases have which status."""
    part: int = 1


RunEvent = (
    RunStarted
    | FileDiscovered
    | FileErrored
    | CasePlanned
    | PlanCompleted
    | WorkerStarted
    | WorkerLost
    | WorkerStopped
    | CaseStarted
    | CaseRequeued
    | CaseRetried
    | CaseFinished
    | CaseKept
    | Noticed
    | RunStopping
    | RunFinished
)

encode_event = msgspec.json.Encoder().encode
decode_event = msgspec.json.Decoder(RunEvent).decode
