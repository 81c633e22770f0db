"""A federation that the caller drives goes the way of the simulator, record for record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from support.worlds import MECHANISMS, Kind, costs, mechanisms, settings_of_a_run, traces


def drive(world: incfed.Trace, algorithm: incfed.Algorithm) -> incfed.Federation:
    federation = incfed.Federation(world.count, world.dim, algorithm)
    for t, who in enumerate(world.clients.tolist()):
        arms = world.items[world.arms[t]]
        k = federation[who].choose(arms)
        federation[who].learn(arms[k], world.rewards[t, k])
    return federation


def same(world: incfed.Trace, algorithm: incfed.Algorithm) -> incfed.Federation:
    expected, federation = incfed.simulate(world, algorithm), drive(world, algorithm)
    found = federation.result()
    for name in ("reward", "communication", "packed"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    np.testing.assert_allclose(found.payment, expected.payment, rtol=1e-9, atol=1e-9)
    for name in ("step", "trigger", "pending", "idle", "communication", "offsets", "participants"):
        one, two = getattr(found.rounds, name), getattr(expected.rounds, name)
        np.testing.assert_array_equal(one, two, name)
    for name in ("payments", "costs", "asked", "ratio", "gap"):
        one, two = getattr(found.rounds, name), getattr(expected.rounds, name)
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9, err_msg=name)
    for name in ("steps", "reward", "shared", "paid"):
        one, two = getattr(found.clients, name), getattr(expected.clients, name)
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9, err_msg=name)
    return federation


@settings(max_examples=40)
@given(traces(), mechanisms(), st.data())
def test_driving_a_trace_is_simulating_it(
    world: incfed.Trace, mechanism: Kind, data: st.DataObject
) -> None:
    # a threshold of exactly 0 leaves it to rounding whether a step taught something
    options: dict[str, Any] = data.draw(settings_of_a_run((1e-6, 0.05, 0.5, 3.0, 20.0)))
    trust = st.sampled_from([np.inf, np.inf, 2.0, "auto", [2.0 * i for i in range(world.count)]])
    options |= {"reads": "fresh", "clocks": "all", "trust": data.draw(trust)}
    same(
        world,
        incfed.IncFedUCB(
            MECHANISMS[mechanism[0]](**mechanism[1]),
            costs=data.draw(costs(world.count)),
            download=data.draw(st.sampled_from(["everyone", "one-for-one"])),
            **options,
        ),
    )


def trace(clients: int = 6, steps: int = 300) -> incfed.Trace:
    chance = np.random.default_rng(7)
    theta = chance.standard_normal(4)
    arms = chance.standard_normal((steps, 5, 4))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    rewards = arms @ (theta / np.linalg.norm(theta)) + 0.1 * chance.standard_normal((steps, 1))
    return incfed.Trace(chance.integers(0, clients, steps), arms, rewards, count=clients)


CASES: dict[str, dict[str, Any]] = {
    "a budget": {"threshold": 1.0, "budget": 60.0},
    "cents": {"threshold": 1.0, "budget": 60.0, "money_digits": 2},
    "limits": {"threshold": 1.0, "limits": incfed.Limits(per_client=8.0, least_sharers=3)},
    "small uploads": {"threshold": 1.0, "limits": incfed.Limits(steps_per_upload=4)},
    "batches": {"threshold": 1.0, "share_from": 5},
    "noise": {"threshold": 1.0, "privacy": incfed.Privacy(epsilon=4, reward_bound=2)},
    "growth": {"trigger": incfed.GrowthRatio(gamma=1.5)},
    "news": {"trigger": incfed.News(above=2.0)},
    "patient": {"trigger": incfed.Patient(news=2.0)},
    "called": {"trigger": incfed.Patient(news=2.0, signal="growth")},
    "called, one for one": {
        "trigger": incfed.Patient(news=1.0, signal="growth"),
        "download": "one-for-one",
    },
    "patient, one for one": {"trigger": incfed.Patient(news=2.0), "download": "one-for-one"},
}


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_with_every_setting_of_the_protocol(options: dict[str, Any]) -> None:
    algorithm = incfed.IncFedUCB(incfed.PaymentEfficient(beta=0.9), costs=10.0, **options)
    federation = same(trace(), algorithm)
    assert len(federation.rounds) > 1
    assert federation.spent == pytest.approx(sum(one.paid for one in federation))


def test_everyone_shares_for_free() -> None:
    assert len(same(trace(), incfed.DisLinUCB(threshold=1.0)).rounds) > 1


@pytest.mark.parametrize("cost", ["x", "1", np.nan, np.inf, -1, -1e-9, 1e101, None, True, [1.0]])
def test_a_bad_cost_is_refused_where_it_is_said(cost: Any) -> None:
    federation = incfed.Federation(2, 1, incfed.IncFedUCB(incfed.PayEveryone(), 1.0, costs=3.0))
    with pytest.raises(
        incfed.InputError, match=r"cost: got .*, must be a number from 0 to 1e\+100"
    ):
        federation[1].cost = cost
    assert federation[1].cost == pytest.approx(3.0)
    federation[1].cost = np.int64(4)  # type: ignore[assignment]
    assert isinstance(federation[1].cost, float)


def test_rewards_may_be_booleans() -> None:
    algorithm = incfed.IncFedUCB(incfed.PaymentFree(), threshold=1.0)
    clicks, numbers = (incfed.Federation(2, 1, algorithm) for _ in range(2))
    for step in range(10):
        clicks[step % 2].learn([1.0], step % 3 == 0)
        numbers[step % 2].learn([1.0], float(step % 3 == 0))
    np.testing.assert_array_equal(clicks.result().reward, numbers.result().reward)
    assert len(clicks.rounds) == len(numbers.rounds) > 1


def test_rounds_by_hand() -> None:
    never = incfed.IncFedUCB(incfed.PayEveryone(), threshold=np.inf, costs=[3.0, 5.0])
    federation = incfed.Federation(2, dim=1, algorithm=never)
    with pytest.raises(incfed.InputError, match="nobody has learned anything yet"):
        federation.communicate()
    federation[0].learn([1.0], 1.0)
    assert federation[1].theta == 0.0
    federation[1].cost = 4.0
    federation[1].learn([1.0], 0.0)
    record = federation.communicate()
    assert (record.step, record.trigger) == (1, 1)
    assert record.participants.tolist() == [0, 1]
    # V_g(lambda) goes from 0.1 to 2.1; without one's own data, of 1.1: ratio 21/11 - 1
    assert record.costs.tolist() == [3.0, 4.0]
    assert record.payments == pytest.approx([3.0 - 10 / 11, 4.0 - 10 / 11])
    for one in federation:
        assert one.theta == pytest.approx(1.0 / 2.1)
    assert federation[0].paid == pytest.approx(3.0 - 10 / 11)
    nothing = federation.communicate(client=0)
    assert (nothing.trigger, nothing.pending, nothing.payment) == (0, 0, 0.0)
    assert len(federation.rounds) == 2
    assert federation.result().summary()["rounds"] == 2


def test_what_only_a_simulation_can_do_is_refused() -> None:
    free = incfed.PaymentFree()
    for algorithm, message in (
        (None, "algorithm: got None, must be an algorithm with rounds"),
        (incfed.Independent(), "algorithm: got 'Independent', must be an algorithm with rounds"),
        (incfed.AsyncLinUCB(), "algorithm: got 'AsyncLinUCB'"),
        (incfed.IncFedUCB(free, 1.0, reads="stale"), "reads: got 'stale', must be left out"),
        (incfed.IncFedUCB(free, 1.0, clocks="participants"), "clocks: got 'participants'"),
        (incfed.IncFedUCB(free, 1.0, availability=0.5), "availability: got 0.5"),
        (incfed.IncFedUCB(free, 1.0, costs=incfed.DrawnCosts(1.0, 2.0)), "costs: got"),
        (incfed.IncFedUCB(free, 1.0, costs=[1.0]), "costs"),
    ):
        with pytest.raises(incfed.InputError, match=message):
            incfed.Federation(3, 2, algorithm)  # type: ignore[arg-type]
    with pytest.raises(incfed.InputError, match="clients: got 0"):
        incfed.Federation(0, 2, incfed.DisLinUCB(1.0))


def test_it_says_what_it_is() -> None:
    federation = drive(trace(3, 40), incfed.DisLinUCB(threshold=1.0))
    rounds = len(federation.rounds)
    expected = f"<Federation: 3 clients, 4 features, DisLinUCB: 40 steps, {rounds} rounds, 0 paid>"
    assert repr(federation) == expected
    assert repr(federation[2]).startswith("<Member 2: ")
    assert len(federation) == 3
    assert [one.number for one in federation] == [0, 1, 2]
