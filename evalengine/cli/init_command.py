"""``agentflow init``: lay out a project that runs offline, so that the first evaluation needs no key.

Rules: nothing of the user's is ever overwritten without ``--force``, and what is in the way is found before the
first file is written. A file that is there already with the very text it would get is in nobody's way.
"""

import shlex
import sys
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import click

from evalengine.errors import DiscoveryError, UsageError
from evalengine.report.stream import SafeStream


class Template(NamedTuple):
    """A file of the project and the template that it is written from."""

    target: str
    source: str
    needs_prod: bool


TEMPLATES = (
    Template("agentflow.json", "agentflow.json.txt", False),
    Template("graph/__init__.py", "graph_init.py.txt", False),
    Template("graph/agent.py", "agent.py.txt", False),
    Template("confeval.py", "confeval.py.txt", True),
    Template("evals/weather_agents_eval.py", "weather_agents_eval.py.txt", True),
    Template("evals/booking_eval.py", "booking_eval.py.txt", True),
    Template(".github/workflows/ci.yml", "ci.yml.txt", True),
    Template(".gitignore", "gitignore.txt", True),
)

_KEPT_AS_IT_IS = ".gitignore"
"""A repository has one already, and its lines are not ours to change, not even by force."""


class Plan(NamedTuple):
    """What is to be written where, and what is there already."""

    folder: Path
    texts: dict[str, str]
    same: list[str]
    """There already, with the text it would get."""
    different: list[str]


@click.command(
    "init",
    epilog="""\b
Examples:
  agentflow init                 an agent and agentflow.json, here
  agentflow init --prod          with eval files, criteria and a CI workflow
  agentflow init --prod my-app   in a folder of its own
  agentflow init --prod --keep   add what is missing to a project""",
)
@click.argument("folder", required=False, metavar="[FOLDER]", type=click.Path(file_okay=False))
@click.option("-p", "--path", "path", metavar="FOLDER", type=click.Path(file_okay=False), help="The folder, too.")
@click.option("--prod", is_flag=True, help="The production setup: evals, confeval.py and a CI workflow.")
@click.option("-f", "--force", is_flag=True, help="Overwrite files that exist.")
@click.option("--keep", is_flag=True, help="Leave files that exist as they are, and write the others.")
def init_command(folder: str | None, path: str | None, prod: bool, force: bool, keep: bool) -> int:
    """Lay out a project with an agent that runs offline.

    Files that exist are never overwritten unless --force says so.
    """
    if folder and path:
        raise UsageError(f"the folder is given twice, as {folder} and by --path: keep one of them")
    if force and keep:
        raise UsageError("--force and --keep contradict each other: keep one of them")
    shown = folder or path or "."
    plan = _plan(Path(shown), prod=prod)
    in_the_way = [name for name in plan.different if name != _KEPT_AS_IT_IS]
    if in_the_way and not (force or keep):
        verb = "exists" if len(in_the_way) == 1 else "exist"
        raise UsageError(
            f"{', '.join(in_the_way)} {verb} in {shown} already, and nothing was written: "
            "--keep writes only what is missing, --force overwrites"
        )
    kept = set(plan.same) | (set(plan.different) if keep else {_KEPT_AS_IT_IS} & set(plan.different))
    _write(plan, [name for name in plan.texts if name not in kept])
    _tell(plan, kept, shown, prod=prod)
    return 0


def _plan(folder: Path, *, prod: bool) -> Plan:
    templates = resources.files("evalengine.cli") / "templates"
    texts = {
        template.target: (templates / template.source).read_text(encoding="utf-8")
        for template in TEMPLATES
        if prod or not template.needs_prod
    }
    present = [name for name in texts if (folder / name).exists() or (folder / name).is_symlink()]
    same = [name for name in present if _has_text(folder / name, texts[name])]
    return Plan(folder, texts, same, [name for name in present if name not in same])


def _has_text(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False


def _write(plan: Plan, names: list[str]) -> None:
    for name in names:
        path = plan.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(plan.texts[name], encoding="utf-8", newline="\n")
        except OSError as error:
            raise DiscoveryError(f"{path} cannot be written: {error.strerror}") from None


def _tell(plan: Plan, kept: set[str], shown: str, *, prod: bool) -> None:
    out = SafeStream(sys.stdout)
    for name in plan.texts:
        out.line(f"  {'kept   ' if name in kept else 'written'}  {name}")
    if _KEPT_AS_IT_IS in kept and _KEPT_AS_IT_IS in plan.different:
        out.line(f"Add to {_KEPT_AS_IT_IS}: {' '.join(plan.texts[_KEPT_AS_IT_IS].split())}")
    enter = "" if shown == "." else f"cd {shlex.quote(shown)} && "
    out.line()
    if prod:
        out.line(f"Next: {enter}agentflow eval --parallel")
    else:
        out.line(f"Next: {enter}agentflow init --prod   (adds eval files, then: agentflow eval)")
    out.flush()
