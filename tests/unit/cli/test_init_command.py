"""The scaffold: what is written, what is never overwritten, and what is said about it."""

import ast
import json

import pytest

from evalengine.cli.init_command import TEMPLATES
from evalengine.cli.main import main
from evalengine.settings import CommandLine, resolve
from evalengine.targets import find_files

QUICK = {"agentflow.json", "graph/__init__.py", "graph/agent.py"}
PROD = {template.target for template in TEMPLATES}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def init(capsys):
    def init(*args, code=0):
        assert main(["init", *args]) == code
        said = capsys.readouterr()
        assert (said.err == "") == (code == 0)
        return said.out if code == 0 else said.err

    return init


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_quick_project(init, folder):
    out = init()
    assert files(folder) == QUICK
    assert all(f"written  {name}" in out for name in QUICK)
    assert "Next: agentflow init --prod" in out


def test_the_production_project(init, folder):
    out = init("--prod")
    assert files(folder) == PROD
    assert out.endswith("Next: agentflow eval --parallel\n")


@pytest.mark.parametrize("args", [["my app"], ["--path", "my app"], ["-p", "my app"]])
def test_a_folder_of_its_own(init, folder, args):
    out = init("--prod", *args)
    assert files(folder / "my app") == PROD
    assert "Next: cd 'my app' && agentflow eval --parallel" in out


def test_production_can_be_added_later(init, folder):
    init()
    out = init("--prod")
    assert files(folder) == PROD
    assert "kept     graph/agent.py" in out
    assert "written  confeval.py" in out


def test_nothing_is_overwritten_or_written_where_a_file_differs(init, folder):
    (folder / "graph").mkdir()
    (folder / "graph" / "agent.py").write_text("mine")
    (folder / "agentflow.json").write_text("{}")
    told = init("--prod", code=2)
    assert told == (
        "Error: agentflow.json, graph/agent.py exist in . already, and nothing was written: "
        "--keep writes only what is missing, --force overwrites\n"
    )
    assert files(folder) == {"agentflow.json", "graph/agent.py"}
    assert (folder / "graph" / "agent.py").read_text() == "mine"


def test_keep_adds_what_is_missing(init, folder):
    (folder / "agentflow.json").write_text("{}")
    out = init("--prod", "--keep")
    assert files(folder) == PROD
    assert (folder / "agentflow.json").read_text() == "{}"
    assert "kept     agentflow.json" in out


def test_force_overwrites(init, folder):
    (folder / "agentflow.json").write_text("{}")
    init("-f")
    assert json.loads((folder / "agentflow.json").read_text())["agent"] == "graph.agent:app"


def test_a_gitignore_is_left_alone_even_by_force(init, folder):
    (folder / ".gitignore").write_text("mine\n")
    out = init("--prod", "--force")
    assert (folder / ".gitignore").read_text() == "mine\n"
    assert "Add to .gitignore: .env .evalengine/" in out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["a", "--path", "b"], "the folder is given twice"),
        (["--force", "--keep"], "--force and --keep contradict each other"),
        (["taken"], "taken"),
        (["taken/deeper"], "taken/deeper"),
    ],
)
def test_wrong_usage(init, folder, args, message):
    (folder / "taken").touch()
    told = init(*args, code=2)
    assert message in told
    assert told.count("\n") == 1
    assert files(folder) == {"taken"}


def test_a_folder_in_the_place_of_a_file_is_in_the_way(init, folder):
    (folder / "agentflow.json").mkdir()
    assert "agentflow.json exists in . already" in init(code=2)
    assert "agentflow.json cannot be written: Is a directory" in init("--force", code=2)


def test_a_dangling_link_is_in_the_way(init, folder):
    (folder / "agentflow.json").symlink_to("nowhere")
    assert "agentflow.json exists" in init(code=2)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.target)
def test_what_is_written_is_well_formed(init, folder, template):
    init("--prod")
    text = (folder / template.target).read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert max(map(len, text.splitlines())) <= 120
    if template.target.endswith(".py"):
        assert ast.get_docstring(ast.parse(text))
    if template.target.endswith(".json"):
        json.loads(text)


def test_the_project_is_one_that_eval_takes(init, folder):
    init("--prod")
    settings = resolve(CommandLine(), folder, {})
    assert settings.notices == []
    assert settings.confeval == folder / "confeval.py"
    assert [file.label for file in find_files(settings, folder)] == ["booking_eval.py", "weather_agents_eval.py"]
