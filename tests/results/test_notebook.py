"""Records as notebooks show them: a small table, and a curve where there is one."""

from __future__ import annotations

from typing import Any

import incfed
from incfed.results import Rounds

WORLD = incfed.Synthetic(clients=12, dim=2, arms=3, pool=9)


def result(mechanism: incfed.Mechanism) -> incfed.Result:
    algorithm = incfed.IncFedUCB(mechanism, threshold=0.5, costs=2.0)
    return incfed.simulate(WORLD, algorithm, steps=200)


def test_rounds_are_a_table_and_a_curve() -> None:
    paid = result(incfed.PayEveryone()).rounds
    html = paid._repr_html_()
    assert f"The last 8 of {len(paid)} rounds." in html
    assert "Payments so far, after each round." in html
    assert html.count("<svg") == 1
    assert paid.payment.sum() > 15 * paid.payment[0]
    assert "paid to clients, cumulative<" in html  # a single curve has none beside it to flatten
    free = result(incfed.PaymentFree()).rounds._repr_html_()
    assert "Traffic so far, after each round." in free


def test_no_rounds_are_no_curve() -> None:
    html = Rounds.collect([])._repr_html_()
    assert "0 rounds" in html
    assert "<svg" not in html


def test_clients_are_a_table() -> None:
    html = result(incfed.PayEveryone()).clients._repr_html_()
    assert html.count('<th scope="row"') == 8
    assert "The first 8 of 12 rows." in html


def test_a_federation_shows_its_members_and_what_they_learned() -> None:
    federation = incfed.Federation(3, 2, incfed.DisLinUCB(1.0))
    empty = federation._repr_html_()
    assert "Federation: 3 clients" in empty
    assert "<svg" not in empty
    federation[0].learn([[1.0, 0.0]] * 3, [1.0] * 3)
    html = federation._repr_html_()
    assert "Not shared" in html
    assert html.count("<svg") == 1


def swept(**axes: list[Any]) -> str:
    """A sweep over these parameters of a world or of an algorithm, as a notebook shows it."""
    table = {
        "run": {"steps": 20, "seeds": 2},
        "world": WORLD.settings(),
        "algorithm": [{"kind": "Independent"}, {"kind": "DisLinUCB", "threshold": 1.0}],
        "sweep": {name.replace("_", "."): values for name, values in axes.items()},
    }
    return incfed.sweep(table, jobs=1)._repr_html_()


def test_a_sweep_is_the_table_of_its_points_and_a_curve() -> None:
    html = swept(world_noise=[0.1, 0.3])
    assert "Swept: noise of rewards (standard deviation): 0.1, 0.3." in html
    assert html.count('<th scope="row"') == 4
    assert html.count("<svg") == 1
    assert "Final regret by noise of rewards." in html
    assert ">DisLinUCB<" in html  # at the end of its line


def test_a_sweep_of_two_parameters_is_a_map_of_each_algorithm() -> None:
    html = swept(world_noise=[0.1, 0.3], algorithm_ridge=[0.1, 1.0])
    assert html.count("<svg") == 2
    assert html.count("the darker, the larger.</figcaption>") == 2


def test_a_sweep_of_words_is_a_table() -> None:
    html = swept(algorithm_width=["paper", "mixture"])
    assert html.count('<th scope="row"') == 4
    assert "<svg" not in html
