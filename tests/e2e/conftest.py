"""Whole commands on projects of files, and what their JSON reports say."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest


class Project:
    """A folder with the files of a project, and ``agentflow eval`` in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, files):
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return self

    def python(self, *args, **options):
        options = {"cwd": self.root, "capture_output": True, "text": True, "timeout": 120, **options}
        return subprocess.run([sys.executable, *args], check=False, **options)

    def eval(self, *args, **options):
        return self.python("-m", "evalengine", "eval", "--no-progress", *args, **options)

    def processes(self):
        """The ids of the processes whose working directory is the project's."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    if (entry / "cwd").readlink() == self.root:
                        found.append(int(entry.name))
        return found

    def report(self):
        """The newest JSON report."""
        reports = sorted((self.root / "eval_reports").glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        return json.loads(reports[-1].read_text(encoding="utf-8"))

    def results(self):
        """The newest report's results by label."""
        return {result["label"]: result for result in self.report()["results"]}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


TIMES = {
    "at",
    "timestamp",
    "started_at",
    "finished_at",
    "ended_at",
    "duration_seconds",
    "avg_duration_seconds",
    "total_duration_seconds",
    "wall_seconds",
}
PROCESSES = {"worker", "workers", "pid", "attempts", "run_id"}
SETTINGS = {"parallel", "max_concurrency", "settings", "notices"}


@pytest.fixture
def comparable():
    return _comparable


def _comparable(value):
    """A report without times, workers and attempts, and without the settings that make a run parallel."""
    if isinstance(value, dict):
        left_out = TIMES | PROCESSES | SETTINGS
        return {key: _comparable(item) for key, item in value.items() if key not in left_out}
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    return value
