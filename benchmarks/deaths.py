"""Deaths cost the cases that die: of 10,000 cases of 50 ms at a budget of 32, 300 kill their process at random.

``python -m benchmarks.deaths --cases 1000 --deaths 30 --seed 7 --agents async`` measures a smaller run, or repeats
one: the seed draws who dies, how, and when.
"""

import argparse
import random
import secrets
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any

from benchmarks.project import Ran, project
from benchmarks.rows import Row, table

CASES = 10_000
DEATHS = 300
BUDGET = 32
NAP_S = 0.05
MOST_TIMES = 3
MOST_S_A_DEATH = 0.02
DEADLINE_S = 1800.0

CAUSES = {"segfault": "killed by SIGSEGV", "exit": "exited with 0", "kill": "killed by SIGKILL"}
"""What must be said of each way to die."""

AGENT = """
import asyncio
import ctypes
import os
import random

DYING = {dying!r}
DEATHS = {{
    "segfault": lambda: ctypes.string_at(0),
    "exit": lambda: os._exit(0),
    "kill": lambda: os.kill(os.getpid(), 9),
}}


async def asleep(seconds):
    await asyncio.sleep(seconds)


{kind} agent(query: str):
    before_s = random.Random(query).uniform(0, {nap_s})
    {sleep}(before_s)
    if int(query) in DYING:
        DEATHS[DYING[int(query)]]()
    {sleep}({nap_s} - before_s)
    return f"answer {{query}}"
"""

CASE = 'builder.add_case(query=f"{number}", expected=f"answer {number}", case_id=f"case_{number}")'
KINDS = {"async": ("async def", "await asleep"), "sync": ("def", "time.sleep")}


def main(
    *, cases: int = CASES, deaths: int = DEATHS, seed: int | None = None, kinds: tuple[str, ...] = tuple(KINDS)
) -> list[Row]:
    """Return, for each kind of agent, how many verdicts are right, and the time beside that without deaths."""
    seed = secrets.randbelow(10**6) if seed is None else seed
    rng = random.Random(seed)
    ways = list(CAUSES)
    dying = {number: ways[turn % len(ways)] for turn, number in enumerate(rng.sample(range(cases), deaths))}
    rows = []
    for kind in kinds:
        plain = _run(kind, cases, {})
        deadly = _run(kind, cases, dying)
        rows += _rows(f"deaths: {kind}", plain, deadly, dying, seed)
    return rows


def _run(kind: str, cases: int, dying: dict[int, str]) -> Ran:
    head, sleep = KINDS[kind]
    agent = AGENT.format(dying=dying, kind=head, sleep=sleep, nap_s=NAP_S)
    with project(agent, cases=cases, case=CASE) as bench:
        options = ("--parallel", "--workers", "2", "--max-concurrency", str(BUDGET), "--threshold", "0")
        return bench.run(*options, "--no-progress", deadline_s=DEADLINE_S)


def _rows(name: str, plain: Ran, deadly: Ran, dying: dict[int, str], seed: int) -> list[Row]:
    results = {int(result["eval_id"].removeprefix("case_")): result for result in deadly.report["results"]}
    cases = len(plain.report["results"])
    wrong = {number: _wrong(number, results.get(number), dying.get(number)) for number in range(cases)}
    wrong = {number: said for number, said in wrong.items() if said}
    spared = cases - len(dying)
    ran = Counter(result["attempts"] for number, result in results.items() if number not in dying)
    attempts = ", ".join(f"{count} ran {times}x" for times, count in sorted(ran.items()))
    return [
        Row(
            f"{name}, crashed with the right cause",
            len(dying) - sum(number in dying for number in wrong),
            at_least=len(dying),
            note=f"seed {seed}" + _first(wrong[number] for number in wrong if number in dying),
        ),
        Row(
            f"{name}, own results",
            spared - sum(number not in dying for number in wrong),
            at_least=spared,
            note=attempts + _first(wrong[number] for number in wrong if number not in dying),
        ),
        Row(
            f"{name}, time",
            deadly.wall_s,
            "s",
            at_most=MOST_TIMES * plain.wall_s + MOST_S_A_DEATH * len(dying),
            note=f"{plain.wall_s:.2f} s without deaths",
        ),
    ]


def _first(wrong: Iterable[str]) -> str:
    """Append the first few of what is wrong to a note."""
    return "".join(f"; {said}" for said in islice(wrong, 3))


def _wrong(number: int, result: dict[str, Any] | None, way: str | None) -> str:
    """Say what is wrong with a verdict; nothing where it is as it must be."""
    if result is None:
        return f"case_{number}: no result"
    status, error = result["status"], result["error"] or ""
    if way is not None:
        return (
            "" if status == "crashed" and CAUSES[way] in error else f"case_{number}: {way}, but {status} ({error})"
        )
    if status == "passed" and result["actual_response"] == f"answer {number}" and not result["flaky"]:
        return ""
    return f"case_{number}: {status} ({error}) {result['actual_response'][:40]!r}"


def _command_line() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.deaths", description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--deaths", type=int, default=DEATHS)
    parser.add_argument("--seed", type=int, help="who dies, how and when; drawn and printed unless given")
    parser.add_argument("--agents", nargs="*", choices=list(KINDS), default=list(KINDS))
    options = parser.parse_args()
    rows = main(cases=options.cases, deaths=options.deaths, seed=options.seed, kinds=tuple(options.agents))
    print(table(rows))


if __name__ == "__main__":
    _command_line()
