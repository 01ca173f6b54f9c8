"""Cases in flight together never see each other's tools: 24 cases with a tool and a random delay each."""

from typing import Any

from benchmarks.project import Project, project
from benchmarks.rows import Row

CASES = 24
BUDGETS = (2, 4, 8, 24)
RUNS = 10

AGENT = """
import asyncio
import random

from evalengine import record_tool


async def asleep(seconds):
    await asyncio.sleep(seconds)


{kind} agent(query: str):
    {sleep}(random.uniform(0, 0.05))
    record_tool(f"tool_{{query}}", {{"of": query}})
    {sleep}(random.uniform(0, 0.05))
    return f"answer {{query}}"
"""

CASE = """builder.add_tool_test(
            query=f"{number}", tool_name=f"tool_{number}", tool_args={"of": f"{number}"},
            expected_response=f"answer {number}", case_id=f"case_{number}",
        )"""
CRITERIA = ("exact_match", "tool_name_match")
KINDS = {"async": ("async def", "await asleep"), "sync": ("def", "time.sleep")}


def main() -> list[Row]:
    """Return, for each kind of agent and each budget, the fewest right cases of all runs."""
    rows = []
    for name, (kind, sleep) in KINDS.items():
        agent = AGENT.format(kind=kind, sleep=sleep)
        with project(agent, cases=CASES, case=CASE, criteria=CRITERIA) as bench:
            for budget in BUDGETS:
                right = [_right(bench, budget) for _ in range(RUNS)]
                note = f"fewest of {CASES} in {RUNS} runs"
                rows.append(Row(f"attribution: {name}, budget {budget}", min(right), at_least=CASES, note=note))
    return rows


def _right(bench: Project, budget: int) -> int:
    """Count the cases with their own tool call and answer."""
    report = bench.run("--parallel", "--max-concurrency", str(budget), "--workers", "2", "--threshold", "0").report
    return sum(_is_right(result) for result in report["results"])


def _is_right(result: dict[str, Any]) -> bool:
    number = result["eval_id"].removeprefix("case_")
    calls = [(call["name"], call["args"]) for call in result["actual_tool_calls"]]
    return calls == [(f"tool_{number}", {"of": number})] and result["actual_response"] == f"answer {number}"
