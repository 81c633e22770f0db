"""The reference run (Algorithm 1), pinned by traces small enough for pencil and paper.

One dimension, one arm a step unless said otherwise, ridge 1: log det V(lambda) is log(1 + V).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference.mechanisms import FloatArray
from reference.simulation import Round, Run, run


def trace(who: list[int], arms: list[list[float]], y: list[list[float]], **settings: Any) -> Run:
    """Run over a written-out trace with d = 1."""
    defaults: dict[str, Any] = {
        "expected": None,
        "count": 3,
        "mechanism": ("pay_everyone", {}),
        "threshold": 1.0,
        "costs": 10.0,
        "ridge": 1.0,
        "noise": 1.0,
        "delta": float(np.exp(-0.5)),
        "keep": True,
    }
    features = np.array(arms, float)[:, :, None]
    return run(np.array(who), features, np.array(y, float), **(defaults | settings))


def matrices(r: Round) -> tuple[FloatArray, FloatArray, FloatArray]:
    """V_g, every V_i and every dV_i after a round."""
    assert r.V_g is not None
    assert r.V_i is not None
    assert r.dV_i is not None
    return r.V_g, r.V_i, r.dV_i


# Client 0 with x = 1: V = 1, 1 * ln 2 = 0.69. Again: V = 2, 2 * ln 3 = 2.20 > 1: a round.
# Client 1 with x = 1: 1 * ln(4/3) = 0.29. Client 0 with x = 2: V = 6, 1 * ln(7/3) = 0.85.
# Again: V = 10, 2 * ln(11/3) = 2.60: a round, with dV_0 = 8, dV_1 = 1 on the table.
WHO = [0, 0, 1, 0, 0]
ARMS = [[1.0], [1.0], [1.0], [2.0], [2.0]]
ONES = [[1.0]] * 5


@pytest.mark.parametrize("clocks", ["all", "participants"])  # all take part: no difference
def test_rounds_payments_and_communication(clocks: str) -> None:
    out = trace(WHO, ARMS, ONES, clocks=clocks)
    assert [(r.step, r.trigger, r.pending, r.idle) for r in out.rounds] == [
        (1, 0, 1, 2),
        (4, 0, 2, 1),
    ]
    # N d^2 + d (sharing + idle) + N (d^2 + d) = 3 + 3 + 6
    assert [r.communication for r in out.rounds] == [12.0, 12.0]
    assert [r.ratio for r in out.rounds] == [1.0, 1.0]
    # Alone, client 0 gains nothing: 10. Then 12/11 - 1 = 1/11 for it, 12/4 - 1 = 2 for client 1.
    assert out.rounds[0].participants.tolist() == [0]
    assert out.rounds[1].participants.tolist() == [0, 1]
    assert out.rounds[0].payments == pytest.approx([10.0])
    assert out.rounds[1].payments == pytest.approx([10 - 1 / 11, 8.0])
    assert out.communication.tolist() == [0.0, 12.0, 12.0, 12.0, 24.0]
    assert out.payment == pytest.approx([0.0, 10.0, 10.0, 10.0, 28 - 1 / 11])
    assert out.reward.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert np.isnan(out.regret).all()


def test_costs_belong_to_client_ids() -> None:
    # The same with client 2 for 0 and 0 for 1; client 1 never has anything to share.
    out = trace([2, 2, 0, 2, 2], ARMS, ONES, costs=np.array([20.0, 1e6, 1.0]))
    assert out.rounds[0].participants.tolist() == [2]
    assert out.rounds[0].payments == pytest.approx([1.0])
    assert out.rounds[1].participants.tolist() == [0, 2]
    assert out.rounds[1].payments == pytest.approx([18.0, 1 - 1 / 11])


def test_those_who_do_not_share_keep_their_data_and_still_download() -> None:
    # Payment-efficient, beta 0.5, costs (10, 10): second round: S0 empty (1/11 and 2 below 10);
    # 0 alone brings 11/12: last resort, alone, 10 in full. Client 1 keeps its 1.
    out = trace(WHO, ARMS, ONES, mechanism=("payment_efficient", {"beta": 0.5}))
    last = out.rounds[1]
    assert last.participants.tolist() == [0]
    assert last.payments.tolist() == [10.0]
    assert last.ratio == pytest.approx(11 / 12)
    assert last.communication == 3 + 1 * (1 + 1) + 6
    V_g, V_i, dV_i = matrices(last)
    assert V_g.ravel().tolist() == [10.0]
    assert V_i.ravel().tolist() == [10.0, 11.0, 10.0]
    assert dV_i.ravel().tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(("clocks", "fired"), [("all", [1]), ("participants", [1, 2])])
def test_clocks(clocks: str, fired: list[int]) -> None:
    # Payment-free at cost 0.5, D_c = 2: 2 ln 3 = 2.20 fires, a lone client gains nothing and
    # shares nothing. Third step: clock 1: ln 4 = 1.39; clock 3: 4.16.
    out = trace(
        [0, 0, 0],
        [[1.0]] * 3,
        [[1.0]] * 3,
        mechanism=("payment_free", {}),
        costs=0.5,
        threshold=2.0,
        clocks=clocks,
    )
    assert [r.step for r in out.rounds] == fired
    assert [r.communication for r in out.rounds] == [3.0 + 2.0 + 6.0] * len(fired)
    assert [r.participants.tolist() for r in out.rounds] == [[]] * len(fired)
    assert out.rounds[0].ratio == pytest.approx(1 / 3)


def test_the_trigger_is_strict_and_an_arm_of_zeros_never_fires() -> None:
    out = trace([0, 1, 1, 2], [[0.1], [0.0], [0.7], [0.0]], [[1.0]] * 4, threshold=0.0)
    assert [r.step for r in out.rounds] == [0, 2]
    # It is pending all the same: client 1 shares its two steps in one, client 2 never.
    assert [r.pending for r in out.rounds] == [1, 1]
    out = trace([1, 0], [[0.0], [1.0]], [[1.0]] * 2, threshold=0.0)
    assert [(r.step, r.pending, r.idle) for r in out.rounds] == [(1, 2, 1)]


def test_rounding_never_fires() -> None:
    # D_c = 0 and every other arm zeros: a step fires exactly if its client has something pending,
    # though V_i and V_g, the same sums in another order, differ in their last bits.
    rng = np.random.default_rng(1)
    T, N, d = 300, 3, 2
    who = rng.integers(N, size=T)
    arms: FloatArray = rng.normal(size=(T, 1, d))
    arms[1::2] = 0.0
    nothing = np.zeros((T, 1))
    costs = np.array([0.0, 0.05, 0.1])
    out = run(
        who, arms, nothing, None, N, ("payment_free", {}), 0.0, costs, 0.1, 0.1, 0.1, keep=True
    )
    fired = {r.step: r for r in out.rounds}
    waiting = np.zeros(N, dtype=bool)
    quiet = 0
    for t, i in enumerate(who):
        waiting[i] |= arms[t].any()
        assert (t in fired) == waiting[i]
        quiet += not waiting[i]
        if t in fired:
            waiting[:] = matrices(fired[t])[2].any(axis=(1, 2))
    assert quiet > 20


@pytest.mark.parametrize(("left", "chosen"), [(-1.0, 1), (-1.3, 0)])
def test_choice_by_upper_confidence_bound(left: float, chosen: int) -> None:
    # delta = e^-0.5: 2 log 1/delta = 1. Prior: alpha = sqrt(0 + 1) + 1 = 2, scores 2 |x|: x = 1.
    # Reward 3: V = 1, theta = 3/2, alpha = sqrt(ln 2 + 1) + 1 = 2.30121, width |x| / sqrt 2, so
    # 1.5 x + 1.62720 |x|: 0.127 at -1, 0.165 at -1.3, 0.156 at 0.05.
    out = trace([0, 0], [[0.5, 1.0], [left, 0.05]], [[1.0, 3.0], [0.0, 0.0]], threshold=1e9)
    assert out.choices.tolist() == [1, chosen]


def test_a_fixed_exploration_replaces_alpha() -> None:
    # 1.5 x + e |x| / sqrt 2 at -1.3 against 0.05: e = 2.30121 picks the former (above), e = 2.2
    # the latter: -1.95 + 2.0224 = 0.0724 against 0.075 + 0.0778 = 0.1528.
    out = trace(
        [0, 0],
        [[0.5, 1.0], [-1.3, 0.05]],
        [[1.0, 3.0], [0.0, 0.0]],
        threshold=1e9,
        exploration=2.2,
    )
    assert out.choices.tolist() == [1, 1]


@pytest.mark.parametrize(("short", "chosen"), [(1e-10, 0), (1e-8, 1)])
def test_arm_ties_go_to_the_lowest_index(short: float, chosen: int) -> None:
    out = trace([0], [[1.0 - short, 1.0]], [[0.0, 0.0]])  # scores 2 x: 2e-10 or 2e-8 apart
    assert out.choices.tolist() == [chosen]


@pytest.mark.parametrize(("reads", "chosen"), [("fresh", [1, 1, 0]), ("stale", [0, 1, 1])])
def test_stale_reads(reads: str, chosen: list[int]) -> None:
    # No exploration: the sign of theta decides, the lowest index at theta = 0.
    # Client 0: V = 1, b = 9, theta = 4.5; ln 2 > 0.5 fires, and client 1 downloads it.
    # Client 1, reward 0: fresh knows theta > 0 and takes 1, stale the empty prior and takes 0.
    # Either way V = 2 and ln(3/2) = 0.41 does not fire.
    # Client 1 again: its own update had the download in it, theta = 9/3 for both: 1. The reward
    # of -99 makes b = -90; V = 3, 2 ln 2 = 1.39 fires.
    # Client 0: fresh has downloaded b = -90 and takes 0; stale remembers theta = 4.5 and takes 1.
    who = [0, 1, 1, 0]
    arms = [[1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]]
    y = [[9.0, 9.0], [0.0, 0.0], [-99.0, -99.0], [0.0, 0.0]]
    out = trace(who, arms, y, threshold=0.5, exploration=0.0, reads=reads)
    assert [r.step for r in out.rounds[:2]] == [0, 2]
    assert out.choices[1:].tolist() == chosen


@pytest.mark.parametrize(("reads", "chosen"), [("fresh", 0), ("stale", 1)])
def test_a_stale_model_is_older_than_the_round_its_own_step_fired(reads: str, chosen: int) -> None:
    # Client 1, x = 0.5, reward -20: b = -10, ln 1.25 = 0.22 does not fire. Client 0, x = 1, reward
    # 4: theta = 2; ln 2 fires, and it downloads the -10: b = -6. The round came after its update.
    out = trace(
        [1, 0, 0],
        [[0.5, 0.5], [1.0, 1.0], [-1.0, 1.0]],
        [[-20.0, -20.0], [4.0, 4.0], [0.0, 0.0]],
        threshold=0.5,
        exploration=0.0,
        reads=reads,
    )
    assert out.rounds[0].participants.tolist() == [0, 1]
    assert out.choices[2] == chosen


def test_regret_and_reward_add_up() -> None:
    # Prior: the longest arm, index 1, then (reward 0, theta = 0) again index 1.
    out = trace(
        [0, 0],
        [[0.5, 1.0], [0.5, 1.0]],
        [[7.0, 0.0], [7.0, 0.25]],
        expected=np.array([[0.6, 0.1], [0.2, 0.3]]),
    )
    assert out.choices.tolist() == [1, 1]
    assert out.regret == pytest.approx([0.5, 0.5])
    assert out.reward.tolist() == [0.0, 0.25]


@pytest.mark.parametrize("clocks", ["all", "participants"])
@pytest.mark.parametrize("reads", ["fresh", "stale"])
@pytest.mark.parametrize(
    "mechanism",
    [
        ("pay_everyone", {}),
        ("payment_free", {}),
        ("payment_efficient", {"beta": 0.8}),
        ("payment_efficient", {"beta": 0.8, "order": "ascending", "absorb": True}),
    ],
)
def test_every_client_holds_what_is_shared_and_what_it_has_pending(
    mechanism: tuple[str, dict[str, Any]], reads: str, clocks: str
) -> None:
    rng = np.random.default_rng(5)
    T, N, K, d = 200, 6, 4, 3
    arms: FloatArray = rng.normal(size=(T, K, d))
    rewards: FloatArray = rng.normal(size=(T, K))
    who = rng.integers(N, size=T)
    costs = rng.uniform(0.0, 3.0, size=N)
    out = run(
        who, arms, rewards, rewards, N, mechanism, 0.5, costs, 0.1, 0.1, 0.1,
        reads=reads, clocks=clocks, keep=True,
    )  # fmt: skip
    assert len(out.rounds) > 10
    fired = {r.step: r for r in out.rounds}
    shared: FloatArray = np.zeros((d, d + 1))  # V_g and b_g side by side
    waiting: FloatArray = np.zeros((N, d, d + 1))
    for t, i in enumerate(who):
        x, y = arms[t, out.choices[t]], rewards[t, out.choices[t]]
        if reads == "fresh":
            V, b = np.split(shared + waiting[i], [d], axis=1)
            V = V + 0.1 * np.eye(d)
            alpha = 0.1 * np.sqrt(np.log(np.linalg.det(V) / 0.1**d) + 2 * np.log(10)) + 0.1**0.5
            widths = np.sqrt(np.sum(arms[t].T * np.linalg.solve(V, arms[t].T), axis=0))
            scores = arms[t] @ np.linalg.solve(V, b)[:, 0] + alpha * widths
            assert out.choices[t] == np.argmax(scores)
        waiting[i] += np.outer(x, np.append(x, y))
        if t not in fired:
            continue
        r = fired[t]
        shared += waiting[r.participants].sum(axis=0)
        waiting[r.participants] = 0.0
        V_g, V_i, dV_i = matrices(r)
        np.testing.assert_allclose(V_g, shared[:, :d], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(dV_i, waiting[:, :, :d], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(V_i, V_g + dV_i, rtol=1e-10, atol=1e-12)
        if mechanism[0] == "payment_efficient":
            assert r.ratio >= 0.8 * (1 - 1e-8)
