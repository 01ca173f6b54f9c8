"""Where a run stands, in lines for whoever asks."""

from evalengine.engine.execution import Execution
from evalengine.engine.loading import Loading


def stand(loading: Loading, execution: Execution | None) -> list[str]:
    """Say what is done, and for how long each case runs that does; the longest first."""
    if execution is None:
        files = loading.in_progress().items()
        return [f"state: {loading.describe()}", *(f"  worker {worker}: loading {file}" for worker, file in files)]
    counts, running = execution.stand()
    running.sort(key=lambda each: -each[2])
    waiting = counts.waiting + counts.suspects
    return [
        f"state: {counts.settled} cases done, {counts.in_flight} in flight, {waiting} waiting",
        *(f"  worker {worker}: {label}  {age_s:.1f}s" for worker, label, age_s in running),
    ]
