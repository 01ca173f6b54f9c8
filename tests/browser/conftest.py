"""A browser for the session; where none is installed its tests are skipped, unless they are required."""

import os
import sys
from pathlib import Path

import pytest

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE), str(_HERE.parent / "unit" / "report")]

import sample_run  # noqa: E402
import webdriver  # noqa: E402

from evalengine.report.html_page import write_html  # noqa: E402


@pytest.fixture(scope="session")
def session_browser(tmp_path_factory):
    found = webdriver.find_browser()
    if found is None:
        reason = "needs chromium and chromedriver (Debian: apt-get install chromium chromium-driver)"
        if os.environ.get("EVALENGINE_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with webdriver.Browser(*found, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(session_browser):
    """Give the browser at a desktop's size; the page must not have made it complain."""
    session_browser.size(1280, 860)
    session_browser.prefer("light")
    session_browser.log()
    yield session_browser
    assert session_browser.log() == []


@pytest.fixture
def page(tmp_path):
    """Write a page of these results, and return its path."""

    def write(outcomes=None, **given):
        outcomes = sample_run.results() if outcomes is None else outcomes
        path = tmp_path / "report.html"
        write_html(path, sample_run.document(outcomes, **given), sample_run.raw(outcomes))
        return path

    return write
