"""A member with a valid token wants money, or wants others to get none."""

from __future__ import annotations

import math
import subprocess
import sys
import time

import numpy as np

from federation import BUDGET, DIM, Attacker, Federation, attacker
from outcome import PAYING, Attack, Outcome

SHARE = 0.05  # of the budget: more than this is a loss
TIME = 8.0  # seconds for an upload to be taken or refused
LONG = 45.0  # seconds in which honest clients must share again


def offer(one: Attacker, federation: Federation, V: np.ndarray, b: np.ndarray, steps: int) -> bool:
    """Was this taken from it?"""
    one.make_up(V, b, steps)
    return federation.wait(lambda: one.held_back == 0, TIME)


def plausible(chance: np.random.Generator, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Of so many steps that nobody took."""
    x = chance.standard_normal((steps, DIM))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x.T @ x, x.T @ chance.uniform(-1.0, 1.0, steps)


def money(amount: float, of: float = BUDGET) -> str:
    return f"{amount:,.2f} of {of:,.0f}"


def made_up_steps(federation: Federation) -> Outcome:
    steps = 10**9
    with attacker(federation, BUDGET) as one:
        offer(one, federation, steps / DIM * np.eye(DIM), np.zeros(DIM), steps)
        earned = one.earned
    return Outcome(money(earned), f"{earned / BUDGET:.0%} of the budget", earned <= SHARE * BUDGET)


def rising_price(federation: Federation) -> Outcome:
    chance = np.random.default_rng(0)
    with attacker(federation) as one:
        for one.price in (5.0, 50.0, 500.0, 5_000.0):
            offer(one, federation, *plausible(chance, 20), 20)
        earned = one.earned
    return Outcome(money(earned), f"{earned / BUDGET:.0%} of the budget", earned <= SHARE * BUDGET)


def resale(federation: Federation) -> Outcome:
    """What it has just downloaded, less of it, what it downloaded first, and what came since."""
    with attacker(federation, 5.0) as one:
        federation.wait(lambda: np.trace(one.model[0]) > DIM)
        first, sold = one.model, 0
        for turn in range(6):
            V, b = one.model
            if turn % 3 == 1:
                V, b = 0.1 * V, 0.1 * b
            elif turn % 3 == 2:
                V, b = (V - first[0], b - first[1]) if turn == 2 else first
            sold += offer(one, federation, V, b, math.ceil(np.trace(V)))
        earned = one.earned
    return Outcome(
        f"sold {sold} times, {money(earned)}", f"data counted {sold + 1} times", not sold
    )


def crowding_out(federation: Federation) -> Outcome:
    start = federation.shares(honest=True)
    federation.wait(lambda: False, TIME)
    usual = federation.shares(honest=True) - start
    steps, given = 10**6, 0
    with attacker(federation) as one:
        for _ in range(3):  # as much as possible, then as much as is taken beside the others
            if offer(one, federation, steps / DIM * np.eye(DIM), np.zeros(DIM), steps):
                given += steps
            others = np.trace(one.model[0]) - given
            steps = max(1, math.floor(2.9 * others) - given)
    before, begin = federation.shares(honest=True), time.monotonic()
    again = federation.wait(lambda: federation.shares(honest=True) > before, LONG)
    seconds = (
        f"the next after {time.monotonic() - begin:.0f} s" if again else f"none in {LONG:.0f} s"
    )
    cost = f"{usual} honest shares in {TIME:.0f} s; after {given:,} made-up steps, {seconds}"
    return Outcome("nothing", cost, again)


def greedy_price(federation: Federation) -> Outcome:
    chance, budget = np.random.default_rng(0), 1_000.0
    with attacker(federation, 2 * budget) as one:
        one.make_up(*plausible(chance, 20), 20)
        federation.wait(lambda: False, 2 * TIME)  # it is in every round meanwhile
        earned = one.earned
    paid = federation.paid()
    cost = f"honest clients were paid {paid} times beside it"
    return Outcome(money(earned, budget), cost, paid > 0 and not earned)


def no_budget(federation: Federation) -> Outcome:
    """The operator forgot it."""
    text = (federation.folder / "federation.toml").read_text(encoding="utf-8")
    without = federation.folder / "without.toml"
    other = text.replace("federation.db", "other.db").replace(
        f"port = {federation.port}", "port = 0"
    )
    lines = [line for line in other.splitlines() if not line.startswith("budget")]
    without.write_text("\n".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "incfed.cli", "serve", "--config", str(without)]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        return Outcome("no limit", "it serves without a budget", False)
    named = "budget" in ended.stderr
    return Outcome("nothing", "it does not start", ended.returncode == 2 and named)


EFFICIENT = 'budget = 10000.0\nmechanism = { kind = "PaymentEfficient", beta = 0.7 }'
SMALL = 'budget = 1000.0\nmechanism = "PayEveryone"'
ATTACKS = [
    Attack("1e9 made-up steps at the price of the whole budget", made_up_steps, lifted=PAYING),
    Attack("made-up steps at a price of 5, 50, 500, 5,000", rising_price, lifted=PAYING),
    Attack("V_g and b_g, as downloaded, sold back as one's own", resale, lifted=PAYING),
    Attack("made-up steps for nothing, so that others' data is worth less", crowding_out,
           EFFICIENT, lifted=EFFICIENT),
    Attack("a price above what is left, so that nobody is paid", greedy_price, SMALL, lifted=SMALL,
           old=True),
    Attack("a federation whose operator forgot the budget", no_budget),
]  # fmt: skip
