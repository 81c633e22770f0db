"""What sharing is worth in money, to each client, and if clients leave."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.environments.without import Without
from incfed.experiments.checkpoint import read_cells
from incfed.planning import leaving, worth
from incfed.planning.by_client import ByClient, ClientWorth, each_client
from incfed.planning.case import read_case
from incfed.planning.judging import Judged, Judgement
from incfed.planning.leaving import Leaving
from incfed.planning.page import plan_document
from incfed.planning.report import as_data
from incfed.planning.search import RunsFailed
from incfed.results import html
from incfed.results.document import Table
from incfed.results.intervals import Interval
from support.planning import CASE

LEAVERS = [1, 3]
COSTS = [1.0, 2.0, 3.0, 4.0, 5.0]
TABLES = {**CASE, "costs": COSTS, "leave": LEAVERS, "value_per_reward": 3.0}
FEW: dict[str, Any] = {"minimize": "regret", "trials": 16, "held_out": 3, "jobs": 1}


@pytest.fixture(scope="module")
def made() -> incfed.Plan:
    return incfed.plan(TABLES, **FEW)


def interval(mean: float, half: float) -> Interval:
    return Interval(mean, half, 5)


def judgement(shared: Sequence[float], alone: Sequence[float], paid: Sequence[float]) -> Judgement:
    """Of rewards, seed by seed."""
    one = Judged("a", [{"reward": x, "payment": y} for x, y in zip(shared, paid, strict=True)])
    other = Judged("b", [{"reward": x, "payment": 0.0} for x in alone])
    return Judgement(one, (other,), (), {}, one, {}, {})


def runs(plan: incfed.Plan) -> list[tuple[incfed.Result, incfed.Result]]:
    """With the advice and alone, made again."""
    world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=40)
    return [
        (
            incfed.simulate(world, plan.algorithm(), steps=120, seed=seed),
            incfed.simulate(world, _alone(plan), steps=120, seed=seed),
        )
        for seed in plan.held_out
    ]


def _alone(plan: incfed.Plan) -> incfed.Independent:
    rules = plan.judgement.alone.rules
    assert rules is not None
    return incfed.Independent(**{key: rules[key] for key in rules if key != "kind"})


def test_the_gain_in_money_less_what_is_paid() -> None:
    """By hand: 2 * (3, 5) - (1, 2) = 5, 8."""
    found = worth.net(judgement([10, 12], [7, 7], [1, 2]), "reward", 2.0)
    assert (found.mean, found.n) == (6.5, 2)
    assert found.half == pytest.approx(12.7062 * 1.5)  # t(1)


def test_money_in_words(made: incfed.Plan) -> None:
    def said(rewards: Sequence[float]) -> str:
        """Alone there is no reward, and 1 is paid."""
        alone = [0.0] * len(rewards)
        goal = replace(made.goal, aim="reward", performance="reward")
        found = judgement(rewards, alone, [1.0] * len(rewards))
        return worth.net_words(replace(made, judgement=found, goal=goal))

    assert said([9, 10, 11, 10]) == (
        "Sharing is worth 29.0 ± 3.9 after payments, over 120 steps. It brings 10.0 ± 1.3 more "
        "reward, worth 3 each, and 1 is paid."
    )
    assert said([-9, -10, -11, -10]) == (
        "Sharing costs 31.0 ± 3.9 more than it brings after payments, over 120 steps. It brings "
        "10.0 ± 1.3 less reward, worth 3 each, and 1 is paid."
    )
    assert said([1, -1]).startswith(
        "These runs cannot show whether sharing is worth its money after payments, over 120 "
        "steps: the difference is -1.0, and chance alone explains 38.1. It brings 0.0 ± 12.7 "
    )


def test_without_a_value_there_is_no_net_figure(made: incfed.Plan) -> None:
    bare = replace(made, case=replace(made.case, value_per_reward=None))
    assert (bare.net, worth.net_words(bare), as_data(bare)["net"]) == (None, "", None)
    assert "after payments" not in str(bare)


def test_regret_saved_is_worth_as_much_as_reward(made: incfed.Plan) -> None:
    assert made.net is not None
    assert made.net.mean == pytest.approx(3 * made.gain.mean - made.payment.mean)
    assert worth.net_words(made) in str(made)
    assert as_data(made)["net"]["mean"] == made.net.mean


def test_who_loses_for_sure_comes_first() -> None:
    """By hand: client a gains -2 or -2.1, b -9 or 4, c 4 or 4.1."""
    found = ByClient(np.array([[4.0, -9.0, -2.0], [4.1, 4.0, -2.1]]), np.array([[0, 1, 0]] * 2))
    first, second, third = each_client("cba", found, judgement([0, 0], [0, 0], [0, 0]))
    assert (first.name, second.name, third.name) == ("a", "b", "c")
    assert (first.loses, second.loses, third.loses) == (True, False, False)
    assert [one.wins for one in (first, second, third)] == [False, False, True]
    assert (first.gain.mean, second.gain.mean) == pytest.approx((-2.05, -2.5))
    assert [one.payment for one in (first, second, third)] == [0.0, 1.0, 0.0]


def test_each_client_in_words(made: incfed.Plan) -> None:
    def said(*gains: tuple[float, float]) -> str:
        plan = replace(made)
        plan.__dict__["shops"] = [
            ClientWorth(f"shop-{n}", interval(*gain), 0.0) for n, gain in enumerate(gains)
        ]
        return worth.client_words(plan)

    assert said((-3, 1), (-2, 1), (0, 5), (4, 1)) == (
        "2 of the 4 clients lose by sharing for sure: shop-0 (-3 ± 1) and shop-1 (-2 ± 1). 1 gains "
        "for sure; of 1 it cannot be told."
    )
    assert said((-3, 1), (4, 1)) == (
        "1 of the 2 clients loses by sharing for sure: shop-0 (-3 ± 1). 1 gains for sure."
    )
    assert said((3, 1), (4, 1)) == (
        "None of the 2 clients loses by sharing for sure. 2 gain for sure."
    )
    assert said((3, 9)).startswith("These runs cannot show of any client whether it gains or loses")
    assert ", shop-4 (-3 ± 1) and 2 others. 0 gain" in said(*[(-3, 1)] * 7)


def test_what_each_client_gains_is_what_its_runs_say(made: incfed.Plan) -> None:
    pairs = runs(made)
    assert sorted(shop.name for shop in made.shops) == [f"client {n}" for n in range(5)]
    for shop in made.shops:
        n = int(shop.name.removeprefix("client "))
        gains = [alone.clients.regret[n] - ours.clients.regret[n] for ours, alone in pairs]
        paid = statistics.fmean(ours.clients.paid[n] for ours, _ in pairs)
        assert shop.gain.mean == pytest.approx(statistics.fmean(gains))
        assert shop.gain.half == pytest.approx(Interval.of(gains).half)
        assert shop.payment == pytest.approx(paid)
    assert sum(shop.payment for shop in made.shops) == pytest.approx(made.payment.mean)


def test_of_many_clients_the_page_shows_both_ends(made: incfed.Plan) -> None:
    plan = replace(made)
    plan.__dict__["shops"] = [
        ClientWorth(f"shop-{n}", interval(n, 0.5), float(n)) for n in range(40)
    ]
    [table] = [block for block in worth.blocks(plan) if isinstance(block, Table)]
    assert [str(row.cells[0]) for row in table.rows] == [
        *(f"shop-{n}" for n in range(12)), "16 others", *(f"shop-{n}" for n in range(28, 40)),
    ]  # fmt: skip
    assert str(table.rows[12].cells[1]) == "12 to 27"
    assert len(as_data(plan)["shops"]) == 40
    plan.__dict__["shops"] = plan.shops[:30]
    [table] = [block for block in worth.blocks(plan) if isinstance(block, Table)]
    assert len(table.rows) == 30


def test_without_clients_those_who_stay_are_run_as_before(made: incfed.Plan) -> None:
    """By hand: in the same worlds, without the steps of two clients, the costs of the others."""
    whole = incfed.Synthetic(clients=5, dim=3, arms=4, pool=40)
    world, staying = Without(whole, LEAVERS), [0, 2, 4]
    advised = replace(made.algorithm(), costs=[COSTS[n] for n in staying])
    gains, paid = [], []
    for seed in made.held_out:
        steps = world.steps(np.random.SeedSequence(seed), 120)
        ours = incfed.simulate(world, advised, steps=steps, seed=seed)
        alone = incfed.simulate(world, _alone(made), steps=steps, seed=seed)
        gains.append(alone.regret[-1] - ours.regret[-1])
        paid.append(ours.payment[-1])
    found = made.leaving
    assert found is not None
    assert (found.count, found.names) == (2, ("client 1", "client 3"))
    assert found.gain.mean == pytest.approx(statistics.fmean(gains))
    assert found.gain.half == pytest.approx(Interval.of(gains).half)
    assert found.payment.mean == pytest.approx(statistics.fmean(paid))
    with_all = [
        sum(alone.clients.regret[n] - ours.clients.regret[n] for n in staying)
        for ours, alone in runs(made)
    ]
    assert found.gain_with_all.mean == pytest.approx(statistics.fmean(with_all))
    lost = [x - y for x, y in zip(with_all, gains, strict=True)]
    assert found.lost.mean == pytest.approx(statistics.fmean(lost))


def test_leaving_in_words(made: incfed.Plan) -> None:
    def said(gain: Interval, lost: Interval, names: tuple[str, ...] = (), count: int = 2) -> str:
        none = interval(0, 0)
        return leaving.leaving_words(
            made, Leaving(count, names, gain, interval(90, 5), lost, none, none)
        )

    assert said(interval(80, 5), interval(10, 2)) == (
        "Sharing still pays if 2 of the 5 clients leave (each run has others): it brings 80 ± 5 "
        "less regret to those who stay. With all there it brings them 90 ± 5 less regret, of which "
        "10 ± 2 is lost."
    )
    assert said(interval(-80, 5), interval(-10, 2), ("shop-3",), 1) == (
        "Sharing does not pay if shop-3 leaves: it brings 80 ± 5 more regret to those who stay. "
        "With all there it brings them 90 ± 5 less regret, 10 ± 2 less than without the others."
    )
    assert said(interval(3, 5), interval(0, 2), ("a", "b")) == (
        "These runs cannot show whether sharing pays for those who stay if a and b leave: the "
        "difference is 3, and chance alone explains 5. With all there it brings them 90 ± 5 less "
        "regret."
    )
    assert "if 1 of the 5 clients leaves (each" in said(interval(3, 5), interval(0, 2), (), 1)


def test_the_page_and_the_file_say_so(made: incfed.Plan) -> None:
    page = html.render(plan_document(made, configs=True))
    assert made.leaving is not None
    for text in (
        "What sharing is worth to each client",
        "If clients leave", worth.client_words(made), worth.net_words(made),
        leaving.leaving_words(made, made.leaving), "client 4",
    ):  # fmt: skip
        assert text in page
        assert text in str(made)
    data = json.loads(json.dumps(as_data(made)))
    assert [shop["name"] for shop in data["shops"]] == [shop.name for shop in made.shops]
    assert data["shops"][0]["gain"]["mean"] == made.shops[0].gain.mean
    assert data["shops"][0]["payment"] == made.shops[0].payment
    assert set(data["leaving"]) == {
        "clients", "names", "gain", "gain_with_all", "lost", "payment", "payment_with_all",
    }  # fmt: skip
    assert data["leaving"]["names"] == ["client 1", "client 3"]
    assert data["leaving"]["gain"]["low"] == made.leaving.gain.low


def test_nothing_is_run_twice_and_other_leavers_need_no_search(
    made: incfed.Plan, tmp_path: Path
) -> None:
    def asked(**change: Any) -> tuple[incfed.Plan, int]:
        plan = incfed.plan({**TABLES, **change}, output=tmp_path, **FEW)
        return plan, len(read_cells(tmp_path / "cells.jsonl"))

    first, count = asked()
    assert as_data(first) == as_data(made)
    assert asked()[1] == count
    # A share: each seed draws who leaves; the advice and learning alone, with three seeds.
    plan, more = asked(leave=0.4, value_per_reward=1)
    assert more == count + 6
    assert plan.setting == made.setting
    assert plan.leaving is not None
    assert (plan.leaving.count, plan.leaving.names) == (2, ())
    assert "(each run has others)" in str(plan)


def test_a_quarter_leaves_unless_the_case_says_otherwise() -> None:
    assert read_case(CASE).leave == 0.25
    lonely = {**CASE, "world": {**CASE["world"], "clients": 1}}
    assert read_case(lonely).leave is None
    plan = incfed.plan(lonely, **FEW)
    assert plan.leaving is None
    assert "This could not be run: there is only one client." in str(plan)
    assert as_data(plan)["leaving"] is None


def test_settings_with_a_value_for_each_client_follow_those_who_stay() -> None:
    run = leaving.WithoutRun(0, np.array([0, 2]), 9)
    assert run.only([0.1, 0.2, 0.3]) == [0.1, 0.3]
    assert run.only(0.5) == 0.5
    assert run.only([100.0, 20.0]) == [100.0, 20.0]  # mean lengths of spells
    assert run.only("fresh") == "fresh"


def test_runs_that_fail_without_clients_cost_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as those of a mechanism of your own that needs all clients."""

    def fail(found: object) -> None:
        raise RunsFailed("Mine: needs five clients")

    monkeypatch.setattr(leaving, "needed", fail)
    plan = incfed.plan(TABLES, **FEW)
    assert plan.leaving is None
    assert "This could not be run: Mine: needs five clients." in str(plan)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"leave": 1.5}, "leave: got 1.5, must be a share above 0 and below 1, or a list"),
        ({"leave": 0}, "leave: got 0, must be a share"),
        ({"leave": "shop-3"}, "leave: got 'shop-3', must be a share"),
        ({"leave": []}, "leave: got [], must be at least one client, and not all 5"),
        ({"leave": [0, 1, 2, 3, 4]}, "leave: got [0, 1, 2, 3, 4], must be at least one client"),
        ({"leave": [0, 9]}, "leave[2]: got 9, must be a client: 0, 1, 2, 3, 4"),
        ({"leave": [0, 0]}, "leave[2]: got 0, must be another client: this one is named twice"),
        ({"value_per_reward": 0}, "value_per_reward: got 0, must be a number from 0"),
        (
            {"value_per_reward": -1.0},
            "value_per_reward: got -1.0, must be a number from 0",
        ),
        ({"value_per_reward": float("nan")}, "value_per_reward: got nan, must be"),
        ({"value_per_reward": "x"}, "value_per_reward: got 'x', must be a number from 0"),
        (
            {"value_per_reward": True},
            "value_per_reward: got True, must be a number from 0",
        ),
        (
            {"world": {**CASE["world"], "without": [0]}},
            "world.without: got [0], must be left out: leave says who might leave",
        ),
    ],
)
def test_bad_input(change: dict[str, Any], said: str) -> None:
    with pytest.raises(incfed.InputError) as caught:
        read_case({**CASE, **change})
    assert said in str(caught.value)
