"""What coordinator and worker say to each other: commands one way, messages the other.

Every item is one frame of msgpack: an array that starts with its tag. A case's run is named in full,
(case, repeat, attempt), in each frame that speaks of it. Files and cases are numbered by the coordinator in
collection order. Nothing here is ever pickled by a worker; the coordinator pickles only what a Python caller
handed over (``Configure.pickled_*``).
"""

from typing import Any, NamedTuple

import msgspec

from evalengine.cases import EvalCase
from evalengine.config import CriterionConfig
from evalengine.records import plain_string
from evalengine.results import EarlierAttempt

INLINE_RESULT_BYTES = 1024 * 1024
"""A result longer than this goes through a file."""
EXIT_ORPHANED = 70
"""The exit code of a worker whose coordinator is gone, or that is a fork of one."""
EXIT_GARBLED = 71
"""The exit code of a worker whose channel carries something else than commands."""
EXIT_BROKEN = 72
"""The exit code of a worker that cannot go on: its loop, its streams or what else it stands on is gone."""


class RunKey(NamedTuple):
    """One attempt at one repeat of one case."""

    case: int
    repeat: int = 0
    attempt: int = 1


class _Frame(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """Encoded as an array that starts with the class name."""


class _AttemptFrame(_Frame, frozen=True):
    """Speaks of one attempt, which it names in full."""

    case: int
    repeat: int
    attempt: int

    @property
    def key(self) -> RunKey:
        """Which attempt this is."""
        return RunKey(self.case, self.repeat, self.attempt)


# What both sides carry


class CriterionSpec(msgspec.Struct, array_like=True, frozen=True):
    """A criterion as it will run: a built-in by its field, or a custom one by its place in the config."""

    field: str
    reported_as: str
    config: CriterionConfig
    custom: int | None = None
    """Index into the ``custom`` list that ``criteria_from`` gives; None for a built-in."""


class FileSpec(msgspec.Struct, array_like=True, frozen=True):
    """What a worker must know of a file to run its cases."""

    path: str
    label: str
    """The path as labels show it."""
    criteria: list[CriterionSpec] = []
    criteria_from: str = "builtin"
    """``file``, ``confeval``, ``api`` or ``builtin``: who configured the criteria."""
    needs_module: bool = False
    """Whether running its cases needs the file imported: for its app, its custom criteria, its settings."""
    own_agent: str | None = None
    """``app`` or ``agent``, where the file has its own."""
    sync_agents: str = "threads"
    """``threads`` or ``serial``."""
    timeout_s: float | None = None
    """What the file's config sets, else None."""
    max_concurrency: int | None = None
    """What the file's config sets: a cap for this file inside the budget."""
    digest: str = ""
    """Of the file's bytes as they were loaded: a worker that imports it later must find the same; empty for any."""


class PlannedCase(msgspec.Struct, array_like=True, frozen=True):
    """A case as discovery found it: what is planned, and encoded, what a worker is sent to run it."""

    eval_id: str
    """Unique in its file: the author's id, ``id#2`` for a second one, ``case_3`` where there is none."""
    set_id: str
    set_name: str
    digest: str
    """Of the case without ids that were drawn at random, and of the criteria."""
    payload: bytes
    """The msgpack of an :class:`EvalCase`."""
    name: str = ""
    tags: list[str] = []
    skip: str | None = None
    """The reason, where the case says it is to be skipped."""
    is_scenario: bool = False


# Coordinator to worker


class Configure(_Frame, frozen=True):
    """The first command: what holds for the whole life of the worker."""

    worker: int
    root: str
    """The project root, put on ``sys.path``; relative paths of agentflow.json are relative to it."""
    eval_dir: str
    sys_path: list[str] = []
    """More entries for ``sys.path``, after the root: those of a Python caller."""
    agent: str | None = None
    """``module:attr`` of agentflow.json."""
    agent_factory: str | None = None
    agent_source: str = "agentflow.json"
    """Where ``agent`` was said, for error messages."""
    pickled_agent: bytes | None = None
    """cloudpickle of an agent that a Python caller handed over."""
    pickled_custom: bytes | None = None
    """cloudpickle of the list of custom criteria that a Python caller handed over."""
    given_config: bytes | None = None
    """The msgpack of an EvalConfig that a Python caller handed over, without its custom criteria; it then
    configures every file, as ``api``."""
    confeval: str | None = None
    """The path of confeval.py, where there is one."""
    env_file: str | None = None
    sync_agents: str | None = None
    """What agentflow.json or the caller says, over what files say."""
    capture: bool = True
    log_path: str | None = None
    """Where the process's own output goes (file descriptors 1 and 2)."""
    spill_dir: str | None = None
    """Where results too long for a frame are put."""
    marks_path: str | None = None
    """The file of start marks, see :mod:`evalengine.start_marks`."""
    results_path: str | None = None
    """Where to keep what is finished, see :mod:`evalengine.result_log`; without it nothing stands by."""
    crumbs_path: str | None = None
    """The file of breadcrumbs, see :mod:`evalengine.breadcrumbs`."""
    judge_model: str | None = None
    """What the command line, agentflow.json or the environment says, over what criteria say."""


class Load(_Frame, frozen=True):
    """Import a file, run its entry points, and answer CaseFound… then FileLoaded, or FileFailed."""

    file: int
    path: str
    label: str


class UseFile(_Frame, frozen=True):
    """Sent once per worker and file, before the file's first RunCase."""

    file: int
    spec: FileSpec


class RunCase(_AttemptFrame, frozen=True):
    """Run one attempt at a case, and answer Started, then Finished."""

    file: int
    eval_id: str
    set_id: str
    set_name: str
    label: str
    payload: bytes
    standby: bool = False
    """Whether to keep it until an attempt of this worker ends, whose place it takes, or until a BeginCase."""
    earlier: list[EarlierAttempt] = []
    """Attempts at this case that ended in error, timeout or crashed."""
    taken: int = 0
    """How many results of this worker the coordinator has on disk."""


class BeginCase(_AttemptFrame, frozen=True):
    """Run an attempt that stands by; one that took the place of another meanwhile is running already."""


class WithdrawCases(_Frame, frozen=True):
    """Give back all that stands by: answered by CasesWithdrawn."""


class CancelCase(_AttemptFrame, frozen=True):
    """Cancel a running attempt; its Finished has status ``timeout``, or ``not_run`` where it was stopped."""

    status: str
    reason: str


class TellStack(_AttemptFrame, frozen=True):
    """Answer StackTold for an attempt that does not end; a worker whose loop is blocked cannot."""


class Shutdown(_Frame, frozen=True):
    """Answer Goodbye, and end."""


# Worker to coordinator


class Ready(_Frame, frozen=True):
    """The worker has imported what it needs and waits for commands."""

    pid: int
    python: str


class CaseFound(_Frame, frozen=True):
    """One case of the file being loaded, in its order."""

    file: int
    case: PlannedCase


class FileLoaded(_Frame, frozen=True):
    """The end of a Load that went well; ``cases`` CaseFound frames came before it."""

    file: int
    spec: FileSpec
    cases: int
    warnings: list[str] = []
    has_entry_point: bool = True
    output: str = ""
    needs_model: list[str] = []
    """Names of what needs a model: criteria, ``response_match`` with a judge, ``scenarios``."""


class FileFailed(_Frame, frozen=True):
    """The end of a Load that did not: what the user is told, and the traceback."""

    file: int
    error: str
    traceback: str | None = None
    output: str = ""
    configuration: bool = False
    """Whether it is a value that cannot be meant (the run must not start) rather than a broken file."""


class Started(_AttemptFrame, frozen=True):
    """The attempt has begun: its clock runs from here."""


class Finished(_AttemptFrame, frozen=True):
    """The attempt's outcome: the JSON of an EvalCaseResult, inline or in a file."""

    result: bytes
    spill: str | None = None
    """The path of a file with the result, where it is too long for a frame; ``result`` is empty then."""
    leftovers: int = 0
    """How many tasks, threads and child processes of finished cases are still alive in this worker."""
    next: RunKey | None = None
    """The attempt that stood by and takes this one's place now."""
    robbed_s: float = 0.0
    """For how long others kept the worker's loop from it while it ran."""


class StackTold(_AttemptFrame, frozen=True):
    """Where an attempt is that does not end: its tasks or its thread, most recent call last."""

    stack: str


class CasesWithdrawn(_Frame, frozen=True):
    """What stood by when it was to be given back, and will not run here."""

    keys: list[RunKey]


class Notice(_Frame, frozen=True):
    """Something the user should know that belongs to no case."""

    text: str


class Goodbye(_Frame, frozen=True):
    """The worker ends now, as it was told to."""


Command = Configure | Load | UseFile | RunCase | BeginCase | WithdrawCases | CancelCase | TellStack | Shutdown
Message = (
    Ready | CaseFound | FileLoaded | FileFailed | Started | Finished | CasesWithdrawn | StackTold | Notice | Goodbye
)

AttemptMessage = Started | Finished | CasesWithdrawn | StackTold
"""What a worker says of attempts."""

encode = msgspec.msgpack.Encoder().encode
decode_command = msgspec.msgpack.Decoder(Command).decode
decode_message = msgspec.msgpack.Decoder(Message).decode


def encode_case(case: EvalCase) -> bytes:
    """Encode a case for the wire; raises TypeError or ValueError where a value in it is no plain data."""
    return msgspec.msgpack.encode(case, enc_hook=plain_string)


def decode_case(payload: bytes) -> EvalCase:
    """Decode a case; every call gives a copy of its own."""
    return msgspec.msgpack.decode(payload, type=EvalCase)


def encode_any(value: Any) -> bytes:
    """Encode plain data canonically, for digests."""
    return msgspec.json.encode(value, order="sorted")
