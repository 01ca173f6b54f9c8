"""From the cancellation of an attempt to the kill of its worker: who is interrupted, and who is proven to block."""

import pytest

from evalengine import wire
from evalengine.breadcrumbs import INTERRUPT_SIGNAL, STACKS_SIGNAL, Trail, word_of, word_of_import
from evalengine.engine import ladder as module
from evalengine.engine.autopsy import Block
from evalengine.engine.ladder import Ladder, blocking_attempt
from evalengine.wire import RunKey

KEY, OTHER = RunKey(0), RunKey(1)
GRACE_S = 2.0


class Stage:
    """The loop, the pool and the traces of a ladder, and what it does with them."""

    def __init__(self, tmp_path):
        self.tmp_path = tmp_path
        self.now = 0.0
        self.due = []
        self.done = []
        self.asked = []
        self.running = {KEY, OTHER}
        self.seen = Trail()
        self.ladder = Ladder(self, self, self, lambda since: self.now - since, 60.0)

    # The loop

    def time(self):
        return self.now

    def call_later(self, delay, callback, *args):
        self.due.append((self.now + delay, callback, args))

    def pass_time(self, until):
        for when, callback, args in sorted(self.due, key=lambda entry: entry[0]):
            if self.now <= when <= until:
                self.now = when
                callback(*args)
        self.now = until

    # The pool

    def pid(self, worker):
        return 4711

    def send(self, worker, command):
        self.done.append(command)

    def flush(self):
        pass

    def signal(self, worker, signum):
        self.done.append(signum)

    def kill(self, worker, reason):
        self.done.append(reason)

    # The traces

    def trail(self, worker):
        return self.seen

    def ask_to_interrupt(self, worker, word):
        self.asked.append(word)
        return True

    def log_path(self, worker):
        return self.tmp_path / "log"

    def climb(self):
        self.ladder.climb(1, KEY, GRACE_S, lambda _, key: key in self.running)


@pytest.fixture
def stage(tmp_path, monkeypatch):
    monkeypatch.setattr(module.linux, "catches", lambda *_: True)
    monkeypatch.setattr(module.linux, "thread_times", lambda _: {4711: 0})
    return Stage(tmp_path)


def test_an_attempt_that_keeps_the_main_thread_is_interrupted_then_asked_for(stage):
    stage.seen = Trail(current=KEY)
    stage.climb()
    stage.pass_time(GRACE_S)
    assert stage.done == [INTERRUPT_SIGNAL, INTERRUPT_SIGNAL, wire.TellStack(*KEY), STACKS_SIGNAL]
    assert set(stage.asked) == {word_of(KEY)}


def test_nothing_more_is_done_once_the_attempt_has_ended(stage):
    stage.seen = Trail(current=KEY)
    stage.climb()
    stage.running.clear()
    stage.pass_time(GRACE_S)
    assert stage.done == []


def test_another_attempt_in_flight_is_not_interrupted(stage):
    stage.seen = Trail(current=OTHER)
    stage.climb()
    stage.pass_time(GRACE_S / 2)
    assert stage.done == []


def test_an_attempt_that_is_over_and_keeps_the_main_thread_all_the_same_is(stage):
    stage.seen = Trail(current=RunKey(5))
    stage.climb()
    stage.pass_time(GRACE_S / 3)
    assert stage.asked == [word_of(RunKey(5))]


def test_a_signal_that_user_code_has_taken_away_is_not_sent(stage, monkeypatch):
    monkeypatch.setattr(module.linux, "catches", lambda *_: False)
    stage.seen = Trail(current=KEY)
    stage.climb()
    stage.pass_time(GRACE_S)
    assert stage.done == [wire.TellStack(*KEY)]


def test_who_blocks_is_looked_at_before_the_kill(stage, monkeypatch):
    stage.seen = Trail(current=KEY, since_s=0.1)
    stage.climb()
    stage.pass_time(GRACE_S)
    monkeypatch.setattr(module.linux, "thread_times", lambda _: {4711: 80})
    stage.ladder.kill(1, "hangs")
    assert stage.done[-1] == "hangs"
    assert stage.ladder.block(1) == Block(KEY, 0)
    assert stage.ladder.block(1) is None


@pytest.mark.parametrize(("took", "done"), [(59, []), (61, [INTERRUPT_SIGNAL]), (63, ["killed"])])
def test_an_import_has_its_own_deadline_while_cases_run(stage, took, done):
    stage.seen = Trail(importing=3, since_s=0.0)
    stage.now = took
    stage.ladder.watch_import(1)
    assert [each if isinstance(each, int) else "killed" for each in stage.done] == done
    assert stage.asked == ([word_of_import(3)] if INTERRUPT_SIGNAL in done else [])


BUSY = {10: 90, 11: 5}
IDLE = {10: 0, 11: 0}


def test_the_step_that_used_the_time_is_proven():
    assert blocking_attempt(Trail(current=KEY, since_s=1.0), 2.0, 10, IDLE, BUSY) == KEY


def test_a_step_that_began_since_is_not():
    assert blocking_attempt(Trail(current=KEY, since_s=2.5), 2.0, 10, IDLE, BUSY) is None


def test_a_step_that_waits_for_another_thread_is_not():
    assert blocking_attempt(Trail(current=KEY, since_s=1.0), 2.0, 11, IDLE, BUSY) is None


def test_a_step_that_was_interrupted_in_vain_is():
    assert blocking_attempt(Trail(current=KEY, since_s=1.0, raised=KEY), 2.0, 10, IDLE, IDLE) == KEY


def test_nobodys_step_is_nobodys():
    assert blocking_attempt(Trail(), 2.0, 10, IDLE, BUSY) is None
