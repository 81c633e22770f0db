"""Members have names, join and leave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.simulation.members import UnknownMember
from support.federations import CLIENTS, DIM, SETTINGS, drive, federation_of, rules

NEVER = incfed.IncFedUCB(incfed.PayEveryone(), threshold=np.inf, costs=3.0)


def shops(*names: str, algorithm: incfed.Algorithm = NEVER) -> incfed.Federation:
    return incfed.Federation(len(names), 1, algorithm, names=names)


def test_a_member_is_found_by_number_and_by_name() -> None:
    federation = shops("north", "south")
    assert federation["south"] is federation[1] is federation[-1]
    assert [member.name for member in federation] == ["north", "south"]
    assert "south" in federation
    assert 1 in federation
    assert federation[1] in federation
    assert "east" not in federation
    assert 2 not in federation
    assert incfed.Federation(2, 1, NEVER).names == ("client 0", "client 1")
    assert "south" in repr(federation["south"])


def test_who_is_not_there_is_an_error_that_says_who_is() -> None:
    federation = shops("north", "south")
    federation.leave("north")
    for client, said in (
        (
            "suoth",
            r"client: got 'suoth' \(did you mean 'south'\?\), must be the number or the name",
        ),
        ("north", "client: got 'north', must be a member: it has left"),
        (7, "client: got 7, must be .* of a member, such as 1 or 'south'"),
        (0, "client: got 0, must be a member: it has left"),
        (-2, "client: got -2"),
    ):
        for kind in (incfed.InputError, KeyError, IndexError):
            with pytest.raises(kind, match=said):
                federation[client]
    federation[1].learn([1.0], 0.5)
    for act in (federation.leave, federation.communicate):
        with pytest.raises(UnknownMember, match="got 'west'"):
            act("west")
    federation.leave("south")
    with pytest.raises(UnknownMember, match="of a member; there is none"):
        federation[5]


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 101, 3, None, b"a", "\ud800"])
def test_a_name_is_a_text(name: Any) -> None:
    federation = shops("north")
    with pytest.raises(incfed.InputError, match=r"name: got .*, must be a text of 1 to 100 char"):
        federation.join(name)
    with pytest.raises(incfed.InputError, match=r"names\[0\]: got"):
        incfed.Federation(1, 1, NEVER, names=[name])
    assert federation.names == ("north",)


def test_names_are_unique_and_one_for_each() -> None:
    federation = shops("north", "south")
    with pytest.raises(incfed.InputError, match=r"name: got 'south', must be another"):
        federation.join("south")
    with pytest.raises(incfed.InputError, match=r"names\[1\]: got 'north', must be another"):
        shops("north", "north")
    for names in (["north"], "ab", 3, {"north", "south"}):
        with pytest.raises(incfed.InputError, match=r"names: got .*must be a list of 2 names"):
            incfed.Federation(2, 1, NEVER, names=names)  # type: ignore[arg-type]


def test_joining_and_leaving_by_hand() -> None:
    federation = shops("north", "south")
    federation["north"].learn([1.0], 1.0)
    first = federation.communicate()
    assert (first.pending, first.idle) == (1, 1)
    # V_g = 1, b_g = 1, lambda = 0.1
    east = federation.join("east", cost=1.0)
    assert (east.number, east.cost, east.paid, len(federation)) == (2, 1.0, 0.0, 3)
    assert east.theta == pytest.approx(1.0 / 1.1)
    federation["south"].learn([1.0], 0.0)  # which is lost
    federation["north"].learn([1.0], 0.0)
    east.learn([2.0], 1.0)
    federation.leave("south")
    second = federation.communicate()
    assert (second.trigger, second.pending, second.idle) == (2, 2, 0)
    assert second.participants.tolist() == [0, 2]
    # V_g(lambda) goes to 6.1; with their own data alone it would be 2.1 and 5.1
    assert second.costs.tolist() == [3.0, 1.0]
    assert second.payments == pytest.approx([3.0 - 4.0 / 2.1, 1.0 - 1.0 / 5.1])
    for member in federation:
        assert member.theta == pytest.approx(3.0 / 6.1)
    again = federation.join("south")
    assert (again.number, again.steps, again.paid) == (3, 0, 0.0)
    assert federation.names == ("north", "south", "east", "south")
    assert federation["south"] is federation[3]
    result = federation.result()
    assert result.clients.steps.tolist() == [2.0, 1.0, 1.0, 0.0]
    assert result.settings["clients"] == 4
    assert federation.spent == pytest.approx(sum(one.paid for one in federation))


def test_who_left_can_predict_but_neither_choose_nor_learn() -> None:
    federation = shops("north", "south")
    south = federation["south"]
    south.learn([1.0], 1.0)
    federation.leave("south")
    assert south.predict([1.0]).reward == pytest.approx(1.0 / 1.1)
    federation.join("south")
    for act in (lambda: south.choose([[1.0]]), lambda: south.learn([1.0], 1.0)):
        with pytest.raises(
            incfed.InputError, match="member: got 'south', must be a member: it has"
        ):
            act()
    assert (south.steps, federation.steps) == (1, 1)
    with pytest.raises(incfed.InputError, match="all who have learned anything have left"):
        federation.communicate()


def test_the_round_counts_those_that_are_there() -> None:
    federation = shops("north", "south", "west")
    federation["north"].learn([1.0], 1.0)
    federation.leave("south")
    federation.leave("west")
    record = federation.communicate()
    assert (record.idle, record.communication) == (0, 1.0 + 1.0 + 2.0)  # dV, db; V_g and b_g


@pytest.mark.parametrize("download", ["everyone", "one-for-one"])
def test_a_newcomer_downloads_once(download: str) -> None:
    """d^2 + d scalars, when it first acts; one for one it can only then use them."""
    federation = shops("north", algorithm=replace(NEVER, download=download))
    federation["north"].learn([1.0], 1.0)
    federation.communicate()
    before = federation.result().communication[-1]
    east = federation.join("east")
    assert east.theta == pytest.approx(1.0 / 1.1 if download == "everyone" else 0.0)
    for _ in range(3):
        assert east.choose([[1.0]]) == 0
        assert east.theta == pytest.approx(1.0 / 1.1)
        east.learn([1.0], 1.0 / 1.1)
    traffic = federation.result().communication
    assert (traffic[1:] - before).tolist() == [2.0, 2.0, 2.0]


def test_what_the_algorithm_has_for_each_must_be_said_of_a_newcomer() -> None:
    each = rules({"threshold": 1.0, "costs": [1.0, 2.0], "trust": [1.0, 2.0]})
    federation = incfed.Federation(2, DIM, each)
    with pytest.raises(incfed.InputError, match="cost: is missing, must be given: the algorithm"):
        federation.join("third", trust=1.0)
    with pytest.raises(incfed.InputError, match="trust: is missing, must be given: the algorithm"):
        federation.join("third", cost=1.0)
    assert federation.join("third", cost=1.0, trust=np.inf).number == 2
    alike = incfed.Federation(2, DIM, rules({"threshold": 1.0, "costs": 0.125, "money_digits": 2}))
    assert alike.join("third").cost == pytest.approx(0.13)
    for given in ({"cost": -1.0}, {"trust": -1.0}, {"trust": "auto"}, {"trust": "high"}):
        [name] = given
        with pytest.raises(incfed.InputError, match=f"{name}: got"):
            alike.join("fourth", **given)
    private = incfed.Federation(2, DIM, rules(SETTINGS["privacy"]))
    with pytest.raises(incfed.InputError, match=r"trust: got .*left out with privacy"):
        private.join("third", trust=2.0)
    assert (len(federation), len(alike), len(private)) == (3, 3, 2)


def records(federation: incfed.Federation) -> list[tuple[Any, ...]]:
    """Who was paid what in each round, by name."""
    named = federation.names
    return [
        (
            one.step, named[one.trigger], one.pending, one.idle, one.communication, one.ratio,
            {named[i]: paid for i, paid in zip(one.participants, one.payments, strict=True)},
        )
        for one in federation.rounds
    ]  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_who_joins_before_the_first_step_was_always_there(name: str) -> None:
    options = SETTINGS[name]
    expected = federation_of(options)
    costs, trust = options.get("costs", 10.0), options.get("trust", np.inf)
    cut = {"costs": costs[:-1]} if isinstance(costs, list) else {}
    cut |= {"trust": trust[:-1]} if isinstance(trust, list) else {}
    names = expected.names[:-1]
    federation = incfed.Federation(4, DIM, rules({**options, **cut}), seed=3, names=names)
    last = expected[-1]
    federation.join(last.name, cost=last.cost, trust=trust[-1] if isinstance(trust, list) else None)
    assert drive(federation, 200, seed=1) == drive(expected, 200, seed=1)
    assert records(federation) == records(expected)
    assert len(federation.rounds) > 0


@pytest.mark.parametrize("name", [name for name in SETTINGS if "each" not in name])
@pytest.mark.parametrize("gone", [0, 2, CLIENTS - 1])
def test_who_leaves_before_the_first_step_was_never_there(name: str, gone: int) -> None:
    options = {**SETTINGS[name]}
    options.pop("privacy", None)  # noise has a stream for each number
    federation = federation_of(options)
    federation.leave(f"shop-{gone}")
    names = [member.name for member in federation]
    expected = incfed.Federation(4, DIM, rules(options), seed=3, names=names)
    assert drive(federation, 200, seed=1) == drive(expected, 200, seed=1)
    assert records(federation) == records(expected)


@pytest.mark.parametrize("name", SETTINGS)
def test_any_coming_and_going(name: str) -> None:
    """Nothing that was shared is lost, nothing that was not is used, and numbers stay apart."""
    federation = federation_of(SETTINGS[name])
    chance, there = np.random.default_rng(4), set(range(CLIENTS))
    for turn in range(30):
        drive(federation, 10, seed=turn)
        if chance.random() < 0.5 or len(there) < 3:
            made = federation.join(f"shop-{turn}-b", cost=float(turn), trust=np.inf)
            assert made.number == len(federation.names) - 1
            there.add(made.number)
        else:
            gone = int(chance.choice(sorted(there)))
            federation.leave(federation[gone].name)
            there.remove(gone)
        assert {member.number for member in federation} == there
        shared = federation._server.shared
        by_client = federation.result().clients
        assert by_client.paid.sum() == pytest.approx(federation.spent)
        assert len(by_client) == len(federation.names)
        if "privacy" not in SETTINGS[name]:  # whose trace noise moves
            assert np.trace(shared.V) == pytest.approx(federation._total)  # arms are of length 1
    rounds = federation.rounds
    assert len(rounds) > 3
    assert (rounds.idle + rounds.pending <= len(federation.names)).all()
    document = federation.document()
    assert federation.names[-1] in str(document) or len(federation) > 8


def test_limits_forget_nobodys_steps_but_the_prices_of_who_left() -> None:
    federation = federation_of(SETTINGS["limits"])
    drive(federation, 200, seed=1)
    before = federation._server.past
    assert before[0].steps > 0
    federation.leave(0)
    after = federation._server.past
    assert after[0] == before[0]._replace(gone=True)
    assert {n: after[n] for n in after if n} == {n: before[n] for n in before if n}


class Failing(incfed.Mechanism):
    def decide(self, round: incfed.mechanisms.Round) -> incfed.Decision:
        if round.step < 5:
            raise RuntimeError("not yet")
        return round.settle(round.everyone)


def test_a_round_whose_mechanism_fails_did_not_take_place(tmp_path: Any) -> None:
    algorithm = incfed.IncFedUCB(Failing(), threshold=np.inf)
    federation = shops("north", "south", algorithm=algorithm)
    for steps in (1, 3):
        for _ in range(steps):
            federation["north"].learn([1.0], 1.0)
        with pytest.raises(RuntimeError, match="not yet"):
            federation.communicate()
        assert federation["north"].pending_steps == federation.steps
        federation.save(tmp_path)
        federation = incfed.Federation.load(tmp_path, algorithm=algorithm)
    federation["south"].learn([1.0], 0.0)
    federation.leave("north")
    assert federation.communicate().participants.tolist() == [1]
    assert federation["south"].theta == pytest.approx(0.0)


@pytest.mark.parametrize("client", [None, True, 0.0, (0,), [0]])
def test_what_is_no_name_and_no_number(client: Any) -> None:
    federation = shops("north", "south")
    with pytest.raises(UnknownMember, match="must be the number or the name of a member"):
        federation[client]
    assert client not in federation
    with pytest.raises(incfed.InputError, match=r"^name: got"):
        federation.leave("east" if client is None else client)


def test_who_left_says_so() -> None:
    federation = shops("north", "south")
    gone = federation["north"]
    gone.learn([1.0], reward=1.0)
    federation.leave("north")
    assert repr(gone) == "<Member 0: north, which has left>"
    with pytest.raises(incfed.InputError, match="member: got 'north', must be a member: it has"):
        gone.cost = 4.0
    with pytest.raises(
        incfed.InputError, match=r"^client: .*all who have learned anything have left"
    ):
        federation.communicate()


@pytest.mark.parametrize("prices", [[1.0], [1.0, -1.0], [1.0, float("nan")], 5.0, None])
def test_prices_of_a_class_of_ones_own_are_checked(prices: Any) -> None:
    class Priced(incfed.Independent):
        def prices(self, count: int) -> Any:
            return prices

    world = incfed.Synthetic(clients=2, dim=2, arms=2, pool=5)
    with pytest.raises(incfed.InputError, match=r"^Priced\.prices"):
        incfed.simulate(world, Priced(), steps=10)
