"""agentflow.json: what is read of it, and how mistakes in it are told."""

import json

import pytest

from evalengine.errors import ConfigurationError, DiscoveryError
from evalengine.settings.project_file import find, read


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "agentflow.json"
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


def refusal(path, kind=ConfigurationError):
    with pytest.raises(kind) as caught:
        read(path, "agentflow.json")
    return str(caught.value)


def test_the_nearest_file_up_the_folders_is_found(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "agentflow.json").write_text("{}")
    assert find(inner) == tmp_path / "agentflow.json"
    (tmp_path / "a" / "agentflow.json").write_text("{}")
    assert find(inner) == tmp_path / "a" / "agentflow.json"


def test_the_reference_documents_file_is_read(write):
    file = read(
        write(
            {
                "agent": "graph.agent:app",
                "evaluation": {
                    "directory": "evals",
                    "output_dir": "eval_reports",
                    "threshold": 0.75,
                    "parallel": False,
                    "max_concurrency": 4,
                    "timestamp_files": True,
                },
            }
        ),
        "agentflow.json",
    )
    assert file.agent == "graph.agent:app"
    assert file.values == {
        "eval_dir": "evals",
        "output_dir": "eval_reports",
        "threshold": 0.75,
        "parallel": False,
        "max_concurrency": 4,
        "timestamp_files": True,
    }
    assert file.notices == []


def test_keys_of_other_tools_are_left_alone(write):
    file = read(write({"auth": {"method": "jwt"}, "redis": None, "evals": 3, "store": "s:t"}), "agentflow.json")
    assert file.notices == []
    assert file.values == {}


def test_a_key_that_looks_like_ours_misspelt_is_pointed_at(write):
    file = read(write({"evalution": {"threshold": 1}}), "agentflow.json")
    assert file.notices == ["agentflow.json: nothing reads 'evalution'; did you mean 'evaluation'?"]


def test_judge_model_and_sync_agents_may_stand_at_the_top(write):
    file = read(write({"judge_model": "m", "sync_agents": "serial"}), "agentflow.json")
    assert file.values == {"judge_model": "m", "sync_agents": "serial"}


def test_the_evaluation_section_wins_over_the_top(write):
    file = read(write({"judge_model": "top", "evaluation": {"judge_model": "section"}}), "agentflow.json")
    assert file.values == {"judge_model": "section"}


def test_null_means_not_set(write):
    file = read(write({"agent": None, "env": None, "evaluation": {"threshold": None}}), "agentflow.json")
    assert (file.agent, file.env, file.values) == (None, None, {})


def test_a_byte_order_mark_is_no_harm(write):
    assert read(write(b'\xef\xbb\xbf{"agent": "a:b"}'), "agentflow.json").agent == "a:b"


@pytest.mark.parametrize(
    "agent", ["graph.agent:app", "agent:Class.make", "http://localhost:8000/run", "https://x.example/agent"]
)
def test_an_agent_is_a_module_with_attribute_or_a_url(write, agent):
    assert read(write({"agent": agent}), "agentflow.json").agent == agent


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1,\n "b" 2}', "agentflow.json is not JSON: expected ':' at line 2, column 6"),
        ('{"a": 1,\n "b"', "agentflow.json is not JSON: it ends too early at line 2, column 5"),
        ("", "agentflow.json is not JSON: it ends too early at line 1, column 1"),
        (b'{"a": "\xff"}', "agentflow.json is not JSON: not UTF-8 at line 1, column 8"),
        ("[1]", "agentflow.json must hold an object, not a list"),
        ('"x"', 'agentflow.json must hold an object, not "x"'),
        ("[" * 100_000, "agentflow.json is not JSON that can be meant: nested too deep"),
        ({"agent": 3}, "agent is 3 (agentflow.json): must be a string"),
        ({"agent": ""}, 'agent is "" (agentflow.json): must be a string'),
        (
            {"agent": "./graph/agent.py:app"},
            (
                "agent is \"./graph/agent.py:app\" (agentflow.json): must be 'module:attribute' or a URL; "
                "did you mean 'graph.agent:app'?"
            ),
        ),
        (
            {"agent": "graph.agent"},
            (
                "agent is \"graph.agent\" (agentflow.json): must be 'module:attribute' or a URL; "
                "did you mean 'graph.agent:app'?"
            ),
        ),
        (
            {"agent_factory": "http://x"},
            "agent_factory is \"http://x\" (agentflow.json): must be 'module:attribute'",
        ),
        (
            {"agent": "a:b", "agent_factory": "a:c"},
            "agent and agent_factory are both set (agentflow.json): keep one of them",
        ),
        ({"env": ["x"]}, "env is a list (agentflow.json): must be a string"),
        ({"evaluation": []}, "evaluation is a list (agentflow.json): must be an object"),
        (
            {"evaluation": {"treshold": 1}},
            "evaluation.treshold (agentflow.json) is no setting; did you mean 'threshold'?",
        ),
        (
            {"evaluation": {"threshold": 80}},
            "evaluation.threshold is 80 (agentflow.json): must be between 0 and 1; did you mean 0.8?",
        ),
        ({"sync_agents": 1}, "sync_agents is 1 (agentflow.json): must be 'threads' or 'serial'"),
    ],
)
def test_a_mistake_is_told(write, content, message):
    told = refusal(write(content))
    assert told == message
    assert "\n" not in told


def test_an_unknown_key_that_is_like_none_lists_them_all(write):
    told = refusal(write({"evaluation": {"zzz": 1}}))
    assert "known: directory, output_dir, threshold" in told


def test_a_folder_of_that_name_cannot_be_read(tmp_path):
    (tmp_path / "agentflow.json").mkdir()
    assert find(tmp_path) is not None
    assert refusal(tmp_path / "agentflow.json", DiscoveryError) == "agentflow.json cannot be read: Is a directory"
