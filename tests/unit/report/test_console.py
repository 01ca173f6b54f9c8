import io
import itertools
import os
import re
import sys
import time
from pathlib import Path

import msgspec
import pytest
import sample_run

from evalengine import events
from evalengine.report.console import Console
from evalengine.results import CriterionResult, EvalCaseResult, Status

SNAPSHOTS = Path(__file__).parent / "snapshots"
PATHS = [Path("eval_reports/weather.html"), Path("eval_reports/weather.json")]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def told(stream=None, outcomes=None, out=None, **options):
    """Return what a whole run puts on (standard output, standard error)."""
    out, err = out or io.StringIO(), io.StringIO()
    console = Console(out, err, **{"folder": "evals", "environ": {}, **options})
    sample_run.feed(console, stream or sample_run.run_events(outcomes))
    console.finish(sample_run.document(outcomes), PATHS)
    return out.getvalue(), err.getvalue()


def passing(number, **fields):
    return sample_run.case(number, f"a_eval.py::case_{number}", Status.PASSED, **fields)


def failing(number):
    result = CriterionResult.success("exact_match", 0.0, 1.0)
    return sample_run.case(number, f"a_eval.py::case_{number}", Status.FAILED, criterion_results=[result])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("default", {}),
        ("quiet", {"verbosity": -1}),
        ("verbose", {"verbosity": 1}),
        ("color", {"color": True}),
    ],
)
def test_the_console_of_a_run_with_each_status(name, options):
    out, err = told(**options)
    text = f"{out}--- standard error ---\n{err}".replace("\x1b", "<ESC>")
    snapshot = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("EVALENGINE_UPDATE_SNAPSHOTS") == "1":
        snapshot.write_text(text, encoding="utf-8")

    assert text == snapshot.read_text(encoding="utf-8")


def test_a_case_line_has_the_documented_form():
    out, _err = told(outcomes=[passing(number, duration_seconds=2.1) for number in range(50)])

    assert "[  3/50] a_eval.py::case_2   PASSED   2.10s\n" in out
    assert "Results: 50/50 passed (100.0%)\n" in out


def test_the_number_is_the_place_in_the_pool_whatever_ends_first():
    stream = list(sample_run.run_events([passing(0), passing(1)]))
    first, second = (n for n, event in enumerate(stream) if isinstance(event, events.CaseFinished))
    stream[first], stream[second] = stream[second], stream[first]

    out, _err = told(stream=stream)

    assert [line[:7] for line in out.splitlines() if line.startswith("[")] == ["[  2/2]", "[  1/2]"]


def test_a_pool_of_ten_thousand_widens_the_number():
    console = Console(out := io.StringIO(), None, environ={})
    console.handle(sample_run.planned(0, passing(0)))
    console.handle(events.PlanCompleted(planned=10_000, eval_set_id="e", eval_set_name="e"))
    console.handle(sample_run.finished(0, passing(0)))
    console.flush()

    assert "[    1/10000] a_eval.py::case_0  PASSED" in out.getvalue()


def test_wide_labels_line_up():
    outcomes = [
        sample_run.case(n, label, Status.PASSED) for n, label in enumerate(["a::天気予報", "a::weather_in_x"])
    ]

    lines = [line for line in told(outcomes=outcomes)[0].splitlines() if line.startswith("[")]

    assert lines[0].startswith("[  1/2] a::天気予報      PASSED")
    assert lines[1].startswith("[  2/2] a::weather_in_x  PASSED")


def test_a_label_cannot_move_the_cursor():
    out, _err = told(outcomes=[sample_run.case(0, "a::\x1b[2J\rx\u202e", Status.PASSED)])

    assert "a::\\rx\\u202e" in out
    assert "\x1b" not in out


def test_repeats_have_lines_and_places_of_their_own():
    console = Console(out := io.StringIO(), None, environ={})
    console.handle(sample_run.planned(0, passing(0), repeats=2))
    console.handle(events.PlanCompleted(planned=2, eval_set_id="e", eval_set_name="e"))
    console.handle(sample_run.finished(0, passing(0), repeat=1))
    console.flush()

    assert "[  2/2] a_eval.py::case_0 (2/2)  PASSED" in out.getvalue()


def test_nothing_is_written_before_a_flush():
    console = Console(out := io.StringIO(), None, environ={})
    console.handle(sample_run.finished(0, passing(0)))
    before = out.getvalue()
    console.flush()

    assert before == ""
    assert "case_0" in out.getvalue()


def test_quiet_passing_runs_say_one_thing():
    console = Console(out := io.StringIO(), None, environ={}, verbosity=-1)
    sample_run.feed(console, sample_run.run_events([passing(0)], with_file_error=False))
    console.finish(sample_run.document([passing(0)], with_file_error=False))

    assert out.getvalue() == "Results: 1/1 passed (100.0%)\n"


def test_failures_beyond_twenty_are_counted():
    out, _err = told(outcomes=[failing(number) for number in range(25)])

    assert out.count("exact_match  0.00 < 1.00") == 20
    assert "… and 5 more" in out


def test_verbose_tells_every_failure():
    out, _err = told(outcomes=[failing(number) for number in range(25)], verbosity=1)

    assert out.count("exact_match  0.00 < 1.00") == 25


def test_the_failures_told_are_the_first_of_the_pool_in_whatever_order_they_end():
    outcomes = [failing(number) for number in range(25)]
    stream = list(sample_run.run_events(outcomes))
    places = [n for n, event in enumerate(stream) if isinstance(event, events.CaseFinished)]
    ended = [stream[n] for n in places][::-1]
    for place, event in zip(places, ended, strict=True):
        stream[place] = event

    failures = told(stream=stream, outcomes=outcomes)[0].split("Failures")[1]

    assert re.findall(r"case_(\d+)", failures) == [str(number) for number in range(20)]


def test_a_thousand_files_of_one_configuration_are_one_block():
    console = Console(out := io.StringIO(), None, environ={})
    for number in range(1000):
        label = f"f{number}_eval.py"
        console.handle(
            events.FileDiscovered(
                file=number, path=label, label=label, cases=1, source="builtin", criteria=sample_run.CRITERIA
            )
        )
    console.handle(events.PlanCompleted(planned=1000, eval_set_id="e", eval_set_name="e"))

    assert (
        "Criteria  f0_eval.py, f1_eval.py, f2_eval.py and 997 more  (source: built-in defaults)" in out.getvalue()
    )
    assert out.getvalue().count("Criteria") == 1


def test_notices_and_warnings_go_to_standard_error():
    out, err = told(outcomes=[passing(0)])

    assert "notice: workers is set without parallel" in err
    assert "1 case had nothing to check" in err
    assert "notice" not in out


def test_a_gate_that_was_asked_for_is_told():
    outcomes = [passing(0), failing(1)]
    out = io.StringIO()
    console = Console(out, None, environ={})
    console.finish(sample_run.document(outcomes, threshold=0.5, with_file_error=False))

    assert "gate met: 1/2 ≥ 0.50, 1 failed" in out.getvalue()


def test_an_interrupted_run_says_so():
    document = sample_run.document([passing(0)])
    document.status, document.reason = "interrupted", "Ctrl-C"
    console = Console(out := io.StringIO(), None, environ={})
    console.finish(document)

    assert "Run interrupted: Ctrl-C" in out.getvalue()


@pytest.mark.parametrize(
    ("stream", "environ", "colored"),
    [
        (Terminal, {}, True),
        (Terminal, {"NO_COLOR": "1"}, False),
        (Terminal, {"TERM": "dumb"}, False),
        (io.StringIO, {}, False),
        (io.StringIO, {"FORCE_COLOR": "1"}, True),
    ],
)
def test_colours_follow_the_terminal_and_the_environment(stream, environ, colored):
    out, _err = told(outcomes=[passing(0)], out=stream(), environ=environ)

    assert ("\x1b[32m" in out) is colored


def test_a_bar_is_drawn_on_a_terminal_and_taken_away():
    console = Console(None, err := Terminal(), environ={"TERM": "dumb"})
    sample_run.feed(console, sample_run.run_events([passing(0), passing(1)]))
    console.flush()
    console.finish(sample_run.document([passing(0), passing(1)]))

    assert "/2 [" in err.getvalue()


@pytest.mark.parametrize("progress", [None, False])
def test_no_bar_is_imported_where_none_is_wanted(monkeypatch, progress):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    told(progress=progress)


def test_lines_do_not_run_into_the_bar():
    screen = Terminal()
    console = Console(screen, screen, environ={"NO_COLOR": "1"})
    sample_run.feed(console, itertools.islice(sample_run.run_events([passing(0), passing(1)]), 8))
    console.handle(sample_run.finished(0, passing(0)))
    console.flush()
    visible = [line.split("\r")[-1] for line in screen.getvalue().split("\n")]
    console.finish(sample_run.document([passing(0), passing(1)]))

    assert "[  1/2] a_eval.py::case_0  PASSED   0.25s" in visible


class Broken(io.StringIO):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def write(self, text):
        raise self.error


@pytest.mark.parametrize(
    "error", [BrokenPipeError(32, "Broken pipe"), OSError(28, "No space left"), ValueError("I/O on closed file")]
)
def test_an_output_that_fails_falls_silent(error):
    told_on_err = io.StringIO()
    console = Console(Broken(error), told_on_err, environ={})
    sample_run.feed(console, sample_run.run_events())
    console.finish(sample_run.document(), PATHS)

    assert "notice" in told_on_err.getvalue()


def test_closed_streams_are_no_trouble():
    console = Console(None, None, environ={})
    sample_run.feed(console, sample_run.run_events())
    console.finish(sample_run.document(), PATHS)


def test_a_reader_that_leaves_makes_no_noise_at_exit():
    read, write = os.pipe()
    os.close(read)
    out = os.fdopen(write, "w")
    console = Console(out, None, environ={})
    sample_run.feed(console, sample_run.run_events())
    console.finish(sample_run.document(), PATHS)

    out.close()  # Would raise BrokenPipeError, were the descriptor still the pipe's.


def test_an_encoding_without_the_characters_gets_plain_ones():
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    console = Console(out, None, environ={})
    sample_run.feed(console, sample_run.run_events([sample_run.case(0, "a::天", Status.PASSED)]))
    console.finish(sample_run.document())
    out.seek(0)
    text = out.read()

    assert ">= 0.60" in text
    assert "\\u5929" in text


def test_a_failure_that_is_not_handed_over_is_read_from_the_event():
    console = Console(out := io.StringIO(), None, environ={})
    for event in sample_run.run_events():
        console.handle(event)
    console.finish(sample_run.document())

    assert 'book_flight(to="London")' in out.getvalue()


def test_ten_thousand_lines_cost_less_than_decoding_their_results():
    outcomes = [passing(number) for number in range(10_000)]
    stream = [sample_run.finished(number, result) for number, result in enumerate(outcomes)]
    decode = msgspec.json.Decoder(EvalCaseResult).decode
    console = Console(io.StringIO(), None, environ={})
    start = time.process_time()
    for event in stream:
        decode(event.result)
    decoding = time.process_time() - start
    start = time.process_time()
    for event, result in zip(stream, outcomes, strict=True):
        console.handle(event, result)

    assert time.process_time() - start < 3 * decoding
