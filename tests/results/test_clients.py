"""Results by client: sums that a loop over the steps and rounds gives too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.errors import InputError
from incfed.results import Clients, Rounds
from support.results import three_rounds
from support.worlds import traces

WORLD = incfed.Synthetic(clients=6, dim=5, arms=4, pool=30, activity=1.0, spread=0.4)
ALGORITHMS: list[Any] = [
    incfed.IncFedUCB(incfed.PaymentEfficient(0.8), threshold=0.5, costs=2.0),
    incfed.IncFedUCB(
        incfed.PayEveryone(), threshold=0.2, costs=[1, 2, 3, 4, 5, 6], availability=0.7
    ),
    incfed.IncFedUCB(incfed.PaymentFree(), trigger=incfed.Patient(1.0), download="one-for-one"),
    incfed.DisLinUCB(0.5),
    incfed.AsyncLinUCB(costs=3.0),
    incfed.FedLinUCB(costs=3.0),
    incfed.Independent(),
    incfed.Centralized(),
]
FIGURES = ("steps", "matched", "reward", "regret", "shared", "paid")


def literal(result: incfed.Result, acting: Any) -> dict[str, list[float]]:
    """The figures of each client, step by step and round by round."""
    found = {name: [0.0] * len(result.clients) for name in FIGURES}
    for name in ("reward", "regret", "matched"):
        each = np.diff(getattr(result, name), prepend=0.0)
        for client, value in zip(acting, each, strict=True):
            found[name][client] += value
    for client in acting:
        found["steps"][client] += 1
    for one in result.rounds:
        for client, money in zip(one.participants, one.payments, strict=True):
            found["shared"][client] += 1
            found["paid"][client] += money
    return found


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_sums_over_steps_and_rounds(algorithm: Any) -> None:
    result = incfed.simulate(WORLD, algorithm, steps=1500, seed=3)
    acting = WORLD.open(np.random.SeedSequence(3)).take(1500).clients
    for name, values in literal(result, acting).items():
        np.testing.assert_allclose(getattr(result.clients, name), values, atol=1e-9, err_msg=name)
    assert result.clients.steps.sum() == 1500
    assert result.clients.paid.sum() == pytest.approx(result.payment[-1])


@given(traces(steps=(1, 60), unknown=st.sampled_from([0.0, 0.5])), st.booleans())
def test_in_logs_too(trace: incfed.Trace, together: bool) -> None:
    algorithm: Any = incfed.DisLinUCB(0.3) if together else incfed.Independent()
    result = incfed.simulate(trace, algorithm)
    for name, values in literal(result, trace.clients).items():
        found = getattr(result.clients, name)
        if name == "regret" and trace.expected is None:
            acted = np.bincount(trace.clients, minlength=trace.count) > 0
            assert np.isnan(found[acted]).all()
            assert not found[~acted].any()
        else:
            np.testing.assert_allclose(found, values, rtol=1e-9, atol=1e-9, err_msg=name)
    skipped = result.matched[-1] < result.matched.size
    assert ("matched" in result.clients.to_polars().columns) == skipped


def test_by_hand() -> None:
    clients = Clients.collect(
        4, [0, 3, 3, 1], [1.0, 2.0, 0.0, 4.0], [0.5, 0.0, 0.0, 0.25], [1, 1, 0, 1], three_rounds()
    )
    frame = clients.to_polars()
    assert frame.to_dict(as_series=False) == {
        "client": [0, 1, 2, 3],
        "steps": [1, 1, 0, 2],
        "reward": [1.0, 4.0, 0.0, 2.0],
        "regret": [0.5, 0.25, 0.0, 0.0],
        "shared": [1, 0, 0, 1],
        "paid": [0.0, 0.0, 0.0, 2.5],
        "matched": [1, 1, 0, 1],
    }
    assert clients.to_pandas().to_dict("list") == frame.to_dict(as_series=False)
    assert repr(clients) == "<Clients: 4 clients, 1 of them paid>"


def test_saved_and_loaded(tmp_path: Path) -> None:
    result = incfed.simulate(WORLD, ALGORITHMS[0], steps=300)
    result.save(tmp_path / "a")
    assert incfed.load(tmp_path / "a").clients == result.clients
    assert result.clients.to_polars().columns == [
        "client", "steps", "reward", "regret", "shared", "paid",
    ]  # fmt: skip


def test_columns_that_do_not_fit_are_refused() -> None:
    columns: dict[str, Any] = {name: [1.0, 2.0] for name in FIGURES} | {"shared": [0, 1]}
    assert len(Clients(**columns)) == 2
    with pytest.raises(InputError, match=r"clients\.paid: 1 value; allowed is one for each of"):
        Clients(**columns | {"paid": [1.0]})
    with pytest.raises(InputError, match=r"clients\.shared: .* allowed are integers"):
        Clients(**columns | {"shared": [0.5, 1.0]})
    with pytest.raises(InputError, match=r"participants: clients 0 to 3; allowed are 0 to 2"):
        Clients.collect(3, [], [], [], [], three_rounds())
    none: Any = Clients.collect(3, [], [], [], [], Rounds.collect([]))
    assert none.steps.tolist() == [0.0, 0.0, 0.0]
