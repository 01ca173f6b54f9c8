"""The engine's own cost: 10,000 no-op cases with two criteria and both reports."""

from benchmarks.project import project
from benchmarks.rows import Row

CASES = 10_000
FEW = 1000
CRITERIA = ("exact_match", "response_match")
PARALLEL = ("--parallel", "--workers", "2", "--max-concurrency", "16")

AGENT = """
async def agent(query: str):
    return "done"
"""


def main() -> list[Row]:
    """Return cases a second from command to exit, and the memory of the coordinator."""
    with project(AGENT, cases=FEW, criteria=CRITERIA) as bench:
        few = bench.run(*PARALLEL)
    rows = []
    with project(AGENT, cases=CASES, criteria=CRITERIA) as bench:
        for name, options in (("two workers", PARALLEL), ("sequential", ())):
            ran = bench.run(*options)
            times = [result[field] for result in ran.report["results"] for field in ("started_at", "finished_at")]
            assert len(times) == 2 * CASES
            note = f"{ran.wall_s:.2f} s, of which cases ran for {max(times) - min(times):.2f} s"
            asked = 3000 if options else None
            rows.append(Row(f"no-op: {name}", CASES / ran.wall_s, "cases/s", at_least=asked, note=note))
            if options:
                per_case = (ran.peak_bytes - few.peak_bytes) / (CASES - FEW)
                note = f"peak {ran.peak_bytes / 2**20:.0f} MiB; {few.peak_bytes / 2**20:.0f} MiB with {FEW} cases"
                rows.append(Row("no-op: memory of the coordinator", per_case, "bytes/case", note=note))
    return rows
