"""What came of files, plan and cases, as the events that announce it. Pure."""

from collections.abc import Iterator, Sequence

import msgspec

from evalengine import events, wire
from evalengine.config import CriteriaConfig, EvalConfig
from evalengine.engine.commands import ReportLoss
from evalengine.engine.limits import DEFAULT_TIMEOUT_S
from evalengine.engine.loading import FailedFile, Loading
from evalengine.engine.planning import LoadedFile, Plan
from evalengine.engine.verdicts import Received, encoded, verdict_without_worker
from evalengine.errors import ConfigurationError
from evalengine.events import RunEvent
from evalengine.results import Status
from evalengine.settings import RunSettings
from evalengine.targets import EvalFile
from evalengine.wire import RunKey

_NO_ENTRY_POINT = (
    "skipped, it has no eval entry point: define get_eval_set(), get_scenarios(), SCENARIOS, "
    "or a function annotated -> EvalSet"
)


def file_events(files: Sequence[EvalFile], loading: Loading) -> Iterator[RunEvent]:
    """Yield what came of each file; raise ConfigurationError for one that holds a value that cannot be meant."""
    for number, file in enumerate(files):
        failed = loading.failed.get(number)
        if failed is None:
            yield _discovered(number, file, loading.loaded[number])
        elif failed.configuration:
            raise ConfigurationError(failed.error)
        else:
            yield _errored(number, file, failed)


def _errored(number: int, file: EvalFile, failed: FailedFile) -> RunEvent:
    return events.FileErrored(
        file=number,
        path=str(file.path),
        label=file.label,
        error=failed.error,
        traceback=failed.traceback,
        output=failed.output,
    )


def _discovered(number: int, file: EvalFile, loaded: LoadedFile) -> RunEvent:
    spec = loaded.spec
    return events.FileDiscovered(
        file=number,
        path=str(file.path),
        label=spec.label,
        cases=len(loaded.cases),
        source=spec.criteria_from,
        criteria={item.field: _described(item) for item in spec.criteria},
        warnings=loaded.warnings if loaded.has_entry_point else [*loaded.warnings, _NO_ENTRY_POINT],
        output=loaded.output,
        skipped=not loaded.has_entry_point,
        timeout_s=spec.timeout_s,
        max_concurrency=spec.max_concurrency,
    )


def plan_events(plan: Plan, settings: RunSettings, kept: int) -> Iterator[RunEvent]:
    """Yield each case in the pool, then that these are all; ``kept`` of them have their verdict."""
    for place, entry in enumerate(plan.entries):
        case = entry.case
        yield events.CasePlanned(
            case=place,
            file=entry.file,
            eval_id=case.eval_id,
            label=entry.label,
            digest=case.digest,
            set_id=case.set_id,
            set_name=case.set_name,
            name=case.name,
            collected=entry.collected,
        )
    set_id, set_name = plan.eval_set
    yield events.PlanCompleted(
        planned=len(plan.entries),
        deselected=plan.deselected,
        eval_set_id=set_id,
        eval_set_name=set_name,
        config_used=_config_used(plan, settings),
        kept=kept,
    )


def _config_used(plan: Plan, settings: RunSettings) -> dict[str, object]:
    """Return the run's configuration in the framework's shape: criteria of files that set none themselves."""
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


def _described(item: wire.CriterionSpec) -> dict[str, object]:
    """Return a criterion's configuration; of a custom one the threshold alone, it has its own ways."""
    config = item.config.model_dump()
    return config if item.custom is None else {"threshold": config["threshold"]}


def case_finished(plan: Plan, key: RunKey, received: Received, worker: int | None) -> events.CaseFinished:
    """Return what tells of a verdict."""
    return events.CaseFinished(
        case=key.case,
        repeat=key.repeat,
        attempt=key.attempt,
        label=plan.entries[key.case].label,
        status=received.status,
        duration_s=received.duration_s,
        worker=worker,
        result=msgspec.Raw(received.raw),
    )


def cases_skipped(plan: Plan) -> Iterator[events.CaseFinished]:
    """Yield what tells of the cases that say themselves that they are to be skipped."""
    for place, entry in enumerate(plan.entries):
        if entry.case.skip is not None:
            key = RunKey(place)
            result = verdict_without_worker(plan, key, Status.SKIPPED, entry.case.skip)
            yield case_finished(plan, key, encoded(result), None)


def case_requeued(key: RunKey, reason: str) -> events.CaseRequeued:
    """Return what tells of an attempt that came to nothing."""
    return events.CaseRequeued(case=key.case, repeat=key.repeat, attempt=key.attempt, reason=reason)


def loss_of_nobody(plan: Plan, loss: ReportLoss) -> events.Noticed:
    """Return what tells of a lost worker that no case is to blame for."""
    labels = ", ".join(plan.entries[key.case].label for key in loss.keys)
    text = (
        f"worker {loss.worker} was lost ({loss.cause}) and no case died again when run alone; "
        f"it had been running {labels}"
    )
    return events.Noticed(text=text)
