"""Every trigger, download rule and protocol equals its literal reference; and what must hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import incfed
from incfed.protocol.presence import PresenceDraws
from reference import protocols as reference
from support.worlds import MECHANISMS, Costs, Kind, costs, mechanisms, traces

PAPER: dict[str, Any] = {"ridge": 0.1, "noise": 0.1, "delta": 0.1}
AVAILABILITY: st.SearchStrategy[float | tuple[float, float]] = st.sampled_from(
    [1.0, 1.0, 0.5, 0.9, (5.0, 3.0)]
)
TRIGGERS: dict[str, Callable[..., incfed.Trigger]] = {
    "threshold": incfed.Threshold,
    "ratio": incfed.GrowthRatio,
    "news": incfed.News,
    "patient": incfed.Patient,
}


@st.composite
def triggers(draw: st.DrawFn) -> Kind:
    kind = draw(st.sampled_from(["threshold", "ratio", "news", "patient", "patient", "patient"]))
    if kind == "threshold":
        return kind, {"D_c": draw(st.sampled_from([0.05, 0.5, 3.0]))}
    if kind == "ratio":
        return kind, {"gamma": draw(st.sampled_from([1.1234567, 2.1234567, 10.1234567]))}  # no ties
    if kind == "news":
        return kind, {"above": draw(st.sampled_from([0.1, 1.0, 5.0]))}
    return kind, {
        "news": draw(st.sampled_from([0.1, 0.5, 2.0, 5.0])),
        "signal": draw(st.sampled_from(["rows", "growth"])),
        "factor": draw(st.sampled_from([1.0, 1.15])),
    }


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "ridge": draw(st.sampled_from([0.1, 1.0])),
        "noise": draw(st.sampled_from([0.1, 1.0])),
        "delta": draw(st.sampled_from([0.01, 0.1])),
        "exploration": draw(st.sampled_from([None, None, 0.3])),
        "width": draw(st.sampled_from(["paper", "mixture"])),
        "trust": draw(st.sampled_from([np.inf, np.inf, 0.0, 0.3, 3.0, 1e4, "auto", "auto"])),
    }


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    return {
        **draw(rules()),
        "download": draw(st.sampled_from(["everyone", "one-for-one"])),
        "budget": draw(st.sampled_from([np.inf, np.inf, 0.0, 3.0, 50.0])),
    }


@st.composite
def limits(draw: st.DrawFn) -> dict[str, Any] | None:
    money = st.sampled_from([None, None, 0.0, 1.0, 10.0, 60.0])
    if draw(st.booleans()):
        return None
    return {
        "per_round": draw(money),
        "per_payment": draw(money),
        "per_client": draw(money),
        "reserve": draw(money),
        "price_rise": draw(st.sampled_from([None, 1.0, 1.5])),
        "price_spread": draw(st.sampled_from([None, None, 1.0, 3.0])),
        "largest_share": draw(st.sampled_from([None, None, 0.4, 0.75])),
        "steps_spread": draw(st.sampled_from([None, None, 1.0, 2.0])),
        "steps_per_upload": draw(st.sampled_from([None, None, 3, 10])),
        "least_sharers": draw(st.sampled_from([1, 1, 2, 3])),
        "least_steps": draw(st.sampled_from([1, 1, 5])),
    }


def events(trace: incfed.Trace) -> tuple[Any, ...]:
    assert trace.expected is not None
    arms = trace.items[trace.arms]
    return trace.clients, arms, trace.rewards, trace.expected, trace.count


def same(fast: incfed.Result, slow: reference.Run, price: Costs) -> None:
    most = float(np.max(price))
    assert [r.step for r in fast.rounds] == [r.step for r in slow.rounds]
    for ours, theirs in zip(fast.rounds, slow.rounds, strict=True):
        assert ours.trigger == theirs.trigger
        assert ours.participants.tolist() == theirs.participants
        np.testing.assert_allclose(
            ours.payments, theirs.payments, rtol=1e-8, atol=1e-8 * (1 + most)
        )
        assert ours.pending == theirs.pending
        assert ours.idle == theirs.idle
        np.testing.assert_allclose(ours.ratio, theirs.ratio, rtol=1e-8)
        assert ours.communication == theirs.communication
    np.testing.assert_allclose(fast.reward, np.cumsum(slow.reward), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fast.regret, np.cumsum(slow.regret), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(fast.communication, np.cumsum(slow.communication))
    np.testing.assert_array_equal(fast.packed, np.cumsum(slow.packed))
    np.testing.assert_allclose(
        fast.payment, np.cumsum(slow.payment), rtol=1e-8, atol=1e-8 * (1 + most)
    )


@settings(max_examples=150)
@given(
    st.data(), traces(count=(1, 8), dim=(1, 6), steps=(1, 50)), mechanisms(), triggers(), options(),
    limits(),
)  # fmt: skip
def test_rounds_equal_the_reference(
    data: st.DataObject, trace: incfed.Trace, mechanism: Kind, trigger: Kind, more: dict[str, Any],
    caps: dict[str, Any] | None,
) -> None:  # fmt: skip
    price = data.draw(costs(trace.count, -2, 3))
    seed = data.draw(st.integers(0, 99))
    availability = data.draw(AVAILABILITY)
    algorithm = incfed.IncFedUCB(
        MECHANISMS[mechanism[0]](**mechanism[1]),
        trigger=TRIGGERS[trigger[0]](**trigger[1]),
        costs=price,
        availability=availability,
        limits=None if caps is None else incfed.Limits(**caps),
        **more,
    )
    fast = incfed.simulate(trace, algorithm, seed=seed)
    there = None if availability == 1.0 else PresenceDraws(availability, trace.count, seed)
    slow = reference.run_rounds(
        *events(trace), mechanism=mechanism, trigger=trigger, costs=np.array(price),
        present=None if there is None else there.draw, limits=caps, **more,
    )  # fmt: skip
    same(fast, slow, price)  # the reference downloads at once, the simulator when a client acts
    event(f"{trigger[0]}: {min(len(slow.rounds), 2)} rounds")


@settings(max_examples=60)
@given(st.data(), traces(count=(1, 8), dim=(1, 6), steps=(1, 60)))
def test_exchanges_equal_the_reference(data: st.DataObject, trace: incfed.Trace) -> None:
    price, more = data.draw(costs(trace.count, -2, 3)), data.draw(rules())
    upload = data.draw(st.sampled_from([1.0123457, 1.1234567, 2.1234567, 10.1234567]))  # no ties
    download = data.draw(st.sampled_from([None, 1.0123457, 1.5234567, 10.1234567]))
    algorithm = (
        incfed.FedLinUCB(upload - 1.0, price, **more)
        if download is None
        else incfed.AsyncLinUCB(upload, download, price, **more)
    )
    slow = reference.run_asynchronous(
        *events(trace), upload=upload, download=download, costs=np.array(price), **more
    )
    same(incfed.simulate(trace, algorithm), slow, price)


@settings(max_examples=40)
@given(traces(count=(2, 8), steps=(2, 60)), triggers(), options(), st.data())
def test_pieces_of_a_run_change_nothing(
    trace: incfed.Trace, trigger: Kind, more: dict[str, Any], data: st.DataObject
) -> None:
    algorithm = data.draw(
        st.sampled_from(
            [
                incfed.IncFedUCB(
                    incfed.PaymentEfficient(beta=0.7), trigger=TRIGGERS[trigger[0]](**trigger[1]),
                    costs=2.0, availability=0.8, **more,
                ),
                incfed.FedLinUCB(0.1, 2.0),
                incfed.AsyncLinUCB(1.1, 1.5, 2.0),
            ]
        )
    )  # fmt: skip
    assert trace.length is not None
    whole = incfed.simulate(trace, algorithm)
    run = incfed.Simulation(trace, algorithm)
    while run.steps < trace.length:
        run.advance(data.draw(st.integers(1, trace.length - run.steps)))
    assert run.result() == whole


WORLD = incfed.Synthetic(clients=12, dim=6, arms=8, pool=60)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cost", [0.5, 5.0, 100.0])
def test_patient_never_calls_for_nothing(cost: float, seed: int) -> None:
    algorithm = incfed.IncFedUCB(incfed.PaymentFree(), trigger=incfed.Patient(1.0), costs=cost)
    result = incfed.simulate(WORLD, algorithm, steps=800, seed=seed)
    assert len(result.rounds) > 1
    assert (result.rounds.shared > 0).all()
    assert result.payment[-1] == 0.0


@pytest.mark.parametrize("signal", ["rows", "growth"])
def test_patient_forever_is_alone(signal: str) -> None:
    for trigger in (incfed.Patient(np.inf, signal), incfed.News(np.inf)):
        algorithm = incfed.IncFedUCB(incfed.PaymentFree(), trigger=trigger, costs=1.0)
        result = incfed.simulate(WORLD, algorithm, steps=300)
        alone = incfed.simulate(WORLD, incfed.Independent(), steps=300)
        np.testing.assert_array_equal(result.regret, alone.regret)
        a_step = 1 if trigger == incfed.Patient(np.inf, "growth") else WORLD.dim
        assert result.communication[-1] == result.packed[-1] == 300 * a_step


@pytest.mark.parametrize("seed", range(3))
def test_one_for_one_with_nobody_refusing_is_everyone(seed: int) -> None:
    threshold = incfed.thresholds.high(steps=800, clients=12, dim=6)
    both = [
        incfed.simulate(
            WORLD,
            incfed.IncFedUCB(incfed.PayEveryone(), threshold, 10.0, download=download),
            steps=800,
            seed=seed,
        )
        for download in ("everyone", "one-for-one")
    ]
    np.testing.assert_array_equal(both[0].regret, both[1].regret)
    assert both[0].communication[-1] > both[1].communication[-1]
    np.testing.assert_array_equal(both[0].packed, both[1].packed)


def test_a_client_that_refuses_loses_one_for_one() -> None:
    """Alg. 1 gives the model to everyone, so that refusing costs nothing; one for one it does."""
    clients, refuser = 12, 3
    gap = {}
    for download in ("everyone", "one-for-one"):
        lost = []
        for seed in range(6):
            who = WORLD.open(np.random.SeedSequence(seed)).take(1500).clients == refuser
            regrets = []
            for cost in (20.0, 1e100):  # at this price no data is worth it: it never shares
                costs = [20.0] * clients
                costs[refuser] = cost
                algorithm = incfed.IncFedUCB(
                    incfed.PaymentFree(), trigger=incfed.Patient(1.0), costs=costs,
                    download=download,
                )  # fmt: skip
                result = incfed.simulate(WORLD, algorithm, steps=1500, seed=seed)
                regrets.append(np.diff(result.regret, prepend=0.0)[who].sum())
            lost.append(regrets[1] - regrets[0])
        gap[download] = float(np.mean(lost))
    assert abs(gap["everyone"]) < 0.5
    assert gap["one-for-one"] > 1.0


@pytest.mark.parametrize("availability", [0.9, 0.5, (50.0, 50.0)])
@pytest.mark.parametrize("signal", ["rows", "growth"])
def test_absent_clients_do_not_cause_calls_for_nothing(
    availability: float | tuple[float, float], signal: str
) -> None:
    found = []
    for chance in (1.0, availability):
        algorithm = incfed.IncFedUCB(
            incfed.PaymentFree(), trigger=incfed.Patient(1.0, signal), costs=20.0,
            availability=chance,
        )  # fmt: skip
        result = incfed.simulate(WORLD, algorithm, steps=1500)
        assert (result.rounds.shared > 0).sum() > 5
        found.append(int((result.rounds.shared == 0).sum()))
    assert found[1] <= 3 * found[0] + 100  # of 1500 steps


def test_an_expensive_client_does_not_block_the_others() -> None:
    """Growth: it is passed over once the others would do with less news."""
    costs = [10.0] * 12
    costs[5] = 1e100
    algorithm = incfed.IncFedUCB(
        incfed.PaymentFree(), trigger=incfed.Patient(1.0, "growth"), costs=costs
    )
    result = incfed.simulate(WORLD, algorithm, steps=1500)
    shared = result.rounds.shared > 0
    assert shared.sum() > 3
    assert 5 not in result.rounds.participants
    assert shared.sum() > (~shared).sum()  # few calls bring nothing


def test_the_budget_is_never_exceeded() -> None:
    for budget in (0.0, 7.5, 300.0):
        algorithm = incfed.IncFedUCB(incfed.PayEveryone(), 0.05, 10.0, budget=budget)
        result = incfed.simulate(WORLD, algorithm, steps=500)
        assert result.payment[-1] <= budget
        free = incfed.simulate(WORLD, incfed.IncFedUCB(incfed.PaymentFree(), 0.05, 10.0), steps=500)
        if not budget:
            assert result.rounds == free.rounds


@pytest.mark.parametrize("availability", [0.6, [0.1, *[0.9] * 11], (30.0, 10.0)])
def test_clients_that_are_away_do_not_share(availability: float | list[float]) -> None:
    algorithm = incfed.IncFedUCB(incfed.PayEveryone(), 0.3, 10.0, availability=availability)
    result = incfed.simulate(WORLD, algorithm, steps=600, seed=1)
    there = PresenceDraws(availability, 12, 1)
    for one in result.rounds:
        uploads, delivers = there.draw(one.step, one.trigger)
        assert one.trigger in one.participants
        assert set(one.participants) <= set(np.flatnonzero(uploads & delivers))
    assert len(result.rounds) > 5


def test_spells_do_not_depend_on_when_one_looks() -> None:
    often, seldom = PresenceDraws((20.0, 5.0), 30, 7), PresenceDraws((20.0, 5.0), 30, 7)
    seen = [often.draw(step, 0).uploads for step in range(400)]
    for step in range(13, 400, 97):
        np.testing.assert_array_equal(seldom.draw(step, 0).uploads, seen[step])
    share = np.mean(seen)
    assert 0.7 < share < 0.9  # 20 of 25 steps
