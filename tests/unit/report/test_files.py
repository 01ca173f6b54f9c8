from datetime import datetime

import pytest

from evalengine.errors import EngineError
from evalengine.report.files import release, report_name, report_paths, safe_name

WHEN = datetime(2026, 5, 13, 14, 23, 1)  # noqa: DTZ001 - local time is what stands in names


def test_a_name_has_the_set_and_the_local_time(tmp_path):
    html, json = report_paths(tmp_path, "weather-agent-regression", WHEN, timestamped=True)

    assert html == tmp_path / "weather-agent-regression_20260513_142301.html"
    assert json == tmp_path / "weather-agent-regression_20260513_142301.json"


def test_a_taken_name_gets_a_number(tmp_path):
    first = report_paths(tmp_path, "a", WHEN, timestamped=True)
    second = report_paths(tmp_path, "a", WHEN, timestamped=True)
    third = report_paths(tmp_path, "a", WHEN, timestamped=True)

    assert [path.name for path in (*second, *third)] == [
        "a_20260513_142301_2.html",
        "a_20260513_142301_2.json",
        "a_20260513_142301_3.html",
        "a_20260513_142301_3.json",
    ]
    assert all(path.exists() for path in first)


def test_a_pair_is_free_only_where_both_are(tmp_path):
    (tmp_path / "a_20260513_142301.json").write_text("another run's")

    html, _json = report_paths(tmp_path, "a", WHEN, timestamped=True)

    assert html.name == "a_20260513_142301_2.html"
    assert not (tmp_path / "a_20260513_142301.html").exists()


def test_without_timestamp_the_name_is_plain(tmp_path):
    assert report_paths(tmp_path / "new", "a", WHEN, timestamped=False) == (
        tmp_path / "new" / "a.html",
        tmp_path / "new" / "a.json",
    )


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(EngineError, match=r"report not writable: .*file"):
        report_paths(tmp_path / "file" / "reports", "a", WHEN, timestamped=True)


def test_reserved_names_are_given_back_unless_written(tmp_path):
    html, json = report_paths(tmp_path, "a", WHEN, timestamped=True)
    json.write_text("{}")

    release([html, json])

    assert [path.name for path in tmp_path.iterdir()] == [json.name]


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("../../etc/passwd", "etc_passwd"),
        ("a/b\\c:d", "a_b_c_d"),
        (".hidden", "hidden"),
        ("..", "eval"),
        ("", "eval"),
        ("x\n\x1b[31m\u202ey", "x_31m_y"),
        ("Wetter für Zürich", "Wetter_für_Zürich"),
        ("天気 予報", "天気_予報"),
        ("CON", "_CON"),
        ("nul.txt", "_nul.txt"),
        ("a\x00b", "a_b"),
        ("trailing. ", "trailing"),
    ],
)
def test_a_name_is_one_path_component(name, safe):
    assert safe_name(name) == safe


@pytest.mark.parametrize("name", ["a" * 300, "天" * 300, "." * 300])
def test_a_name_has_at_most_a_hundred_bytes(name):
    assert 0 < len(safe_name(name).encode()) <= 100


def test_one_set_names_the_report_and_several_do_not():
    assert report_name(["weather", "weather"]) == "weather"
    assert report_name(["weather", "booking"]) == "combined_eval"
    assert report_name([]) == "combined_eval"
