"""``python -m benchmarks.pool_drivers POOL FAULT LOG``: give a pool its seven tasks, and print what comes of each.

One JSON object a line: ``begin`` when the pool is about to be asked, then for each task its value (cut) or its
error, then whether the pool takes another task. Two workers, and whatever else the pool's authors chose.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from concurrent import futures
from functools import partial
from typing import Any

from benchmarks.pool_tasks import TASKS, perform

WORKERS = 2
LONG_FRAME = 64 * 1024 * 1024
"""So many characters no pipe holds."""

Outcome = tuple[int, str | None, str | None]
"""A task, its value, its error."""


def tell(**words: Any) -> None:
    print(json.dumps(words), flush=True)


def _of_futures(submit: Callable[[int], Any]) -> Iterator[Outcome]:
    """Run the tasks in what gives futures of the standard library's kind."""
    asked = {submit(number): number for number in range(TASKS)}
    for done in futures.as_completed(asked):
        yield _outcome(asked[done], done.result)


def _outcome(number: int, result: Callable[[], Any]) -> Outcome:
    try:
        return number, str(result()), None
    except BaseException as error:  # noqa: BLE001 - whatever a pool raises is what is measured
        return number, None, f"{type(error).__name__}: {error}"


def concurrent_futures(task: Callable[[int], Any]) -> Iterator[Outcome]:
    pool = futures.ProcessPoolExecutor(WORKERS)
    yield from _of_futures(lambda number: pool.submit(task, number))
    yield _outcome(TASKS, lambda: pool.submit(abs, -1).result())


def loky(task: Callable[[int], Any]) -> Iterator[Outcome]:
    from loky import get_reusable_executor

    pool = get_reusable_executor(max_workers=WORKERS)
    yield from _of_futures(lambda number: pool.submit(task, number))
    yield _outcome(TASKS, lambda: get_reusable_executor(max_workers=WORKERS).submit(abs, -1).result())


def pebble(task: Callable[[int], Any]) -> Iterator[Outcome]:
    from pebble import ProcessPool

    pool = ProcessPool(max_workers=WORKERS)
    yield from _of_futures(lambda number: pool.schedule(task, args=[number]))
    yield _outcome(TASKS, lambda: pool.schedule(abs, args=[-1]).result())


def multiprocessing_pool(task: Callable[[int], Any]) -> Iterator[Outcome]:
    from multiprocessing import Pool

    return _of_results(Pool(WORKERS), task)


def billiard(task: Callable[[int], Any]) -> Iterator[Outcome]:
    from billiard import Pool

    return _of_results(Pool(WORKERS), task)


def _of_results(pool: Any, task: Callable[[int], Any]) -> Iterator[Outcome]:
    """Run the tasks in what calls back with results, in the order they come."""
    import queue

    came: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
    for number in range(TASKS):
        pool.apply_async(
            task,
            (number,),
            callback=lambda value, number=number: came.put((number, str(value), None)),
            error_callback=lambda error, number=number: came.put(
                (number, None, f"{type(error).__name__}: {error}")
            ),
        )
    for _ in range(TASKS):
        yield came.get()
    yield _outcome(TASKS, pool.apply_async(abs, (-1,)).get)


def trio_parallel(task: Callable[[int], Any]) -> Iterator[Outcome]:
    import trio
    import trio_parallel as parallel

    async def one(call: Callable[..., Any], number: int, limiter: trio.CapacityLimiter) -> None:
        try:
            tell_outcome((number, str(await parallel.run_sync(call, number, limiter=limiter)), None))
        except BaseException as error:  # noqa: BLE001 - whatever a pool raises is what is measured
            tell_outcome((number, None, f"{type(error).__name__}: {error}"))

    async def all_of_them() -> None:
        limiter = trio.CapacityLimiter(WORKERS)
        async with trio.open_nursery() as nursery:
            for number in range(TASKS):
                nursery.start_soon(one, task, number, limiter)
                # What starts in one turn of the loop starts in any order.
                await trio.lowlevel.checkpoint()
        await one(abs, TASKS, limiter)

    trio.run(all_of_them)
    return iter(())


def dask(task: Callable[[int], Any]) -> Iterator[Outcome]:
    import distributed

    cluster = distributed.LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL"
    )
    client = distributed.Client(cluster)
    # A result stays in its worker until it is asked for: one thread asks for each, so that none waits for another.
    with futures.ThreadPoolExecutor(TASKS) as threads:
        asked = [client.submit(task, number, pure=False) for number in range(TASKS)]
        came = [threads.submit(_outcome, number, future.result) for number, future in enumerate(asked)]
        for outcome in futures.as_completed(came):
            yield outcome.result()
    yield _outcome(TASKS, client.submit(abs, -1).result)


POOLS: dict[str, tuple[str, Callable[[Callable[[int], Any]], Iterator[Outcome]]]] = {
    "concurrent.futures": ("concurrent.futures", concurrent_futures),
    "loky": ("loky", loky),
    "Pebble": ("pebble", pebble),
    "multiprocessing.Pool": ("multiprocessing", multiprocessing_pool),
    "billiard": ("billiard", billiard),
    "trio-parallel": ("trio_parallel", trio_parallel),
    "dask": ("distributed", dask),
}
"""By its name: the module that must be there, and what drives the pool."""


def tell_outcome(outcome: Outcome) -> None:
    number, value, error = outcome
    tell(task=number, value=None if value is None else value[:40], error=error)


def main(pool: str, fault: str, log: str) -> None:
    task = partial(_task, fault, log)
    tell(begin=True)
    for outcome in POOLS[pool][1](task):
        tell_outcome(outcome)
    sys.stdout.flush()
    os._exit(0)


def _task(fault: str, log: str, number: int) -> str:
    return perform(fault, number, log, LONG_FRAME)


if __name__ == "__main__":
    main(*sys.argv[1:])
