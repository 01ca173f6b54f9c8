"""Projects whose cases misbehave, and what console, JSON report and journal say of them."""

import json
import os
import re
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest

LINE = re.compile(r"^\[ *\d+/\d+\] (\S+::\S+) +([A-Z_]+)", re.MULTILINE)


class Run:
    """One ``agentflow eval``, and its three records."""

    def __init__(self, root: Path, done: subprocess.CompletedProcess) -> None:
        self.exit_code, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        [report] = (root / "eval_reports").glob("*.json")
        [journal] = (root / ".evalengine" / "runs").glob("*/journal.jsonl")
        self.report = json.loads(report.read_text(encoding="utf-8"))
        _header, *lines = journal.read_text(encoding="utf-8").splitlines()
        self.events = [json.loads(line) for line in lines]
        self.results = {result["label"]: result for result in self.report["results"]}

    def verdicts(self):
        """The (label, status) pairs of each record, as often as each has them."""
        finished = [event for event in self.events if event["type"] == "CaseFinished"]
        return {
            "console": Counter(
                (label, status.lower().replace(" ", "_")) for label, status in LINE.findall(self.stdout)
            ),
            "report": Counter((result["label"], result["status"]) for result in self.report["results"]),
            "journal": Counter((event["label"], event["status"]) for event in finished),
        }


class Project:
    """A folder of files, and ``agentflow eval`` in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, files):
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return self

    def write_table(self, agent, rows, evals, kind="async def"):
        """Add to an agent a function ``do_<name>`` for each row, and cases for it and a bystander after it."""
        for row in rows:
            body = textwrap.indent("\n".join(row.body.split("; ")), "    ")
            agent += f"\n{kind} do_{row.name}():\n{body}\n"
        names = [name for row in rows for name in (row.name, f"ok_{row.name}")]
        return self.write(
            {
                "agentflow.json": '{"agent": "agent:app"}',
                "agent.py": agent,
                "evals/faults_eval.py": evals.format(names=names),
            }
        )

    def start(self, *args):
        """Run to the end; return the completed process."""
        command = [sys.executable, "-m", "evalengine", "eval", "--no-progress", *args]
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True, timeout=120, check=False)

    def eval(self, *args):
        return Run(self.root, self.start(*args))

    def eval_in(self, group):
        """Run to the end in a control group."""
        command = [sys.executable, "-m", "evalengine", "eval", "--no-progress"]
        inside = ["sh", "-c", f'echo $$ > "{group}/cgroup.procs" && exec "$@"', "sh", *command]
        done = subprocess.run(inside, cwd=self.root, capture_output=True, text=True, timeout=120, check=False)
        return Run(self.root, done)

    def begin(self, *args):
        """Begin a run; return its process, for ``ended``."""
        command = [sys.executable, "-m", "evalengine", "eval", "--no-progress", *args]
        return subprocess.Popen(
            command,
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def ended(self, process):
        """Wait for the end of a run that was begun."""
        out, err = process.communicate(timeout=120)
        return Run(self.root, subprocess.CompletedProcess(process.args, process.returncode, out, err))


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture(scope="module")
def make_project(tmp_path_factory):
    return lambda name: Project(tmp_path_factory.mktemp(name))


@pytest.fixture
def processes():
    """Find the living processes whose command line contains a text: by their ids; of one working directory or all."""

    def find(text, folder=None):
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if folder is not None and (entry / "cwd").readlink() != folder:
                    continue
                command = (entry / "cmdline").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            if text in command and "pytest" not in command:
                found[int(entry.name)] = command
        return found

    return find


CATALOGUE = {"test_catalogue.py", "test_deaths.py", "test_files.py", "test_hangs.py"}


def pytest_collection_modifyitems(config, items):
    """EVALENGINE_FAULTS=minimum leaves of the catalogue the least; else it is whole, which the least is part of."""
    wants_least = os.environ.get("EVALENGINE_FAULTS") == "minimum"
    left_out = [
        item
        for item in items
        if item.path.parent == Path(__file__).parent
        and item.path.name in CATALOGUE
        and (item.get_closest_marker("minimum") is None) == wants_least
    ]
    if config.option.markexpr or not left_out:
        return
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]
