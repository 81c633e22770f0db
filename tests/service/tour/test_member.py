"""The clients of a tour: what they ask, see and report."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import incfed
from incfed.service.tour.member import Member, Orders, moments
from incfed.service.tour.plan import Plan
from support.fake_coordinator import Fake
from support.fake_server import serving


def test_costs_lie_around_the_one_given() -> None:
    assert Plan(clients=3, cost=4.0).costs == [2.0, 4.0, 6.0]
    assert Plan(clients=1, cost=4.0).costs == [4.0]


def test_each_client_sees_its_own_part_of_one_world() -> None:
    world = Plan(clients=3).world
    stream = world.open(np.random.SeedSequence(7))
    events = stream.take(300)
    for who in range(3):
        own = np.flatnonzero(events.clients == who)
        seen = list(itertools.islice(moments(world, 7, who), len(own)))
        for t, moment in zip(own, seen, strict=True):
            np.testing.assert_array_equal(moment.arms, stream.items[events.arms[t]])
            np.testing.assert_array_equal(moment.rewards, events.rewards[t])


def test_regret_and_that_of_learning_alone_are_of_the_same_steps(tmp_path: Path) -> None:
    """Also after a kill -9 between two reports. Who never shares is as good as alone."""
    world = {key: value for key, value in Plan().world.settings().items() if key != "kind"}
    with serving(Fake(1, 10, threshold=1e9, reward_bound=2.0)) as (url, _):
        orders = Orders(url, str(tmp_path), 0, 3, 0.0, 1.0, world)
        for steps, reported in ((20, True), (5, False), (10, True)):
            with incfed.Client(url, "token-0", tmp_path / "state") as client:
                member = Member(orders, client)
                for _ in range(steps):
                    member.step()
                if reported:
                    report = member.report()
                assert report["regret"] == pytest.approx(report["alone"], abs=1e-12)
        assert report["steps"] == 35
        assert report["regret"] > 0.0
