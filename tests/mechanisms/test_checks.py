"""The conformance kit passes what keeps the rules, and says of the rest which rule it broke."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import incfed
from incfed import Decision, Mechanism, MechanismError, PayEveryone, Round, check_mechanism
from incfed.errors import InputError

BUILT_IN = [
    incfed.PayEveryone(),
    incfed.PaymentFree(),
    *(
        incfed.PaymentEfficient(beta, order, *flags)
        for beta in (0.0, 0.3, 0.95, 1.0)
        for order in ("descending", "ascending")
        for flags in product((True, False), repeat=3)
    ),
    incfed.BudgetFeasible(per_round=100.0),
    incfed.BudgetFeasible(per_round=0.0, total=0.0),
    incfed.CostAware(0.7),
    incfed.Exact(0.7),
    incfed.Exact(0.95, nodes=3),
    incfed.PostedPrice(50.0),
    incfed.ShapleySplit(1000.0, samples=5),
    incfed.Truthful(0.7, 1000.0),
]


@pytest.mark.parametrize("mechanism", BUILT_IN, ids=str)
def test_built_in_mechanisms_pass(mechanism: Mechanism) -> None:
    assert check_mechanism(mechanism, rounds=60) == 66
    assert check_mechanism(mechanism, rounds=20, seed=1) == 26


class Greedy(Mechanism):
    """A user's own: data first; then, cheapest first, pay until 60 % is in."""

    beta = 0.6

    def decide(self, round: Round) -> Decision:
        S = round.stable_set()
        payments = np.zeros(len(round))
        for j in np.argsort(round.costs, kind="stable"):
            if round.meets(S, self.beta):
                break
            if not S[j]:
                S[j] = True
                payments[j] = round.costs[j]
        return Decision(S, payments)


def test_a_mechanism_of_one_s_own() -> None:
    assert check_mechanism(Greedy()) == 206
    world = incfed.Synthetic(clients=6, dim=4, arms=4, pool=30)
    algorithm = incfed.IncFedUCB(Greedy(), threshold=0.5, costs=3.0)
    result = incfed.simulate(world, algorithm, steps=500)
    assert result.payment[-1] > 0
    assert result.rounds.ratio.min() >= 0.6 * (1 - 1e-9)
    assert (result.rounds.ratio < 0.999).any(), "it does not simply buy everything"
    assert result.settings["algorithm"]["mechanism"] == {"kind": "Greedy"}


class Broken(Mechanism):
    """Pays everyone, then spoils it."""

    def __init__(self, spoil: Callable[[Round, Decision], Any], beta: float | None = None) -> None:
        self.spoil = spoil
        self.beta = beta
        self.calls = 0

    def decide(self, round: Round) -> Decision:
        self.calls += 1
        decision = PayEveryone().decide(round)
        spoilt = self.spoil(round, decision)
        return decision if spoilt is None else spoilt


def unpaid(round: Round, d: Decision) -> Decision:
    return Decision(d.participants, np.zeros(len(round)))


def a_cent_short(round: Round, d: Decision) -> Decision:
    return Decision(d.participants, np.maximum(0.0, d.payments - 1e-3 * (1.0 + round.costs)))


def negative(round: Round, d: Decision) -> Decision:
    return Decision(d.participants, np.where(d.payments == 0, -1.0, d.payments))


def outsider(round: Round, d: Decision) -> Decision:
    inside = d.participants.copy()
    inside[:1] = False
    return Decision(inside, d.payments + 1.0)


def half(round: Round, d: Decision) -> Decision:
    inside = np.arange(len(round)) % 2 == 0
    return Decision(inside, np.where(inside, round.costs, 0.0))


def infinite(round: Round, d: Decision) -> Decision:
    return Decision(d.participants, d.payments + np.inf)


def not_a_number(round: Round, d: Decision) -> Decision:
    return Decision(d.participants, d.payments * np.nan)


def last_of_all(round: Round, d: Decision) -> None:
    round.costs[-1]  # there may be nobody


def as_ids(round: Round, d: Decision) -> Decision:
    return Decision(np.flatnonzero(d.participants), d.payments)  # type: ignore[arg-type]


def as_zeros_and_ones(round: Round, d: Decision) -> Decision:
    return Decision(d.participants.astype(int), d.payments)


def one_too_many(round: Round, d: Decision) -> Decision:
    return Decision(d.participants, np.append(d.payments, 0.0))


def whole_money(round: Round, d: Decision) -> Decision:
    return Decision(d.participants, np.ceil(d.payments).astype(np.int64))


def as_list(round: Round, d: Decision) -> Decision:
    return Decision(d.participants, d.payments.tolist())


def as_pair(round: Round, d: Decision) -> Any:
    return d.participants, d.payments


def changed(part: str) -> Callable[[Round, Decision], None]:
    def spoil(round: Round, d: Decision) -> None:
        target = getattr(round.pending if hasattr(round.pending, part) else round, part)
        target += 1

    return spoil


def renumbered(round: Round, d: Decision) -> None:
    round.number += 1


def annotated(round: Round, d: Decision) -> None:
    round.note = 1.0  # type: ignore[attr-defined]


RULES = {
    "loses": "a participant loses by sharing (not individually rational): client ",
    "negative": "a payment is negative: client ",
    "outsider": "a client that does not take part is paid: client 1 gets ",
    "beta": "the promised beta is not met: ",
    "changed": "it changed the round it was given: work on copies",
    "infinite": "payments are not finite, or above 1e300: ",
    "crash": "it raised an error: IndexError: ",
    "participants": "participants is not a boolean array with an entry per client: ",
    "shape": "payments is not an array with an entry per client: ",
    "floats": "payments are not floats: ",
    "kind": "it did not return a Decision: got tuple",
}


@pytest.mark.parametrize(
    ("mechanism", "rule"),
    [
        (Broken(unpaid), "loses"),
        (Broken(a_cent_short), "loses"),
        (Broken(negative), "negative"),
        (Broken(outsider), "outsider"),
        (Broken(half, beta=0.9), "beta"),
        (Broken(infinite), "infinite"),
        (Broken(not_a_number), "infinite"),
        (Broken(last_of_all), "crash"),
        (Broken(as_ids), "participants"),
        (Broken(as_zeros_and_ones), "participants"),
        (Broken(one_too_many), "shape"),
        (Broken(as_list), "shape"),
        (Broken(whole_money), "floats"),
        (Broken(as_pair), "kind"),
        (Broken(renumbered), "changed"),
        (Broken(annotated), "changed"),
    ],
)
def test_a_broken_one_fails_for_the_right_reason(mechanism: Broken, rule: str) -> None:
    with pytest.raises(MechanismError) as raised:
        check_mechanism(mechanism)
    first, *broken = str(raised.value).splitlines()
    assert first == "Broken broke 1 rule:"
    assert len(broken) == 1, broken
    assert broken[0].startswith(f"- {RULES[rule]}")


@pytest.mark.parametrize("part", ["costs", "clients", "logdets", "rows", "start", "grams", "dense"])
def test_whatever_is_changed_is_noticed(part: str) -> None:
    with pytest.raises(MechanismError, match=r"- it changed the round it was given: work on"):
        check_mechanism(Broken(changed(part)))


def test_what_is_right_only_without_a_promise() -> None:
    check_mechanism(Broken(half))  # it pays them: nothing is wrong with that
    check_mechanism(Broken(lambda round, d: None, beta=1.0))


class Moody(Mechanism):
    """Decides one way the first time, another way the second."""

    def __init__(self) -> None:
        self.calls = 0

    def decide(self, round: Round) -> Decision:
        self.calls += 1
        if self.calls % 2:
            return PayEveryone().decide(round)
        return Decision(round.nobody, np.zeros(len(round)))


def test_a_moody_one() -> None:
    with pytest.raises(
        MechanismError, match=r"broke 1 rule.*\n- it is not deterministic: the same"
    ):
        check_mechanism(Moody())


def test_every_rule_is_named_once_with_a_place_and_a_count() -> None:
    def spoil(round: Round, d: Decision) -> Decision:  # the first, for nothing
        return Decision(np.arange(len(round)) < 1, np.zeros(len(round)))

    with pytest.raises(MechanismError) as raised:
        check_mechanism(Broken(spoil, beta=0.9))
    first, *broken = str(raised.value).splitlines()
    assert first == "Broken broke 2 rules:"
    assert [line.split(":")[0] for line in broken] == [
        "- a participant loses by sharing (not individually rational)",
        "- the promised beta is not met",
    ]
    assert broken[0].endswith(" more rounds")
    assert "client 1 has cost 5 and gets " in broken[0]
    assert " in data and money (one client); and " in broken[0]
    assert "is below 0.9 (all costs 0)" in broken[1]


@pytest.mark.parametrize("thing", [PayEveryone, None, "a name", PayEveryone().decide])
def test_what_is_no_mechanism(thing: Any) -> None:
    with pytest.raises(MechanismError, match=r"is not a Mechanism: derive your class from incfed"):
        check_mechanism(thing)


@pytest.mark.parametrize("beta", [1.5, -0.1, float("nan"), "0.5"])
def test_a_promise_that_cannot_be_kept(beta: Any) -> None:
    with pytest.raises(InputError, match=r"beta: got .*, must be a number from 0 to 1"):
        check_mechanism(Broken(lambda round, d: None, beta=beta))


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (negative, "negative"),
        (infinite, "infinite"),
        (as_zeros_and_ones, "participants"),
        (one_too_many, "shape"),
        (whole_money, "floats"),
        (as_pair, "kind"),
    ],
)
def test_a_simulation_stops_at_a_malformed_decision(
    spoil: Callable[[Round, Decision], Any], rule: str
) -> None:
    world = incfed.Synthetic(clients=3, dim=2, arms=2, pool=9)
    algorithm = incfed.IncFedUCB(Broken(spoil), threshold=0.1, costs=0.01)
    with pytest.raises(MechanismError) as raised:
        incfed.simulate(world, algorithm, steps=300)
    assert str(raised.value).startswith("Broken, round ")
    assert f": {RULES[rule]}" in str(raised.value)
