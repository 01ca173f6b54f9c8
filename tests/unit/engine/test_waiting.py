"""The waiting line against a plain list."""

from hypothesis import given
from hypothesis import strategies as st

from evalengine.engine.waiting import WaitingLine

FILES = st.lists(st.integers(0, 3), max_size=20)
CAPS = st.dictionaries(st.integers(0, 3), st.integers(1, 3))


def test_without_caps_places_come_in_order():
    line = WaitingLine([0, 1, 0], {})
    assert [line.take() for _ in range(4)] == [0, 1, 2, None]


def test_a_place_put_back_comes_where_it_stood():
    line = WaitingLine([0, 0, 0], {})
    line.take()
    line.take()
    line.add(0)
    assert line.take() == 0


def test_draining_gives_all_that_wait_in_order():
    line = WaitingLine([0, 1, 0, 2], {0: 1})
    line.take()
    assert line.drain() == [1, 2, 3]
    assert len(line) == 0


@given(
    FILES, CAPS, st.lists(st.tuples(st.sampled_from(["take", "leave", "back"]), st.integers(0, 30)), max_size=60)
)
def test_the_first_place_whose_file_has_room_is_taken(files, caps, steps):
    line = WaitingLine(files, caps)
    waiting, out = set(range(len(files))), []

    def has_room(place):
        return sum(files[other] == files[place] for other in out) < caps.get(files[place], len(files))

    for step, number in steps:
        if step == "take":
            expected = min((place for place in waiting if has_room(place)), default=None)
            assert line.take() == expected
            if expected is not None:
                waiting.remove(expected)
                out.append(expected)
        elif out:
            place = out.pop(number % len(out))
            line.leave(place)
            if step == "back":
                line.add(place)
                waiting.add(place)
        assert len(line) == len(waiting)
