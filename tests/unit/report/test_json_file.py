import json
import time

import msgspec
import pytest
import sample_run

from evalengine.errors import EngineError
from evalengine.report.json_file import write_json
from evalengine.results import EvalReport


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "report.json"
    write_json(path, sample_run.document(), sample_run.raw(sample_run.results()))
    return path


def test_the_results_stand_where_the_framework_puts_them(written):
    assert list(json.loads(written.read_bytes()))[:7] == [
        "eval_set_id",
        "eval_set_name",
        "results",
        "summary",
        "config_used",
        "timestamp",
        "metadata",
    ]


def test_a_report_is_read_back_as_it_was(written):
    report = msgspec.json.decode(written.read_bytes(), type=EvalReport)

    assert report.results == sample_run.results()
    assert report.summary.status_counts == sample_run.document().summary.status_counts


def test_the_counts_add_up_in_the_file(written):
    report = json.loads(written.read_bytes())

    assert (
        report["summary"]["planned"] == len(report["results"]) == sum(report["summary"]["status_counts"].values())
    )


def test_each_result_is_a_line(written):
    lines = written.read_text().splitlines()

    assert sum(line.startswith('{"eval_id"') for line in lines) == 7


def test_no_result_gives_a_document_too(tmp_path):
    write_json(tmp_path / "r.json", sample_run.document([]), [])

    assert json.loads((tmp_path / "r.json").read_bytes())["results"] == []


def test_results_are_taken_one_by_one(tmp_path):
    write_json(tmp_path / "r.json", sample_run.document([]), (b'{"n":%d}' % n for n in range(3)))

    assert json.loads((tmp_path / "r.json").read_bytes())["results"] == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_a_failure_leaves_the_old_report_and_nothing_else(tmp_path):
    path = tmp_path / "r.json"
    path.write_text("old")

    def results():
        yield b"{}"
        raise OSError(28, "No space left on device")

    with pytest.raises(EngineError, match=r"report not writable: .*r\.json: No space left on device"):
        write_json(path, sample_run.document([]), results())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interruption_leaves_no_temporary_file(tmp_path):
    def results():
        yield b"{}"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_json(tmp_path / "r.json", sample_run.document([]), results())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_is_named(tmp_path):
    with pytest.raises(EngineError, match="report not writable"):
        write_json(tmp_path / "gone" / "r.json", sample_run.document([]), [])


def test_a_value_that_is_no_plain_data_is_told_as_text(tmp_path):
    document = sample_run.document([])
    document.settings["root"] = {"value": tmp_path, "source": "default"}

    write_json(tmp_path / "r.json", document, [])

    assert json.loads((tmp_path / "r.json").read_bytes())["settings"]["root"]["value"] == str(tmp_path)


def test_ten_thousand_results_cost_no_more_than_reading_them(tmp_path):
    results = sample_run.raw(sample_run.results()[:1]) * 10_000
    start = time.process_time()
    write_json(tmp_path / "r.json", sample_run.document([]), results)
    writing = time.process_time() - start
    start = time.process_time()
    json.loads((tmp_path / "r.json").read_bytes())

    assert writing < time.process_time() - start
