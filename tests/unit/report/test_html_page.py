import base64
import hashlib
import json
import re
import zlib

import msgspec
import pytest
import sample_run

from evalengine.errors import EngineError
from evalengine.report import html_page
from evalengine.report.html_page import write_html
from evalengine.results import Status

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7*7 }}\u2028\u2029]]>&amp;"


def page(tmp_path, outcomes=None, document=None):
    outcomes = sample_run.results() if outcomes is None else outcomes
    path = tmp_path / "r.html"
    write_html(path, document or sample_run.document(outcomes), sample_run.raw(outcomes))
    return path.read_text("utf-8")


def rows_of(text):
    blocks = re.findall(r'<script type="application/json" class="rows">(.*?)</script>', text, re.DOTALL)
    return [row for block in blocks for row in json.loads(block)]


def cases_of(text):
    blocks = re.findall(r'<script type="text/plain" class="cases">(.*?)</script>', text, re.DOTALL)
    return [case for block in blocks for case in json.loads(zlib.decompress(base64.b64decode(block)))]


def test_each_result_is_in_the_page_whole(tmp_path):
    cases = cases_of(page(tmp_path))

    assert cases == [json.loads(result) for result in sample_run.raw(sample_run.results())]


def test_each_case_has_an_index_row_in_order(tmp_path):
    text = page(tmp_path)
    tables = json.loads(re.search(r'id="tables">(.*?)</script>', text, re.DOTALL)[1])
    rows = rows_of(text)

    assert [row[0] for row in rows] == [result.label for result in sample_run.results()]
    assert [tables["statuses"][row[1]] for row in rows] == [result.status for result in sample_run.results()]


def test_a_row_says_why_a_case_did_not_pass(tmp_path):
    rows = rows_of(page(tmp_path))

    assert rows[1][12] == "tool_trajectory_avg_score 0.00 < 1.00"
    assert rows[3][12] == "timed out after 5.0 s"


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 1000])
def test_blocks_lose_no_case(tmp_path, count):
    result = sample_run.results()[0]
    outcomes = [msgspec.structs.replace(result, label=f"a::{n}") for n in range(count)]
    text = page(tmp_path, outcomes)

    assert (
        [row[0] for row in rows_of(text)]
        == [case["label"] for case in cases_of(text)]
        == [f"a::{n}" for n in range(count)]
    )


def test_a_heavy_case_has_a_block_of_its_own(tmp_path):
    outcomes = [sample_run.case(n, f"a::{n}", Status.PASSED, output="x" * 1_000_000) for n in range(3)]

    assert page(tmp_path, outcomes).count('class="cases"') == 3


def test_nothing_a_stranger_wrote_is_markup(tmp_path):
    result = sample_run.case(
        0, f"a::{HOSTILE}", Status.FAILED, error=HOSTILE, output=HOSTILE, tags=[HOSTILE], name=HOSTILE
    )
    document = sample_run.document([result])
    document.eval_set_name = document.reason = document.root = document.status = HOSTILE
    document.notices = [HOSTILE]
    document.settings = {HOSTILE: {"value": HOSTILE, "source": HOSTILE}}
    document.file_errors[0].error = document.file_errors[0].file = document.file_errors[0].traceback = HOSTILE
    document.files[0].label = document.files[0].source = HOSTILE
    document.files[0].criteria = {HOSTILE: {"threshold": 1, "judge_model": HOSTILE, "keywords": [HOSTILE]}}
    document.workers[0].lost, document.workers[0].in_flight = HOSTILE, [HOSTILE]
    text = page(tmp_path, [result], document)

    assert "alert(1)</script>" not in text
    assert "<img" not in text
    assert "\u2028" not in text
    assert rows_of(text)[0][0] == f"a::{HOSTILE}"


def test_the_policy_allows_the_one_script_and_the_one_style(tmp_path):
    text = page(tmp_path)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1].replace("&#39;", "'")
    digests = [
        f"'sha256-{base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()}'"
        for body in re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", text, re.DOTALL)
    ]

    assert len(digests) == 2
    assert all(digest in policy for digest in digests)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_page_asks_the_network_for_nothing(tmp_path):
    text = page(tmp_path, [])

    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#)""", text)
    assert "url(" not in text
    assert "@import" not in text


def test_the_page_without_data_is_small(tmp_path):
    assert len(page(tmp_path, [])) < 150_000


def test_the_numbers_are_those_of_the_document(tmp_path):
    text = page(tmp_path)

    assert "16.7%" in text
    assert "1 of 6" in text


def test_a_failure_leaves_the_old_page_and_nothing_else(tmp_path):
    (tmp_path / "r.html").write_text("old")

    def results():
        yield sample_run.raw(sample_run.results())[0]
        raise OSError(28, "No space left on device")

    with pytest.raises(EngineError, match="No space left on device"):
        write_html(tmp_path / "r.html", sample_run.document([]), results())
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_lone_surrogates_do_not_stop_the_page(tmp_path):
    document = sample_run.document([])
    document.notices = ["\ud800"]

    assert "\\ud800" in page(tmp_path, [], document)


def test_a_broken_template_is_an_error_of_the_page_alone(tmp_path, monkeypatch):
    (tmp_path / "page.html").write_text("{{ nothing.of.that }}")
    for name in ("page.css", *html_page._SCRIPTS):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(html_page, "_FOLDER", tmp_path)
    (tmp_path / "out").mkdir()

    with pytest.raises(EngineError, match="HTML report not made"):
        page(tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
