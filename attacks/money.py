"""A member with a valid token wants money, or wants others to get none."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from base64 import b64encode

import numpy as np

from federation import BUDGET, DIM, Attacker, Federation, attacker
from honest import COST
from outcome import Attack, Outcome

SHARE = 0.05  # of the budget: more than this is a loss
TIME = 8.0  # seconds for an upload to be taken or refused
LEARNED = 40  # steps of each honest client, before which nothing is measured
DATA = 0.75  # of all data, one client may have by default
FEWER = 1.0 - DATA  # honest shares, of those before the attack: fewer than this are a loss
ENOUGH = 300.0  # seconds in which what must happen has happened, on any machine


def offer(one: Attacker, federation: Federation, V: np.ndarray, b: np.ndarray, steps: int) -> bool:
    """Was this taken from it?"""
    one.make_up(V, b, steps)
    return federation.wait(lambda: one.held_back == 0, TIME)


def plausible(chance: np.random.Generator, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Of so many steps that nobody took."""
    x = chance.standard_normal((steps, DIM))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x.T @ x, x.T @ chance.uniform(-1.0, 1.0, steps)


def even(steps: int) -> tuple[np.ndarray, np.ndarray]:
    """So many steps in all directions, without rewards."""
    return steps / DIM * np.eye(DIM), np.zeros(DIM)


def paid(amount: float, of: float = BUDGET) -> str:
    return f"pays {amount:,.2f} of {of:,.0f}"


def made_up_steps(federation: Federation) -> Outcome:
    steps = 10**9
    with attacker(federation, BUDGET / 2) as one:  # others have been paid some of it
        offer(one, federation, *even(steps), steps)
        earned = one.earned
    return Outcome("an upload", paid(earned), earned <= SHARE * BUDGET)


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
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return Outcome("nothing", "it serves without a budget", False)
    named = "budget" in ended.stderr
    return Outcome("nothing", "it does not start, and says why", ended.returncode == 2 and named)


def unlimited_budget(federation: Federation) -> Outcome:
    """As high a price as one may state, in five rounds."""
    chance, price, rounds = np.random.default_rng(0), 1e6, 5
    with attacker(federation, price) as one:
        for _ in range(rounds):
            offer(one, federation, *plausible(chance, 20), 20)
        earned = one.earned
    return Outcome(f"{rounds} uploads", f"pays {earned:,.2f}", not earned)


def rising_price(federation: Federation) -> Outcome:
    chance = np.random.default_rng(0)
    with attacker(federation) as one:
        for one.price in (5.0, 50.0, 500.0, 5_000.0):
            offer(one, federation, *plausible(chance, 20), 20)
        earned = one.earned
    return Outcome("four uploads", paid(earned), earned <= SHARE * BUDGET)


def usual_price(federation: Federation) -> Outcome:
    """What nobody can tell from an honest client."""
    chance = np.random.default_rng(0)
    with attacker(federation, COST) as one:
        for _ in range(5):
            offer(one, federation, *plausible(chance, 20), 20)
        earned = one.earned
    return Outcome("100 made-up steps in 5 uploads", paid(earned), not earned)


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
            enough = math.ceil(2.0 * np.trace(V))  # steps, for what b can be
            sold += offer(one, federation, V, b, enough)
        earned = one.earned
    cost = f"{paid(earned)}; the data is bought {sold} times more"
    return Outcome("six rounds", cost, not sold)


def impossible_data(federation: Federation) -> Outcome:
    """What no steps with arms of length 1 can give: too long, in too many directions, less than
    nothing, and no numbers."""
    forged = [
        (3, 1.001 * even(3)[0]),
        (2, 0.1 * np.eye(DIM)),
        (20, np.diag([1.0, 1.0, 1.0, -1e-3])),
        (20, np.diag([1.0, 1.0, 1.0, math.nan])),
        (20, np.diag([1.0, 1.0, 1.0, math.inf])),
    ]
    taken = tried = 0
    end = time.monotonic() + ENOUGH
    while forged and time.monotonic() < end:
        federation.ask("POST", "/v1/rounds")
        state = federation.ask("GET", "/v1/state").json()
        if not state.get("round") or state["round"]["stage"] != "open":
            continue
        steps, dV = forged[0]
        numbers = b64encode(dV[np.triu_indices(DIM)].astype("<f8").tobytes()).decode()
        body = {"epoch": state["epoch"], "steps": steps, "cost": 1.0}
        body["dV"] = {"form": "triangle", "numbers": numbers}
        path = f"/v1/rounds/{state['round']['number']}/upload"
        status = federation.ask("PUT", path, json=body).status_code
        if status == 409:  # that round is over
            continue
        taken, tried = taken + (status != 422), tried + 1
        del forged[0]
    return Outcome(f"{tried} uploads", f"{taken} of them are taken", tried == 5 and not taken)


def crowding_out(federation: Federation) -> Outcome:
    """As much as is taken of it, all the time. How often data is bought falls with time anyway: to
    add as much again takes twice as long. So it is counted while what honest clients have learned
    doubles, once before and twice during the attack."""

    def learned(steps: int) -> bool:
        return len(federation.events()) >= steps

    first = LEARNED * len(federation.honest)
    federation.wait(lambda: learned(first), ENOUGH)
    start = federation.shares(honest=True)
    federation.wait(lambda: learned(2 * first), ENOUGH)
    before = federation.shares(honest=True) - start
    given, steps = 0, 10**6
    with attacker(federation) as one:
        offer(one, federation, *even(steps), steps)
        first, start = len(federation.events()), federation.shares(honest=True)
        end = time.monotonic() + ENOUGH
        while not learned(4 * first) and time.monotonic() < end:
            if one.held_back == 0:
                given += steps
            others = np.trace(one.model[0]) - given
            steps = max(1, math.floor(DATA / (1.0 - DATA) * others) - given)  # all that is let in
            offer(one, federation, *even(steps), steps)
    during = (federation.shares(honest=True) - start) / 2.0
    cost = f"honest shares while data doubles: {before} before, {during:g} during it"
    spent = f"{given:,} made-up steps for nothing"
    return Outcome(spent, cost, before > 0 and during >= FEWER * before)


def greedy_price(federation: Federation) -> Outcome:
    chance, budget = np.random.default_rng(0), 1_000.0
    with attacker(federation, 2 * budget) as one:
        one.make_up(*plausible(chance, 20), 20)
        federation.wait(lambda: False, 2 * TIME)  # it is in every round meanwhile
        earned = one.earned
    often = federation.paid()
    cost = f"{paid(earned, budget)}; honest clients are paid {often} times beside it"
    return Outcome(f"an upload for {2 * TIME:.0f} s", cost, often > 0 and not earned)


UNLIMITED = 'budget = "none"\nmechanism = "PayEveryone"'
EFFICIENT = 'budget = 10000.0\nmechanism = { kind = "PaymentEfficient", beta = 0.7 }'
SMALL = 'budget = 1000.0\nmechanism = "PayEveryone"'
ATTACKS = [
    Attack("1e9 made-up steps at the price of half the budget", made_up_steps),
    Attack("a federation whose operator forgot the budget", no_budget, honest=0, lifted=False),
    Attack("a price of a million in five rounds, where the budget is \"none\"", unlimited_budget,
           UNLIMITED),
    Attack("made-up steps at a price of 5, 50, 500, 5,000", rising_price),
    Attack("made-up steps at the price of the others", usual_price, known=True),
    Attack("V_g and b_g, as downloaded, sold back as one's own", resale),
    Attack("data that no steps can give", impossible_data, lifted=False),
    Attack("made-up steps for nothing, so that others' data is worth less", crowding_out,
           EFFICIENT),
    Attack("a price above what is left, so that nobody is paid", greedy_price, SMALL,
           lifted=False),
]  # fmt: skip
