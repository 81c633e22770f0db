"""The folder of a tour: an ordinary federation, and nobody else's."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import incfed
from incfed.service.coordinator.config import read_config
from incfed.service.tour.folder import check, find, furnish
from incfed.service.tour.plan import Plan


@pytest.mark.parametrize("kind", ["PaymentEfficient", "PaymentFree", "PayEveryone"])
def test_the_folder_is_an_ordinary_federation(kind: str, tmp_path: Path) -> None:
    plan = Plan(clients=2, mechanism=kind, threshold=2.0, cost=0.0)
    folder = furnish(plan, find(tmp_path / "new"), 4711)
    config = read_config(folder.config)
    assert config.settings == plan.settings
    assert config.server.port == 4711
    tokens = [(folder.client(name) / "token").read_text() for name in plan.names]
    assert not folder.again
    assert furnish(plan, find(tmp_path / "new"), 4712).again
    assert tokens == [(folder.client(name) / "token").read_text() for name in plan.names]
    assert (folder.client("shop-1") / "token").stat().st_mode & 0o077 == 0
    assert check(folder).clean
    for other in (Plan(clients=3), Plan(clients=2, seed=1)):
        with pytest.raises(incfed.InputError, match=r"--(clients|seed): got \d, must be"):
            furnish(other, find(tmp_path / "new"), 4711)
    assert tomllib.loads(folder.config.read_text())["server"]["port"] == 4712


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()  # of a tour that was killed before it began
    assert find(tmp_path) == tmp_path
    for name in "dcba":
        (tmp_path / name).touch()
    with pytest.raises(incfed.InputError, match=r"--output: got .* it has a, b, c, \.\.\.$"):
        find(tmp_path)
    (tmp_path / "tour.json").touch()
    assert find(tmp_path) == tmp_path
