"""The loop that calls synchronous code aside, on its own thread."""

import asyncio
import threading

import pytest

from evalengine_worker.main_thread import MainThreadLoop
from evalengine_worker.threads import run_in_thread


@pytest.fixture
def loop():
    loop = MainThreadLoop()
    asyncio.set_event_loop(loop)
    yield loop
    asyncio.set_event_loop(None)
    loop.close()


def test_synchronous_code_runs_on_the_thread_of_the_loop(loop):
    outcome = loop.run_until_complete(run_in_thread(threading.current_thread))
    assert outcome.value is threading.current_thread()


def test_no_loop_is_running_around_it(loop):
    async def other():
        return "from a loop of its own"

    outcome = loop.run_until_complete(run_in_thread(lambda: asyncio.run(other())))
    assert outcome.value == "from a loop of its own"
    assert asyncio.get_event_loop_policy().get_event_loop() is loop


def test_it_finds_no_current_loop_as_in_a_thread(loop):
    outcome = loop.run_until_complete(run_in_thread(asyncio.get_event_loop))
    assert isinstance(outcome.error, RuntimeError)


def test_what_it_raises_is_an_outcome(loop):
    def leave():
        raise SystemExit(3)

    outcome = loop.run_until_complete(run_in_thread(leave))
    assert isinstance(outcome.error, SystemExit)


def test_a_stop_that_comes_with_a_call_holds_after_it(loop):
    seen = []

    def both():
        loop.call_aside(lambda: seen.append("aside"))
        loop.call_soon(seen.append, "next turn")
        loop.stop()

    loop.call_soon(both)
    loop.run_forever()
    assert seen == ["aside"]


def test_it_runs_again_after_a_stop(loop):
    loop.call_soon(loop.stop)
    loop.run_forever()
    outcome = loop.run_until_complete(run_in_thread(lambda: 1))
    assert outcome.value == 1


def test_calls_wait_for_one_another(loop):
    order = []

    async def call(name):
        await run_in_thread(lambda: order.append(name))
        order.append(f"after {name}")

    async def main():
        await asyncio.gather(call("a"), call("b"))

    loop.run_until_complete(main())
    assert order == ["a", "b", "after a", "after b"]
