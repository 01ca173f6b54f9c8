"""Configuration: names of criteria, constructors, files."""

import json

import pytest

from evalengine.config import (
    FRAMEWORK_DEFAULT_MODEL,
    REPORTED_NAMES,
    CriteriaConfig,
    CriterionConfig,
    EvalConfig,
    MatchType,
    Rubric,
    UserSimulatorConfig,
    criterion_name,
    default_criteria,
    field_name,
)
from evalengine.errors import ConfigurationError


@pytest.mark.parametrize(("field", "reported"), REPORTED_NAMES.items())
def test_field_and_reported_name_mean_the_same(field, reported):
    assert field_name(field) == field_name(reported) == field


@pytest.mark.parametrize(
    ("older", "field"),
    [("trajectory_match", "trajectory"), ("hallucinations", "hallucination"), ("safety_score", "safety")],
)
def test_older_names_are_known(older, field):
    assert field_name(older) == field


def test_an_unknown_criterion_names_the_nearest():
    with pytest.raises(ConfigurationError, match="did you mean 'rouge_match'"):
        field_name("rouge_mach")


def test_criteria_take_any_name_as_a_keyword():
    criteria = CriteriaConfig(tool_trajectory_avg_score=CriterionConfig(threshold=0.3))
    assert criteria.trajectory.threshold == 0.3


def test_criteria_take_mappings():
    assert CriteriaConfig(rouge_match={"threshold": 0.3}).rouge_match == CriterionConfig(threshold=0.3)


def test_criteria_of_an_unknown_name_are_refused():
    with pytest.raises(ConfigurationError, match="unknown criterion"):
        CriteriaConfig(rouge_mach=CriterionConfig())


def test_enabled_yields_what_is_set_and_not_disabled_in_running_order():
    criteria = CriteriaConfig(
        rouge_match=CriterionConfig(),
        tool_name_match=CriterionConfig(),
        trajectory=CriterionConfig(enabled=False),
    )
    assert [field for field, _ in criteria.enabled()] == ["tool_name_match", "rouge_match"]


def test_a_dump_gives_custom_criteria_by_name():
    def kind(execution, case):
        return True

    assert CriteriaConfig(custom=[kind]).model_dump()["custom"] == ["kind"]


def test_a_custom_criterion_is_named_by_its_name_else_by_its_code():
    class Named:
        name = "own"

    assert criterion_name(Named()) == "own"
    assert criterion_name(object()) == "object"


def test_no_constructor_names_a_judge_model():
    configs = [
        CriterionConfig.response_match(),
        CriterionConfig.llm_judge(),
        CriterionConfig.safety(),
        CriterionConfig.rubric_based([Rubric.create("r", "c")]),
    ]
    assert {config.judge_model for config in configs} == {None}


@pytest.mark.parametrize(
    ("config", "threshold"),
    [
        (CriterionConfig.tool_name_match(), 1.0),
        (CriterionConfig.trajectory(), 1.0),
        (CriterionConfig.node_order(), 1.0),
        (CriterionConfig.response_match(), 0.8),
        (CriterionConfig.rouge_match(), 0.5),
        (CriterionConfig.contains_keywords(["k"]), 1.0),
        (CriterionConfig.exact_match(), 1.0),
        (CriterionConfig.llm_judge(), 0.8),
        (CriterionConfig.factual_accuracy(), 0.8),
        (CriterionConfig.hallucination(), 0.8),
        (CriterionConfig.simulation_goals(), 0.8),
    ],
)
def test_constructors_have_the_frameworks_thresholds(config, threshold):
    assert config.threshold == threshold


def test_a_config_leaves_limits_unset():
    config = EvalConfig()
    assert (config.timeout, config.max_concurrency, config.parallel) == (None, None, None)


def test_a_config_takes_criteria_as_a_mapping_of_any_names():
    config = EvalConfig(criteria={"rouge_match": {"threshold": 0.1}, "node_order_score": CriterionConfig()})
    assert [field for field, _ in config.criteria.enabled()] == ["node_order", "rouge_match"]


def test_a_config_reads_back_what_it_wrote(tmp_path):
    config = EvalConfig.strict()
    config.timeout = 7.5
    config.user_simulator_config = UserSimulatorConfig(model="m")
    config.to_file(tmp_path / "c.json")
    assert EvalConfig.from_file(tmp_path / "c.json") == config


@pytest.mark.parametrize(
    "content", ["{", json.dumps({"criteria": {"rouge_mach": {}}}), json.dumps({"timeout": "x"})]
)
def test_a_broken_file_is_named(tmp_path, content):
    path = tmp_path / "broken.json"
    path.write_text(content)
    with pytest.raises(ConfigurationError, match=r"broken\.json"):
        EvalConfig.from_file(path)


def test_criteria_are_enabled_and_disabled_by_any_name():
    config = EvalConfig()
    config.enable_criterion("tool_trajectory_avg_score", CriterionConfig(threshold=0.4))
    assert config.get_criterion_config("trajectory").threshold == 0.4
    config.disable_criterion("trajectory_match")
    assert list(config.criteria.enabled()) == []


def test_rubrics_are_added_to_a_copy():
    config = EvalConfig.default()
    judged = config.with_rubrics([Rubric.create("r", "c")])
    assert judged.criteria.rubric_based.rubrics[0].rubric_id == "r"
    assert config.criteria.rubric_based is None
    assert judged.criteria.trajectory == config.criteria.trajectory


def test_relaxed_takes_tools_in_order():
    assert EvalConfig.relaxed().criteria.trajectory.match_type is MatchType.IN_ORDER


def test_the_built_in_criteria_are_three_at_sixty_percent():
    found = {field: (config.threshold, config.match_type) for field, config in default_criteria().enabled()}
    assert found == {
        "tool_name_match": (0.6, "ANY_ORDER"),
        "node_order": (0.6, "IN_ORDER"),
        "response_match": (0.6, "ANY_ORDER"),
    }


def test_the_frameworks_default_model_is_the_bare_name():
    assert "/" not in FRAMEWORK_DEFAULT_MODEL
