"""Are plans of a log right? Thirty made-up shops, of which the truth is known: a log of each is
planned, and what the plan says is compared with live runs of the shop itself, with bootstrapped
replay of the same log, and with what twenty fresh logs of the shop say.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import incfed
from incfed.environments.bootstrap import Bootstrap
from incfed.experiments.config import build_algorithm
from incfed.types import Floats

LOGS, LIVE, FRESH, HELD_OUT = 30, 200, 20, 20
ITEMS = 40
KINDS = ("alike", "different", "two groups")
COST, BUDGET = 5.0, 500.0
FIELD = Path()  # where paths in a case would start: it has none


@dataclass(frozen=True)
class Shops(incfed.World):
    """Shops that recommend one of a few items, clicked or not."""

    kind: str  # how their tastes differ
    logistic: bool
    rate: float  # of clicks, of an item like any other
    count: int = 20
    dim: int = 8
    arms_per_step: int = 5
    seed: int = 0

    def tastes(self) -> tuple[Floats, Floats]:
        """The items, and the parameter of each shop."""
        chance = np.random.default_rng(self.seed)
        items = chance.standard_normal((ITEMS, self.dim)) / np.sqrt(self.dim)
        theta = chance.standard_normal(self.dim)
        theta /= np.linalg.norm(theta)
        thetas = np.tile(theta, (self.count, 1))
        if self.kind == "different":
            thetas += chance.standard_normal(thetas.shape) / (2 * np.sqrt(self.dim))
        elif self.kind == "two groups":
            thetas[::2] *= -1.0
        return items, thetas

    def open(self, seed: np.random.SeedSequence) -> ShopStream:
        return ShopStream(self, seed)

    def settings(self) -> dict[str, Any]:
        return {"kind": "Shops", "seed": self.seed}

    def log(self, events: int, seed: int, *, skewed: bool) -> pl.DataFrame:
        """A log: what was picked, at random or by features, and whether it was clicked."""
        shown = self.open(np.random.SeedSequence([seed, 1])).take(events)
        chance = np.random.default_rng([seed, 2])
        items, _ = self.tastes()
        odds = np.exp(2.0 * skewed * items[shown.arms].sum(axis=2))
        odds /= odds.sum(axis=1, keepdims=True)
        drawn = chance.random((events, 1)) > odds.cumsum(axis=1)
        pick = np.minimum(drawn.sum(axis=1), self.arms_per_step - 1)
        rows = np.arange(events)
        table = {
            "client": [f"shop-{n}" for n in shown.clients],
            "features": items[shown.arms].tolist(),
            "chosen": pick,
            "reward": shown.rewards[rows, pick],
        }
        return pl.DataFrame(table | ({"propensity": odds[rows, pick]} if skewed else {}))


class ShopStream(incfed.Stream):
    def __init__(self, shops: Shops, seed: np.random.SeedSequence) -> None:
        self.items, self._thetas = shops.tastes()
        self._shops = shops
        self._who, self._which, self._luck = map(np.random.default_rng, seed.spawn(3))

    def take(self, n: int) -> incfed.Events:
        shops = self._shops
        clients = (self._who.random(n) * shops.count).astype(np.int64)
        arms = self._which.random((n, ITEMS)).argsort(axis=1)[:, : shops.arms_per_step]
        scores = np.einsum("nkd,nd->nk", self.items[arms], self._thetas[clients])
        if shops.logistic:
            odds = np.log(shops.rate / (1 - shops.rate)) + 2.0 * scores
            means = 1.0 / (1.0 + np.exp(-odds))
        else:
            means = np.clip(shops.rate * (1.0 + 1.2 * scores), 0.005, 0.995)
        rewards = (self._luck.random((n, 1)) < means).astype(float)
        return incfed.Events.of(clients, arms, rewards, means)


def measure(logs: int = LOGS) -> dict[str, Any]:
    """Plans of logs that can tell, and of logs that cannot."""
    return {**_plans(logs), "refused": {name: _refused(name) for name in ("noise", "few clicks")}}


def _refused(name: str, logs: int = 10) -> int:
    """How many logs are refused of shops whose clicks have nothing to do with what is shown."""
    count = 0
    for n in range(logs):
        chance = np.random.default_rng([n, 4])
        few = name == "few clicks"
        rate, events = (0.0046, 10_000) if few else (chance.uniform(0.05, 0.5), 2_000 * (1 + n))
        shops = Shops(kind="alike", logistic=True, rate=rate, count=12 + 2 * n, seed=n)
        clicks = pl.Series("reward", (chance.random(events) < rate).astype(float))
        frame = shops.log(events, seed=n, skewed=n % 5 == 4).with_columns(clicks)
        fitted = incfed.FittedWorld(incfed.ReplayLog(frame, mode="replay"))
        count += not fitted.held_out.predicts
    print(f"  {name}: {count} of {logs} logs are refused")
    return count


def _plans(logs: int) -> dict[str, Any]:
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        rows = [row for row in pool.map(_one, range(logs)) if row is not None]
    telling = [row for row in rows if row["verdict"] != "This log cannot tell"]
    signs = sum((row["gain"] > 0) == (row["truth"] > 0) for row in telling)
    unknown = [row for row in rows if row not in telling]
    excused = sum(abs(row["truth"]) < 2 * row["spread"] for row in unknown)
    held = sum(abs(row["gain"] - row["truth"]) <= row["half"] for row in rows)
    checked = [row["replay agrees"] for row in rows if row["replay agrees"] is not None]
    widths = float(np.mean([row["half"] / (1.96 * row["spread"]) for row in rows]))
    errors = {
        name: float(np.mean([abs(row[name] - row["live alone"]) for row in rows]))
        for name in ("alone", "bootstrapped alone")
    }
    print(
        f"  {len(rows)} plans of {logs} logs: the sign is right in {signs} of {len(telling)} that "
        f"tell; of {len(unknown)} that cannot, {excused} differences are within chance; intervals "
        f"hold in {held}, {widths:.2f} times as wide as fresh logs lie apart; value of learning "
        f"alone off by {errors['alone']:.1f}, bootstrapped {errors['bootstrapped alone']:.1f}; one "
        f"pass of replay agrees in {sum(checked)} of {len(checked)}"
    )
    return {
        "rows": rows,
        "signs": signs,
        "excused": excused,
        "held": held,
        "widths": widths,
        "replay agrees": f"{sum(checked)} of {len(checked)}",
    }


def _one(n: int) -> dict[str, Any] | None:
    """One log: what its plan says, and what is true."""
    chance = np.random.default_rng([n, 3])
    shops = Shops(
        kind=KINDS[n % 3], logistic=bool(n // 3 % 2), rate=float(chance.uniform(0.05, 0.5)),
        count=int(chance.integers(12, 31)), dim=int(chance.integers(6, 11)),
        arms_per_step=int(chance.integers(4, 7)), seed=n,
    )  # fmt: skip
    events, skewed = int(chance.integers(2_000, 20_001)), n % 5 == 4
    frame = shops.log(events, seed=n, skewed=skewed)
    file = Path(f"plans-{n}.parquet").absolute()
    frame.write_parquet(file)
    try:
        world = {"kind": "ReplayLog", "file": str(file), "mode": "replay"}
        plan = incfed.plan(
            {"world": world, "costs": COST}, budget=BUDGET, trials=48, held_out=HELD_OUT, jobs=1
        )
        bootstrapped = _bootstrapped(incfed.ReplayLog(frame, mode="replay"), plan)
    except incfed.InputError as error:
        print(f"  {n:2} {shops.kind:10} {events:6,} events: {error}", flush=True)
        return None
    finally:
        file.unlink()
    steps, advised, alone = plan.case.steps, plan.algorithm(), _alone(plan, shops)
    live = {
        name: _rewards(shops, algorithm, steps, LIVE)
        for name, algorithm in (("advised", advised), ("alone", alone))
    }
    fresh = [_fresh(shops, events, 1000 * n + k, skewed, plan, alone) for k in range(1, FRESH + 1)]
    row: dict[str, Any] = {
        "kind": shops.kind,
        "verdict": plan.verdict,
        "gain": plan.gain.mean,
        "half": plan.gain.half,
        "truth": float((live["advised"] - live["alone"]).mean()),
        "spread": float(np.std(fresh, ddof=1)),
        "alone": plan.judgement.alone["reward"].mean,
        "live alone": float(live["alone"].mean()),
        "replay agrees": None if plan.cross_check is None else plan.cross_check.agree,
        "bootstrapped alone": bootstrapped["alone"],
        "bootstrapped gain": bootstrapped["advised"] - bootstrapped["alone"],
    }
    print(
        f"  {n:2} {shops.kind:10} {'logistic' if shops.logistic else 'linear':8} {events:6,} events"
        f"{' skewed' if skewed else ''}: {plan.verdict}: {row['gain']:+.0f} ± {row['half']:.0f}, "
        f"true {row['truth']:+.0f} (fresh logs ± {1.96 * row['spread']:.0f}, bootstrapped "
        f"{row['bootstrapped gain']:+.0f}); alone {row['alone']:.0f}, true {row['live alone']:.0f}",
        flush=True,
    )
    return row


def _alone(plan: incfed.Plan, world: incfed.World) -> incfed.Algorithm:
    rules = dict(plan.judgement.alone.rules or {})
    made: incfed.Algorithm
    made = build_algorithm(rules, "algorithm", world, plan.case.steps, FIELD).value
    return made


def _rewards(world: incfed.World, algorithm: incfed.Algorithm, steps: int, seeds: int) -> Floats:
    return np.array([
        incfed.simulate(world, algorithm, steps=steps, seed=seed).reward[-1]
        for seed in range(seeds)
    ])  # fmt: skip


def _fresh(
    shops: Shops, events: int, seed: int, skewed: bool, plan: incfed.Plan, alone: incfed.Algorithm
) -> float:
    """The gain of the advised setting that another log of these shops says."""
    log = incfed.ReplayLog(shops.log(events, seed, skewed=skewed), mode="replay")
    fitted = plan.case.fitted
    assert fitted is not None
    world = incfed.FittedWorld(log, length=plan.case.steps, link=fitted.link, runs=fitted.runs)
    seeds = HELD_OUT * fitted.runs
    both = [_rewards(world, one, plan.case.steps, seeds) for one in (plan.algorithm(), alone)]
    return float((both[0] - both[1]).mean())


def _bootstrapped(log: incfed.ReplayLog, plan: incfed.Plan) -> dict[str, float]:
    """What bootstrapped replay of the second half says of the same two."""
    steps = plan.case.steps
    drawn = max(steps, min(int(np.ceil(steps / log.match_rate)), 100_000))
    world = Bootstrap(log.part(0.5, 1.0), drawn, repeats=True)
    found = {}
    for name, algorithm in (("advised", plan.algorithm()), ("alone", _alone(plan, log))):
        runs = [incfed.simulate(world, algorithm, seed=seed) for seed in range(HELD_OUT)]
        found[name] = float(np.mean([steps * run.reward[-1] / run.matched[-1] for run in runs]))
    return found
