"""Start marks: what a worker has begun can be read while it lives and after it died."""

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from evalengine.start_marks import SLOTS, StartMarks, make_file, read


def test_a_new_file_has_no_marks_and_a_missing_one_neither(tmp_path):
    make_file(tmp_path / "marks")

    assert read(tmp_path / "marks") == []
    assert read(tmp_path / "nowhere") == []


@given(st.lists(st.tuples(st.integers(0, 2**32 - 2), st.integers(0, 3), st.integers(1, 5)), unique=True))
def test_what_was_added_is_read(tmp_path_factory, marks):
    path = tmp_path_factory.mktemp("marks") / "marks"
    make_file(path)
    writer = StartMarks(path)
    for mark in marks:
        writer.add(mark)

    assert read(path) == marks


def test_marks_outlive_the_process_that_made_them(tmp_path):
    path = tmp_path / "marks"
    make_file(path)
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom evalengine.start_marks import StartMarks\n"
        "StartMarks(Path(sys.argv[1])).add((7, 0, 2))\nos.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)

    assert read(path) == [(7, 0, 2)]


def test_the_oldest_marks_make_room_for_new_ones(tmp_path):
    path = tmp_path / "marks"
    make_file(path)
    writer = StartMarks(path)
    for case in range(SLOTS + 2):
        writer.add((case, 0, 1))

    assert sorted(case for case, _, _ in read(path)) == list(range(2, SLOTS + 2))
