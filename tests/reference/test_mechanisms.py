"""The reference mechanisms, pinned by examples small enough for pencil and paper.

In one dimension a determinant is a number: with ridge 1, `det V_g(S) = 1 + V_g + sum of w over S`,
and a client with data w that is offered the data of S has the incentive
`(1 + V_g + sum over S and i) / (1 + V_g + w_i) - 1`. In two dimensions diagonal matrices are used,
whose determinants are products.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from reference.mechanisms import BoolArray, Table, decide


def outcome(
    kind: str, data: Sequence[Any], costs: Sequence[float], V_g: Any = 0.0, **options: Any
) -> tuple[list[int], list[float]]:
    """Participants and their payments; data are diagonals (numbers where d = 1), ridge 1."""
    dV = np.stack([np.diag(np.atleast_1d(np.asarray(w, np.float64))) for w in data])
    shared = V_g * np.eye(dV.shape[1])
    mask, money = decide(kind, shared, dV, shared + dV, np.array(costs, float), 1.0, **options)
    assert not money[~mask].any(), "somebody outside S was paid"
    return [int(i) for i in np.flatnonzero(mask)], [float(p) for p in money[mask]]


# d = 1, V_g = 1, w = (1, 2, 4). Everybody together: 1 + 1 + 7 = 9; alone: 3, 4, 6.
# Data incentives given everybody: 9/3 - 1 = 2, 9/4 - 1 = 1.25, 9/6 - 1 = 0.5.
THREE = [1.0, 2.0, 4.0]


def test_the_data_incentive_lowers_what_everyone_is_paid() -> None:
    # max(0, 1 - 2) = 0, 2 - 1.25 = 0.75, 1.5 - 0.5 = 1
    who, money = outcome("pay_everyone", THREE, [1.0, 2.0, 1.5], V_g=1.0)
    assert who == [0, 1, 2]
    assert money == pytest.approx([0.0, 0.75, 1.0], abs=1e-12)


def test_the_data_incentive_is_a_determinant_not_a_trace() -> None:
    # diag(3, 0), diag(0, 2), ridge 1: together 4 * 3 = 12; alone 4 and 3; incentives 2 and 3.
    _, money = outcome("pay_everyone", [(3.0, 0.0), (0.0, 2.0)], [10.0, 10.0])
    assert money == pytest.approx([8.0, 7.0], abs=1e-12)


def test_an_incentive_beyond_all_numbers_stays_finite() -> None:
    # det ratio 1e300^2 overflows: the client is worth nothing more than "more than any cost".
    data = [(1e300, 1e300), (0.0, 0.0)]
    who, money = outcome("pay_everyone", data, [5.0, 1e308])
    assert who == [0, 1]
    assert money == [5.0, 0.0]


# Client 2 (0.5 < 1) leaves. {0, 1}: 1 + 1 + 3 = 5; incentives 5/3 - 1 = 2/3 and 5/4 - 1 = 1/4.
@pytest.mark.parametrize(
    ("costs", "stays"),
    [
        ([2.0, 1.25, 0.5], [0, 1, 2]),  # equality is enough
        ([2.0, 1.25, 0.5 + 1e-6], []),  # 2 leaves, and the others go after it
        ([0.6, 0.2, 1.0], [0, 1]),  # 2 leaves, 2/3 and 1/4 still cover 0.6 and 0.2
        ([0.6, 0.3, 1.0], []),  # 1/4 < 0.3: 1 leaves, then 0 alone has nothing to gain
        ([0.6, 0.0, 1.0], [0, 1]),  # a cost of nothing is covered by nothing
        ([0.7, 0.0, 1.0], [1]),  # 2/3 < 0.7
        ([2.0 + 2e-9, 1.25, 0.5], [0, 1, 2]),  # within 1e-9 (1 + 2) = 3e-9
        ([2.0 + 4e-9, 0.0, 0.0], [1, 2]),  # beyond it
    ],
)
def test_payment_free_removes_the_unwilling(costs: list[float], stays: list[int]) -> None:
    assert outcome("payment_free", THREE, costs, V_g=1.0) == (stays, [0.0] * len(stays))


def test_payment_free_is_the_largest_stable_set() -> None:
    rng = np.random.default_rng(3)
    sizes = set()
    for _ in range(60):
        n, d = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        x = rng.normal(size=(n, 2, d))
        dV = np.einsum("nra,nrb->nab", x, x)
        costs = rng.choice([0.0, 0.5, 2.0, 10.0, 50.0], size=n)
        table = Table(np.zeros((d, d)), dV, dV, costs, 0.5)
        stable = [
            S
            for S in (np.array(bits, dtype=bool) for bits in product([False, True], repeat=n))
            if all(table.willing(int(i), S) for i in np.flatnonzero(S))
        ]
        union: BoolArray = np.any(stable, axis=0)
        mask, _ = decide("payment_free", np.zeros((d, d)), dV, dV, costs, 0.5)
        np.testing.assert_array_equal(mask, union)
        sizes.add(int(mask.sum()))
    assert len(sizes) > 3, "the examples must not all be alike"


# THREE with costs (0.6, 0.2, 1): data alone brings {0, 1}, 5 of 9 = 0.5556.
@pytest.mark.parametrize("order", ["descending", "ascending"])
def test_nobody_is_paid_when_data_alone_meets_beta(order: str) -> None:
    for beta in (0.0, 0.5, 5 / 9):
        result = outcome(
            "payment_efficient", THREE, [0.6, 0.2, 1.0], V_g=1.0, beta=beta, order=order
        )
        assert result == ([0, 1], [0.0, 0.0])


@pytest.mark.parametrize("order", ["descending", "ascending"])
def test_the_last_resort_is_paid_what_its_data_does_not_cover(order: str) -> None:
    # 2 is the only other; with it the ratio is 1. It gets 1 - (9/6 - 1) = 0.5. Now 0 and 1 have
    # incentives 2 and 1.25, but they shared for data and are paid nothing.
    for beta in (0.56, 1.0):
        who, money = outcome(
            "payment_efficient", THREE, [0.6, 0.2, 1.0], V_g=1.0, beta=beta, order=order
        )
        assert who == [0, 1, 2]
        assert money == pytest.approx([0.0, 0.0, 0.5], abs=1e-12)


# d = 1, V_g = 0, w = (1, 2, 6): everybody 10; {0} 2, {1} 3, {2} 7, {0, 1} 4.
LINE = [1.0, 2.0, 6.0]


@pytest.mark.parametrize(
    ("order", "beta", "paid"),
    [
        ("descending", 0.5, 2),  # 0.7 >= 0.5
        ("descending", 0.25, 2),  # the best, though client 1 would do
        ("ascending", 0.25, 1),  # first valid from below: 0.3; {0} costs as much and is only 0.2
        ("ascending", 0.5, 2),  # invalid {0, 1} cost 9.67 + 9 > 10: back to the last resort
        ("ascending", 0.2, 0),  # 0 itself is valid
    ],
)
def test_which_client_is_the_last_resort(order: str, beta: float, paid: int) -> None:
    # Cost 10 each: nobody comes for data, and the last resort, alone, is paid in full.
    result = outcome("payment_efficient", LINE, [10.0] * 3, beta=beta, order=order)
    assert result == ([paid], [10.0])


def test_an_ascending_search_that_beats_its_last_resort() -> None:
    # Costs (1, 2, 10): Alg. 2 keeps nobody (2 leaves; {0, 1}: 1/3 < 2; then 0). beta 0.35: last
    # resort is 2 for 10. Search: pick 1 (3 > 2); 0 is offered 4/2 - 1 = 1 >= 1 and joins unpaid;
    # 1 gets 2 - (4/3 - 1) = 5/3, below 10, and 4/10 meets beta.
    who, money = outcome("payment_efficient", LINE, [1.0, 2.0, 10.0], beta=0.35, order="ascending")
    assert who == [0, 1]
    assert money == pytest.approx([0.0, 5 / 3], abs=1e-12)
    # With cost 1.5 for the last resort the search costs more and ends there.
    who, money = outcome("payment_efficient", LINE, [1.0, 2.0, 1.5], beta=0.35, order="ascending")
    assert who == [2]
    assert money == [1.5]


def test_a_search_that_costs_as_much_as_the_last_resort_goes_on() -> None:
    # beta 0.4, costs (1, 5 + 1/3, 5): pick 1; 0 joins (1 >= 1); total 5 + 1/3 - 1/3 = 5, a tie.
    who, money = outcome(
        "payment_efficient", LINE, [1.0, 5.0 + 1 / 3, 5.0], beta=0.4, order="ascending"
    )
    assert who == [0, 1]
    assert money == pytest.approx([0.0, 5.0], abs=1e-12)


# d = 2, ridge 1: diag(3, 0), diag(0, 2), diag(1, 0). Everybody 5 * 3 = 15; alone 4, 3, 2.
PLANE = [(3.0, 0.0), (0.0, 2.0), (1.0, 0.0)]


@pytest.mark.parametrize(
    ("third", "who", "money"),
    [
        # Pick 0: 4/15. Then 1 (x 3, against x 5/4): 12/15 = 0.8 meets 0.7. Incentives 12/4 - 1 = 2
        # and 12/3 - 1 = 3; client 2 is offered 12 * 5/4 / 2 - 1 = 6.5, less than 10.
        (10.0, [0, 1], [8.0, 7.0]),
        # Now 6.5 covers 6: client 2 joins unpaid, 15/4 - 1 = 2.75 and 15/3 - 1 = 4.
        (6.0, [0, 1, 2], [7.25, 6.0, 0.0]),
        # Already after the first pick: 5/2 - 1 = 1.5 covers 1.5. Then 1 is picked: as above.
        (1.5, [0, 1, 2], [7.25, 6.0, 0.0]),
    ],
)
def test_a_search_of_two_picks(third: float, who: list[int], money: list[float]) -> None:
    found, paid = outcome("payment_efficient", PLANE, [10.0, 10.0, third], beta=0.7)
    assert found == who
    assert paid == pytest.approx(money, abs=1e-12)


def test_beta_one_takes_everybody() -> None:
    # Pick 0, 1, 2: incentives 2.75, 4 and 15/2 - 1 = 6.5.
    who, money = outcome("payment_efficient", PLANE, [10.0] * 3, beta=1.0)
    assert who == [0, 1, 2]
    assert money == pytest.approx([7.25, 6.0, 3.5], abs=1e-12)


# diag(3, 0), diag(2, 0), diag(0, 1.5): everybody 6 * 2.5 = 15; alone 4, 3, 2.5; {0, 1} 6,
# {0, 2} 10.
ABLATION = [(3.0, 0.0), (2.0, 0.0), (0.0, 1.5)]


@pytest.mark.parametrize(
    ("payment_free", "iterative", "who", "money"),
    [
        # 0, then 2 (x 2.5 against x 1.5): 10/15 meets 0.6. 10/4 - 1 = 1.5, 10/2.5 - 1 = 3.
        (True, True, [0, 2], [8.5, 7.0]),
        # Ranked once: 0, 1 (6/15 = 0.4), 2. 15/4 - 1 = 2.75, 15/3 - 1 = 4, 15/2.5 - 1 = 5.
        (True, False, [0, 1, 2], [7.25, 6.0, 5.0]),
        (False, True, [0, 2], [10.0, 10.0]),  # money only, in full
        (False, False, [0, 1, 2], [10.0, 10.0, 10.0]),
    ],
)
def test_ablations(payment_free: bool, iterative: bool, who: list[int], money: list[float]) -> None:
    options = {"payment_free": payment_free, "iterative": iterative}
    found, paid = outcome("payment_efficient", ABLATION, [10.0] * 3, beta=0.6, **options)
    assert found == who
    assert paid == pytest.approx(money, abs=1e-12)


def test_without_payment_free_the_start_is_those_who_cost_nothing() -> None:
    # Costs (10, 10, 0): start {2}, 2.5; with 0: 10/15 meets 0.6: last resort, 10 in full. With
    # payment-free the start is the same ({2}), but the data lowers it by 10/4 - 1 = 1.5.
    costs = [10.0, 10.0, 0.0]
    result = outcome("payment_efficient", ABLATION, costs, beta=0.6, payment_free=False)
    assert result == ([0, 2], [10.0, 0.0])
    who, money = outcome("payment_efficient", ABLATION, costs, beta=0.6)
    assert who == [0, 2]
    assert money == pytest.approx([8.5, 0.0], abs=1e-12)
    # Where those who cost nothing are enough, nobody is paid: {0} is 2 of 10.
    result = outcome("payment_efficient", LINE, [0.0, 10.0, 10.0], beta=0.2, payment_free=False)
    assert result == ([0], [0.0])
    # A client that data alone would bring is not brought: LINE, costs (1, 2, 10) as above, w/o PF
    # pays 1 in full, then 0 in full.
    result = outcome(
        "payment_efficient",
        LINE,
        [1.0, 2.0, 10.0],
        beta=0.35,
        order="ascending",
        payment_free=False,
    )
    assert result == ([0, 1], [1.0, 2.0])


def test_absorbing_those_made_willing_by_the_last_resort() -> None:
    # LINE, costs (1, 2.2, 10), beta 0.5: {2}, 0.7, is paid 10. Absorbing: 0 is offered
    # 8/2 - 1 = 3 and joins; then 1 is offered 10/3 - 1 = 2.33 (without 0 only 9/3 - 1 = 2) and
    # joins; 2 now gets 10 - (10/7 - 1) = 67/7.
    costs = [1.0, 2.2, 10.0]
    assert outcome("payment_efficient", LINE, costs, beta=0.5) == ([2], [10.0])
    who, money = outcome("payment_efficient", LINE, costs, beta=0.5, absorb=True)
    assert who == [0, 1, 2]
    assert money == pytest.approx([0.0, 0.0, 67 / 7], abs=1e-12)
    # Without payment-free nobody comes for data, absorb or not.
    options = {"beta": 0.5, "absorb": True, "payment_free": False}
    assert outcome("payment_efficient", LINE, costs, **options) == ([2], [10.0])


@pytest.mark.parametrize(("short", "first"), [(1e-10, 0), (1e-7, 1)])
def test_greedy_ties_go_to_the_lowest_id(short: float, first: int) -> None:
    # Two equal clients of 3 each, everybody 7; beta 0.5: either one alone (4/7) is enough.
    data = [3.0 - short, 3.0]
    who, _ = outcome("payment_efficient", data, [10.0, 10.0], beta=0.5)
    assert who == [first]
    # Ascending, the smallest first: 3 - 1e-10 and 3 tie, so id 0 though it is the larger here.
    who, _ = outcome("payment_efficient", data[::-1], [10.0, 10.0], beta=0.5, order="ascending")
    assert who == [first]
