"""What a Python caller hands over: an agent, a configuration, custom criteria, as pickles of ours."""

import sys
from pathlib import Path

import cloudpickle
import msgspec

from evalengine import wire
from evalengine.config import CriteriaConfig, CriterionConfig, EvalConfig
from evalengine.criteria.custom import criterion
from evalengine.results import Status

sys.path.insert(0, str(Path(__file__).parent))

from worker_peer import WorkerPeer, write_project

FILES = {
    "x.evalset.json": msgspec.json.encode(
        {
            "eval_set_id": "s",
            "eval_cases": [{"eval_id": "a", "conversation": [{"user_content": {"role": "user", "content": "hi"}}]}],
        }
    ).decode()
}


def pickled(value):
    """As a caller's script would pickle it: by value, since a worker cannot import this module."""
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    try:
        return cloudpickle.dumps(value)
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def test_a_closure_is_an_agent(tmp_path):
    greeting = "hello"
    peer = WorkerPeer(write_project(tmp_path, FILES), pickled_agent=pickled(lambda query: f"{greeting} {query}"))
    [result] = peer.run_file("x.evalset.json").values()
    peer.close()
    assert result.actual_response == "hello hi"


def test_the_callers_configuration_holds_for_every_file(tmp_path):
    @criterion(threshold=0.5)
    def short(execution, case):
        return len(execution.actual_response) < 3

    config = EvalConfig(
        criteria=CriteriaConfig(contains_keywords=CriterionConfig.contains_keywords(["hi"])), timeout=7
    )
    peer = WorkerPeer(
        write_project(tmp_path, FILES),
        pickled_agent=pickled(lambda query: query),
        given_config=msgspec.msgpack.encode(config.model_dump()),
        pickled_custom=pickled([short]),
    )
    loaded, cases = peer.load("x.evalset.json")
    [result] = peer.run(loaded, cases)
    peer.close()
    assert (loaded.spec.criteria_from, loaded.spec.timeout_s) == ("api", 7.0)
    assert [each.criterion for each in result.criterion_results] == ["contains_keywords", "short"]
    assert result.status is Status.PASSED


def test_what_cannot_be_rebuilt_is_an_error_of_the_file(tmp_path):
    peer = WorkerPeer(write_project(tmp_path, FILES), pickled_agent=b"no pickle")
    failed, _ = peer.load("x.evalset.json")
    peer.close()
    assert isinstance(failed, wire.FileFailed)
    assert failed.error.startswith("the agent handed over cannot be rebuilt in a worker process: UnpicklingError")
