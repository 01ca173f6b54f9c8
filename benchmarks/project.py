"""Generated projects and the installed command that runs them."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARK = "EVALENGINE_BENCHMARK"
"""The variable by which the processes of a run are found."""
COMMAND = Path(sys.executable).with_name("agentflow")

EVAL_FILE = """
from agentflow.qa.evaluation import CriteriaConfig, CriterionConfig, EvalConfig, EvalSet, EvalSetBuilder

CRITERIA = {criteria!r}
EVAL_CONFIG = EvalConfig(
    criteria=CriteriaConfig(**{{name: getattr(CriterionConfig, name)(threshold=1.0) for name in CRITERIA}})
)


def get_eval_set() -> EvalSet:
    builder = EvalSetBuilder(name="bench")
    for number in range({cases}):
        {case}
    return builder.build()
"""

NO_OP_CASE = 'builder.add_case(query=f"{number}", expected="done", case_id=f"case_{number}")'

CLOCKED = """
import os
import time

_log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def note(word):
    # One write of an O_APPEND file is never torn by another's; the monotonic clock is the machine's.
    os.write(_log, f"{{time.monotonic_ns()}} {{word}}\\n".encode())
"""


@dataclass
class Ran:
    """One run of the command."""

    wall_s: float
    peak_bytes: int
    """The most memory that the coordinator itself held."""
    report: dict[str, Any]


class Project:
    """A project in a folder of its own."""

    def __init__(self, root: Path, agent: str, case: str, cases: int, criteria: tuple[str, ...]) -> None:
        self.root = root
        self.log = root / "moments.log"
        (root / "evals").mkdir()
        (root / "agentflow.json").write_text(json.dumps({"agent": "bench_agent:agent"}))
        (root / "bench_agent.py").write_text(CLOCKED.format(log=str(self.log)) + agent)
        eval_file = EVAL_FILE.format(criteria=criteria, cases=cases, case=case)
        (root / "evals" / "bench_eval.py").write_text(eval_file)

    def run(self, *options: str, deadline_s: float | None = None, mark: str | None = None) -> Ran:
        """Run ``agentflow eval`` with the options; raise RuntimeError where it does not end with 0, or in time.

        With a mark, whatever the run starts can be found by it afterwards: see :mod:`benchmarks.processes`.
        """
        self.log.unlink(missing_ok=True)
        output = self.root / "output.txt"
        started = time.perf_counter()
        with output.open("wb") as stream:
            process = subprocess.Popen(
                [COMMAND, "eval", *options], cwd=self.root, env=environment(mark), stdout=stream, stderr=stream
            )
            with _killed_after(process, deadline_s):
                _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(
                f"{COMMAND} eval {' '.join(options)} ended with {process.returncode}:\n{output.read_text()}"
            )
        kibibytes = usage.ru_maxrss if sys.platform != "darwin" else usage.ru_maxrss // 1024
        return Ran(wall_s, kibibytes * 1024, self._take_report())

    def moments(self) -> list[tuple[float, str]]:
        """Return what the agents noted, in order: seconds on one clock, and a word."""
        lines = (line.split(" ", 1) for line in self.log.read_text().splitlines())
        return sorted((int(moment) / 1e9, word) for moment, word in lines)

    def _take_report(self) -> dict[str, Any]:
        reports = list((self.root / "eval_reports").glob("*.json"))
        report: dict[str, Any] = json.loads(reports[0].read_bytes()) if reports else {}
        for path in (self.root / "eval_reports").glob("*"):
            path.unlink()
        return report


@contextmanager
def project(
    agent: str, *, cases: int, case: str = NO_OP_CASE, criteria: tuple[str, ...] = ("exact_match",)
) -> Iterator[Project]:
    """Lay out a project; ``agent`` is the source of ``agent``, which may call ``note(word)``."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        yield Project(Path(folder).resolve(), agent, case, cases, criteria)


@contextmanager
def _killed_after(process: subprocess.Popen[bytes], seconds: float | None) -> Iterator[None]:
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def environment(mark: str | None = None) -> dict[str, str]:
    """Return the environment of a user: nothing on the path of Python but what is installed; and a mark."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    return kept if mark is None else {**kept, MARK: mark}
