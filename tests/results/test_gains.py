"""Who is better off in a federation than alone: against sums by hand, and for the same run only."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.errors import InputError
from incfed.results import Gains
from support.results import ALL_ALONE, STEPS, TOGETHER, by_client
from support.worlds import traces

WORLD = incfed.Synthetic(clients=6, dim=5, arms=4, pool=30, activity=1.0, spread=0.4)
SHARING = incfed.IncFedUCB(incfed.PayEveryone(), threshold=0.3, costs=[1, 2, 3, 4, 5, 6])
ALONE = incfed.Independent()
NAN = math.nan


def test_by_hand() -> None:
    found = TOGETHER.gains(ALL_ALONE)
    assert found.measure == "regret"
    assert found.gain.tolist() == [3.0, 0.0, 0.0, -2.5]
    assert found.active.tolist() == [0, 1, 3]  # client 2 never acts
    assert found.winners.tolist() == [0]
    assert found.losers.tolist() == [3]
    assert found.share == 1 / 3
    assert found.to_polars().to_dict(as_series=False) == {
        "client": [0, 1, 2, 3],
        "steps": [4, 3, 0, 5],
        "gain": [3.0, 0.0, 0.0, -2.5],
        "reward": [5.0, 2.0, 0.0, 1.0],
        "reward_alone": [2.0, 2.0, 0.0, 3.0],
        "regret": [1.0, 1.0, 0.0, 4.5],
        "regret_alone": [4.0, 1.0, 0.0, 2.0],
        "shared": [1, 0, 0, 1],
        "paid": [0.0, 0.0, 0.0, 2.5],  # money is no part of the gain
    }
    assert repr(found) == "<Gains: 1 of 3 clients gain, 1 lose; regret, 0.167 in the mean>"


def test_reward_counts_where_regret_is_unknown() -> None:
    unknown = [NAN] * 4
    alone = by_client(STEPS, [2.0, 2.0, 0.0, 3.0], unknown)
    together = by_client(STEPS, [5.0, 2.5, 0.0, 1.0], unknown, kind="IncFedUCB")
    found = together.gains(alone)
    assert found.measure == "reward"
    assert found.gain.tolist() == [3.0, 0.5, 0.0, -2.0]


def test_skipped_steps_count_at_the_rate_of_the_others() -> None:
    unknown = [NAN] * 4
    alone = by_client(STEPS, [2.0, 2.0, 0.0, 3.0], unknown, matched=[2.0, 3.0, 0.0, 0.0])
    together = by_client(STEPS, [1.0, 1.0, 0.0, 1.0], unknown, matched=[1.0, 2.0, 0.0, 5.0])
    found = together.gains(alone)
    assert found.reward_alone[:3].tolist() == [4.0, 2.0, 0.0]  # 1, 2/3 a step
    assert found.reward.tolist() == [4.0, 1.5, 0.0, 1.0]
    assert math.isnan(found.gain[3])  # alone it matched none of its five steps
    assert found.gain[:3].tolist() == [0.0, -0.5, 0.0]
    assert found.active.tolist() == [0, 1]
    assert found.losers.tolist() == [1]


@pytest.mark.parametrize("algorithm", [SHARING, incfed.FedLinUCB(), incfed.Centralized()])
def test_gains_add_up(algorithm: Any) -> None:
    result, alone = (
        incfed.simulate(WORLD, one, steps=1200, seed=5) for one in (algorithm, ALONE)
    )  # fmt: skip
    found = result.gains(alone)
    assert found.gain.sum() == pytest.approx(alone.regret[-1] - result.regret[-1])
    # The arms of a step share their noise here: what is gained in regret is gained in reward.
    np.testing.assert_allclose(found.gain, found.reward - found.reward_alone, atol=1e-9)
    assert found.paid.sum() == pytest.approx(result.payment[-1])
    assert set(found.winners) | set(found.losers) <= set(found.active)


@given(traces(steps=(1, 60), unknown=st.sampled_from([0.0, 0.5])))
def test_nobody_gains_over_the_same_choices(trace: incfed.Trace) -> None:
    alone = incfed.simulate(trace, ALONE)
    found = alone.gains(incfed.simulate(trace, ALONE))
    assert np.nan_to_num(found.gain).tolist() == [0.0] * trace.count
    assert not found.winners.size
    assert not found.losers.size


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(ALL_ALONE, settings={**ALL_ALONE.settings, "seed": 3}), "alone: its seed: got 3,"),
        (
            replace(ALL_ALONE, settings={**ALL_ALONE.settings, "world": {"arms": 3}}),
            r"alone: its world: got \{'arms': 3\}, must be that of the other run, \{'arms': 25\}",
        ),
        (
            by_client([4.0, 3.0, 1.0, 5.0], [0.0] * 4, [0.0] * 4),
            "alone: its steps: got 13, must be the",
        ),
        (
            by_client([3.0, 4.0, 0.0, 5.0], [0.0] * 4, [0.0] * 4),
            "alone: its clients act in other steps",
        ),
        (TOGETHER, "alone: got <IncFedUCB: .*, must be a run in which nobody shares"),
        (replace(ALL_ALONE, communication=np.ones(12)), "must be a run in which nobody shares"),
        (ALL_ALONE.clients, "alone: got <Clients: .*>, must be a Result"),
    ],
)
def test_other_runs_are_refused(other: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        TOGETHER.gains(other)


def test_gains_have_their_own_type() -> None:
    assert isinstance(TOGETHER.gains(ALL_ALONE), Gains)
    assert TOGETHER.gains(ALL_ALONE) == TOGETHER.gains(ALL_ALONE)
