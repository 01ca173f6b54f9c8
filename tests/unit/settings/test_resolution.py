"""Priorities, sources, folders and notices of settings."""

import json
import math
import os

import pytest

from evalengine.errors import ConfigurationError, DiscoveryError, EngineError, ExitCode
from evalengine.settings import CommandLine, RunSettings, resolution, resolve


@pytest.fixture
def project(tmp_path):
    """Resolve settings in a project: ``project({...agentflow.json...}, environ={...}, **command_line)``."""

    def project(document=None, *, cwd=tmp_path, environ=None, **given):
        if document is not None:
            (tmp_path / "agentflow.json").write_text(json.dumps(document))
        return resolve(CommandLine(**given), cwd, environ or {})

    return project


@pytest.fixture(autouse=True)
def _eight_cores(monkeypatch):
    monkeypatch.setattr(resolution, "usable_cores", lambda: 8)


def test_without_a_project_the_working_directory_is_the_root(project, tmp_path):
    settings = project()
    assert (settings.root, settings.config_path, settings.agent) == (tmp_path, None, None)
    assert settings.eval_dir == tmp_path / "evals"
    assert settings.output_dir == tmp_path / "eval_reports"


def test_the_defaults(project):
    settings = project()
    assert not settings.parallel
    assert (settings.workers, settings.max_concurrency) == (1, 1)
    assert (settings.threshold, settings.timeout_s, settings.max_failures) == (None, None, None)
    assert settings.report
    assert settings.timestamp_files
    assert set(settings.sources.values()) == {"default"}
    assert settings.notices == []


def test_the_root_is_the_folder_of_agentflow_json(project, tmp_path):
    inner = tmp_path / "deep" / "er"
    inner.mkdir(parents=True)
    settings = project({"evaluation": {"directory": "my/evals", "output_dir": "out"}}, cwd=inner)
    assert settings.root == tmp_path
    assert settings.eval_dir == tmp_path / "my" / "evals"
    assert settings.output_dir == tmp_path / "out"
    assert settings.agent_source == str(tmp_path / "agentflow.json")


def test_an_output_folder_of_the_command_line_is_relative_to_where_it_was_typed(project, tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    assert project({}, cwd=inner, output="out").output_dir == inner / "out"
    assert project({}, cwd=inner, output=str(tmp_path / "abs")).output_dir == tmp_path / "abs"


# Priority and sources


def test_a_flag_wins_over_agentflow_json(project):
    settings = project({"evaluation": {"threshold": 0.5}}, threshold=0.9)
    assert settings.threshold == 0.9
    assert settings.sources["threshold"] == "command line"


def test_agentflow_json_wins_over_the_default(project):
    settings = project({"evaluation": {"threshold": 0.5, "timeout": 20}})
    assert (settings.threshold, settings.timeout_s) == (0.5, 20)
    assert settings.sources["timeout_s"] == "agentflow.json"


def test_a_flag_that_equals_the_default_still_wins(project):
    settings = project({"evaluation": {"parallel": True, "max_concurrency": 9}}, max_concurrency=4)
    assert settings.max_concurrency == 4
    assert settings.sources["max_concurrency"] == "command line"


@pytest.mark.parametrize("field", ["parallel", "report", "timestamp_files", "fail_on_any"])
def test_a_switch_can_be_turned_off_again(project, field):
    settings = project({"evaluation": {field: True}}, **{field: False})
    assert getattr(settings, field) is False
    assert settings.sources[field] == "command line"


def test_every_source_names_a_field(project):
    settings = project({}, shuffle=True, parallel=True)
    assert settings.sources.keys() <= set(RunSettings.__struct_fields__)
    json.dumps(settings.described())
    assert settings.described()["parallel"] == {"value": True, "source": "command line"}


@pytest.mark.parametrize(
    ("flag", "in_project", "environ", "model", "source"),
    [
        ("flag", "json", "env", "flag", "command line"),
        (None, "json", "env", "json", "agentflow.json"),
        (None, None, "env", "env", "environment"),
        (None, None, " ", None, "default"),
        (None, None, None, None, "default"),
    ],
)
def test_the_judge_model(project, flag, in_project, environ, model, source):
    variables = {} if environ is None else {"EVALENGINE_JUDGE_MODEL": environ}
    settings = project({"judge_model": in_project}, environ=variables, judge_model=flag)
    assert settings.judge_model == model
    assert settings.sources["judge_model"] == source


# Concurrency


def test_parallel_takes_the_usable_cores_within_the_budget(project):
    settings = project(parallel=True)
    assert (settings.workers, settings.max_concurrency) == (4, 4)
    settings = project(parallel=True, max_concurrency=20)
    assert (settings.workers, settings.max_concurrency) == (8, 20)


def test_workers_beyond_the_budget_are_lowered_and_told(project):
    settings = project(parallel=True, max_concurrency=2, workers=5)
    assert settings.workers == 2
    assert settings.notices == [
        "2 workers instead of 5: no more than the budget of cases in flight (--max-concurrency)"
    ]


def test_flags_without_effect_give_one_notice(project):
    settings = project(max_concurrency=8, workers=2)
    assert (settings.workers, settings.max_concurrency) == (1, 1)
    assert settings.notices == ["--max-concurrency and --workers have no effect without --parallel"]


def test_the_documents_own_agentflow_json_gives_no_notice(project):
    assert project({"evaluation": {"parallel": False, "max_concurrency": 4}}).notices == []


# In the coordinator's own process


def test_without_isolation_one_case_runs_at_a_time_without_limits_or_a_bar(project):
    document = {"evaluation": {"isolation": "none", "parallel": True, "max_concurrency": 8, "timeout": 5}}
    settings = project(document)
    assert settings.in_process
    assert (settings.parallel, settings.workers, settings.max_concurrency) == (False, 1, 1)
    assert (settings.timeout_s, settings.run_timeout_s, settings.import_timeout_s) == (None, None, math.inf)
    assert settings.progress is False
    assert settings.notices == []


def test_flags_that_have_no_effect_without_isolation_are_told(project):
    settings = project(isolation="none", parallel=True, workers=2, max_concurrency=3, timeout=4, run_timeout=5)
    flags = "--parallel, --max-concurrency, --workers, --timeout and --run-timeout"
    assert settings.notices == [f"{flags} have no effect with --isolation none"]


@pytest.mark.parametrize(("given", "flag"), [({"progress": True}, "--progress"), ({"timeout": 1}, "--timeout")])
def test_one_flag_that_has_no_effect_without_isolation_is_told(project, given, flag):
    assert project(isolation="none", **given).notices == [f"{flag} has no effect with --isolation none"]


def test_saying_no_to_what_has_no_effect_is_no_mistake(project):
    assert project(isolation="none", parallel=False, progress=False).notices == []


def test_the_kind_of_isolation_has_a_source(project):
    document = {"evaluation": {"isolation": "case"}}
    assert project(document).sources["isolation"] == "agentflow.json"
    settings = project(document, isolation="none")
    assert (settings.isolation, settings.sources["isolation"]) == ("none", "command line")


def test_with_a_process_for_each_case_there_are_as_many_as_the_budget(project):
    assert project(isolation="case", parallel=True, max_concurrency=20).workers == 20
    assert project(isolation="case", parallel=True, max_concurrency=20, workers=3).workers == 3


# Stopping early


@pytest.mark.parametrize(
    ("in_project", "given", "most", "source"),
    [
        ({}, {"fail_fast": True}, 1, "command line"),
        ({}, {"max_failures": 3}, 3, "command line"),
        ({}, {"fail_fast": True, "max_failures": 1}, 1, "command line"),
        ({"max_failures": 5}, {}, 5, "agentflow.json"),
        ({"fail_fast": True}, {}, 1, "agentflow.json"),
        ({"max_failures": 5}, {"fail_fast": True}, 1, "command line"),
        ({"fail_fast": True}, {"max_failures": 5}, 5, "command line"),
        ({"fail_fast": True}, {"fail_fast": False}, None, "command line"),
        ({"fail_fast": False}, {}, None, "agentflow.json"),
        ({}, {}, None, "default"),
    ],
)
def test_when_a_run_stops_early(project, in_project, given, most, source):
    settings = project({"evaluation": in_project}, **given)
    assert settings.max_failures == most
    assert settings.sources["max_failures"] == source


@pytest.mark.parametrize("where", ["command line", "agentflow.json"])
def test_fail_fast_and_more_failures_contradict_each_other(project, where):
    both = {"fail_fast": True, "max_failures": 3}
    given = both if where == "command line" else {}
    with pytest.raises(ConfigurationError, match=r"max-failures 3 contradict each other \(" + where):
        project({"evaluation": {} if given else both}, **given)


# Order


def test_a_drawn_seed_is_told(project):
    settings = project(shuffle=True)
    assert settings.shuffle_seed is not None
    assert settings.notices == [f"order drawn with --shuffle {settings.shuffle_seed}, which repeats it"]


def test_a_given_seed_is_kept(project):
    assert project(shuffle_seed=0).shuffle_seed == 0


def test_a_bad_expression_is_told_before_anything_runs(project):
    with pytest.raises(ConfigurationError, match="at column 6"):
        project(keyword="a and")


# Colour


@pytest.mark.parametrize(
    ("flag", "environ", "color"),
    [
        (None, {}, None),
        (None, {"NO_COLOR": "1"}, False),
        (None, {"NO_COLOR": ""}, None),
        (None, {"FORCE_COLOR": "1"}, True),
        (None, {"FORCE_COLOR": "0"}, None),
        (None, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (None, {"TERM": "dumb"}, False),
        ("auto", {"NO_COLOR": "1"}, None),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour(project, flag, environ, color):
    assert project(color=flag, environ=environ).color is color


# Files


def test_confeval_stands_next_to_agentflow_json_else_in_the_eval_directory(project, tmp_path):
    assert project({}).confeval is None
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "confeval.py").touch()
    assert project({}).confeval == tmp_path / "evals" / "confeval.py"
    (tmp_path / "confeval.py").touch()
    assert project({}).confeval == tmp_path / "confeval.py"


def test_the_env_file_is_relative_to_the_root(project, tmp_path):
    (tmp_path / ".env").touch()
    assert project({"env": ".env"}).env_file == tmp_path / ".env"


def test_a_missing_env_file_is_told_and_no_obstacle(project):
    settings = project({"env": ".env"})
    assert settings.env_file is None
    assert settings.notices == ["env file '.env' (agentflow.json) does not exist: no variables are loaded from it"]


def test_an_env_file_that_is_a_folder_is_refused(project, tmp_path):
    (tmp_path / "vars").mkdir()
    with pytest.raises(ConfigurationError, match="it is a folder, and must be a file"):
        project({"env": "vars"})


def test_an_unreadable_env_file_is_refused(project, tmp_path, monkeypatch):
    (tmp_path / ".env").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.R_OK)
    with pytest.raises(DiscoveryError, match="cannot be read"):
        project({"env": ".env"})


# Reports


@pytest.mark.parametrize("output", ["taken", "taken/reports"])
def test_an_output_folder_that_is_a_file_is_refused(project, tmp_path, output):
    (tmp_path / "taken").touch()
    with pytest.raises(ConfigurationError) as caught:
        project(output=output)
    assert str(caught.value) == (
        f"output folder '{output}' (command line): 'taken' is a file; name a folder, or use --no-report"
    )


def test_an_output_folder_that_is_not_writable_ends_before_the_run(project, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    with pytest.raises(EngineError, match="'eval_reports' \\(default\\) is not writable") as caught:
        project()
    assert caught.value.exit_code is ExitCode.ENGINE_FAILED


@pytest.mark.parametrize("given", [{"report": False}, {"collect_only": True}])
def test_no_report_needs_no_output_folder(project, tmp_path, given):
    (tmp_path / "taken").touch()
    project(output="taken", **given)


def test_nothing_is_created(project, tmp_path):
    project(output="a/b/c")
    assert list(tmp_path.iterdir()) == []


def test_open_without_a_report_is_told(project):
    assert project(report=False, open_report=True).notices == [
        "--open has no effect with --no-report: no report is written"
    ]


# A Python caller


def test_a_python_caller_has_no_project(tmp_path):
    (tmp_path / "agentflow.json").write_text("{")
    (tmp_path / "confeval.py").touch()
    settings = resolve(CommandLine(threshold=1), tmp_path, {}, read_project=False)
    assert (settings.config_path, settings.confeval) == (None, None)
    assert settings.sources["threshold"] == "argument"


def test_a_python_callers_mistake_is_told_in_its_words(tmp_path):
    with pytest.raises(ConfigurationError, match=r"^timeout is -1 \(argument\)"):
        resolve(CommandLine(timeout=-1), tmp_path, {}, read_project=False)
