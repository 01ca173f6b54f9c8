"""How many cores this process may use."""

import math
import os
from pathlib import Path

_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores() -> int:
    """Return the cores of the affinity mask, no more than a container's CPU quota allows; at least 1."""
    quota = _quota()
    return max(1, _allowed() if quota is None else min(_allowed(), math.ceil(quota)))


def _allowed() -> int:
    count = getattr(os, "process_cpu_count", None)  # 3.13; honours PYTHON_CPU_COUNT
    if count is not None:
        return count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quota() -> float | None:
    """Return the share of CPU time that a cgroup allows, in cores; None where there is no limit."""
    try:
        quota, period = _CGROUP_QUOTA.read_text(encoding="ascii").split()
        return int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None  # No cgroup v2, or "max": no limit.
