"""Strategic clients in a run: the server sees reports, the result knows true costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.experiments import Recipe, build
from incfed.protocol.strategy import Behaviour
from incfed.results.utilities import utilities

WORLD = incfed.Synthetic(clients=8, dim=4, arms=4, pool=40)
COSTS = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


def run(mechanism: incfed.Mechanism | None = None, seed: int = 0, **options: Any) -> incfed.Result:
    mechanism = mechanism or incfed.PaymentEfficient(beta=0.9)
    options = {"costs": COSTS, **options}
    algorithm = incfed.IncFedUCB(mechanism, threshold=0.3, **options)
    return incfed.simulate(WORLD, algorithm, steps=600, seed=seed)


def test_the_server_sees_reports_and_the_result_true_costs() -> None:
    shaded = run(reports=incfed.Shading(2.0))
    doubled = run(costs=[2.0 * cost for cost in COSTS])
    assert shaded.rounds.participants.tolist() == doubled.rounds.participants.tolist()
    assert shaded.rounds.payments.tolist() == doubled.rounds.payments.tolist()
    assert shaded.rounds.asked.tolist() == doubled.rounds.asked.tolist()
    assert shaded.rounds.asked.tolist() == (2.0 * shaded.rounds.costs).tolist()
    assert shaded.rounds.costs.tolist() == [COSTS[i] for i in shaded.rounds.participants]


def test_telling_the_truth_changes_nothing() -> None:
    plain, told = run(), run(reports=incfed.Shading(1.0))
    assert plain.rounds == told.rounds
    assert plain.regret.tolist() == told.regret.tolist()
    assert plain.settings["algorithm"]["reports"] == []
    assert told.settings["algorithm"]["reports"] == [
        {"kind": "Shading", "clients": None, "factor": 1.0}
    ]


def test_who_refuses_never_shares_and_who_withholds_shares_much_at_a_time() -> None:
    result = run(reports=[incfed.Refusing(clients=[1]), incfed.Withholding(20, clients=[2])])
    shared = utilities(result).shared
    honest = utilities(run()).shared
    assert shared[1] == 0
    assert 0 < shared[2] <= 600 // 20
    assert shared[2] < honest[2]
    assert (result.rounds.pending + result.rounds.idle <= 8).all()
    assert (result.rounds.pending + result.rounds.idle).min() < 8  # who does not upload


def test_best_response_drives_prices_up() -> None:
    haggled = run(reports=incfed.BestResponse(0.2))
    first, last = haggled.rounds[0], haggled.rounds[-1]
    assert (first.asked == first.costs).all()
    assert (last.asked > last.costs).any()
    assert haggled.payment[-1] > run().payment[-1]


def test_utilities_by_hand() -> None:
    honest, lying = run(), run(reports=incfed.Shading(4.0, clients=[7]))
    found = utilities(lying, honest)
    money, cost, above, lies = np.zeros((4, 8))
    for record in lying.rounds:
        for i, paid, true, asked in zip(
            record.participants, record.payments, record.costs, record.asked, strict=True
        ):
            money[i] += paid
            cost[i] += true
            above[i] += max(0.0, paid - true)
            lies[i] += asked != true
    assert found.paid == pytest.approx(money)
    assert found.cost == pytest.approx(cost)
    assert found.utility == pytest.approx(money - cost)
    assert found.overpaid == pytest.approx(above)
    assert found.lies.tolist() == lies.tolist()
    assert np.flatnonzero(found.lies).tolist() == [7]
    assert found.gained == pytest.approx(found.utility - utilities(honest).utility)
    assert found.winners.tolist() == [7]
    assert found.to_polars()["utility"].to_list() == found.utility.tolist()
    assert found.to_polars()["lies"].to_list() == lies.tolist()


def test_who_would_rather_leave() -> None:
    result = run(incfed.PaymentFree(), costs=[0.0] * 7 + [0.2])
    alone = incfed.simulate(WORLD, incfed.Independent(), steps=600)
    less = alone.clients.regret - result.clients.regret
    for worth in (2.0, 0.0):
        found = utilities(result, alone=alone, worth=worth)
        assert found.advantage == pytest.approx(worth * less + found.utility)
    assert found.leavers.tolist() == [7], "it shares for data that is worth nothing to it"
    assert np.isnan(found.gained).all()
    assert np.isnan(utilities(result).advantage).all()


def test_only_runs_of_the_same_events_are_compared() -> None:
    with pytest.raises(incfed.InputError, match="honest: its seed: got 1, must be that of"):
        utilities(run(), run(seed=1))
    for other, said in (
        (run(incfed.PayEveryone()), "honest: its mechanism: got {'kind': 'PayEveryone'}, must be"),
        (run(costs=2.0), r"honest: its costs: got 2\.0, must be that of the other run"),
        (run(budget=5.0), r"honest: its budget: got 5\.0"),
        (3, "honest: got 3, must be a Result"),
    ):
        with pytest.raises(incfed.InputError, match=said):
            utilities(run(reports=incfed.Shading(2.0)), other)  # type: ignore[arg-type]
    with pytest.raises(incfed.InputError, match="result: got 3, must be a Result"):
        utilities(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [incfed.DrawnCosts, incfed.DriftingCosts])
def test_costs_that_change_are_the_same_for_all_mechanisms(kind: Any) -> None:
    costs = kind(COSTS, 0.3)
    seen: dict[tuple[int, int], set[float]] = {}
    for mechanism in (incfed.PayEveryone(), incfed.PaymentFree()):
        for number, record in enumerate(run(mechanism, costs=costs).rounds):
            for client, cost in zip(record.participants.tolist(), record.costs, strict=True):
                seen.setdefault((number, client), set()).add(float(cost))
    assert any(len(found) == 1 for found in seen.values())
    assert all(len(found) == 1 for found in seen.values())


def test_a_budget_and_absent_clients_keep_the_gap() -> None:
    """They are decided another way, see `deciding`."""
    cases: tuple[dict[str, Any], ...] = ({}, {"budget": 1e9}, {"availability": 0.999})
    gaps = [run(incfed.Exact(0.9, nodes=1), **more).rounds.gap for more in cases]
    assert gaps[0].any()
    np.testing.assert_allclose(gaps[1], gaps[0])
    assert gaps[2].any()


def test_it_is_saved_and_loaded(tmp_path: Path) -> None:
    result = run(incfed.Exact(0.9, nodes=1), reports=incfed.Shading(2.0, clients=[3]))
    result.save(tmp_path / "saved")
    again = incfed.load(tmp_path / "saved")
    assert again == result
    assert again.rounds.gap.any()
    assert utilities(again) == utilities(result)


def test_a_config_names_behaviours(tmp_path: Path) -> None:
    algorithm = {
        "kind": "IncFedUCB",
        "mechanism": "PayEveryone",
        "threshold": 0.3,
        "costs": {"kind": "DrawnCosts", "mean": 3.0, "spread": 0.1},
        "reports": [
            {"kind": "Shading", "factor": 2.0, "clients": [1]},
            {"kind": "Refusing", "clients": [2]},
        ],
    }
    tables = {
        "run": {"steps": 50},
        "world": {"kind": "Synthetic", "clients": 4},
        "algorithm": [algorithm],
    }
    made = build(Recipe(tables, tmp_path, "test"))
    [found] = made.algorithms.values()
    assert isinstance(found, incfed.IncFedUCB)
    assert found.reports == (incfed.Shading(2.0, clients=[1]), incfed.Refusing(clients=[2]))
    assert found.costs == incfed.DrawnCosts(3.0, 0.1)
    for reports, said in (
        ([{"kind": "Lying"}], r"algorithm\[1\]\.reports\[0\]\.kind: got 'Lying'"),
        ([{"kind": "Shading"}], r"reports\[0\]\.factor"),
        ([{"kind": "Refusing", "clients": [4]}], "clients: got 4, must be an id from 0 to 3"),
        (7, r"algorithm\[1\]\.reports: got 7, must be a list of tables"),
    ):
        wrong = {**tables, "algorithm": [{**algorithm, "reports": reports}]}
        with pytest.raises(incfed.InputError, match=said):
            build(Recipe(wrong, tmp_path, "test"))


STREAMING = [incfed.News(1.0), incfed.Patient(0.5), incfed.Patient(0.5, signal="growth")]


@pytest.mark.parametrize("trigger", STREAMING)
def test_clients_that_stream_report_their_costs_with_it(trigger: incfed.Trigger) -> None:
    """Twice the true costs as a report is, to the server, the same as costs that are twice as high;
    costs that vary by nothing are fixed ones."""

    def rounds(**options: Any) -> Any:
        algorithm = incfed.IncFedUCB(incfed.PaymentFree(), trigger=trigger, **options)
        return incfed.simulate(WORLD, algorithm, steps=600).rounds

    low = [0.02 * cost for cost in COSTS]
    shaded = rounds(costs=low, reports=incfed.Shading(2.0))
    doubled = rounds(costs=[2.0 * cost for cost in low])
    assert len(shaded)
    assert shaded.step.tolist() == doubled.step.tolist()
    assert shaded.participants.tolist() == doubled.participants.tolist()
    assert shaded.asked.tolist() == doubled.costs.tolist()
    assert rounds(costs=incfed.DrawnCosts(low, 0.0)) == rounds(costs=low)
    drifting = rounds(costs=incfed.DriftingCosts(low, 0.3))
    assert len(set(drifting.costs[drifting.participants == 3].tolist())) > 1


def test_a_patient_server_waits_longer_for_clients_that_ask_more() -> None:
    def rounds(*reports: Behaviour) -> int:
        algorithm = incfed.IncFedUCB(
            incfed.PaymentFree(), trigger=incfed.Patient(0.5), costs=0.1, reports=reports
        )
        return len(incfed.simulate(WORLD, algorithm, steps=600).rounds)

    assert 0 < rounds(incfed.Shading(50.0)) < rounds()


@pytest.mark.parametrize("behaviour", [incfed.Refusing(), incfed.Withholding(5)])
def test_clients_that_stream_hold_nothing_back(behaviour: Behaviour) -> None:
    for trigger in STREAMING:
        with pytest.raises(incfed.InputError, match="stream every step, so none can hold"):
            incfed.IncFedUCB(incfed.PaymentFree(), trigger=trigger, reports=behaviour)
