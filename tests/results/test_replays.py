"""Logs in tables: one run and bootstrapped logs, per matched step; never ± 0 over seeds."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

import incfed
from incfed.environments.bootstrap import Bootstrap
from incfed.results.curves import curve
from incfed.results.intervals import Interval, student
from incfed.results.membership import memberships
from support.logs import Sample

PAID = incfed.IncFedUCB(incfed.PaymentEfficient(0.8), threshold=0.2, costs=1.0)
BOTH = {"alone": incfed.Independent(), "paid": PAID}


@pytest.fixture(scope="module")
def log() -> incfed.ReplayLog:
    sample = Sample.random(events=400, most=3)
    return incfed.ReplayLog(sample.events, mode="replay", items=sample.table)


@pytest.fixture(scope="module")
def found(log: incfed.ReplayLog) -> incfed.Comparison:
    return incfed.compare(log, BOTH, seeds=3, bootstrap=4)


def test_a_log_is_run_once_and_bootstrapped(
    log: incfed.ReplayLog, found: incfed.Comparison
) -> None:
    own, *again = found["paid"]
    assert [one.settings["seed"] for one in found["paid"]] == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(own.reward, incfed.simulate(log, PAID).reward)
    assert own.settings["world"] == log.settings()
    for seed, one in enumerate(again, 1):
        assert one.settings["world"]["bootstrap"] == "events"
        drawn = incfed.simulate(Bootstrap(log, 400, repeats=True), PAID, seed=seed)
        np.testing.assert_array_equal(one.reward, drawn.reward)
    assert len({one.reward[-1] for one in again}) == 4


def test_the_figures_by_hand(found: incfed.Comparison) -> None:
    """Per 1,000 matched steps; the interval is as wide as bootstrapped logs lie apart, however many
    there are."""
    alone, paid = (
        [1000 * one.payment[-1] / one.matched[-1] for one in found[label]] for label in BOTH
    )
    row = found.rows[1]
    assert row.payment.mean == pytest.approx(paid[0])
    assert row.payment.sd == pytest.approx(statistics.stdev(paid[1:]))
    assert row.matched is not None
    assert row.matched.mean == found["paid"][0].matched[-1]
    assert (row.seeds, row.bootstrap) == (1, 4)
    gap = found.difference("paid", "payment")
    gaps = [two - one for one, two in zip(alone, paid, strict=True)]
    assert gap.mean == pytest.approx(gaps[0])
    assert gap.half == pytest.approx(student(0.975, 3) * statistics.stdev(gaps[1:]))
    frame = found.to_polars()
    assert frame["payment"].to_list() == pytest.approx([alone[0], paid[0]])
    assert frame["bootstrap"].to_list() == [4, 4]
    assert frame["matched"].to_list() == [one[0].matched[-1] for one in found.runs.values()]


def test_tables_say_what_they_show(found: incfed.Comparison) -> None:
    text = str(found)
    assert "| Per 1,000 matched steps |" in text
    assert "± half of their 95 % interval from 4 bootstrapped logs (events drawn with" in text
    assert "from 4 bootstrapped logs, each the same for both" in text
    assert " seeds" not in text
    assert repr(found) == "<Comparison of alone, paid: 400 steps, 4 bootstrapped logs>"


def test_clients_may_be_drawn(log: incfed.ReplayLog) -> None:
    made = incfed.compare(log, {"paid": PAID}, bootstrap=2, resample="clients")
    for seed, one in enumerate(made["paid"][1:], 1):
        drawn = incfed.simulate(Bootstrap(log, 400, "clients", repeats=True), PAID, seed=seed)
        np.testing.assert_array_equal(one.reward, drawn.reward)
    assert "2 bootstrapped logs (clients drawn with replacement)" in str(made)


def test_without_bootstrap_there_is_no_interval(log: incfed.ReplayLog) -> None:
    found = incfed.compare(log, BOTH, seeds=3, bootstrap=0)
    assert [len(results) for results in found.runs.values()] == [1, 1]
    assert "±" not in str(found)
    assert math.isnan(found.difference("paid", "reward").half)


def test_a_trace_has_one_order_too() -> None:
    chance = np.random.default_rng(0)
    trace = incfed.Trace(
        chance.integers(0, 2, 60), chance.random((60, 3, 2)), chance.random((60, 3))
    )
    found = incfed.compare(trace, BOTH, bootstrap=3)
    text = str(found)
    assert "| Algorithm |" in text  # no step is skipped: sums are sums
    assert "3 bootstrapped logs" in text
    assert found.rows[1].reward.mean == found["paid"][0].reward[-1]


def test_curves_run_over_matched_steps(found: incfed.Comparison) -> None:
    results = found["paid"]
    line = curve(results, "reward")
    assert line.x[-1] == min(one.matched[-1] for one in results)
    own = results[0]
    at = [int(np.searchsorted(own.matched, x)) for x in line.x]
    np.testing.assert_array_equal(line.mean, own.reward[at])
    assert (line.sd[5:] > 0).all()


def test_an_interval_of_bootstrapped_logs() -> None:
    one = Interval.bootstrap(5.0, [4.0, 5.0, 9.0])
    assert (one.mean, one.n) == (5.0, 3)
    assert one.error == pytest.approx(statistics.stdev([4.0, 5.0, 9.0]))
    many = Interval.bootstrap(5.0, [4.0, 5.0, 9.0] * 50)
    assert many.error == pytest.approx(one.error, rel=0.25)  # not smaller by sqrt(50)
    assert math.isnan(Interval.bootstrap(5.0, [4.0]).half)


def test_who_gains_on_a_log_is_uncertain_too(found: incfed.Comparison) -> None:
    text = str(found)
    assert (
        "± half of the 95 % interval from 4 bootstrapped logs. Gains and payments are for" in text
    )
    [one] = memberships(found.runs)
    assert (len(one.gains), len(one.again)) == (1, 4)
    own = found["paid"][0]
    assert one.gains[0].paid.sum() == pytest.approx(own.payment[-1] * 400 / own.matched[-1])


def test_logs_without_repeats_have_events_in_common(log: incfed.ReplayLog) -> None:
    """Of 300 of 400 events, another log is sqrt(300 / 100) times further away than they lie apart;
    all events tell nothing."""
    found = incfed.compare(log.bootstrap(300), BOTH, seeds=4)
    rewards = [1000 * one.reward[-1] / one.matched[-1] for one in found["paid"]]
    half = math.sqrt(3) * student(0.975, 3) * statistics.stdev(rewards)
    row = found.rows[1]
    assert row.reward.times * row.reward.sd == pytest.approx(half)
    gaps = [1000 * one.payment[-1] / one.matched[-1] for one in found["paid"]]
    gap = found.difference("paid", "payment")
    assert gap.half == pytest.approx(math.sqrt(3) * student(0.975, 3) * statistics.stdev(gaps))
    assert "4 bootstrapped logs (events drawn without replacement)" in str(found)
    [one] = memberships(found.runs)
    assert one.spread_of("mean").times == pytest.approx(math.sqrt(3) * student(0.975, 3))
    every = incfed.compare(log.bootstrap(400), BOTH, seeds=4)
    assert math.isnan(every.rows[1].reward.times)
    assert math.isnan(every.difference("paid", "reward").half)
    clients = incfed.compare(log.bootstrap(300, "clients"), BOTH, seeds=4)
    assert clients.rows[1].reward.times == student(0.975, 3)
    assert "(clients drawn with replacement, events without replacement)" in str(clients)


def test_several_seeds_of_a_log_are_no_certainty(log: incfed.ReplayLog) -> None:
    runs = {
        label: [incfed.simulate(log, algorithm, seed=seed) for seed in range(3)]
        for label, algorithm in BOTH.items()
    }
    text = str(incfed.Comparison(runs))
    assert "Seeds do not change a log: ± does not say how much another log would differ." in text
    assert "Against alone" not in text
