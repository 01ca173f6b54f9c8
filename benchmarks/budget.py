"""The budget is exact and used: 7 over 3 workers, 500 cases of 100 to 400 ms, by the agent's own log."""

from benchmarks.project import project
from benchmarks.rows import Row

CASES = 500
BUDGET = 7
WORKERS = 3

AGENT = """
import asyncio
import random


async def asleep(seconds):
    await asyncio.sleep(seconds)


{kind} agent(query: str):
    seconds = random.Random(query).uniform(0.1, 0.4)
    note("start")
    {sleep}(seconds)
    note("end")
    return "done"
"""

KINDS = {"async": ("async def", "await asleep"), "sync": ("def", "time.sleep")}


def main() -> list[Row]:
    """Return the most in flight, and the share of the time with all slots in use while a case waited."""
    rows = []
    for name, (kind, sleep) in KINDS.items():
        with project(AGENT.format(kind=kind, sleep=sleep), cases=CASES) as bench:
            bench.run("--parallel", "--max-concurrency", str(BUDGET), "--workers", str(WORKERS))
            most, share = _levels(bench.moments())
        rows.append(Row(f"budget: {name}, most in flight", most, at_most=BUDGET))
        rows.append(Row(f"budget: {name}, share of time at {BUDGET}", share, at_least=0.97))
    return rows


def _levels(moments: list[tuple[float, str]]) -> tuple[int, float]:
    """Return the highest level, and the share of the time up to the last start that it was the budget."""
    last_start = max(moment for moment, word in moments if word == "start")
    level = most = 0
    full_s = 0.0
    previous = moments[0][0]
    for moment, word in moments:
        if level == BUDGET and moment <= last_start:
            full_s += moment - previous
        level += 1 if word == "start" else -1
        most = max(most, level)
        previous = moment
    return most, full_s / (last_start - moments[0][0])
