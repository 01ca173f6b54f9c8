"""Two cores kept busy: 1,000 cases of 10 ms pure Python on two workers, against the same burn alone."""

import inspect
import subprocess
import sys
import timeit

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
    """Return the efficiency of async and sync agents: ideal time over the time from first start to last end.

    Other loads of the machine move all of these numbers: the burn is measured before and after each run, alone and
    in two processes at once, which is the most that any engine could get out of this machine at this time.
    """
    turns = _turns_for(0.010)
    rows = []
    for name, kind in (("async", "async def"), ("sync", "def")):
        before = [_burn_s(turns, processes) for processes in (1, WORKERS)]
        with project(AGENT.format(kind=kind, turns=turns), cases=CASES) as bench:
            ran = bench.run("--parallel", "--workers", str(WORKERS))
            moments = bench.moments()
        after = [_burn_s(turns, processes) for processes in (1, WORKERS)]
        alone_s, pair_s = ((first + second) / 2 for first, second in zip(before, after, strict=True))
        span_s = moments[-1][0] - moments[0][0]
        ideal_s, possible_s = (CASES * burn_s / WORKERS for burn_s in (alone_s, pair_s))
        note = (
            f"{CASES} of {alone_s * 1e3:.1f} ms: {span_s:.2f} s, ideal {ideal_s:.2f} s, command {ran.wall_s:.2f} s"
        )
        rows.append(Row(f"cpu: {name} agent, ideal / measured", ideal_s / span_s, at_least=0.9, note=note))
        note = f"two plain loops at once: {possible_s:.2f} s"
        rows.append(Row(f"cpu: {name} agent, possible / measured", possible_s / span_s, note=note))
    return rows


def _turns_for(seconds: float) -> int:
    """Return how many turns take about that long here."""
    fastest_s = min(timeit.repeat(lambda: burn(100_000), number=1, repeat=20))
    return int(100_000 * seconds / fastest_s)


def _burn_s(turns: int, processes: int) -> float:
    """Return seconds per burn in a plain loop, in so many processes at once."""
    command = [sys.executable, "-c", ALONE.format(turns=turns, times=CASES // 4)]
    started = [
        subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    return max(float(process.communicate()[0]) for process in started)
