"""From command to exit for ten trivial cases, against the bare imports that any such command needs."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.project import COMMAND, environment, project
from benchmarks.rows import Row

RUNS = 9
CASES = 10
HEAVY = ("litellm", "rouge_score", "numpy", "nltk", "jinja2", "tqdm", "pydantic", "httpx", "ray")

AGENT = f"""
import sys


def agent(query: str):
    note(",".join(name for name in {HEAVY!r} if name in sys.modules))
    return "done"
"""


def main() -> list[Row]:
    """Return the medians, and which heavy modules were imported where."""
    base_s = _median(_bare_imports)
    most_s = 2.5 * base_s + 0.4
    rows = [Row("start: the bare imports", base_s, "s", note=f"median of {RUNS}")]
    with project(AGENT, cases=CASES) as bench:
        for name, options in (("sequential", ()), ("--parallel", ("--parallel", "--workers", "2"))):
            wall_s = _median(lambda: bench.run(*options).wall_s)  # noqa: B023 - called before the next turn
            rows.append(Row(f"start: {CASES} cases, {name}", wall_s, "s", at_most=most_s))
        in_workers = {name for _, words in bench.moments() for name in words.split(",") if name}
        in_command = _imported(bench.root, "--no-report")
    rows.append(_heavy("in the command without reports", in_command))
    rows.append(_heavy("in workers", in_workers))
    return rows


def _median(measure: Callable[[], float]) -> float:
    measure()
    return statistics.median(measure() for _ in range(RUNS))


def _bare_imports() -> float:
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", "import click, msgspec, asyncio, multiprocess"], env=environment(), check=True
    )
    return time.perf_counter() - started


def _imported(root: Path, *options: str) -> set[str]:
    """Return the heavy modules that the command's own process imports."""
    command = [sys.executable, "-X", "importtime", str(COMMAND), "eval", *options]
    done = subprocess.run(command, cwd=root, env=environment(), capture_output=True, text=True, check=True)
    lines = [
        line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")
    ]
    return {name.split(".")[0] for name in lines} & set(HEAVY)


def _heavy(where: str, names: set[str]) -> Row:
    note = ", ".join(sorted(names)) or "none of " + ", ".join(HEAVY)
    return Row(f"start: heavy modules {where}", len(names), at_most=0, note=note)
