"""What limits do to a client that acts against the others, in a whole run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import incfed
from incfed.rules.limits import safe_limits

HONEST, DIM = 3, 4
LEARNED = 80  # steps of each honest client before the attack
LIMITS = safe_limits(10_000.0)


def honest_shares(limits: incfed.Limits, begin: int, beside: int) -> tuple[int, float]:
    """How often honest clients share while what they have learned doubles: before the attack, and
    during it. The attacker shares for nothing: `begin` steps at once, then so many beside each step
    of the others. Equal counts are usual: data is bought when it adds a part to what there is."""
    turn = list(range(HONEST))
    who = turn * LEARNED + [HONEST] * begin
    who += (turn + [HONEST] * (beside * HONEST)) * (3 * LEARNED)
    chance = np.random.default_rng(0)
    items = chance.standard_normal((200, DIM))
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    arms = chance.integers(0, len(items), (len(who), 5))
    expected = items[arms] @ np.full(DIM, DIM**-0.5)
    rewards = expected + 0.1 * chance.standard_normal(expected.shape)
    world = incfed.Trace(
        clients=np.array(who), arms=arms, rewards=rewards, expected=expected, items=items,
        count=HONEST + 1,
    )  # fmt: skip
    algorithm = incfed.IncFedUCB(
        incfed.PaymentEfficient(beta=0.7), threshold=2.0, ridge=1.0,
        costs=[50.0] * HONEST + [0.0], limits=limits,
    )  # fmt: skip
    learned = np.cumsum(np.array(who) < HONEST) / HONEST
    before = during = 0
    for round in incfed.simulate(world, algorithm, steps=None, seed=0).rounds:
        shares, now = sum(client < HONEST for client in round.participants), learned[round.step]
        before += shares if LEARNED / 2 < now <= LEARNED else 0
        during += shares if now > LEARNED else 0
    return before, during / 2.0  # it doubles twice


def test_honest_clients_share_beside_made_up_data() -> None:
    """Who is within the limit by a little does the most harm: of a share s, 1 - s is left to the
    others. Without a limit they are left less."""
    share = LIMITS.largest_share
    assert share is not None
    beside = round(share / (1.0 - share))
    before, during = honest_shares(LIMITS, beside * HONEST * LEARNED, beside)
    assert during >= (1.0 - share) * before > 0
    lifted = replace(LIMITS, largest_share=None)
    before, during = honest_shares(lifted, 20 * HONEST * LEARNED, beside=0)
    assert during <= 0.2 * before
