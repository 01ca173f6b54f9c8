"""Blocking agents overlap: 1,000 cases of ``time.sleep(0.05)`` in a sync agent at a budget of 64."""

from math import ceil

from benchmarks.project import project
from benchmarks.rows import Row

CASES = 1000
BUDGET = 64
SLEEP_S = 0.05

AGENT = f"""
def agent(query: str):
    note("start")
    time.sleep({SLEEP_S})
    note("end")
    return "done"
"""


def main() -> list[Row]:
    """Return the ideal time over the time from first start to last end."""
    with project(AGENT, cases=CASES) as bench:
        ran = bench.run("--parallel", "--max-concurrency", str(BUDGET), "--workers", "2")
        moments = bench.moments()
    span_s = moments[-1][0] - moments[0][0]
    ideal_s = ceil(CASES / BUDGET) * SLEEP_S
    note = f"{span_s:.3f} s, ideal {ideal_s:.3f} s, command {ran.wall_s:.2f} s"
    return [
        Row(f"blocking: {CASES} sleeps at {BUDGET}, ideal / measured", ideal_s / span_s, at_least=0.9, note=note)
    ]
