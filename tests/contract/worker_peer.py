"""A coordinator for tests: one real worker process on a socketpair, spoken to step by step."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import msgspec

from evalengine import wire
from evalengine.framing import FrameDecoder, frame
from evalengine.results import EvalCaseResult

ROOT = Path(__file__).parents[2]
ANSWER_TIMEOUT_S = 30

_START = "import sys; from evalengine_worker.main import main; main(int(sys.argv[1]))"


class WorkerPeer:
    """Starts a worker, and speaks with it. ``close`` ends it."""

    def __init__(self, root: Path, **configure):
        self.root = root
        ours, theirs = socket.socketpair()
        ours.settimeout(ANSWER_TIMEOUT_S)
        path = [str(ROOT), str(ROOT / "workers"), str(ROOT / "evalengine" / "fallback")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONSAFEPATH": "1"}
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _START, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment,
                cwd=root,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        self._socket = ours
        self._decoder = FrameDecoder()
        self._pending = []
        self.notices = []
        self._files = 0
        self._used = set()
        self._cases = 0
        self.ready = self.receive(wire.Ready)
        self.log_path = root / "worker.log"
        settings = {
            "worker": 1,
            "root": str(root),
            "eval_dir": str(root / "evals"),
            "log_path": str(self.log_path),
            "spill_dir": str(root),
        }
        self.send(wire.Configure(**{**settings, **configure}))

    def send(self, *commands):
        self._socket.sendall(b"".join(frame(wire.encode(command)) for command in commands))

    def receive(self, *kinds):
        """The next message, which must be of one of the kinds; notices are put aside."""
        while True:
            while not self._pending:
                data = self._socket.recv(1 << 20)
                if not data:
                    raise EOFError(f"the worker is gone, exit code {self.process.wait(5)}")
                self._pending += [wire.decode_message(payload) for payload in self._decoder.feed(data)]
            message = self._pending.pop(0)
            if isinstance(message, wire.Notice) and wire.Notice not in kinds:
                self.notices.append(message.text)
                continue
            assert not kinds or isinstance(message, kinds), message
            return message

    def load(self, path):
        """Load a file of the project; gives the outcome and the cases."""
        number, self._files = self._files, self._files + 1
        path = self.root / path
        self.send(wire.Load(file=number, path=str(path), label=str(path.relative_to(self.root))))
        cases = []
        while isinstance(message := self.receive(wire.CaseFound, wire.FileLoaded, wire.FileFailed), wire.CaseFound):
            cases.append(message.case)
        return message, cases

    def run_command(self, loaded, case, repeat=0, attempt=1):
        """The command that runs a case; announces its file where that was not done."""
        if loaded.file not in self._used:
            self._used.add(loaded.file)
            self.send(wire.UseFile(file=loaded.file, spec=loaded.spec))
        number, self._cases = self._cases, self._cases + 1
        return wire.RunCase(
            case=number,
            repeat=repeat,
            attempt=attempt,
            file=loaded.file,
            eval_id=case.eval_id,
            set_id=case.set_id,
            set_name=case.set_name,
            label=f"{loaded.spec.label}::{case.eval_id}",
            payload=case.payload,
        )

    def run(self, loaded, cases):
        """Run cases at once; gives their results in their order."""
        commands = [self.run_command(loaded, case) for case in cases]
        self.send(*commands)
        results = self.results(len(commands))
        return [results[command.case] for command in commands]

    def results(self, count):
        """Wait for so many Finished; gives case number to result."""
        results = {}
        while len(results) < count:
            message = self.receive(wire.Started, wire.Finished)
            if isinstance(message, wire.Finished):
                results[message.case] = self.result_of(message)
                self.last_finished = message
        return results

    @staticmethod
    def result_of(message):
        encoded = Path(message.spill).read_bytes() if message.spill else message.result
        json.loads(encoded)
        return msgspec.json.decode(encoded, type=EvalCaseResult)

    def run_file(self, path):
        """Load a file and run all its cases; gives eval id to result."""
        loaded, cases = self.load(path)
        assert isinstance(loaded, wire.FileLoaded), loaded
        return {case.eval_id: result for case, result in zip(cases, self.run(loaded, cases), strict=True)}

    def close(self):
        """Tell it to end, and wait; gives exit code, and what it wrote to the stderr it started with."""
        try:
            self.send(wire.Shutdown())
            while not isinstance(self.receive(), wire.Goodbye):
                pass
        except (OSError, EOFError):
            pass
        finally:
            self._socket.close()
        try:
            _, stderr = self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, stderr.decode()


def write_project(root, files):
    """Write files of a project: path to text."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
