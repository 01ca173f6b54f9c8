"""Interrupts: raised in the wanted attempt's own code, and nowhere else."""

import signal
import textwrap

import pytest

from evalengine.breadcrumbs import INTERRUPT_SIGNAL, word_of, word_of_import
from evalengine_worker import steps as steps_module
from evalengine_worker.interrupts import Interrupted, Interrupts
from evalengine_worker.tasks import WorkerLoop, current_tasks

A, B = (0, 0, 1), (1, 0, 1)

pytestmark = pytest.mark.skipif(INTERRUPT_SIGNAL is None, reason="there are no such signals")


class Stage:
    """A loop with interrupts; the signal is sent from within the code that runs."""

    def __init__(self, tmp_path):
        self.loop = WorkerLoop()
        self.interrupts = Interrupts(self.loop.steps)
        self.interrupts.install()
        self.tmp_path = tmp_path

    def want(self, word):
        self.loop.steps.crumbs.words[5] = word

    def run(self, function, mark=A, *, is_over=False):
        """Run a function in an attempt."""

        async def attempt():
            self.loop.steps.begin(mark)
            current_tasks.set(None if is_over else set())
            self.loop.steps._begun -= 10**9
            try:
                return function()
            finally:
                current_tasks.set(None)
                self.loop.steps.end(mark)

        return self.loop.run_until_complete(attempt())

    def user_code(self, source):
        """A function of a file that is the user's."""
        path = self.tmp_path / "user.py"
        path.write_text(textwrap.dedent(source))
        names = {}
        exec(compile(path.read_text(), str(path), "exec"), names)
        return names["app"]


@pytest.fixture
def stage(tmp_path):
    before = signal.getsignal(INTERRUPT_SIGNAL)
    stage = Stage(tmp_path)
    yield stage
    signal.signal(INTERRUPT_SIGNAL, before)
    stage.loop.close()


SIGNAL = f"""
import os, time
def app():
    os.kill(os.getpid(), {int(INTERRUPT_SIGNAL or 0)})
    time.sleep(0)
    return "untouched"
"""


def test_the_wanted_attempt_is_interrupted_where_it_is(stage):
    stage.want(word_of(A))
    with pytest.raises(Interrupted, match="its time was over"):
        stage.run(stage.user_code(SIGNAL))
    assert 'user.py", line' in stage.interrupts.taken(word_of(A))
    assert stage.interrupts.taken(word_of(A)) is None
    assert stage.loop.steps.crumbs.words[6] == word_of(A)


def test_another_attempt_is_not(stage):
    stage.want(word_of(B))
    assert stage.run(stage.user_code(SIGNAL)) == "untouched"


def test_nobody_is_who_was_not_wanted(stage):
    assert stage.run(stage.user_code(SIGNAL)) == "untouched"


def test_an_attempt_whose_own_code_has_ended_is_not(stage):
    stage.want(word_of(A))
    assert stage.run(stage.user_code(SIGNAL), is_over=True) == "untouched"


def test_a_step_that_has_just_begun_is_not(stage, monkeypatch):
    monkeypatch.setattr(steps_module.Steps, "age_s", lambda _: 0.001)
    stage.want(word_of(A))
    assert stage.run(stage.user_code(SIGNAL)) == "untouched"


def test_the_engines_own_code_is_not(stage, monkeypatch):
    stage.want(word_of(A))
    monkeypatch.setattr("evalengine_worker.failures.is_ours", lambda _: True)
    assert stage.run(stage.user_code(SIGNAL)) == "untouched"


def test_the_standard_library_is_where_user_code_called_it(stage):
    stage.want(word_of(A))
    source = SIGNAL.replace("def app():", "import queue\ndef app():\n    alarm()\n    queue.Queue().get(timeout=9)")
    source += f"""
import threading
def alarm():
    threading.Timer(0.05, os.kill, (os.getpid(), {int(INTERRUPT_SIGNAL)})).start()
"""
    with pytest.raises(Interrupted):
        stage.run(stage.user_code(source))


def test_asyncio_itself_is_not(stage, monkeypatch):
    stage.want(word_of(A))
    monkeypatch.setattr("evalengine_worker.stacks.is_asyncio", lambda filename: filename.endswith("user.py"))
    assert stage.run(stage.user_code(SIGNAL)) == "untouched"


def test_the_import_of_a_file_is_interrupted_when_it_is_wanted(stage):
    app = stage.user_code(SIGNAL)
    stage.want(word_of_import(3))
    with stage.loop.steps.importing(3):
        stage.loop.steps._begun -= 10**9
        with pytest.raises(Interrupted, match="importing it took too long"):
            app()
    with stage.loop.steps.importing(4):
        stage.loop.steps._begun -= 10**9
        assert app() == "untouched"
