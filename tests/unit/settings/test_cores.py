"""How many workers a run has by default."""

import pytest

from evalengine.settings import cores


@pytest.fixture
def machine(monkeypatch, tmp_path):
    def machine(allowed, quota=None):
        monkeypatch.setattr(cores, "_allowed", lambda: allowed)
        path = tmp_path / "cpu.max"
        if quota is not None:
            path.write_text(quota)
        monkeypatch.setattr(cores, "_CGROUP_QUOTA", path)

    return machine


@pytest.mark.parametrize(
    ("allowed", "quota", "usable"),
    [
        (8, None, 8),
        (8, "max 100000\n", 8),
        (8, "200000 100000\n", 2),
        (8, "50000 100000\n", 1),
        (8, "150000 100000\n", 2),
        (2, "800000 100000\n", 2),
        (8, "rubbish", 8),
        (8, "1 0", 8),
    ],
)
def test_the_smaller_of_mask_and_quota_counts(machine, allowed, quota, usable):
    machine(allowed, quota)
    assert cores.usable_cores() == usable


def test_this_machine_has_a_core():
    assert cores.usable_cores() >= 1
