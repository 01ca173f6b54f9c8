"""How often the kernel has killed for lack of memory, as control groups and the system count it."""

from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")
_COUNTER = "oom_kill"


class OomKills:
    """Tells whether the kernel has killed a process of this one's control group since it was last asked."""

    def __init__(self, groups: Path = _GROUPS, membership: Path = _MEMBERSHIP) -> None:
        self._files = [path for path in _counter_files(groups, membership) if _count(path) is not None]
        self._seen = [_count(path) or 0 for path in self._files]

    def any_new(self) -> bool:
        """Tell it; False also where the system does not count."""
        now = [_count(path) or 0 for path in self._files]
        rose = any(count > seen for count, seen in zip(now, self._seen, strict=True))
        self._seen = now
        return rose


def _counter_files(groups: Path, membership: Path) -> list[Path]:
    """Return the files of this process's groups, of either version, the group's own and the one it sees as root."""
    try:
        lines = membership.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
    found: list[Path] = []
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        inside = path.lstrip("/")
        if number == "0":
            found += [groups / inside / "memory.events", groups / "unified" / inside / "memory.events"]
        elif "memory" in controllers.split(","):
            found += [groups / "memory" / inside / "memory.oom_control", groups / "memory" / "memory.oom_control"]
    return list(dict.fromkeys(found))


def _count(path: Path) -> int | None:
    try:
        for line in path.read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(" ")
            if name == _COUNTER:
                return int(value)
    except (OSError, ValueError):
        pass
    return None
