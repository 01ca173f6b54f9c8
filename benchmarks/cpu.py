"""Two cores kept busy: 1,000 cases of 10 ms pure Python on two workers, against the same burn alone."""

import inspect
import subprocess
import sys
import time

from benchmarks.project import environment, project
from benchmarks.rows import Row

CASES = 1000
WORKERS = 2


def burn(turns: int) -> int:
    """Keep one core busy."""
    total = 0
    for turn in range(turns):
        total += turn * turn % 7
    return total


BURN = inspect.getsource(burn)

AGENT = (
    BURN
    + """
{kind} agent(query: str):
    note("start")
    burn({turns})
    note("end")
    return "done"
"""
)

ALONE = (
    BURN
    + """
import time

started = time.perf_counter()
for _ in range({times}):
    burn({turns})
print((time.perf_counter() - started) / {times})
"""
)


def main() -> list[Row]:
    """Return the efficiency of async and sync agents: ideal time over the time from first start to last end."""
    turns = _turns_for(0.010)
    burn_s = _alone(turns, processes=1)
    ideal_s = CASES * burn_s / WORKERS
    limit = burn_s / _alone(turns, processes=WORKERS)
    rows = [Row("cpu: two plain loops at once", limit, note="what this machine gives two processes")]
    for name, kind in (("async", "async def"), ("sync", "def")):
        with project(AGENT.format(kind=kind, turns=turns), cases=CASES) as bench:
            ran = bench.run("--parallel", "--workers", str(WORKERS))
            moments = bench.moments()
        span_s = moments[-1][0] - moments[0][0]
        note = (
            f"{CASES} of {burn_s * 1e3:.1f} ms: {span_s:.2f} s, ideal {ideal_s:.2f} s, command {ran.wall_s:.2f} s"
        )
        rows.append(Row(f"cpu: {name} agent, ideal / measured", ideal_s / span_s, at_least=0.9, note=note))
    return rows


def _turns_for(seconds: float) -> int:
    """Return how many turns take about that long here."""
    burn(100_000)
    started = time.perf_counter()
    burn(1_000_000)
    return int(1_000_000 * seconds / (time.perf_counter() - started))


def _alone(turns: int, *, processes: int) -> float:
    """Return seconds per burn in a plain loop, in so many processes at once."""
    command = [sys.executable, "-c", ALONE.format(turns=turns, times=CASES // 4)]
    started = [
        subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    return max(float(process.communicate()[0]) for process in started)
