"""Which files are found, what they are called, and how a target that is not there is told."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from evalengine.errors import DiscoveryError, ExitCode, NoCasesError
from evalengine.targets import find_files


@pytest.fixture
def root(tmp_path):
    return tmp_path


@pytest.fixture
def make(root):
    def make(*names):
        for name in names:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()

    return make


@pytest.fixture
def find(root):
    def find(*targets, cwd=root, eval_dir="evals"):
        where = SimpleNamespace(root=root, eval_dir=root / eval_dir, targets=list(targets))
        return find_files(where, cwd)

    return find


def labels(files):
    return [file.label for file in files]


# Scanning


def test_files_are_found_by_pattern_recursively_and_sorted(make, find):
    make(
        "evals/weather_eval.py",
        "evals/eval_booking.py",
        "evals/a/deep/x_eval.py",
        "evals/set.evalset.json",
        "evals/helpers.py",
        "evals/evaluate.py",
        "evals/data.json",
        "evals/confeval.py",
        "evals/x_eval.pyc",
    )
    assert labels(find()) == ["a/deep/x_eval.py", "eval_booking.py", "set.evalset.json", "weather_eval.py"]


def test_a_folder_sorts_as_a_whole(make, find):
    make("evals/a/x_eval.py", "evals/a-b/x_eval.py", "evals/a/z/x_eval.py")
    assert labels(find()) == ["a/x_eval.py", "a/z/x_eval.py", "a-b/x_eval.py"]


def test_kinds(make, find):
    make("evals/x_eval.py", "evals/y.evalset.json")
    assert [file.kind for file in find()] == ["python", "json"]


@pytest.mark.parametrize(
    "folder", [".hidden", "__pycache__", "node_modules", "site-packages", "env/lib", "a/.git/b", "conda/pkgs"]
)
def test_some_folders_are_not_entered(make, find, folder):
    make("evals/x_eval.py", f"evals/{folder}/y_eval.py", "evals/env/pyvenv.cfg", "evals/conda/conda-meta/history")
    assert labels(find()) == ["x_eval.py"]


def test_hidden_files_are_not_eval_files(make, find):
    make("evals/x_eval.py", "evals/.#x_eval.py")
    assert labels(find()) == ["x_eval.py"]


def test_a_folder_that_is_named_is_entered_whatever_it_is(make, find):
    make("evals/.hidden/x_eval.py")
    assert labels(find("evals/.hidden")) == [".hidden/x_eval.py"]


def test_links_that_lead_back_end(make, find, root):
    make("evals/a/x_eval.py")
    (root / "evals" / "a" / "up").symlink_to(root / "evals")
    (root / "evals" / "a" / "root").symlink_to(root)
    (root / "evals" / "self").symlink_to("self")
    assert labels(find()) == ["a/x_eval.py"]


def test_a_linked_folder_is_entered(make, find, root):
    make("shared/x_eval.py", "evals/a_eval.py")
    (root / "evals" / "linked").symlink_to(root / "shared")
    assert labels(find()) == ["a_eval.py", "linked/x_eval.py"]


def test_a_real_path_wins_over_a_link_to_it(make, find, root):
    make("evals/z/x_eval.py")
    (root / "evals" / "a").symlink_to(root / "evals" / "z")
    (root / "evals" / "b_eval.py").symlink_to(root / "evals" / "z" / "x_eval.py")
    assert len(find()) == 1


def test_a_broken_link_is_a_file_that_the_report_will_tell_of(make, find, root):
    make("evals/x_eval.py")
    (root / "evals" / "gone_eval.py").symlink_to("nowhere")
    (root / "evals" / "loop_eval.py").symlink_to("loop_eval.py")
    assert labels(find()) == ["gone_eval.py", "loop_eval.py", "x_eval.py"]


def test_a_folder_that_cannot_be_searched_is_told(make, find, monkeypatch):
    make("evals/x_eval.py")

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(DiscoveryError, match="evals cannot be searched: Permission denied"):
        find()


# Targets


def test_a_file_runs_whatever_its_name(make, find):
    make("evals/cases.py", "evals/set.json")
    assert labels(find("evals/cases.py", "evals/set.json")) == ["cases.py", "set.json"]


def test_the_label_does_not_depend_on_the_target(make, find, root):
    make("evals/sub/x_eval.py")
    for target in ("evals", "evals/sub", "evals/sub/x_eval.py", "./evals/../evals/sub", str(root / "evals")):
        assert labels(find(target)) == ["sub/x_eval.py"]


def test_a_target_may_be_a_label(make, find, root):
    make("evals/sub/x_eval.py", "other/y_eval.py")
    inner = root / "other"
    assert labels(find("sub/x_eval.py", cwd=inner)) == ["sub/x_eval.py"]
    assert labels(find("other/y_eval.py", cwd=inner)) == ["other/y_eval.py"]


def test_a_path_from_the_working_directory_wins_over_a_label(make, find, root):
    make("x_eval.py", "evals/x_eval.py")
    assert find("x_eval.py")[0].path == root / "x_eval.py"


def test_a_target_is_relative_to_the_working_directory(make, find, root):
    make("evals/sub/x_eval.py")
    assert labels(find("x_eval.py", cwd=root / "evals" / "sub")) == ["sub/x_eval.py"]
    assert labels(find("..", cwd=root / "evals" / "sub")) == ["sub/x_eval.py"]


def test_a_file_outside_the_root_is_labelled_by_its_whole_path(make, find, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "x_eval.py"
    outside.touch()
    assert labels(find(str(outside))) == [outside.as_posix()]


def test_labels_are_told_apart(make, find):
    make("x_eval.py", "evals/x_eval.py")
    assert sorted(labels(find("x_eval.py", "evals"))) == ["./x_eval.py", "x_eval.py"]
    assert labels(find("x_eval.py")) == ["./x_eval.py"]
    assert find("./x_eval.py", cwd=Path("/"))[0].label == "./x_eval.py"


def test_a_file_named_twice_runs_once(make, find, root):
    make("evals/x_eval.py")
    assert len(find("evals", "evals/x_eval.py", str(root / "evals"))) == 1


# Cases


def test_a_case_is_selected(make, find):
    make("evals/x_eval.py")
    assert find("evals/x_eval.py::london")[0].selected_ids == ["london"]
    assert find("x_eval.py::a::b")[0].selected_ids == ["a::b"]


def test_cases_of_one_file_are_merged(make, find):
    make("evals/x_eval.py", "evals/y_eval.py")
    files = find("evals/x_eval.py::a", "evals/y_eval.py::c", "x_eval.py::b", "evals/x_eval.py::a")
    assert [file.selected_ids for file in files] == [["a", "b"], ["c"]]


@pytest.mark.parametrize("targets", [("evals/x_eval.py::a", "evals"), ("evals", "evals/x_eval.py::a")])
def test_a_file_named_without_a_case_is_run_whole(make, find, targets):
    make("evals/x_eval.py")
    assert find(*targets)[0].selected_ids is None


# Mistakes


def refusal(find, *targets, kind=DiscoveryError, **options):
    with pytest.raises(kind) as caught:
        find(*targets, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("evals/wether_eval.py", "Path not found: evals/wether_eval.py; did you mean 'evals/weather_eval.py'?"),
        ("evals/wether_eval.py::a", "Path not found: evals/wether_eval.py; did you mean 'evals/weather_eval.py'?"),
        ("weather_evals.py", "Path not found: weather_evals.py; did you mean 'weather_eval.py'?"),
        ("eval/", "Path not found: eval/; did you mean 'evals'?"),
        ("nowhere/at/all", "Path not found: nowhere/at/all"),
        ("", "Path not found: ''"),
        ("::a", "Path not found: '::a'"),
        ("evals::a", "evals is a folder, and '::' selects a case of a file"),
        ("evals/weather_eval.py::", "evals/weather_eval.py::: the id of a case is missing after '::'"),
        (
            "evals/confeval.py",
            "evals/confeval.py configures the evaluation of other files and holds no cases: name eval files",
        ),
        ("evals/data.csv", "evals/data.csv is no eval file: its name must end with .py or .json"),
        ("evals/weather_eval.py/x", "Path not found: evals/weather_eval.py/x"),
    ],
)
def test_a_target_that_cannot_be_meant(make, find, target, message):
    make("evals/weather_eval.py", "evals/confeval.py", "evals/data.csv")
    assert refusal(find, target) == message


def test_a_pipe_is_no_eval_file(make, find, root):
    make("evals/x_eval.py")
    os.mkfifo(root / "evals" / "pipe.py")
    assert refusal(find, "evals/pipe.py") == "evals/pipe.py is neither a file nor a folder"


def test_a_missing_eval_directory_is_told_with_what_to_do(find):
    told = refusal(find)
    assert told.startswith("Eval directory 'evals/' not found: ")
    assert "agentflow eval PATH" in told
    assert "agentflow init --prod" in told


def test_an_eval_directory_that_is_a_file_is_told(make, find):
    make("evals")
    assert refusal(find) == "Eval directory 'evals' is a file, and must be a folder of eval files"


def test_an_eval_directory_that_is_missing_does_not_matter_to_a_target(make, find):
    make("x_eval.py")
    assert labels(find("x_eval.py")) == ["x_eval.py"]


def test_a_folder_without_eval_files_is_no_cases(make, find):
    make("evals/helpers.py")
    told = refusal(find, kind=NoCasesError)
    assert told == "No eval cases found: no file in 'evals/' is named *_eval.py, eval_*.py or *.evalset.json"
    assert NoCasesError.exit_code is ExitCode.NO_CASES


def test_a_name_that_is_not_utf8_is_told(make, find, root):
    make("evals/x_eval.py")
    try:
        (root / "evals" / os.fsdecode(b"\xff_eval.py")).touch()
    except OSError:
        pytest.skip("this file system has no such names")
    assert "is not UTF-8" in refusal(find, kind=ValueError)
