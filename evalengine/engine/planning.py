"""The plan of a run: every case of every loaded file in one flat pool, in collection order. Pure.

Labels are unique in a run, since a file's label is and a case's id is unique in its file.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from evalengine import wire
from evalengine.errors import ConfigurationError, NoCasesError
from evalengine.journal import Identity, Verdict
from evalengine.report.files import COMBINED

_WITHOUT_MODEL = " (response_match without a judge model needs none)"


class Keeps(Protocol):
    """Decides by label, set name and tags whether a case is selected."""

    def keeps(self, label: str, set_name: str, tags: Sequence[str]) -> bool:
        """Tell whether the case is to run."""

    def nothing_kept(self, cases: int, known_tags: Iterable[str] = ()) -> NoCasesError:
        """Return the error for a selection that keeps none of the cases found."""


class LoadedFile(msgspec.Struct):
    """A file that a worker has loaded, with its cases in their order."""

    spec: wire.FileSpec
    cases: list[wire.PlannedCase]
    selected_ids: list[str] | None = None
    """The cases that the command line named, else None for all."""
    warnings: list[str] = []
    needs_model: list[str] = []
    output: str = ""
    has_entry_point: bool = True


class PlanEntry(msgspec.Struct):
    """One case in the pool: its place is its index in the plan."""

    file: int
    """Index of its file in the plan."""
    label: str
    case: wire.PlannedCase
    collected: int = 0
    """Its place in the order of collection."""
    kept: dict[int, Verdict] = {}
    """By repeat, the verdicts that an earlier part of the run gave: these do not run again."""


class Plan(msgspec.Struct):
    """What is to run."""

    files: dict[int, LoadedFile]
    """By the number the file was discovered under."""
    entries: list[PlanEntry]
    deselected: int = 0

    @property
    def eval_set(self) -> tuple[str, str]:
        """The id and the name the report goes under: the one set's, or those of a combined run."""
        sets = {entry.case.set_id: entry.case.set_name for entry in self.entries}
        if len(sets) == 1:
            ((set_id, name),) = sets.items()
            return set_id, name or set_id
        return COMBINED, COMBINED


def make_plan(
    files: dict[int, LoadedFile],
    selection: Keeps,
    shuffle_seed: int | None = None,
    limit: int | None = None,
) -> Plan:
    """Put the selected cases of all files in one pool.

    Selection comes first, then the order, then the limit: ``limit`` takes the first cases as they would run.
    """
    collected = [
        PlanEntry(number, f"{file.spec.label}::{case.eval_id}", case)
        for number, file in sorted(files.items())
        for case in _named(file)
    ]
    total = sum(len(file.cases) for file in files.values())
    entries = [entry for entry in collected if selection.keeps(entry.label, entry.case.set_name, entry.case.tags)]
    for place, entry in enumerate(entries):
        entry.collected = place
    if shuffle_seed is not None:
        random.Random(shuffle_seed).shuffle(entries)  # noqa: S311 - an order, no secret
    if limit is not None:
        entries = entries[:limit]
    return Plan(files=files, entries=entries, deselected=total - len(entries))


def _named(file: LoadedFile) -> Iterable[wire.PlannedCase]:
    if file.selected_ids is None:
        return file.cases
    wanted = set(file.selected_ids)
    return [case for case in file.cases if case.eval_id in wanted]


def keep_verdicts(plan: Plan, verdicts: Mapping[Identity, Verdict]) -> int:
    """Let each case keep the verdict that it has from an earlier part of the run; return how many there are.

    A case is the same by its identity and its digest. One that is skipped now is skipped anew.
    """
    kept = 0
    for entry in plan.entries:
        case = entry.case
        verdict = verdicts.get(Identity(plan.files[entry.file].spec.label, case.set_id, case.eval_id))
        if case.skip is not None or verdict is None:
            continue
        if (verdict.digest, verdict.set_name) == (case.digest, case.set_name):
            entry.kept = {0: verdict}
            kept += 1
    return kept


def require_cases(plan: Plan, selection: Keeps, *, where: str, any_file_failed: bool) -> None:
    """Raise NoCasesError where there is nothing to run and no broken file explains it."""
    if plan.entries or any_file_failed:
        return
    if plan.deselected:
        tags = {tag for file in plan.files.values() for case in file.cases for tag in case.tags}
        raise selection.nothing_kept(plan.deselected, tags)
    msg = (
        f"No eval cases found in {where}: an eval file defines get_eval_set(), get_scenarios(), "
        "SCENARIOS, or functions annotated -> EvalSet"
    )
    raise NoCasesError(msg)


def require_no_model(plan: Plan) -> None:
    """Raise ConfigurationError where a file needs a model, since no client for one is configured."""
    for number in sorted({entry.file for entry in plan.entries}):
        needs = plan.files[number].needs_model
        if needs:
            msg = (
                f"{plan.files[number].spec.label}: {', '.join(needs)} cannot run: no model client is "
                f"configured, and this version has none; take them out of the file or leave the file out"
                f"{_WITHOUT_MODEL if needs != ['scenarios'] else ''}"
            )
            raise ConfigurationError(msg)
