"""Is what a replayed log says true? In a made-up shop the truth is known. Logs of it by three ways
to log, with propensities (rejection sampling, and importance weights) and without; how often
intervals from bootstrapped logs hold, of the same readers and of others; and what a longer launch
costs, beside two ways to tell from the log.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import incfed
import plans
from incfed.environments.bootstrap import Bootstrap
from incfed.types import Floats, Ints

READERS, DIM, SLATE = 10, 5, 4
EVENTS = 4000
ALONE = incfed.Independent(exploration=0.3)
PAID = incfed.IncFedUCB(
    incfed.PaymentEfficient(0.7), threshold=0.5, costs=1.0, exploration=0.3
)  # fmt: skip
LONGEST = incfed.DisLinUCB(threshold=1e3, ridge=1e12, exploration=1e12)  # whatever it learns
LOGGERS = ("uniform", "skewed", "adversarial")


def measure() -> dict[str, Any]:
    return {
        "bias": _bias(),
        "learning": _learning(),
        "intervals": _intervals(),
        "readers": _readers(),
        "launch": _launch(),
        "plans": plans.measure(),
    }


def _bias() -> dict[str, Any]:
    """The reward of showing the longest arm, estimated from logs, and the truth."""
    found: dict[str, Any] = {}
    for logger in LOGGERS:
        chance = np.random.default_rng(0)
        arms, sales = _shop(chance, 200_000)
        longest = np.linalg.norm(arms, axis=2).argmax(axis=1)
        frame = _logged(chance, arms, sales, _odds(logger, sales, longest))
        given = incfed.ReplayLog(frame, mode="replay")
        naive = incfed.ReplayLog(frame.drop("propensity"), mode="replay")
        truth = float(sales[np.arange(len(arms)), longest].mean())
        kept, every = (incfed.simulate(log, LONGEST) for log in (given, naive))
        weighted, size = _weighted(every, frame["propensity"].to_numpy())
        found[logger] = {
            "truth": truth,
            "rejection": _each(kept, "reward"),
            "matched": float(kept.matched[-1]),
            "importance": weighted,
            "effective": size,
            "without": _each(every, "reward"),
        }
        print(
            f"  {logger:12} truth {truth:.4f}; rejection {_each(kept, 'reward'):.4f} "
            f"({kept.matched[-1]:,.0f} of {given.length:,} events), importance weights "
            f"{weighted:.4f} (worth {size:,.0f}), without {_each(every, 'reward'):.4f}"
        )
    return found


def _weighted(result: incfed.Result, propensities: Floats) -> tuple[float, float]:
    """The reward of a step, weighted by 1 / propensity over all matched events, and how many events
    of equal weight would say as much."""
    matched = np.diff(result.matched, prepend=0.0) > 0
    weights = matched / propensities
    estimate = float((weights * np.diff(result.reward, prepend=0.0)).sum() / weights.sum())
    return estimate, float(weights.sum() ** 2 / (weights**2).sum())


def _learning(logs: int = 40, events: int = 20_000) -> dict[str, Any]:
    """The same of an algorithm that learns as it goes: its reward in the first 1,000 matched steps,
    and in as many live ones. Matched events that rejection does not even out are not live steps."""
    first = 1000
    found: dict[str, Any] = {}
    for logger in LOGGERS:
        rows = []
        for n in range(logs):
            chance = np.random.default_rng(7000 + n)
            arms, sales = _shop(chance, first)
            bought = (chance.random(sales.shape) < sales).astype(float)
            world = incfed.Trace(chance.integers(0, READERS, first), arms, bought, count=READERS)
            live = _each(incfed.simulate(world, PAID), "reward")
            arms, sales = _shop(chance, events)
            longest = np.linalg.norm(arms, axis=2).argmax(axis=1)
            frame = _logged(chance, arms, sales, _odds(logger, sales, longest))
            logged = [frame, frame.drop("propensity")]
            kept, every = (
                incfed.simulate(incfed.ReplayLog(one, mode="replay"), PAID) for one in logged
            )
            ends = [min(int(np.searchsorted(one.matched, first)) + 1, events)
                    for one in (kept, every)]  # fmt: skip
            odds, end = frame["propensity"].to_numpy(), ends[1]
            matched = np.diff(every.matched[:end], prepend=0.0) > 0
            weights = matched / odds[:end]
            rewards = np.diff(every.reward[:end], prepend=0.0)
            rejected = kept.reward[ends[0] - 1] / kept.matched[ends[0] - 1]
            rows.append([live, rejected, float((weights * rewards).sum() / weights.sum())])
        means, errors = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / np.sqrt(logs)
        found[logger] = {
            name: {"mean": float(mean), "error": float(error)}
            for name, mean, error in zip(
                ("live", "rejection", "importance"), means, errors, strict=True
            )
        }
        said = ", ".join(
            f"{name} {each['mean']:.4f} +- {each['error']:.4f}"
            for name, each in found[logger].items()
        )
        print(f"  learning, {logger:12} {said}")
    return found


def _readers(logs: int = 60) -> dict[str, Any]:
    """Readers that differ: how often the interval of one log holds the mean of logs of other
    readers, by what bootstrapped logs draw."""
    rows: dict[str, list[tuple[float, float]]] = {"events": [], "clients": []}
    for n in range(logs):
        chance = np.random.default_rng(3000 + n)
        arms, sales = _shop(chance, EVENTS)
        who = chance.integers(0, 3 * READERS, EVENTS)
        sales = np.clip(sales + chance.normal(0.0, 0.15, 3 * READERS)[who, None], 0.0, 1.0)
        frame = _logged(chance, arms, sales).with_columns(client=who)
        log = incfed.ReplayLog(frame, mode="replay")
        for resample, each in rows.items():
            made = incfed.compare(log, {"alone": ALONE}, resample=resample)
            one = made.rows[0].reward
            each.append((one.mean, one.times * one.sd))
    found: dict[str, Any] = {}
    for resample, each in rows.items():
        figure, half = np.array(each).T
        held = float((np.abs(figure - figure.mean()) <= half).mean())
        found[resample] = {"half": float(half.mean()), "held": held}
        print(
            f"  readers that differ, {resample:8} drawn: ± {half.mean():.1f} of 1,000; the "
            f"interval holds in {held:.0%} of {logs} logs (sd {figure.std(ddof=1):.1f})"
        )
    return found


def _intervals(logs: int = 100) -> dict[str, Any]:
    """How often the interval of one log holds the mean of all logs."""
    metrics = ("reward", "payment", "communication")
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in (*metrics, "gain")}
    for n in range(logs):
        chance = np.random.default_rng(1000 + n)
        arms, sales = _shop(chance, EVENTS)
        log = incfed.ReplayLog(_logged(chance, arms, sales), mode="replay")
        made = incfed.compare(log, {"alone": ALONE, "paid": PAID})
        for name in metrics:
            one = getattr(made.rows[1], name)
            rows[name].append((one.mean, one.sd, one.times * one.sd))
        gap = made.difference("paid", "reward")
        rows["gain"].append((gap.mean, gap.error, gap.half))
    found: dict[str, Any] = {}
    for name, each in rows.items():
        figure, sd, half = np.array(each).T
        held = float((np.abs(figure - figure.mean()) <= half).mean())
        found[name] = {
            "sd": float(figure.std(ddof=1)),
            "bootstrap_sd": float(sd.mean()),
            "held": held,
        }
        print(
            f"  {name:14} sd over {logs} logs {figure.std(ddof=1):8.4g}, of bootstrapped logs "
            f"{sd.mean():8.4g}; the interval holds in {held:.0%}"
        )
    return found


def _launch(repeats: int = 20) -> dict[str, Any]:
    """What 4,000 live steps give, from logs of 4,000 events."""
    found: dict[str, Any] = {}
    for slate in (4, 20):
        rows: dict[str, list[list[float]]] = {"live": [], "bootstrapped": [], "scaled": []}
        for n in range(repeats):
            chance = np.random.default_rng(n)
            arms, sales = _shop(chance, EVENTS, slate)
            bought = (chance.random(sales.shape) < sales).astype(float)
            world = incfed.Trace(chance.integers(0, READERS, EVENTS), arms, bought, count=READERS)
            rows["live"].append(_totals(incfed.simulate(world, PAID)))
            chance = np.random.default_rng(500 + n)
            log = incfed.ReplayLog(_logged(chance, *_shop(chance, EVENTS, slate)), mode="replay")
            rows["scaled"].append(_totals(incfed.simulate(log, PAID)))
            drawn = Bootstrap(log, round(EVENTS / log.match_rate), repeats=True)
            rows["bootstrapped"].append(_totals(incfed.simulate(drawn, PAID, seed=1)))
        found[str(slate)] = {name: np.mean(each, axis=0).tolist() for name, each in rows.items()}
        for name, (reward, payment, sent) in found[str(slate)].items():
            print(
                f"  slates of {slate:2}, {name:12} reward {reward:6,.0f}, paid {payment:4,.0f}, "
                f"sent {sent:8,.0f}"
            )
    return found


def _shop(chance: np.random.Generator, steps: int, slate: int = SLATE) -> tuple[Floats, Floats]:
    """Arms, and the probability that each is sold."""
    arms = chance.standard_normal((steps, slate, DIM)) / np.sqrt(DIM)
    return arms, np.clip(0.3 + 0.3 * (arms @ np.full(DIM, 1 / np.sqrt(DIM))), 0.0, 1.0)


def _odds(logger: str, sales: Floats, longest: Ints) -> Floats:
    """The probabilities with which a logger picks."""
    steps, slate = sales.shape
    if logger == "uniform":
        return np.full(sales.shape, 1 / slate)
    if logger == "skewed":  # towards what sells
        weights = np.exp(4.0 * (sales - 0.3).clip(-0.3, 0.3))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))
    # The longest arm is shown mostly where it sells badly.
    bad = sales[np.arange(steps), longest] < 0.3
    odds = np.where(bad, 0.1, 0.3)[:, None] * np.ones(sales.shape)
    odds[np.arange(steps), longest] = np.where(bad, 0.7, 0.1)
    return odds


def _logged(
    chance: np.random.Generator, arms: Floats, sales: Floats, odds: Floats | None = None
) -> pl.DataFrame:
    """A log; without `odds` of equally likely picks."""
    steps, slate = sales.shape
    if odds is None:
        picks = chance.integers(0, slate, steps)
    else:
        picks = (odds.cumsum(axis=1) < chance.random((steps, 1))).sum(axis=1).clip(max=slate - 1)
    at = np.arange(steps), picks
    frame = pl.DataFrame(
        {
            "client": chance.integers(0, READERS, steps),
            "features": pl.Series(arms).cast(pl.List(pl.List(pl.Float64))),
            "chosen": picks,
            "reward": (chance.random(steps) < sales[at]).astype(float),
        }
    )
    return frame if odds is None else frame.with_columns(propensity=odds[at])


def _each(result: incfed.Result, metric: str) -> float:
    return float(getattr(result, metric)[-1] / result.matched[-1])


def _totals(result: incfed.Result) -> list[float]:
    """Reward, payment and traffic, at the rate of the matched steps."""
    return [EVENTS * _each(result, name) for name in ("reward", "payment", "communication")]
