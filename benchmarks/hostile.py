"""``python -m benchmarks.hostile``: suites of good and hostile cases, drawn at random, over and over.

Each run has a seed of its own, which draws its cases (:mod:`benchmarks.hostile_kinds`), in a file with an async and
one with a sync agent, and budget, workers, retries and isolation. Then every verdict is checked against what the
case did, three records against each other, and that nothing is left. The first run that is not as it must be ends
the whole with 1; it says how to repeat it, and its folder stays.
"""

import argparse
import random
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.hostile_checks import Records, problems
from benchmarks.hostile_kinds import BY_NAME, GOOD, HANGS, HOSTILE, eval_file
from benchmarks.processes import kill, left_after
from benchmarks.project import COMMAND, environment

TIMEOUT_S = 2
GRACE_S = 2
MOST_HANGS = 6
MOST_LEFT_S = 2.0
LOOK_S = 0.05


@dataclass
class Suite:
    """What a seed draws."""

    seed: int
    cases: dict[str, list[tuple[int, str]]]
    """By kind of agent: number and kind of each case."""
    parallel: bool
    workers: int
    budget: int
    retries: int
    isolation: str

    @property
    def kinds(self) -> dict[int, str]:
        """The kind of each case, by its number."""
        return dict(case for cases in self.cases.values() for case in cases)

    @property
    def options(self) -> list[str]:
        """What follows ``agentflow eval``."""
        words = ["--no-progress", "--timeout", str(TIMEOUT_S), "--retries", str(self.retries)]
        many = ["--parallel", "--workers", str(self.workers), "--max-concurrency", str(self.budget)]
        own = ["--isolation", self.isolation] if self.isolation != "worker" else []
        return words + own + (many if self.parallel else [])

    @property
    def deadline_s(self) -> float:
        """What the run may take at most: every case as long as it can, and a suspect once more, alone."""
        kinds = [BY_NAME[kind] for kind in self.kinds.values()]
        most_s = sum(2 * (TIMEOUT_S + GRACE_S + 1) if kind in HANGS else 2.0 for kind in kinds)
        return 30 + most_s * (1 + self.retries)


def draw(seed: int) -> Suite:
    """Draw a suite, the same one for the same seed."""
    rng = random.Random(seed)
    share = rng.uniform(0.1, 0.6)
    cases: dict[str, list[tuple[int, str]]] = {"async": [], "sync": []}
    hangs = 0
    for number in range(rng.randint(15, 80)):
        mode = rng.choice(list(cases))
        kind = rng.choice(HOSTILE) if rng.random() < share else GOOD
        hangs += kind in HANGS
        if (mode == "sync" and not kind.in_sync) or (kind in HANGS and hangs > MOST_HANGS):
            kind = GOOD
        cases[mode].append((number, kind.name))
    return Suite(
        seed,
        cases,
        parallel=rng.random() < 0.85,
        workers=rng.randint(1, 4),
        budget=rng.randint(1, 16),
        retries=rng.choice((0, 0, 0, 1)),
        isolation=rng.choice(("worker", "worker", "worker", "worker", "case")),
    )


@dataclass
class Peak:
    """The most that the coordinator itself had at any look."""

    memory_bytes: int = 0
    descriptors: int = 0

    def look(self, pid: int) -> None:
        """Look at a living process."""
        with suppress(OSError, ValueError, IndexError):
            folder = Path(f"/proc/{pid}")
            self.descriptors = max(self.descriptors, sum(1 for _ in (folder / "fd").iterdir()))
            status = (folder / "status").read_text()
            self.memory_bytes = max(self.memory_bytes, int(status.split("VmHWM:")[1].split()[0]) * 1024)


def run(suite: Suite, root: Path) -> tuple[str, list[str]]:
    """Run a suite in an empty folder; return a line about it, and what is not as it must be."""
    log = root / "starts.log"
    for folder in ("evals", "tmp"):
        (root / folder).mkdir()
    (root / "agentflow.json").write_text("{}")
    for mode, cases in suite.cases.items():
        if cases:
            text = eval_file(mode, cases, str(log), suite.seed)
            (root / "evals" / f"{mode}_eval.py").write_text(text, encoding="utf-8")
    mark, peak, started = f"hostile-{time.monotonic_ns()}", Peak(), time.monotonic()
    with (root / "stdout").open("wb") as out, (root / "stderr").open("wb") as err:
        process = subprocess.Popen(
            [COMMAND, "eval", *suite.options],
            cwd=root,
            env={**environment(mark), "TMPDIR": str(root / "tmp")},
            stdout=out,
            stderr=err,
        )
    end = started + suite.deadline_s
    while process.poll() is None and time.monotonic() < end:
        peak.look(process.pid)
        time.sleep(LOOK_S)
    seconds = time.monotonic() - started
    wrong = _finish(process, suite, mark) or problems(suite.kinds, suite.retries, Records(root, process.returncode))
    line = (
        f"{_about(suite)} | {seconds:5.1f} s | coordinator {peak.memory_bytes / 2**20:.0f} MiB, "
        f"{peak.descriptors} descriptors"
    )
    return line, wrong


def _finish(process: "subprocess.Popen[bytes]", suite: Suite, mark: str) -> list[str]:
    """Say whether the run ended in time and left nothing; kill what is left."""
    if process.poll() is None:
        process.kill()
        process.wait()
        kill(mark)
        return [f"the run was not over after {suite.deadline_s:.0f} s"]
    left = left_after(mark, MOST_LEFT_S)
    return [f"{len(left)} processes are left: {left}"] if left else []


def _about(suite: Suite) -> str:
    hostile = Counter(kind for kind in suite.kinds.values() if kind != GOOD.name).total()
    mode = f"workers {suite.workers}, budget {suite.budget:2}" if suite.parallel else "one by one           "
    cases = f"{len(suite.kinds):2} cases, {hostile:2} hostile"
    return f"seed {suite.seed} | {cases} | {mode}, retries {suite.retries}, isolation {suite.isolation:6}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--runs", type=int, help="so many at most")
    parser.add_argument("--seed", type=int, help="of the first run; the next has the next")
    options = parser.parse_args()
    first = secrets.randbelow(10**6) if options.seed is None else options.seed
    end, done = time.monotonic() + 60 * options.minutes, 0
    while time.monotonic() < end and (options.runs is None or done < options.runs):
        if not _perform(first + done, _say):
            return 1
        done += 1
    print(f"{done} runs as they must be, seeds {first} to {first + done - 1}")
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


def _perform(seed: int, say: Callable[[str], None]) -> bool:
    """Run one seed and tell of it; tell whether all was as it must be."""
    root = Path(tempfile.mkdtemp(prefix="hostile-")).resolve()
    line, wrong = run(draw(seed), root)
    say(f"{line} | {'WRONG' if wrong else 'ok'}")
    if not wrong:
        shutil.rmtree(root, ignore_errors=True)
        return True
    for problem in wrong:
        say(f"  {problem}")
    say(f"repeat: {sys.executable} -m benchmarks.hostile --seed {seed} --runs 1\nfolder: {root}")
    return False


if __name__ == "__main__":
    sys.exit(main())
