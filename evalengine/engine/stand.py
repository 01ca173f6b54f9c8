"""Where a run stands, in lines for whoever asks; and what its cases are configured with."""

from evalengine.config import CriteriaConfig, EvalConfig
from evalengine.engine.execution import Execution
from evalengine.engine.loading import Loading
from evalengine.engine.planning import Plan
from evalengine.engine.tasks import DEFAULT_TIMEOUT_S
from evalengine.settings import RunSettings


def stand(loading: Loading, execution: Execution | None) -> list[str]:
    """Say what is done, and for how long each case runs that does; the longest first."""
    if execution is None:
        files = loading.in_progress().items()
        return [f"state: {loading.describe()}", *(f"  worker {worker}: loading {file}" for worker, file in files)]
    counts = execution.counts()
    waiting = counts.waiting + counts.suspects
    running = sorted(execution.running(), key=lambda each: -each[2])
    return [
        f"state: {counts.settled} cases done, {counts.in_flight} in flight, {waiting} waiting",
        *(f"  worker {worker}: {label}  {age_s:.1f}s" for worker, label, age_s in running),
    ]


def config_used(plan: Plan, settings: RunSettings) -> dict[str, object]:
    """Return a run's configuration in the framework's shape: criteria of files that set none themselves."""
    specs = [file.spec for file in plan.files.values()]
    shared = next((spec for spec in specs if spec.criteria_from != "file"), specs[0] if specs else None)
    criteria = CriteriaConfig()
    for item in shared.criteria if shared else ():
        if item.custom is None:
            setattr(criteria, item.field, item.config)
    config = EvalConfig(
        criteria=criteria,
        parallel=settings.parallel,
        max_concurrency=settings.max_concurrency,
        timeout=settings.timeout_s or DEFAULT_TIMEOUT_S,
    )
    return config.model_dump()
