"""The documentation holds: links resolve, examples compile, flags and files that it names exist."""

import re
from pathlib import Path

import pytest
from click import Context

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
IDS = [str(page.relative_to(ROOT)) for page in PAGES]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
NOT_OURS = {"--force-reinstall", "--install", "--no-deps"}
"""Flags of other programs."""
NOT_YET = {"--repeat", "--shard"}
"""Flags that README names as missing."""

every_page = pytest.mark.parametrize("page", PAGES, ids=IDS)


def blocks(page: Path, *languages: str) -> list[str]:
    return [text for language, text in FENCE.findall(page.read_text(encoding="utf-8")) if language in languages]


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@every_page
def test_relative_links_resolve(page):
    broken = []
    for link in LINK.findall(prose(page)):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@every_page
def test_python_examples_compile(page):
    for source in blocks(page, "python"):
        compile(source, str(page), "exec")


@every_page
def test_there_is_one_title(page):
    assert len(re.findall(r"^# ", prose(page), re.MULTILINE)) == 1


def known_flags() -> set[str]:
    from evalengine.cli.main import program

    context = Context(program, help_option_names=["-h", "--help"])  # click keeps the first help option it makes
    commands = [program, *(program.get_command(context, name) for name in program.list_commands(context))]
    commands += [inner for command in commands[1:] for inner in getattr(command, "commands", {}).values()]
    parameters = [parameter for command in commands if command for parameter in command.get_params(context)]
    return {name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts)}


@every_page
def test_flags_exist(page):
    code = re.findall(r"`([^`\n]+)`", prose(page))
    commands = [line for block in blocks(page, "console", "yaml") for line in block.splitlines()]
    named = {
        flag
        for text in [*code, *commands]
        if text.startswith("-") or "agentflow " in text or "evalengine " in text
        for flag in FLAG.findall(text.partition("#")[0])
    }
    assert named - NOT_OURS - NOT_YET - known_flags() == set()


@pytest.mark.parametrize("flag", sorted(NOT_YET))
def test_what_is_said_to_be_missing_is_missing(flag):
    assert flag not in known_flags()


def tree_paths() -> list[Path]:
    """The paths that the folder tree of architecture.md names, two spaces a level."""
    (tree,) = blocks(ROOT / "docs" / "architecture.md", "tree")
    parents: list[str] = []
    paths = []
    for line in tree.splitlines():
        name = line.split()[0]
        depth = (len(line) - len(line.lstrip())) // 2
        parents = [*parents[:depth], name]
        paths.append(ROOT.joinpath(*parents))
    return paths


def test_the_folder_tree_of_architecture_exists():
    assert [str(path) for path in tree_paths() if not path.exists()] == []


def test_the_folder_tree_of_architecture_is_complete():
    named = {path for path in tree_paths() if path.suffix == ".py"}
    folders = [ROOT / "evalengine", ROOT / "evalengine" / "engine"]
    missing = {
        path.name for folder in folders for path in folder.glob("*.py") if path not in named and path.name[0] != "_"
    }
    assert missing == set()


def test_decision_records_are_numbered_without_gaps():
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs" / "adr").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "adr").glob("*.md")), ids=lambda path: path.name)
def test_a_decision_says_context_choice_refusals_and_price(path):
    headings = re.findall(r"^## (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert [heading for heading in headings if heading in {"Context", "Choice", "Refused", "Price"}] in (
        ["Context", "Choice", "Refused", "Price"],
        ["Refused", "Price"],
    )
