"""``kill -9`` of the coordinator at random instants of runs whose agents leave processes behind, then ``--resume``.

Every part of a run but the last is killed; the last report must equal that of an uninterrupted run. What a case ran
too often, processes that outlive a kill by two seconds and reports that differ are counted: all must be none.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.project import COMMAND, Project, environment, project
from benchmarks.rows import Row

CASES = 2000
KILLS = 50
KILLS_A_RUN = 10
GONE_WITHIN_S = 2.0
OPTIONS = ("--parallel", "--workers", "2", "--max-concurrency", "16", "--no-progress", "-q")

_MARK = "EVALENGINE_BENCH_KILLS"

AGENT = """
import asyncio
import subprocess
import sys

# A child, and a grandchild that leaves its session and is adopted by whoever adopts it.
LEAVE = ["sh", "-c", "setsid sh -c 'sleep 600 & exec sleep 600' >/dev/null 2>&1 & exec sleep 600"]

async def agent(query: str):
    note("start " + query)
    if int(query) % {every} == 0:
        subprocess.Popen(LEAVE, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    await asyncio.sleep(0.02)
    note("end " + query)
    return "done" if int(query) % 7 else "wrong"
"""

_TIMES = {"at", "timestamp", "started_at", "finished_at", "ended_at", "wall_seconds"}
_OWN_OF_A_RUN = {"worker", "workers", "attempts", "run_id", "settings", "notices", "notes", "parts"}


def main() -> list[Row]:
    """Return what went wrong in so many kills."""
    seed = int.from_bytes(os.urandom(4), "big")
    drawn = random.Random(seed)
    kills = too_often = different = 0
    longest_s = 0.0
    with project(AGENT.format(every=5), cases=CASES) as bench:
        usual_s, expected = _uninterrupted(bench)
        while kills < KILLS:
            bench.log.unlink(missing_ok=True)
            may_run = Counter[str]()
            for part in range(KILLS_A_RUN):
                may_run_again, gone_s = _killed_part(bench, part, drawn.uniform(0.0, usual_s))
                longest_s = max(longest_s, gone_s)
                if may_run_again is None:
                    break
                may_run.update(may_run_again)
                kills += 1
            _run(bench, "--resume")
            too_often += sum(1 for case, count in _starts(bench).items() if count > 1 + may_run[case])
            different += _comparable(_report(bench)) != expected
    note = f"{kills} kills, seed {seed}; uninterrupted {usual_s:.1f} s"
    return [
        Row("kills: reports that differ", different, at_most=0, note=note),
        Row("kills: cases that ran too often", too_often, at_most=0),
        Row("kills: last process gone after, s", longest_s, at_most=GONE_WITHIN_S),
    ]


def _uninterrupted(bench: Project) -> tuple[float, Any]:
    started = time.monotonic()
    _run(bench)
    return time.monotonic() - started, _comparable(_report(bench))


def _command(*options: str) -> list[str]:
    return [str(COMMAND), "eval", *OPTIONS, *options]


def _run(bench: Project, *options: str) -> None:
    done = subprocess.run(
        _command(*options), cwd=bench.root, env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode != 1:  # Some cases fail.
        raise RuntimeError(f"ended with {done.returncode}: {done.stderr[-2000:]}")


def _killed_part(bench: Project, part: int, after_s: float) -> tuple[set[str] | None, float]:
    """Start or resume, kill after a while; return the cases that may run once more, and how long the rest lived.

    The former is None where the run came to its end before it was killed.
    """
    before = _starts(bench)
    process = subprocess.Popen(
        _command(*(("--resume",) if part else ())),
        cwd=bench.root,
        env={**environment(), _MARK: str(bench.root)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(after_s)
    if process.poll() is not None:
        return None, 0.0
    os.kill(process.pid, signal.SIGKILL)
    killed = time.monotonic()
    process.wait()
    while _left(str(bench.root)) and time.monotonic() - killed < 5 * GONE_WITHIN_S:
        time.sleep(0.01)
    gone_s = time.monotonic() - killed
    begun = _starts(bench) - before
    return {case for case in begun if case not in _with_verdict(bench)}, gone_s


def _starts(bench: Project) -> Counter[str]:
    if not bench.log.exists():
        return Counter()
    lines = (line.split() for line in bench.log.read_text().splitlines())
    return Counter(line[2] for line in lines if line[1] == "start")


def _with_verdict(bench: Project) -> set[str]:
    """Return the cases that have a verdict on disk: in the journal, or in what a worker kept."""
    folder = max((bench.root / ".evalengine" / "runs").iterdir(), key=lambda path: path.name)
    texts = [path.read_bytes() for path in [folder / "journal.jsonl", *folder.glob("workers/*.results")]]
    return {
        str(number)
        for text in texts
        for piece in text.split(b'"eval_id":"case_')[1:]
        for number in [int(piece[: piece.index(b'"')])]
        if b'"passed":' in piece[:60]
    }


def _left(mark: str) -> list[int]:
    """Return the living processes that a killed run started, itself among them."""
    wanted = f"{_MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
    return found


def _report(bench: Project) -> Any:
    reports = sorted((bench.root / "eval_reports").glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    document = json.loads(reports[-1].read_bytes())
    for path in (bench.root / "eval_reports").iterdir():
        path.unlink()
    return document


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _comparable(item)
            for key, item in value.items()
            if key not in _TIMES | _OWN_OF_A_RUN and not key.endswith("duration_seconds")
        }
    return [_comparable(item) for item in value] if isinstance(value, list) else value
