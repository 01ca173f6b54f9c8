"""The clock of a run: pauses are found, told once, and put alarms off."""

import pytest

from evalengine.engine.clock import TICK_S, RunClock


class FakeLoop:
    """A loop whose time goes on when the test says so."""

    def __init__(self):
        self.at = 100.0
        self.timers = []

    def time(self):
        return self.at

    def call_later(self, delay, callback):
        timer = Timer(self.at + delay, callback)
        self.timers.append(timer)
        return timer

    def stand_still(self, seconds):
        self.at += seconds

    def run(self, seconds):
        """Let time go on, and everything happen in its time."""
        until = self.at + seconds
        while due := [timer for timer in self.timers if timer.when <= max(until, self.at)]:
            first = min(due, key=lambda timer: timer.when)
            self.timers.remove(first)
            self.at = max(self.at, first.when)
            if not first.is_cancelled:
                first.callback()
        self.at = max(self.at, until)


class Timer:
    def __init__(self, when, callback):
        self.when, self.callback, self.is_cancelled = when, callback, False

    def cancel(self):
        self.is_cancelled = True


class Stage:
    def __init__(self):
        self.loop = FakeLoop()
        self.pauses = []
        self.ticks = 0
        self.rung = []
        self.clock = RunClock(self.loop, on_pause=self.pauses.append, on_tick=self.tick)
        self.clock.start()

    def tick(self):
        self.ticks += 1

    def ring_after(self, seconds):
        return self.clock.call_later(seconds, lambda: self.rung.append(self.loop.at))


@pytest.fixture
def stage():
    return Stage()


def test_what_has_passed_since_a_time_is_counted_without_the_pauses_after_it(stage):
    before = stage.loop.at
    stage.loop.run(10)
    stage.loop.stand_still(60)
    stage.loop.run(1)
    after = stage.loop.at
    stage.loop.run(5)
    assert sum(stage.pauses) > 59
    assert stage.clock.passed_s(before) == pytest.approx(stage.loop.at - before - sum(stage.pauses))
    assert stage.clock.passed_s(after) == pytest.approx(5)


def test_time_that_goes_on_has_no_pauses(stage):
    stage.loop.run(60)
    assert stage.pauses == []
    assert stage.clock.now() == stage.loop.at
    assert stage.ticks == 60 / TICK_S


def test_a_process_that_stood_still_has_paused(stage):
    stage.loop.run(10)
    stage.loop.stand_still(500)
    stage.loop.run(10)
    [gap] = stage.pauses
    assert gap == pytest.approx(500, abs=TICK_S)
    assert stage.clock.now() == pytest.approx(120, abs=TICK_S)


def test_a_busy_machine_is_no_pause(stage):
    for _ in range(20):
        stage.loop.stand_still(0.9)
        stage.loop.run(TICK_S)
    assert stage.pauses == []


def test_whoever_looks_first_after_a_pause_is_told_of_it(stage):
    stage.loop.run(10)
    stage.loop.stand_still(500)
    stage.clock.look()
    assert len(stage.pauses) == 1
    stage.clock.look()
    assert len(stage.pauses) == 1


def test_a_pause_that_is_known_is_told_whole_and_once(stage):
    stage.loop.run(10)
    stage.loop.stand_still(500)
    stage.clock.skip(500)
    assert stage.pauses == []
    stage.loop.run(10)
    assert stage.pauses == [500]


def test_a_short_pause_that_is_known_counts_too(stage):
    stage.loop.run(10)
    stage.loop.stand_still(0.5)
    stage.clock.skip(0.5)
    stage.loop.run(10)
    assert stage.pauses == [0.5]


@pytest.mark.parametrize("gap", [2, 500])
def test_a_pause_puts_alarms_off(stage, gap):
    stage.ring_after(30)
    stage.loop.run(10)
    stage.loop.stand_still(gap)
    stage.loop.run(15)
    assert stage.rung == []
    stage.loop.run(15)
    assert stage.rung == [pytest.approx(130 + gap, abs=2 * TICK_S)]


def test_an_alarm_is_due_by_the_time_without_pauses_also_if_set_after_one(stage):
    stage.loop.stand_still(500)
    stage.loop.run(1)
    at = stage.loop.at
    stage.ring_after(30)
    stage.loop.run(100)
    assert stage.rung == [pytest.approx(at + 30, abs=0.01)]


def test_a_cancelled_alarm_never_rings(stage):
    stage.ring_after(30).cancel()
    stage.loop.run(100)
    assert stage.rung == []


def test_a_stopped_clock_ticks_no_longer(stage):
    stage.clock.stop()
    stage.loop.run(100)
    assert stage.ticks == 0
