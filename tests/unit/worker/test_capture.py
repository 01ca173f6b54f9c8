import pytest

from evalengine_worker.capture import HEAD_CHARACTERS, TAIL_CHARACTERS, Log, Output, Router, current_output


def written(*texts):
    output = Output()
    for text in texts:
        output.write(text)
    return output.text()


@pytest.mark.parametrize("texts", [("",), ("a", "b"), ("x" * HEAD_CHARACTERS, "y" * TAIL_CHARACTERS)])
def test_what_fits_is_kept_whole(texts):
    assert written(*texts) == "".join(texts)


@pytest.mark.parametrize("piece", [1, 1000, 100_000, 1_000_000])
def test_head_and_tail_of_more_are_kept_with_the_size_of_what_is_missing(piece):
    text = "".join(chr(97 + number % 26) for number in range(1_000_000))
    pieces = [text[start : start + piece] for start in range(0, len(text), piece)]
    head, mark, tail = written(*pieces).split("\n")
    kept = len(head) + len(tail)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert (len(head), mark) == (HEAD_CHARACTERS, f"... {len(text) - kept} characters left out ...")
    assert TAIL_CHARACTERS <= len(tail) < TAIL_CHARACTERS + min(piece, TAIL_CHARACTERS)


@pytest.fixture
def log(tmp_path, monkeypatch):
    log = Log()
    monkeypatch.setattr(log, "_connect", lambda: None)
    log.path = tmp_path / "log"
    log.open(str(log.path))
    return log


def test_a_write_outside_of_any_case_goes_to_the_log(log):
    Router(1, log).write("hello \ud800")
    assert log.path.read_bytes() == b"hello \\ud800"


def test_a_write_of_a_case_goes_to_its_output_until_it_ends(log):
    router, output = Router(1, log), Output()
    token = current_output.set(output)
    print("inside", file=router)
    router.buffer.write(b"\xff")
    output.is_open = False
    print("after", file=router)
    current_output.reset(token)
    assert output.text() == "inside\n\ufffd"
    assert log.path.read_text() == "after\n"


def test_a_router_is_never_closed(log):
    router = Router(1, log)
    router.close()
    assert not router.closed
    assert router.write("x") == 1


def test_the_log_gives_what_was_added_since(log):
    log.write("before")
    start = log.size
    log.write("since")
    assert log.since(start, str(log.path)) == "since"
