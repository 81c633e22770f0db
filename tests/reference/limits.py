"""Deciding within limits, written out: remove who may not be paid so much, and decide again.

Limits are a plain table of numbers. Imports nothing of the package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reference.mechanisms import TOLERANCE, BoolArray, Table, decide, enough

ATTEMPTS = 3


def highest_price(limits: dict[str, Any], last: float) -> float:
    """What a client may declare, and still be paid."""
    rise = limits.get("price_rise")
    if rise is None or np.isnan(last):
        return np.inf
    return float(rise * max(last, limits.get("price_floor", 1.0)))


def next_price(limits: dict[str, Any], price: float, last: float) -> float:
    """What counts of the prices so far: the highest, as far as it was allowed to rise."""
    rose = min(price, highest_price(limits, last))
    return rose if np.isnan(last) else max(rose, last)


def allowance(
    limits: dict[str, Any], price: float, paid: float, last: float, left: float,
    others: list[float],
) -> float:  # fmt: skip
    """The most that a client may be paid in this round."""
    spread, wanted = limits.get("price_spread"), [one for one in others if one > 0.0]
    if spread is not None and len(wanted) >= 2:
        usual = max(float(np.median(wanted)), limits.get("price_floor", 1.0))
        if price > spread * usual:
            return 0.0
    reserve = limits.get("reserve")
    if (reserve is not None and price > reserve) or price > highest_price(limits, last):
        return 0.0
    most = [max(0.0, left)]
    most += [limits[name] for name in ("per_round", "per_payment") if limits.get(name) is not None]
    if limits.get("per_client") is not None:
        most.append(max(0.0, limits["per_client"] - paid))
    return float(min(most))


def crowding(
    limits: dict[str, Any], pending: list[set[int]], shared: list[int], who: list[int]
) -> list[int]:
    """Clients that would have shared too large a part of everything."""
    share, spread = limits.get("largest_share"), limits.get("steps_spread")
    if len(pending) <= 2:
        return []
    have = [shared[j] + (len(pending[j]) if j in who else 0) for j in range(len(pending))]
    out = []
    for j in who:
        others = [steps for i, steps in enumerate(have) if i != j and steps > 0]
        most = [] if share is None else [share * sum(have)]
        if spread is not None and len(others) >= 2:
            most.append(spread * sum(others) / len(others))
        if any(have[j] > one for one in most):
            out.append(j)
    return out


def too_little(limits: dict[str, Any], pending: list[set[int]], sharing: dict[int, float]) -> bool:
    if len(pending) <= 2 or not sharing:
        return False
    if len(sharing) < limits.get("least_sharers", 1):
        return True
    for own in sharing:  # what each can tell of the others
        others = [j for j in sharing if j != own] or [own]
        if sum(len(pending[j]) for j in others) < limits.get("least_steps", 1):
            return True
    return False


def decided_by(
    table: Table, who: list[int], kind: str, options: dict[str, Any]
) -> dict[int, float]:
    """What a mechanism decides for the clients of the table."""
    mask, money = decide(
        kind, table.V_g, table.dV, table.V_i, table.costs, table.ridge, table.behind, **options
    )
    return {j: float(money[n]) for n, j in enumerate(who) if mask[n]}


def settled_within(
    table: Callable[..., Table], holding: list[int], mechanism: tuple[str, dict[str, Any]],
    allowances: Callable[[list[int]], dict[int, float]], purse: float, stays: BoolArray,
    short: Callable[[dict[int, float]], bool], crowded: Callable[[list[int]], list[int]],
) -> tuple[dict[int, float], list[int]]:  # fmt: skip
    """Who shares in the end, and for how much, without those that leave; and who was left to choose
    from. Nobody, if they fall `short`: at once, or because some leave."""
    offers = offered(table, holding, mechanism, allowances, purse, None, crowded)
    if short(offers):
        return {}, holding
    kept: dict[int, float] = {}
    attempt = 1
    while failed := [j for j in offers if not stays[j] and j not in kept]:
        kept = {j: paid for j, paid in offers.items() if j not in failed}
        holding = [j for j in holding if j not in failed]
        add = mechanism if attempt < ATTEMPTS else None
        offers = offered(table, holding, add, allowances, purse, kept, crowded)
        attempt += 1
    return {} if short(offers) else offers, holding


def offered(
    table: Callable[..., Table], holding: list[int], mechanism: tuple[str, dict[str, Any]] | None,
    allowances: Callable[[list[int]], dict[int, float]], purse: float,
    kept: dict[int, float] | None, crowded: Callable[[list[int]], list[int]],
) -> dict[int, float]:  # fmt: skip
    """One decision. `kept`: what those were offered that delivered; mechanism None: nobody else."""
    held = kept or {}
    out = [j for j in crowded(holding) if j not in held]
    holding = [j for j in holding if j not in out]
    allowed = allowances(holding)
    among = list(holding)
    while True:
        asked = decided_by(table(who=among), among, *mechanism) if mechanism else {}
        if kept is not None:
            mask = np.array([j in asked or j in held for j in among], np.bool_)
            owed = table(who=among).payments(mask, mask)
            asked = {j: float(owed[n]) for n, j in enumerate(among) if mask[n]}
            asked = {j: max(paid, held.get(j, 0.0)) for j, paid in asked.items()}
        for j in held:
            if above(asked[j], allowed[j]):
                asked[j] = held[j]
        over = [j for j, paid in asked.items() if j not in held and above(paid, allowed[j])]
        fitting = {j: paid for j, paid in asked.items() if j not in over}
        while above(sum(fitting.values()), purse):
            paid_new = [j for j in fitting if j not in held and fitting[j] > 0.0]
            if not paid_new:
                fitting |= held
                break
            top = max(fitting[j] for j in paid_new)
            last = max(j for j in paid_new if fitting[j] >= top * (1.0 - TOLERANCE))
            over.append(last)
            del fitting[last]
        if not over:
            break
        over += [j for j in hopeless(table, among, allowed) if j not in over and j not in held]
        among = [j for j in among if j not in over]
    joined = for_data(table, holding, fitting, among) if mechanism else []
    return dict(sorted({**dict.fromkeys(joined, 0.0), **fitting}.items()))


def above(paid: float, most: float) -> bool:
    return paid > most + TOLERANCE * (1.0 + most)


def hopeless(table: Callable[..., Table], who: list[int], allowed: dict[int, float]) -> list[int]:
    """Clients that data and money could not satisfy, even if all the others shared."""
    one, S = table(who=who), np.ones(len(who), np.bool_)
    most = np.array([allowed[j] for j in who])
    uncovered = np.maximum(0.0, one.costs - most)
    while S.any():
        unwilling = np.flatnonzero(S)[~enough(one.incentives(S, S), uncovered[S])]
        if not len(unwilling):
            break
        S[unwilling[0]] = False
    return [j for n, j in enumerate(who) if not S[n]]


def for_data(
    table: Callable[..., Table], holding: list[int], sharing: dict[int, float], among: list[int]
) -> list[int]:
    """Those that were removed, and share for data alone: one unwilling client at a time goes."""
    one = table(who=holding)
    removed = [j for j in holding if j not in among]
    while removed:
        S = np.array([j in sharing or j in removed for j in holding], np.bool_)
        unwilling = [j for j in removed if not one.willing(holding.index(j), S)]
        if not unwilling:
            break
        removed.remove(unwilling[0])
    return removed
