"""Kills for lack of memory are counted, by either version of control groups."""

import pytest

from evalengine.engine.platform.memory import OomKills

VERSIONS = {
    "second": ("0::/run\n", "run/memory.events", "low 0\noom_kill {}\noom_group_kill 0\n"),
    "first": ("5:cpu:/\n4:memory:/run\n0::/\n", "memory/run/memory.oom_control", "under_oom 0\noom_kill {}\n"),
}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_new_kill_is_told_once(tmp_path, version):
    membership, place, text = VERSIONS[version]
    (tmp_path / "membership").write_text(membership)
    counter = tmp_path / place
    counter.parent.mkdir(parents=True)
    counter.write_text(text.format(3))
    kills = OomKills(tmp_path, tmp_path / "membership")
    assert not kills.any_new()
    counter.write_text(text.format(4))
    assert kills.any_new()
    assert not kills.any_new()


def test_a_system_that_does_not_count_tells_of_none(tmp_path):
    assert not OomKills(tmp_path, tmp_path / "nowhere").any_new()
