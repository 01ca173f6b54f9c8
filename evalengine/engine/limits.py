"""From plan and settings to what a scheduler is given: tasks with their times, limits, caps of files.

In the coordinator's own process nothing is due: a debugger may stop what runs there for any time.
"""

import math

from evalengine.engine.plan import START_TIMEOUT_S, Limits, Task
from evalengine.engine.planning import Plan, PlanEntry
from evalengine.engine.scheduler import Scheduler
from evalengine.settings import RunSettings

DEFAULT_TIMEOUT_S = 300.0


def _timeout_s(settings: RunSettings, plan: Plan, entry: PlanEntry) -> float:
    if settings.in_process:
        return math.inf
    if settings.timeout_s is not None:
        return settings.timeout_s
    return plan.files[entry.file].spec.timeout_s or DEFAULT_TIMEOUT_S


def scheduler_for(
    plan: Plan, settings: RunSettings, ready: set[int], starting: set[int], next_worker: int
) -> Scheduler:
    """Make the scheduler of a run, over the workers there are."""
    tasks = [
        Task(place, 0, entry.file, _timeout_s(settings, plan, entry))
        for place, entry in enumerate(plan.entries)
        if entry.case.skip is None and 0 not in entry.kept
    ]
    caps = {
        number: file.spec.max_concurrency
        for number, file in plan.files.items()
        if file.spec.max_concurrency is not None
    }
    limits = Limits(
        budget=settings.max_concurrency,
        workers=settings.workers,
        single_use=settings.isolation == "case",
        start_timeout_s=settings.import_timeout_s + START_TIMEOUT_S,
        retries=settings.retries,
        max_failures=settings.max_failures,
        file_caps=caps,
    )
    return Scheduler(
        tasks,
        limits,
        ready_workers=sorted(ready),
        starting_workers=sorted(starting),
        next_worker=next_worker,
    )
