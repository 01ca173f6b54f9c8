"""Steps: whose the loop's step is, for how long, and what the others lose by it."""

import asyncio
import time

import pytest

from evalengine.breadcrumbs import word_of
from evalengine_worker import steps as module
from evalengine_worker.steps import SteppingLoop, current_attempt

A, B = (0, 0, 1), (1, 0, 1)


@pytest.fixture
def loop():
    loop = SteppingLoop()
    yield loop
    loop.close()


class Clock:
    """A clock in nanoseconds that goes on when it is told to."""

    def __init__(self, monkeypatch):
        self.now = 0
        monkeypatch.setattr(module, "_now_ns", lambda: self.now)
        monkeypatch.setattr("evalengine.breadcrumbs._now_ns", lambda: self.now)

    def block(self, seconds):
        self.now += int(seconds * 1e9)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def attempt(loop, mark, coroutine_function):
    """A task that is an attempt; gives what others robbed it of."""

    async def run():
        loop.steps.begin(mark)
        await coroutine_function()
        return loop.steps.end(mark)

    return loop.create_task(run())


def current(loop):
    return loop.steps.crumbs.words[0]


def test_each_step_of_an_attempt_its_tasks_and_its_timers_is_its_own(loop):
    seen = []

    def look():
        seen.append(current(loop))

    async def body():
        look()
        await asyncio.sleep(0)
        look()
        await loop.create_task(asyncio.to_thread(int))
        look()
        loop.call_later(0, look)
        loop.call_soon(look)
        await asyncio.sleep(0.001)

    loop.run_until_complete(attempt(loop, A, body))
    assert seen == [word_of(A)] * 5


def test_between_steps_nobody_runs(loop):
    loop.run_until_complete(attempt(loop, A, lambda: asyncio.sleep(0)))
    seen = []
    loop.call_soon(lambda: seen.append(current(loop)))
    loop.run_until_complete(asyncio.sleep(0))
    assert seen == [0]


def test_a_step_within_a_step_gives_it_back(loop):
    seen = []

    async def outer():
        other = loop.create_task(attempt_of_b())
        asyncio.tasks._leave_task(loop, asyncio.current_task())
        while not other.done():
            loop._run_once()
        asyncio.tasks._enter_task(loop, task)
        seen.append(current(loop))

    async def attempt_of_b():
        loop.steps.begin(B)
        seen.append(current(loop))
        loop.steps.end(B)

    task = attempt(loop, A, outer)
    loop.run_until_complete(task)
    assert seen == [word_of(B), word_of(A)]


def test_what_one_takes_the_other_loses(loop, clock):
    async def blocks():
        await asyncio.sleep(0)
        clock.block(3)

    async def waits():
        for _ in range(5):
            await asyncio.sleep(0)

    robber, robbed = attempt(loop, A, blocks), attempt(loop, B, waits)
    loop.run_until_complete(asyncio.gather(robber, robbed))
    assert (robber.result(), robbed.result()) == (0, 3)


def test_a_first_step_that_blocks_counts_too(loop, clock):
    async def blocks():
        clock.block(3)

    async def waits():
        for _ in range(5):
            await asyncio.sleep(0)

    robbed, robber = attempt(loop, B, waits), attempt(loop, A, blocks)
    loop.run_until_complete(asyncio.gather(robber, robbed))
    assert (robber.result(), robbed.result()) == (0, 3)


def test_what_was_taken_before_an_attempt_is_none_of_its_loss(loop, clock):
    async def blocks():
        clock.block(3)

    loop.run_until_complete(attempt(loop, A, blocks))
    assert loop.run_until_complete(attempt(loop, B, lambda: asyncio.sleep(0))) == 0


def test_an_import_robs_whoever_is_in_flight(loop, clock):
    loop.steps._not_lost[word_of(A)] = 0
    with loop.steps.importing(2):
        clock.block(4)
    assert loop.steps.end(A) == 4


def test_a_thread_is_the_attempts_that_asked_for_it(loop):
    seen = []

    async def body():
        await asyncio.to_thread(lambda: seen.append(list(loop.steps.crumbs.threads.values())))
        await loop.run_in_executor(None, lambda: seen.append(list(loop.steps.crumbs.threads.values())))

    loop.run_until_complete(attempt(loop, A, body))
    loop.run_until_complete(loop.shutdown_default_executor())
    assert seen == [[word_of(A)], [word_of(A)]]
    assert loop.steps.crumbs.threads == {}


def test_after_its_end_the_context_is_nobodys(loop):
    async def run():
        loop.steps.begin(A)
        loop.steps.end(A)
        return current_attempt.get()

    assert loop.run_until_complete(run()) == 0


def test_a_timer_needs_a_time_and_an_open_loop(loop):
    with pytest.raises(TypeError):
        loop.call_at(None, print)
    loop.close()
    with pytest.raises(RuntimeError):
        loop.call_at(time.monotonic(), print)
