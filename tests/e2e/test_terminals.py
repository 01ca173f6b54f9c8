"""Standard streams of every kind: what reads them, or does not, changes neither the run nor its exit code."""

import json
import os
import pty
import signal
import subprocess
import sys
import threading

import pytest

AGENT = """
def app(messages):
    try:
        return input()
    except EOFError:
        return messages[-1]["content"]
"""
EVALS = """
from agentflow.qa.evaluation import EvalSetBuilder

def get_eval_set():
    builder = EvalSetBuilder(name="set")
    for number in range({cases}):
        builder.add_case(query="q", expected="q", case_id=f"case_{{number}}_" + "x" * 200)
    return builder.build()
"""
FEW, MANY = 20, 3000

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="streams of POSIX systems")


@pytest.fixture
def suite(project):
    """A project with a file of some cases; those of ``few`` fit into any pipe, those of ``many`` into none."""
    project.write({"agentflow.json": {"agent": "agent:app"}, "agent.py": AGENT})
    project.write({"few_eval.py": EVALS.format(cases=FEW), "many_eval.py": EVALS.format(cases=MANY)})
    return project


def command(*args):
    return [sys.executable, "-m", "evalengine", "eval", *args]


def shell(project, redirection, *args, **options):
    """Run in a shell with redirections or a pipe; return the completed process: its code is ours, not the pipe's."""
    text = f'set -o pipefail; "$@" {redirection}'
    options = {"capture_output": True, "text": True, "timeout": 120, **options}
    return subprocess.run(["bash", "-c", text, "bash", *command(*args)], cwd=project.root, check=False, **options)


def passed(project, count):
    counts = project.report()["summary"]["status_counts"]
    assert counts["passed"] == count
    assert len(list((project.root / "eval_reports").iterdir())) == 2


@pytest.mark.parametrize(
    "redirection",
    [
        "| head -1",
        "| true",
        "2>&1 | head -1",
        ">/dev/full",
        ">/dev/full 2>&1",
        "2>/dev/full",
        ">&-",
        "2>&-",
        "<&-",
        "<&- >&- 2>&-",
        "</dev/zero",
    ],
)
def test_streams_that_fail_change_nothing(suite, redirection):
    done = shell(suite, redirection, "few_eval.py")
    assert (done.returncode, done.stderr) == (0, "")
    passed(suite, FEW)


def test_the_gate_decides_the_exit_code_also_without_output(suite):
    suite.write({"agent.py": "def app(messages):\n    return 'no'\n"})
    assert shell(suite, "| true", "few_eval.py").returncode == 1
    assert shell(suite, ">/dev/full", "few_eval.py").returncode == 1


def test_a_reader_that_reads_nothing_keeps_neither_the_run_nor_its_end_waiting(suite):
    """The reader lives until the run has ended: it waits for that, and reads nothing."""
    os.mkfifo(suite.root / "over")
    with subprocess.Popen(["cat", "over"], cwd=suite.root, stdin=subprocess.PIPE) as reader:
        run = subprocess.Popen(
            command("many_eval.py", "-v"), cwd=suite.root, stdout=reader.stdin, stderr=subprocess.PIPE, text=True
        )
        _, err = run.communicate(timeout=100)
        (suite.root / "over").write_text("", encoding="utf-8")
    assert run.returncode == 0
    assert "Traceback" not in err
    passed(suite, MANY)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pipes of other systems do not grow")
def test_who_reads_late_finds_the_results_and_is_told_what_was_left_out(suite):
    reader, writer = os.pipe()
    run = subprocess.Popen(
        command("many_eval.py"), cwd=suite.root, stdout=writer, stderr=subprocess.PIPE, text=True
    )
    os.close(writer)
    _, err = run.communicate(timeout=100)
    with os.fdopen(reader, encoding="utf-8") as file:
        out = file.read()
    assert run.returncode == 0
    assert "lines left out: nobody read them in time" in out
    assert f"Results: {MANY}/{MANY} passed" in out
    assert err.startswith("warning: ")
    assert "lines of output were left out" in err


def test_a_slow_reader_gets_everything(suite):
    done = shell(suite, "| { read first; cat >out.txt; }", "many_eval.py", "--parallel", "-c", "8")
    assert (done.returncode, done.stderr) == (0, "")
    assert (suite.root / "out.txt").read_text(encoding="utf-8").count("PASSED") == MANY


class Terminal:
    """A terminal, and what was written to it."""

    def __init__(self, columns=80):
        self.ours, self.theirs = pty.openpty()
        import fcntl
        import struct
        import termios

        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.data = b""
        self._thread = threading.Thread(target=self._read)

    def _read(self):
        while True:
            try:
                data = os.read(self.ours, 65536)
            except OSError:  # Nobody has it open any more.
                return
            if not data:
                return
            self.data += data

    def run(self, *args, cwd, env=None):
        process = subprocess.Popen(
            args,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=self.theirs,
            stdout=self.theirs,
            stderr=self.theirs,
            start_new_session=True,
        )
        os.close(self.theirs)
        self._thread.start()
        code = process.wait(100)
        self._thread.join()
        os.close(self.ours)
        return code

    @property
    def text(self):
        return self.data.decode()


@pytest.mark.parametrize("columns", [20, 80, 500, 0])
def test_a_terminal_of_any_width_shows_the_lines_and_the_results(suite, columns):
    terminal = Terminal(columns)
    assert terminal.run(*command("few_eval.py"), cwd=suite.root, env={"TERM": "xterm"}) == 0
    assert terminal.text.count("PASSED") == FEW
    assert f"Results: {FEW}/{FEW} passed" in terminal.text
    assert f"/{FEW} [" in terminal.text  # The bar.
    assert "\033[" in terminal.text


@pytest.mark.parametrize("columns", ["0", "20", "nonsense", "-1"])
def test_odd_columns_in_the_environment_are_no_trouble(suite, columns):
    terminal = Terminal()
    assert terminal.run(*command("few_eval.py"), cwd=suite.root, env={"COLUMNS": columns, "LINES": columns}) == 0
    assert f"Results: {FEW}/{FEW} passed" in terminal.text


def test_a_dumb_terminal_gets_no_colours(suite):
    terminal = Terminal()
    run = command("few_eval.py", "--no-progress")
    assert terminal.run(*run, cwd=suite.root, env={"TERM": "dumb"}) == 0
    assert "\033" not in terminal.text
    assert f"Results: {FEW}/{FEW} passed" in terminal.text


def test_what_is_no_terminal_gets_plain_lines_and_no_bar(suite):
    done = shell(suite, "", "few_eval.py")
    assert done.stderr == ""
    assert "\033" not in done.stdout
    assert "\r" not in done.stdout
    assert done.stdout.count("PASSED") == FEW


def test_a_terminal_that_nobody_reads_does_not_keep_the_run_waiting(suite):
    """Its journal has the end of the run while nothing of the terminal was read."""
    ours, theirs = pty.openpty()
    run = subprocess.Popen(
        command("many_eval.py", "-v"),
        cwd=suite.root,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    assert run.wait(100) == 0
    os.close(ours)
    passed(suite, MANY)


JOB_CONTROL = """
set -m
stty tostop
"$@" &
wait %1
echo "waited: $?"
fg %1 >/dev/null
echo "exit code: $?"
"""


def test_a_job_in_the_background_stops_at_the_terminal_as_any_other_and_goes_on_in_the_foreground(suite):
    suite.write({"job.sh": JOB_CONTROL})
    terminal = Terminal()
    code = terminal.run("bash", "job.sh", *command("few_eval.py", "--no-progress"), cwd=suite.root)
    assert code == 0
    stopped = 128 + signal.SIGTTOU
    assert f"waited: {stopped}" in terminal.text
    assert "exit code: 0" in terminal.text
    assert f"Results: {FEW}/{FEW} passed" in terminal.text
    passed(suite, FEW)


def test_a_job_in_the_background_of_a_script_runs_to_its_end(suite):
    done = shell(suite, "</dev/null >out.txt & wait $!", "few_eval.py")
    assert done.returncode == 0
    passed(suite, FEW)


def test_two_runs_at_once_in_one_folder_write_two_reports_and_two_journals(suite):
    runs = [
        subprocess.Popen(command("few_eval.py"), cwd=suite.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for run in runs:
        out, err = run.communicate(timeout=100)
        assert run.returncode == 0, (out, err)
    reports = [json.loads(path.read_bytes()) for path in (suite.root / "eval_reports").glob("*.json")]
    assert [report["summary"]["passed_cases"] for report in reports] == [FEW] * 3
    assert len({report["run_id"] for report in reports}) == 3
    assert len(list((suite.root / "eval_reports").glob("*.html"))) == 3
    journals = (suite.root / ".evalengine" / "runs").glob("*/journal.jsonl")
    assert [journal.read_bytes().count(b'"CaseFinished"') for journal in journals] == [FEW] * 3
