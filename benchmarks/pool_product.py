"""The last column of the table of pools: the same seven tasks as seven cases of an eval file, run by the command.

Measured four times: async and sync agents, one case a worker at a time and all seven at once. The cell is exact
only if all four are.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import pool_tasks
from benchmarks.pool_tasks import TASKS, TOLD, own_value
from benchmarks.processes import left_after
from benchmarks.project import project

EXACT = "exact blame, bystanders unharmed"
LONG_RESPONSE = 200_000
"""So many characters still travel in a frame: a result holds them a few times, and beyond 1 MiB it is a file."""
MOST_LEFT_S = 2.0
NOT_PROVOKED = "not provoked"
MOST_TRIES = 3
"""A frame is on its way for a millisecond or two: it may be missed."""

MUST = {
    "segfault": ("crashed", "killed by SIGSEGV"),
    "kill": ("crashed", "killed by SIGKILL"),
    "exit": ("crashed", "exited with 0"),
    "fork_and_die": ("crashed", "exited with 7"),
    "not_rebuilt": ("error", "NotRebuiltError: one two"),
    "frame": ("crashed", "killed by SIGKILL"),
    "fork": ("passed", ""),
}
"""The one verdict that the faulty case must have, and what its error must say.

One that dies while its result is on its way may have its whole result instead: a worker puts it on disk before.
"""

AGENTS = {
    "async": """
async def agent(query: str):
    import asyncio

    number = int(query)
    note({log!r}, f"start {{number}}")
    await asyncio.sleep(NAP_S if number else BEFORE_S)
    return own_value(number) if number else meet({fault!r}, {log!r}, {size})
""",
    "sync": """
def agent(query: str):
    return perform({fault!r}, int(query), {log!r}, {size})
""",
}
CASE = """builder.add_case(
            query=f"{number}", expected=f"own value {number}" if number else None, case_id=f"case_{number}"
        )"""
BUDGETS = {"one by one": 2, "at once": TASKS}


def measure(fault: str, deadline_s: float) -> str:
    """Return the cell of a fault."""
    said = {}
    for kind in AGENTS:
        for mode, budget in BUDGETS.items():
            wrong = NOT_PROVOKED
            for _ in range(MOST_TRIES):
                if wrong == NOT_PROVOKED:
                    wrong = _wrong(fault, kind, budget, deadline_s)
            if wrong:
                said[f"{kind}, {mode}"] = wrong
    return "; ".join(f"{wrong} ({where})" for where, wrong in said.items()) or EXACT


def _wrong(fault: str, kind: str, budget: int, deadline_s: float) -> str:
    """Run the seven cases; say what is not as it must be, nothing where all is."""
    with tempfile.NamedTemporaryFile(prefix="pools-") as log:
        tasks = Path(pool_tasks.__file__).read_text()
        agent = tasks + AGENTS[kind].format(fault=fault, log=log.name, size=LONG_RESPONSE)
        mark = f"pools-{time.monotonic_ns()}"
        options = ("--parallel", "--workers", "2", "--max-concurrency", str(budget), "--threshold", "0")
        with project(agent, cases=TASKS, case=CASE) as bench:
            try:
                report = bench.run(*options, deadline_s=deadline_s, mark=mark).report
            except RuntimeError as error:
                return f"no report: {error}"[:300]
            finally:
                left = left_after(mark, MOST_LEFT_S)
        lines = Path(log.name).read_text().splitlines()
    results = {int(result["eval_id"].removeprefix("case_")): result for result in report["results"]}
    return _judge(fault, results, lines) or (f"{len(left)} processes left" if left else "")


def _judge(fault: str, results: dict[int, dict[str, Any]], log: list[str]) -> str:
    if sorted(results) != list(range(TASKS)):
        return f"results of {sorted(results)}"
    if fault == "frame" and not any(line.startswith(TOLD) for line in log):
        return NOT_PROVOKED
    harmed = [number for number in range(1, TASKS) if not _is_unharmed(number, results[number], log)]
    if harmed:
        return f"{len(harmed)} bystanders harmed: {_told(results[harmed[0]])}"
    status, error = MUST[fault]
    faulty = results[0]
    is_blamed = faulty["status"] == status and error in (faulty["error"] or "")
    is_whole = fault == "frame" and faulty["actual_response"] == own_value(0) + "." * LONG_RESPONSE
    return "" if is_blamed or (is_whole and faulty["status"] == "passed") else _told(faulty)


def _is_unharmed(number: int, result: dict[str, Any], log: list[str]) -> bool:
    """Tell whether a bystander passed with its own result, uncharged, and ran no more often than it says."""
    return (
        result["status"] == "passed"
        and result["actual_response"] == own_value(number)
        and not (result["flaky"] or result["earlier_attempts"])
        and log.count(f"start {number}") <= result["attempts"]
    )


def _told(result: dict[str, Any]) -> str:
    return f"{result['eval_id']} is {result['status']} ({result['error']})"
