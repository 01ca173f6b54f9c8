"""From a plan and settings to what the scheduler is given: tasks and limits."""

from evalengine.engine.plan import START_TIMEOUT_S, Limits, Task
from evalengine.engine.planning import Plan, PlanEntry
from evalengine.settings import RunSettings

DEFAULT_TIMEOUT_S = 300.0


def tasks_of(plan: Plan, settings: RunSettings) -> list[Task]:
    """Return a task for each case that is not skipped, in the plan's order."""
    return [
        Task(place, 0, entry.file, _timeout_s(settings, plan, entry))
        for place, entry in enumerate(plan.entries)
        if entry.case.skip is None
    ]


def limits_of(plan: Plan, settings: RunSettings) -> Limits:
    """Return what holds for the whole run."""
    caps = {
        number: file.spec.max_concurrency
        for number, file in plan.files.items()
        if file.spec.max_concurrency is not None
    }
    return Limits(
        budget=settings.max_concurrency,
        workers=settings.workers,
        start_timeout_s=settings.import_timeout_s + START_TIMEOUT_S,
        max_failures=settings.max_failures,
        file_caps=caps,
    )


def _timeout_s(settings: RunSettings, plan: Plan, entry: PlanEntry) -> float:
    if settings.timeout_s is not None:
        return settings.timeout_s
    return plan.files[entry.file].spec.timeout_s or DEFAULT_TIMEOUT_S
