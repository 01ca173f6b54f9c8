"""What the scheduler decides: commands, imperative, to be performed in the order they come.

The order carries a promise: ``Accept`` and ``Settle`` stand before the ``Dispatch`` that fills the freed slot, so
a shell that performs them one by one has a result on disk before its slot is used again.
"""

import msgspec

from evalengine.results import Status
from evalengine.wire import RunKey


class _Command(msgspec.Struct, frozen=True):
    """A command is performed by the shell; what comes of it comes back as a fact."""


class Spawn(_Command, frozen=True):
    """Start a worker process under this id, after whatever back-off is due."""

    worker: int
    alone: bool = False
    """Whether it is to run one suspect, once, and nothing else."""


class Release(_Command, frozen=True):
    """Shut a worker down that is no longer needed (it may still be starting); its end is no fact."""

    worker: int


class Kill(_Command, frozen=True):
    """Kill a worker's process, drain its socket, then report ``WorkerLost``."""

    worker: int
    reason: str


class Dispatch(_Command, frozen=True):
    """Send an attempt to a worker."""

    worker: int
    key: RunKey
    file: int
    standby: bool = False
    """Whether it is to wait there until it may take the slot of another attempt of the same worker."""


class Begin(_Command, frozen=True):
    """Give a free slot to an attempt that stands by in a worker."""

    worker: int
    key: RunKey


class Withdraw(_Command, frozen=True):
    """Ask a worker to give back what stands by in it."""

    worker: int


class Cancel(_Command, frozen=True):
    """Tell a worker to cancel an attempt; it answers with a result of that status, or what it already had."""

    worker: int
    key: RunKey
    status: Status
    reason: str


class Accept(_Command, frozen=True):
    """The result that the worker sent is the verdict of its case. A result without an ``Accept`` is dropped."""

    worker: int
    key: RunKey
    status: Status
    reason: str | None = None
    """Where the verdict is not the one that the worker sent, but ``timeout``: why."""


class Settle(_Command, frozen=True):
    """The engine gives the verdict itself: ``timeout``, ``crashed`` or ``not_run``."""

    key: RunKey
    """For a case that was never sent out, the attempt that it would have been."""
    status: Status
    reason: str
    """One line for the user."""
    worker: int | None = None
    """Where it ran, if it did."""


class Retry(_Command, frozen=True):
    """The verdict of an attempt does not stand: its case runs again."""

    verdict: Accept | Settle


class Stand(_Command, frozen=True):
    """The verdict of an attempt that was to be retried stands after all: the run stopped before it was."""

    key: RunKey
    status: Status


class Requeue(_Command, frozen=True):
    """The attempt came to nothing without being blamed; its case waits again."""

    key: RunKey
    reason: str
    alone: bool = False
    """Whether it is a suspect, and waits for a worker of its own."""


class ReportLoss(_Command, frozen=True):
    """A worker was lost and none of its suspects died again: the loss is the worker's, no case's."""

    worker: int
    cause: str
    keys: list[RunKey]
    """The attempts that were suspected."""


class AnnounceStop(_Command, frozen=True):
    """No further case is started."""

    reason: str


class FailEngine(_Command, frozen=True):
    """Workers do not live long enough to start a case: the run cannot go on."""

    reason: str


class EndRun(_Command, frozen=True):
    """Every planned run has its verdict. The last command, given once."""


Command = (
    Spawn
    | Release
    | Kill
    | Dispatch
    | Begin
    | Withdraw
    | Cancel
    | Accept
    | Settle
    | Retry
    | Stand
    | Requeue
    | ReportLoss
    | AnnounceStop
    | FailEngine
    | EndRun
)
