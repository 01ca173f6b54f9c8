"""``python -m benchmarks.pools``: what pools of processes do with six faults, this product beside them.

Prints Markdown. Two workers, one faulty task and six of 0.4 s. Every cell is measured: each pool gets each fault in
a process of its own, which is given 12 s from the moment the pool is asked, and then killed with all it started.
Pools that are not installed are left out; ``scripts/pools --install`` puts them into an environment of its own.

What the words mean: *ok*, the faulty task ends in an error (or its value, where the fault allows one) and the six
have their own values; *n killed*, so many of the six end in an error that is not theirs; *pool dead*, that, and the
pool takes no further task; *hang*, the faulty task never ends; *pool hangs*, nor do some of the six.
"""

import argparse
import importlib.metadata
import json
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from benchmarks import pool_product
from benchmarks.pool_drivers import POOLS
from benchmarks.pool_tasks import FAULTS, TASKS, TOLD, own_value
from benchmarks.processes import kill
from benchmarks.project import environment

DEADLINE_S = 12.0
MOST_START_S = 60.0
SLOW_S = 4.0
"""Two workers need 1.2 s for six naps, and some time to begin and to start another process."""
ROWS = {
    "SIGSEGV": "segfault",
    "SIGKILL": "kill",
    "`os._exit(0)`": "exit",
    "fork, then die": "fork_and_die",
    "exception class that cannot be rebuilt": "not_rebuilt",
    "death in the middle of a frame": "frame",
    "`os.fork()` that returns into the task": "fork",
}
assert {*ROWS.values()} == {*FAULTS, "frame"}


@dataclass
class Seen:
    """What a pool did with its seven tasks, as far as it came."""

    outcomes: dict[int, tuple[str | None, str | None]] = field(default_factory=dict)
    """By task: its value, or its error."""
    seconds: float = 0.0
    is_over: bool = False
    log: list[str] = field(default_factory=list)

    def starts(self, number: int) -> int:
        """Return how often a task began."""
        return self.log.count(f"start {number}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/pools", description=__doc__)
    parser.add_argument("--pools", nargs="*", choices=list(POOLS), help="these alone")
    parser.add_argument("--faults", nargs="*", choices=list(ROWS.values()), help="these alone")
    parser.add_argument("--deadline", type=float, default=DEADLINE_S, metavar="SECONDS")
    options = parser.parse_args()
    wanted = POOLS if options.pools is None else options.pools
    pools = [name for name in wanted if find_spec(POOLS[name][0]) is not None]
    rows = {name: fault for name, fault in ROWS.items() if options.faults is None or fault in options.faults}
    cells: dict[str, list[str]] = {}
    for row, fault in rows.items():
        cells[row] = []
        for pool in pools:
            print(f"{row}: {pool} …", file=sys.stderr, flush=True)
            cells[row].append(in_words(fault, measure(pool, fault, options.deadline)))
        print(f"{row}: evalengine …", file=sys.stderr, flush=True)
        cells[row].append(pool_product.measure(fault, options.deadline))
    print(_markdown(pools, cells))
    sys.exit(any(words[-1] != pool_product.EXACT for words in cells.values()))


def measure(pool: str, fault: str, deadline_s: float) -> Seen:
    """Run one cell, to its end or to the deadline, and leave nothing of it behind."""
    mark = f"pools-{time.monotonic_ns()}"
    with tempfile.TemporaryDirectory(prefix="pools-") as folder:
        log, output = Path(folder, "log"), Path(folder, "output")
        with output.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.pool_drivers", pool, fault, str(log)],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.DEVNULL,
                env=environment(mark),
                cwd=Path(__file__).parents[1],
                start_new_session=True,
            )
            try:
                return _watch(process, output, log, deadline_s)
            finally:
                process.kill()
                process.wait()
                kill(mark)


def _watch(process: "subprocess.Popen[bytes]", output: Path, log: Path, deadline_s: float) -> Seen:
    began, end = None, time.monotonic() + MOST_START_S
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
        if began is None and output.stat().st_size:
            began = time.monotonic()
            end = began + deadline_s
    seen = Seen(seconds=time.monotonic() - (began or end), is_over=process.poll() is not None)
    for line in output.read_text().splitlines():
        words = json.loads(line)
        if "task" in words:
            seen.outcomes[words["task"]] = (words["value"], words["error"])
    seen.log = log.read_text().splitlines() if log.exists() else []
    return seen


def in_words(fault: str, seen: Seen) -> str:
    """Say in a word or two what a pool did."""
    if not seen.starts(0) or (fault == "frame" and not any(line.startswith(TOLD) for line in seen.log)):
        return "not provoked"
    return _of_bystanders(seen) or _of_the_faulty(fault, seen)


def _of_bystanders(seen: Seen) -> str:
    six = {number: seen.outcomes.get(number) for number in range(1, TASKS)}
    wrong = [outcome for number, outcome in six.items() if outcome not in {None, (own_value(number), None)}]
    if any(outcome is not None and outcome[1] is None for outcome in wrong):
        return "a wrong value to a bystander"
    if None in six.values():
        return "pool hangs"
    if len(wrong) == len(six) and seen.outcomes.get(TASKS, ("", None))[1] is not None:
        return "pool dead"
    return f"{len(wrong)} bystanders killed" if wrong else ""


def _of_the_faulty(fault: str, seen: Seen) -> str:
    if 0 not in seen.outcomes:
        return "hang" + _more(seen)
    if (seen.outcomes[0] == (own_value(0), None)) != (fault == "fork"):
        return "a wrong outcome of the task itself"
    return "ok" + (f" after {seen.seconds:.0f} s" if seen.seconds > SLOW_S else "") + _more(seen)


def _more(seen: Seen) -> str:
    """Say what ran again."""
    again = sum(seen.starts(number) > 1 for number in range(1, TASKS))
    retries = seen.starts(0) - 1
    return (f", {retries} retries" if retries else "") + (f", {again} bystanders re-run" if again else "")


def _markdown(pools: list[str], cells: dict[str, list[str]]) -> str:
    table = [["fault", *pools, "evalengine"], ["---"] * (len(pools) + 2)]
    table += [[row, *words] for row, words in cells.items()]
    versions = ", ".join(f"{name} {version}" for name in pools if (version := _version(name)))
    lines = ["| " + " | ".join(line) + " |" for line in table]
    return "\n".join(
        [*lines, "", f"Python {platform.python_version()}, {versions or 'the standard library alone'}."]
    )


def _version(pool: str) -> str | None:
    try:
        return importlib.metadata.version(pool)
    except importlib.metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
