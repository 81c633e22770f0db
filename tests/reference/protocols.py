"""Rounds under any trigger and download rule, and asynchronous exchanges, written out literally.

Plain determinants and a loop over steps. Observations have numbers; what a client or the server has
is a set of such numbers. Imports nothing of the package.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from reference.limits import (
    ATTEMPTS,
    allowance,
    crowding,
    decided_by,
    next_price,
    settled_within,
    too_little,
)
from reference.mechanisms import TOLERANCE, FloatArray, Table, logdet, stable_set
from reference.trust import Trust

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Has = Callable[[int], set[int]]


@dataclass(frozen=True)
class Round:
    step: int
    trigger: int
    participants: list[int]
    payments: list[float]
    pending: int
    idle: int
    communication: float
    ratio: float  # det V_g(S) / det V_g(those that could be in it)


@dataclass
class Run:
    """Every list has one figure a step, but for the rounds."""

    regret: list[float] = field(default_factory=list)
    reward: list[float] = field(default_factory=list)
    communication: list[float] = field(default_factory=list)
    packed: list[float] = field(default_factory=list)
    payment: list[float] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)

    def add(self, expected: FloatArray, reward: FloatArray, k: int, *traffic: float) -> None:
        self.regret.append(float(expected.max() - expected[k]))
        self.reward.append(float(reward[k]))
        for figures, figure in zip(
            (self.communication, self.packed, self.payment), traffic, strict=True
        ):
            figures.append(figure)


class Observations:
    """All of them: x and y of each step."""

    def __init__(self, dim: int, ridge: float) -> None:
        self.x: dict[int, FloatArray] = {}
        self.y: dict[int, float] = {}
        self.dim, self.ridge = dim, ridge

    def V(self, have: set[int]) -> FloatArray:
        total = np.zeros((self.dim, self.dim))
        for one in sorted(have):
            total += np.outer(self.x[one], self.x[one])
        return total

    def b(self, have: set[int]) -> FloatArray:
        total = np.zeros(self.dim)
        for one in sorted(have):
            total += self.x[one] * self.y[one]
        return total

    def L(self, have: set[int]) -> float:
        """log det V(lambda)."""
        return float(logdet(self.V(have), self.ridge))


def matrix_size(rank: int, d: int) -> int:
    return rank * d - rank * (rank - 1) // 2 if rank < d else d * (d + 1) // 2


def model_size(rank: int, d: int) -> int:
    return matrix_size(rank, d) + min(rank, d)


def table_of(
    all: Observations, server: set[int], pending: list[set[int]], base: Has, who: list[int],
    cost: FloatArray,
) -> Table:  # fmt: skip
    """The server's table, with these clients."""

    def stack(sets: list[set[int]]) -> FloatArray:
        return np.array([all.V(one) for one in sets]).reshape(-1, all.dim, all.dim)

    return Table(
        all.V(server),
        stack([pending[j] for j in who]),
        stack([base(j) | pending[j] for j in who]),
        cost[who],
        all.ridge,
        stack([server - base(j) for j in who]),
    )


def run_rounds(
    clients: IntArray,
    arms: FloatArray,
    rewards: FloatArray,
    expected: FloatArray,
    count: int,
    *,
    mechanism: tuple[str, dict[str, Any]],
    trigger: tuple[str, dict[str, Any]],
    costs: FloatArray | float,
    ridge: float,
    noise: float,
    delta: float,
    exploration: float | None = None,
    width: str = "paper",
    download: str = "everyone",
    budget: float = np.inf,
    trust: float | str | FloatArray = np.inf,
    present: Callable[[int, int], tuple[BoolArray, BoolArray]] | None = None,
    limits: dict[str, Any] | None = None,
) -> Run:
    """`present(step, client)`: who uploads in the next round, and who is still there to deliver."""
    d = arms.shape[2]
    cost = np.broadcast_to(np.asarray(costs, np.float64), (count,))
    kind, setting = trigger
    streams = "rows" if kind == "news" else setting.get("signal")
    all, out = Observations(d, ridge), Run()
    trusting = Trust(all, trust, count)
    model = d * d + d + trusting.extra
    server: set[int] = set()
    has: list[set[int]] = [set() for _ in range(count)]  # downloaded, or shared by itself
    pending: list[set[int]] = [set() for _ in range(count)]
    entitled = [True] * count
    late = [False] * count  # away when everyone else got the model
    silent: list[set[int] | None] = [None] * count  # what those had pending that did not answer
    clock = [0] * count
    spent = 0.0
    paid_ever, last_price = np.zeros(count), np.full(count, np.nan)  # for limits
    shared_ever = [0] * count  # steps
    # Growth: what is known of the clients up to each cost, and what each has reported since.
    levels = sorted(set(cost.tolist()))
    exact = {level: d * float(np.log(ridge)) for level in levels}
    grown = [0.0] * count

    def base(i: int) -> set[int]:
        """What it has of the server's. Everyone gets the new model at once."""
        return server if download == "everyone" else has[i]

    def uncrowded(who: list[int]) -> list[int]:
        out = crowding(limits or {}, pending, shared_ever, who)
        return [j for j in who if j not in out]

    def counts(who: list[int]) -> bool:
        """If these share, is it enough?"""
        return bool(who) and not too_little(limits or {}, pending, dict.fromkeys(who, 0.0))

    def worthwhile(who: list[int]) -> bool:
        """Would a round of these clients succeed for data alone?"""
        who = uncrowded(who)
        S = stable_set(table_of(all, server, pending, base, who, cost))
        joined = server.union(*(pending[j] for j, member in zip(who, S, strict=True) if member))
        enough = counts([j for j, member in zip(who, S, strict=True) if member])
        news = all.L(joined) - all.L(server) >= setting["news"] - TOLERANCE
        return bool(S.any() and news and enough)

    def wanted(i: int) -> bool:
        growth = all.L(base(i) | pending[i]) - all.L(base(i))
        if kind == "threshold":
            return bool(growth > TOLERANCE and clock[i] * growth > setting["D_c"])
        if kind == "ratio":
            return bool(growth > np.log(setting["gamma"]))
        if kind == "news":
            heard = [j for j in range(count) if pending[j] and pending[j] != silent[j]]
            heard = uncrowded(heard)
            news = all.L(server.union(*(pending[j] for j in heard))) - all.L(server)
            return counts(heard) and news > float(setting["above"])
        if streams == "rows":
            return worthwhile([j for j in range(count) if pending[j] and pending[j] != silent[j]])
        if not counts([j for j in range(count) if pending[j]]):
            return False
        for level in levels:
            members = [j for j in range(count) if cost[j] <= level]
            active = [j for j in members if pending[j]]
            bound = exact[level] + sum(grown[j] for j in members)
            if level < levels[-1]:
                bound -= setting["news"]
            needs = [
                all.L(base(j) | pending[j]) + setting["factor"] * float(np.log1p(cost[j]))
                for j in active
            ]
            enough = bound - all.L(server) >= setting["news"] - 1e-7
            if len(active) > 1 and enough and bound >= max(needs) - 1e-7:
                return True
        return False

    for t in range(len(clients)):
        i = int(clients[t])
        sent = packed = paid = 0.0
        new = server - has[i]
        if (download == "everyone" or entitled[i]) and new:
            has[i] |= server
            packed += model_size(len(new), d) + trusting.extra
            sent += model if download != "everyone" or late[i] else 0
            late[i] = False
            trusting.download(i, server)
        entitled[i] = False
        have = base(i) | pending[i]
        k = trusting.choose(i, arms[t], have, noise, delta, exploration, width)
        before = all.L(have)
        all.x[t], all.y[t] = arms[t, k], float(rewards[t, k])
        trusting.learn(i, have, t)
        pending[i].add(t)
        clock[i] += 1
        grown[i] += all.L(base(i) | pending[i]) - before
        stream = {"rows": d, "growth": 1, None: 0}[streams]
        sent, packed = sent + stream, packed + stream

        if wanted(i):
            there, stays = np.ones(count, np.bool_), np.ones(count, np.bool_)
            if present is not None:
                there, stays = present(t, i)
            large = (limits or {}).get("steps_per_upload") or np.inf
            there_at_all = there
            there = np.array([t and len(p) <= large for t, p in zip(there, pending, strict=True)])
            holding = [j for j in range(count) if pending[j] and there[j]]
            idle = int(there.sum()) - len(holding)
            scalars = 0.0
            if streams != "rows":
                scalars += float(there.sum()) * d * d
                packed += sum(matrix_size(len(pending[j]), d) for j in holding)
            sharing: dict[int, float] = {}
            left = holding
            if streams != "growth" or worthwhile(holding):
                table = partial(table_of, all, server, pending, base, cost=cost)
                if limits is None:
                    sharing, left = settled(table, holding, mechanism, budget - spent, stays)
                else:

                    def allowances(
                        who: list[int], spent: float = spent, limits: dict[str, Any] = limits
                    ) -> dict[int, float]:
                        known = {j: p for j, p in enumerate(last_price) if shared_ever[j]}
                        known |= {j: cost[j] for j in who}
                        return {
                            j: allowance(
                                limits, cost[j], paid_ever[j], last_price[j], budget - spent,
                                [price for other, price in known.items() if other != j],
                            )
                            for j in who
                        }  # fmt: skip

                    purse = min(budget - spent, limits.get("per_round") or np.inf)
                    short = partial(too_little, limits, pending)
                    crowded = partial(crowding, limits, pending, shared_ever)
                    sharing, left = settled_within(
                        table, holding, mechanism, allowances, purse, stays, short, crowded
                    )
            possible = all.L(server.union(*(pending[j] for j in left)))
            if sharing or not streams:
                scalars += (d + trusting.extra) * (len(sharing) + idle)
                scalars += float(there.sum()) * model if download == "everyone" else 0.0
            sent += scalars
            for j in sharing:
                shared_ever[j] += len(pending[j])
                packed += min(len(pending[j]), d) + trusting.extra
                trusting.share(j, len(pending[j]))
                server |= pending[j]
                has[j] |= pending[j]
                pending[j] = set()
                entitled[j] = True
            paid = sum(sharing.values())
            spent += paid
            for j in holding:
                last_price[j] = next_price(limits or {}, cost[j], last_price[j])
                paid_ever[j] += sharing.get(j, 0.0)
            there = there_at_all
            ratio = float(np.exp(all.L(server) - possible))
            payments = list(sharing.values())
            out.rounds.append(
                Round(t, i, list(sharing), payments, len(holding), idle, scalars, ratio)
            )
            if sharing and download == "everyone":
                late = [not one for one in there]
            silent = [None if there[j] else set(pending[j]) for j in range(count)]
            clock = [0] * count
            grown = [0.0] * count  # clients that did not answer count again when they do
            for level in levels:
                known = [pending[j] for j in range(count) if cost[j] <= level and there[j]]
                exact[level] = all.L(server.union(*known))
        out.add(expected[t], rewards[t], k, sent, packed, paid)
    return out


def settled(
    table: Callable[..., Table], holding: list[int], mechanism: tuple[str, dict[str, Any]],
    left: float, stays: BoolArray,
) -> tuple[dict[int, float], list[int]]:  # fmt: skip
    """Who shares in the end, and for how much: within the budget, and without those that leave;
    and who was left to choose from."""

    def decided(who: list[int], kind: str, options: dict[str, Any]) -> dict[int, float]:
        return decided_by(table(who=who), who, kind, options)

    free: tuple[str, dict[str, Any]] = ("payment_free", {})
    enough = left + TOLERANCE * (1.0 + left)
    offers = decided(holding, *mechanism)
    if sum(offers.values()) > enough:
        offers = decided(holding, *free)
    kept: dict[int, float] = {}
    attempt = 1
    while failed := [j for j in offers if not stays[j] and j not in kept]:
        kept = {j: paid for j, paid in offers.items() if j not in failed}
        holding = [j for j in holding if j not in failed]
        for data_only, one in enumerate([mechanism, free] if attempt < ATTEMPTS else [None]):
            S = {*kept, *(decided(holding, *one) if one else ())}
            mask = np.array([j in S for j in holding], np.bool_)
            money = table(who=holding).payments(mask, mask)
            offers = {}
            for owed, j in zip(money.tolist(), holding, strict=True):
                if j in S:
                    added_for_data = data_only and j not in kept
                    offers[j] = max(0.0 if added_for_data else owed, kept.get(j, 0.0))
            if sum(offers.values()) <= enough:
                break
        else:
            offers = {j: kept.get(j, 0.0) for j in offers}
        attempt += 1
    return offers, holding


def run_asynchronous(
    clients: IntArray,
    arms: FloatArray,
    rewards: FloatArray,
    expected: FloatArray,
    count: int,
    *,
    upload: float,
    download: float | None,
    costs: FloatArray | float,
    ridge: float,
    noise: float,
    delta: float,
    exploration: float | None = None,
    width: str = "paper",
    trust: float | str | FloatArray = np.inf,
) -> Run:
    """AsyncLinUCB (download: a ratio) and FedLinUCB (None: each upload brings the model)."""
    d = arms.shape[2]
    cost = np.broadcast_to(np.asarray(costs, np.float64), (count,))
    all, out = Observations(d, ridge), Run()
    trusting = Trust(all, trust, count)
    model = d * d + d + trusting.extra
    server: set[int] = set()
    has: list[set[int]] = [set() for _ in range(count)]
    pending: list[set[int]] = [set() for _ in range(count)]
    for t in range(len(clients)):
        i = int(clients[t])
        sent = packed = paid = 0.0
        if download is not None and all.L(server) - all.L(has[i]) > np.log(download):
            sent += model
            packed += model_size(len(server - has[i]), d) + trusting.extra
            has[i] |= server
            trusting.download(i, server)
        have = has[i] | pending[i]
        k = trusting.choose(i, arms[t], have, noise, delta, exploration, width)
        all.x[t], all.y[t] = arms[t, k], float(rewards[t, k])
        trusting.learn(i, have, t)
        pending[i].add(t)
        known = all.L(has[i] | pending[i])
        if known - all.L(has[i]) > np.log(upload):
            scalars = model
            packed += model_size(len(pending[i]), d) + trusting.extra
            trusting.share(i, len(pending[i]))
            server |= pending[i]
            has[i] |= pending[i]
            pending[i] = set()
            paid = float(cost[i])
            if download is None:
                paid = max(0.0, paid - float(np.expm1(all.L(server) - known)))
                scalars *= 2
                new = server - has[i]
                if new:
                    packed += model_size(len(new), d) + trusting.extra
                    trusting.download(i, server)
                has[i] |= server
            sent += scalars
            out.rounds.append(Round(t, i, [i], [paid], 1, 0, float(scalars), 1.0))
        out.add(expected[t], rewards[t], k, sent, packed, paid)
    return out
