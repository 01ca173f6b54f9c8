"""What a person does with the report, in a real browser."""

import msgspec
import pytest
import sample_run
from webdriver import ARROW_DOWN, ARROW_RIGHT, ENTER, ESCAPE, TAB

from evalengine.cases import ToolCall
from evalengine.results import CriterionResult, Status, TurnResult

LABELS = "return [...document.querySelectorAll('.row .label bdi')].map(node => node.textContent)"
DETAIL = "return document.querySelector('.detail-body section') && document.getElementById('detail').innerText"
FOCUS = "return document.activeElement.closest('.row')?.querySelector('.label bdi').textContent"
TITLE = "return document.querySelector('#detail-title')?.textContent"


def many(count):
    passed, failed = sample_run.results()[:2]
    return [
        msgspec.structs.replace(
            failed if n % 10 == 3 else passed, label=f"f{n % 4}_eval.py::case_{n}", file=f"f{n % 4}_eval.py"
        )
        for n in range(count)
    ]


def test_every_case_has_a_row_with_its_status(browser, page):
    browser.open(page())

    assert browser.run(LABELS) == [result.label for result in sample_run.results()]
    pills = browser.run("return [...document.querySelectorAll('.row .pill')].map(node => node.textContent)")
    assert pills == ["passed", "failed", "error", "timeout", "crashed", "skipped", "not run"]


def test_only_what_can_be_seen_is_made(browser, page):
    browser.open(page(many(3000)))

    assert browser.run("return document.querySelectorAll('.row').length") < 100
    assert browser.text(".shown") == "3,000 cases"


def test_the_end_of_a_long_list_can_be_reached(browser, page):
    browser.open(page(many(3000)))

    browser.run("window.scrollTo(0, document.body.scrollHeight)")

    assert browser.wait(
        "return [...document.querySelectorAll('.row .place')].some(node => node.textContent === '3000')"
    )


def test_a_status_filters(browser, page):
    browser.open(page())

    browser.click(".chip.failed")
    assert browser.run(LABELS) == ["booking_eval.py::book_wrong_city"]
    browser.click(".chip.error")
    assert len(browser.run(LABELS)) == 2
    browser.click(".chip.failed")
    browser.click(".chip.error")
    assert len(browser.run(LABELS)) == 7


@pytest.mark.parametrize(
    ("title", "choice", "count"),
    [("File", "booking_eval.py", 4), ("Tag", "smoke", 1), ("Failed criterion", "response_match_score", 1)],
)
def test_a_choice_filters(browser, page, title, choice, count):
    browser.open(page())

    browser.run(
        "const select = document.querySelector(`select[aria-label='${arguments[0]}']`);"
        "select.value = [...select.options].find(option => option.text === arguments[1]).value;"
        "select.dispatchEvent(new Event('change'));",
        title,
        choice,
    )

    assert len(browser.run(LABELS)) == count


def test_search_finds_by_label_tag_and_reason(browser, page):
    browser.open(page())
    for needle, label in [
        ("LONDON", "weather_eval.py::weather_london"),
        ("booking", "booking_eval.py::book_wrong_city"),
        ("sigsegv", "booking_eval.py::kills_itself"),
    ]:
        browser.press(f"/{needle}")
        browser.wait("return document.querySelector('.shown').textContent.includes(' of ')")
        assert label in browser.run(LABELS)
        browser.run(
            "const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input'))"
        )
        browser.wait("return document.querySelector('.shown').textContent === '7 cases'")
        browser.press(ESCAPE)


def test_a_case_opens_with_expected_against_actual(browser, page):
    browser.open(page())

    browser.click("li:nth-child(2) .row")
    text = browser.wait(DETAIL)

    assert "0.00 < 1.00" in text
    assert 'book_flight(to="Paris")' in text
    assert 'book_flight(to="London")' in text
    assert "step 13" in text
    marked = browser.run("return [...document.querySelectorAll('#detail mark')].map(node => node.textContent)")
    assert marked == ["Paris", "booked", "London", "confirmed"]


def test_a_passed_case_tells_what_did_not_apply_and_what_it_left(browser, page):
    browser.open(page())

    browser.click("li:nth-child(1) .row")
    text = browser.wait(DETAIL)

    assert "no node order is expected" in text
    assert "1 task was left running" in text
    assert "looking up London" in text
    assert "1,000" in text


def test_an_error_shows_its_traceback(browser, page):
    browser.open(page())

    browser.click("li:nth-child(3) .row")

    assert "raise ValueError(city)" in browser.wait(DETAIL)


def test_the_whole_record_is_made_when_asked_for(browser, page):
    browser.open(page())
    browser.click("li:nth-child(2) .row")
    browser.wait(DETAIL)

    browser.run("document.querySelector('.detail-body > details:last-child > summary').click()")

    assert browser.wait(
        "return document.querySelector('.detail-body > details:last-child pre')?.textContent.includes('\"eval_id\"')"
    )


def test_turns_of_a_conversation_are_told_apart(browser, page):
    result = sample_run.case(
        0,
        "a::b",
        Status.FAILED,
        criterion_results=[CriterionResult.success("response_match_score", 0.5, 1.0)],
        expected=[{"user_input": "first?", "response": "one"}, {"user_input": "second?", "response": "two"}],
        turn_results=[
            TurnResult(
                turn_index=0, user_input="first?", agent_response="one", tool_calls=[ToolCall(name="look_up")]
            ),
            TurnResult(turn_index=1, user_input="second?", agent_response="three"),
        ],
    )
    browser.open(page([result]))

    browser.click(".row")
    text = browser.wait(DETAIL)

    assert (
        text.index("Turn 1")
        < text.index("first?")
        < text.index("look_up")
        < text.index("Turn 2")
        < text.index("three")
    )


def test_keys_walk_open_and_close(browser, page):
    browser.open(page())

    browser.press("jj")
    assert browser.run(FOCUS) == "booking_eval.py::book_wrong_city"
    browser.press("k")
    assert browser.run(FOCUS) == "weather_eval.py::weather_london"
    browser.press(ARROW_DOWN + ENTER)
    browser.wait(DETAIL)
    assert browser.run(TITLE) == "booking_eval.py::book_wrong_city"
    browser.press("j")
    browser.wait("return document.querySelector('#detail-title').textContent.endsWith('agent_raises')")
    browser.press(ESCAPE)
    assert browser.run("return document.getElementById('detail').hidden")
    assert browser.run(FOCUS) == "booking_eval.py::agent_raises"


def test_the_first_tab_key_offers_the_cases(browser, page):
    browser.open(page())

    browser.press(TAB)

    assert browser.run("return document.activeElement.textContent") == "Skip to the cases"


def test_tabs_are_walked_by_arrows(browser, page):
    browser.open(page())

    browser.run("document.getElementById('tab-cases').focus()")
    browser.press(ARROW_RIGHT)

    assert "tool_trajectory_avg_score" in browser.text("#criteria")
    assert browser.run("return document.getElementById('cases').hidden")


def test_a_link_opens_its_case(browser, page):
    browser.open(page(), "#case=booking_eval.py%3A%3Ahangs")

    assert "timed out after 5.0 s" in browser.wait(DETAIL)


def test_an_open_case_is_in_the_address(browser, page):
    browser.open(page())

    browser.click("li:nth-child(4) .row")
    browser.wait(DETAIL)

    assert browser.run("return location.hash") == "#case=booking_eval.py%3A%3Ahangs"


def test_every_row_can_be_named_by_a_screen_reader(browser, page):
    browser.open(page())

    unnamed = browser.run(
        "return [...document.querySelectorAll('button, select, input')]"
        ".filter(node => !(node.textContent.trim() || node.getAttribute('aria-label'))).length"
    )

    assert unnamed == 0
    assert browser.run("return !!document.querySelector('main') && !!document.querySelector('h1')")


def test_the_timeline_opens_the_case_that_is_clicked(browser, page):
    browser.open(page([sample_run.results()[0]]))

    browser.click("#tab-timeline")
    browser.run(
        "const canvas = document.querySelector('.timeline canvas'), area = canvas.getBoundingClientRect();"
        "const at = {clientX: area.left + area.width / 2, clientY: area.top + 12};"
        "canvas.dispatchEvent(new MouseEvent('click', at));"
    )

    browser.wait(DETAIL)
    assert browser.run(TITLE) == "weather_eval.py::weather_london"


def test_other_parts_have_what_they_promise(browser, page):
    browser.open(page())

    browser.click("#tab-files")
    assert "criteria from built-in defaults" in browser.text("#files")
    browser.click("#tab-timeline")
    assert "killed by SIGSEGV" in browser.text("#timeline")
    browser.click("#tab-run")
    assert "agentflow.json" in browser.text("#run")
    assert "the run is sequential" in browser.text("#run")
    assert "No module named 'nowhere'" in browser.text(".file-errors")


BACKGROUND = "return getComputedStyle(document.body).backgroundColor"
CONTRAST = """
const parts = (text) => text.match(/[\\d.]+/g).slice(0, 3).map((c) => c / 255);
const light = (c) => parts(c).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
const behind = (node) => {
  for (; node; node = node.parentElement) {
    const color = getComputedStyle(node).backgroundColor;
    if (!color.startsWith("rgba") || color.endsWith(" 1)")) return color;
  }
  return "rgb(255, 255, 255)";
};
return [...document.querySelectorAll(".pill, .why, .card dt, .card dd, .note, .badge, .tag, .chip, #detail pre, mark, td")]
  .filter((node) => node.offsetParent && node.textContent.trim())
  .map((node) => {
    const [a, b] = [light(getComputedStyle(node).color), light(behind(node))].sort((x, y) => y - x);
    return [(a + 0.05) / (b + 0.05), node.className, node.textContent.slice(0, 20)];
  })
  .filter(([ratio]) => ratio < 4.5);
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_schemes(browser, page, scheme):
    browser.prefer(scheme)
    browser.open(page())
    browser.click("li:nth-child(2) .row")
    browser.wait(DETAIL)

    assert browser.run(CONTRAST) == []


def test_the_page_follows_the_system_and_the_button(browser, page):
    browser.open(page())
    light = browser.run(BACKGROUND)
    browser.prefer("dark")
    dark = browser.run(BACKGROUND)
    browser.click("#theme")

    assert light != dark
    assert browser.run(BACKGROUND) == light


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_window(browser, page, width):
    browser.size(width, 844)
    browser.open(page())

    assert browser.run("return document.documentElement.scrollWidth") <= width


HOSTILE = "</script><script>window.hit=1</script><img src=x onerror='window.hit=2'>\u2028\u202e\x1b[31m<!--"


def hostile_case():
    return sample_run.case(
        0,
        f"a::{HOSTILE}",
        Status.FAILED,
        name=HOSTILE,
        tags=[HOSTILE],
        description=HOSTILE,
        set_name=HOSTILE,
        error=HOSTILE,
        output=HOSTILE,
        traceback=HOSTILE,
        notes=[HOSTILE],
        actual_response=HOSTILE,
        messages=[{"role": HOSTILE, "content": HOSTILE}],
        actual_tool_calls=[ToolCall(name=HOSTILE, args={HOSTILE: HOSTILE}, result=HOSTILE)],
        node_visits=[HOSTILE],
        criterion_results=[CriterionResult.success(HOSTILE, 0.0, 1.0, {"reason": HOSTILE, "more": [HOSTILE]})],
        expected=[{"user_input": HOSTILE, "response": HOSTILE, "tools": [{"name": HOSTILE}], "nodes": [HOSTILE]}],
    )


def test_nothing_that_an_agent_printed_runs(browser, page):
    browser.open(page([hostile_case()]))
    browser.click(".row")
    text = browser.wait(DETAIL)
    browser.run("document.querySelectorAll('#detail details').forEach(node => node.open = true)")
    browser.wait("return document.querySelector('.detail-body > details:last-child pre')")

    assert "<img src=x onerror" in text
    assert browser.run("return window.hit === undefined && !document.querySelector('img')")
    assert "\\u202e" in text
    assert "\u202e" not in text


def test_a_hostile_label_is_found_again_by_its_link(browser, page):
    browser.open(page([hostile_case()]))
    browser.click(".row")
    browser.wait(DETAIL)

    browser.run(
        "document.querySelector('#detail [aria-label=Close]').click(); location.hash = arguments[0]",
        browser.run("return '#case=' + encodeURIComponent(arguments[0])", f"a::{HOSTILE}"),
    )

    assert browser.wait("return !document.getElementById('detail').hidden")


def test_a_script_that_got_onto_the_page_would_not_run(session_browser, page):
    session_browser.open(page([]))

    session_browser.run(
        "const script = document.createElement('script'); script.textContent = 'window.hit = 1'; document.body.append(script);"
    )

    assert session_browser.run("return window.hit === undefined")
    assert "Content Security Policy" in " ".join(session_browser.log())


def test_one_of_a_hundred_thousand_cases_is_found_and_opened(browser, page):
    browser.open(page(many(100_000)))
    browser.press("/case_99993")
    browser.wait("return document.querySelector('.shown').textContent === '1 case of 100,000'")
    browser.press(ESCAPE + "j" + ENTER)

    assert 'book_flight(to="Paris")' in browser.wait(DETAIL)
