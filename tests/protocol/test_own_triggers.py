"""Triggers of the user's own: what they see, when rounds open by them, and broken ones."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from incfed.experiments import Recipe, build
from incfed.experiments.sweeps import build_sweep
from incfed.ledger.settings import Settings
from incfed.protocol.triggers import TRIGGERS
from support.worlds import MECHANISMS, Kind, costs, mechanisms, settings_of_a_run, traces

PAID = incfed.PayEveryone()
WORLD = incfed.Synthetic(clients=6, dim=5, arms=4, pool=30)
CURVES = ("regret", "reward", "communication", "packed", "payment", "matched")
COLUMNS = (
    "step", "trigger", "pending", "idle", "communication", "ratio", "offsets", "participants",
    "payments", "costs", "asked",
)  # fmt: skip


@dataclass(frozen=True)
class Paper(incfed.Trigger):
    """Alg. 1 line 8."""

    D_c: float

    def calls(self, client: incfed.ActingClient) -> bool:
        return client.steps * client.growth > self.D_c


@dataclass(frozen=True)
class Ratio(incfed.Trigger):
    gamma: float

    def calls(self, client: incfed.ActingClient) -> bool:
        return client.growth > math.log(self.gamma)


class Asking(incfed.Trigger):
    """Notes what it sees; every copy in the same list."""

    seen: list[dict[str, Any]]

    def __init__(self, opens: int) -> None:
        self.opens = opens
        type(self).seen = []

    def calls(self, client: incfed.ActingClient) -> bool:
        self.seen.append(asdict(client))
        return client.pending >= self.opens


def same(one: incfed.Result, two: incfed.Result) -> None:
    """Bit for bit."""
    for name in CURVES:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), name)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one.rounds, name), getattr(two.rounds, name), name)


def drive(world: incfed.Trace, algorithm: incfed.Algorithm) -> incfed.Federation:
    federation = incfed.Federation(world.count, world.dim, algorithm)
    for t, who in enumerate(world.clients.tolist()):
        arms = world.items[world.arms[t]]
        k = federation[who].choose(arms)
        federation[who].learn(arms[k], world.rewards[t, k])
    return federation


def trace(clients: int = 6, steps: int = 300) -> incfed.Trace:
    chance = np.random.default_rng(7)
    theta = chance.standard_normal(4)
    arms = chance.standard_normal((steps, 5, 4))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    rewards = arms @ (theta / np.linalg.norm(theta)) + 0.1 * chance.standard_normal((steps, 1))
    return incfed.Trace(chance.integers(0, clients, steps), arms, rewards, count=clients)


# ------------------------------------------------------------------------------ what they see


def test_by_hand() -> None:
    """One feature, lambda = 1, so V_i + lambda is 1 and the sum of squares of what it has. Client 0
    learns 1 and 1, client 1 learns 2; at two steps of a client, everybody shares: V_g is 6."""
    world = incfed.Trace(
        clients=[0, 1, 0, 1, 0], arms=[[[1.0]], [[2.0]], [[1.0]], [[3.0]], [[1.0]]],
        rewards=np.ones((5, 1)),
    )  # fmt: skip
    rules = incfed.IncFedUCB(PAID, trigger=Asking(2), costs=[3.0, 4.0], ridge=1.0)
    expected = [  # client, steps, pending, det V_i, det(V_i - dV_i), epoch
        (0, 1, 1, 2, 1, 0),
        (1, 1, 1, 5, 1, 0),
        (0, 2, 2, 3, 1, 0),  # a round: det V_g = 7
        (1, 1, 1, 16, 7, 1),
        (0, 1, 1, 8, 7, 1),
    ]
    for run in (incfed.simulate, drive):
        result: Any = run(world, rules)
        seen, Asking.seen = Asking.seen, []
        assert result.rounds.step.tolist() == [2]
        for step, (found, known) in enumerate(zip(seen, expected, strict=True)):
            index, steps, pending, now, before, epoch = known
            assert found == pytest.approx({
                "index": index, "dim": 1, "step": step, "steps": steps, "pending": pending,
                "growth": math.log(now / before), "logdet": math.log(now),
                "cost": 3.0 + index, "epoch": epoch,
            })  # fmt: skip


def test_costs_are_those_that_clients_report() -> None:
    true = 10.0
    rules = incfed.IncFedUCB(
        PAID, trigger=Asking(3), costs=true, reports=incfed.Shading(factor=2.5), money_digits=0
    )
    incfed.simulate(WORLD, rules, steps=100)
    assert {one["cost"] for one in Asking.seen} == {25.0}
    varying = incfed.DriftingCosts(mean=10.0, spread=0.5)
    result = incfed.simulate(
        WORLD, incfed.IncFedUCB(PAID, trigger=Asking(3), costs=varying), steps=200
    )
    for n, step in enumerate(result.rounds.step.tolist()):
        here = Asking.seen[step]
        assert here["step"] == step
        assert here["index"] == result.rounds.trigger[n]
        record = result.rounds[n]
        place = record.participants.tolist().index(here["index"])
        assert here["cost"] == record.asked[place]


def test_a_cost_that_a_member_changes_is_reported_in_cents() -> None:
    rules = incfed.IncFedUCB(PAID, trigger=Asking(3), costs=1.0, money_digits=1)
    federation = incfed.Federation(2, dim=1, algorithm=rules)
    federation[1].cost = 2.41
    for member in federation:
        member.learn([1.0], 0.5)
    assert [one["cost"] for one in Asking.seen] == [1.0, 2.5]


def test_growth_that_may_be_rounding_is_zero() -> None:
    world = incfed.Trace(clients=[0, 0], arms=[[[1.0]], [[1e-7]]], rewards=np.ones((2, 1)))
    rules = incfed.IncFedUCB(PAID, trigger=Asking(1), ridge=1.0)
    for run in (incfed.simulate, drive):
        Asking.seen = []
        run(world, rules)
        assert [one["growth"] for one in Asking.seen] == [pytest.approx(math.log(2.0)), 0.0]


def test_steps_that_a_log_skips_are_not_asked_about() -> None:
    world = trace(steps=50)
    world.rewards[::3] = np.nan
    result = incfed.simulate(world, incfed.IncFedUCB(PAID, trigger=Asking(4)))
    assert [one["step"] for one in Asking.seen] == [t for t in range(50) if t % 3]
    assert len(result.rounds)


def test_what_it_sees_cannot_be_changed() -> None:
    class Changing(incfed.Trigger):
        def calls(self, client: incfed.ActingClient) -> bool:
            client.steps = 5  # type: ignore[misc]
            return True

    with pytest.raises(AttributeError, match="cannot assign to field 'steps'"):
        incfed.simulate(WORLD, incfed.IncFedUCB(PAID, trigger=Changing()), steps=5)


# --------------------------------------------------------------- the same rounds as built-in ones

SETTINGS: dict[str, dict[str, Any]] = {
    "the paper's": {"costs": 10.0},
    "clocks as printed": {"clocks": "participants"},
    "stale": {"reads": "stale"},
    "one for one": {"download": "one-for-one", "costs": 3.0},
    "batches": {"share_from": 4},
    "batches, one for one": {"share_from": 3, "download": "one-for-one", "costs": 5.0},
    "away": {"availability": 0.6},
    "away, one for one": {
        "availability": [0.3, 0.9, 0.5, 1.0, 0.7, 0.1],
        "download": "one-for-one",
    },
    "little trust": {"trust": 3.0},
    "trust of each": {"trust": [0.0, 1.0, 4.0, 9.0, math.inf, 2.0]},
    "trust that is found": {"trust": "auto"},
    "a budget and cents": {"budget": 100.0, "money_digits": 2, "costs": 7.003},
    "limits": {"limits": incfed.Limits(per_client=20.0, least_sharers=3), "costs": 5.0},
    "costs that change": {"costs": incfed.DriftingCosts(mean=5.0, spread=0.5)},
    "strategic": {"reports": incfed.BestResponse(), "costs": 5.0},
    "holding back": {"reports": incfed.Withholding(steps=3), "costs": 5.0},
    "mixture": {"width": "mixture", "ridge": 0.7, "noise": 0.3},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_paper_s_trigger_written_anew_opens_the_same_rounds(name: str) -> None:
    for D_c in (0.0, 0.8):
        rules: Any = {"mechanism": incfed.PaymentEfficient(0.7), **SETTINGS[name]}
        built_in = incfed.IncFedUCB(threshold=D_c, **rules)
        own = incfed.IncFedUCB(trigger=Paper(D_c), **rules)
        expected = incfed.simulate(WORLD, built_in, steps=600, seed=5)
        same(incfed.simulate(WORLD, own, steps=600, seed=5), expected)
        assert len(expected.rounds) > 3
    rules["mechanism"] = PAID
    built_in = incfed.IncFedUCB(trigger=incfed.GrowthRatio(1.8), **rules)
    own = incfed.IncFedUCB(trigger=Ratio(1.8), **rules)
    same(incfed.simulate(WORLD, own, steps=400), incfed.simulate(WORLD, built_in, steps=400))


def test_also_with_noise() -> None:
    rules: Any = {"privacy": incfed.Privacy(epsilon=4, reward_bound=2), "costs": 5.0}
    world = trace()
    expected = incfed.simulate(world, incfed.IncFedUCB(PAID, 0.8, **rules))
    same(incfed.simulate(world, incfed.IncFedUCB(PAID, trigger=Paper(0.8), **rules)), expected)


@settings(max_examples=60)
@given(traces(unknown=st.sampled_from([0.0, 0.3])), mechanisms(), st.data())
def test_in_any_world(world: incfed.Trace, mechanism: Kind, data: st.DataObject) -> None:
    options: dict[str, Any] = data.draw(settings_of_a_run())
    trust = st.sampled_from([math.inf, 2.0, [2.0 * i for i in range(world.count)]])
    options |= {
        "trust": data.draw(trust),
        "costs": data.draw(costs(world.count)),
        "download": data.draw(st.sampled_from(["everyone", "one-for-one"])),
        "share_from": data.draw(st.sampled_from([1, 1, 3])),
        "availability": data.draw(st.sampled_from([1.0, 1.0, 0.5])),
    }
    D_c, who = options.pop("threshold"), MECHANISMS[mechanism[0]](**mechanism[1])
    expected = incfed.simulate(world, incfed.IncFedUCB(who, D_c, **options))
    found = incfed.simulate(world, incfed.IncFedUCB(who, trigger=Paper(D_c), **options))
    same(found, expected)


def test_however_a_run_is_divided() -> None:
    rules = incfed.IncFedUCB(PAID, trigger=Counting(every=5), costs=1.0)
    whole = incfed.simulate(WORLD, rules, steps=300)
    run = incfed.Simulation(WORLD, rules)
    for n in (1, 0, 7, 92, 1, 199):
        run.advance(n)
    same(run.result(), whole)


# ----------------------------------------------------------------------------------- Federation


CASES: dict[str, dict[str, Any]] = {
    "the paper's": {"costs": 5.0},
    "one for one": {"download": "one-for-one", "costs": [0.5, 30.0, 5.0, 5.0, 100.0, 1.0]},
    "batches": {"share_from": 4, "costs": 2.0},
    "little trust": {"trust": 3.0, "costs": 2.0},
    "noise": {"privacy": incfed.Privacy(epsilon=4, reward_bound=2)},
    "cents": {"money_digits": 1, "costs": 1.23},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_federation_that_is_driven_asks_the_same(name: str) -> None:
    world, seen = trace(), []
    rules: Any = {"mechanism": incfed.PaymentEfficient(0.5), **CASES[name]}
    for run in (incfed.simulate, drive):
        result: Any = run(world, incfed.IncFedUCB(trigger=Asking(5), **rules))
        seen.append((result.rounds.step.tolist(), result.rounds.participants.tolist(), Asking.seen))
    assert seen[0][:2] == seen[1][:2]
    assert len(seen[0][0]) > 3
    assert max(one["epoch"] for one in seen[0][2]) > 2
    for one, two in zip(seen[0][2], seen[1][2], strict=True):
        assert one == pytest.approx(two, abs=1e-9)


# -------------------------------------------------------------------------- a copy for each client


class Counting(incfed.Trigger):
    """A client calls after so many of its own steps since it called last."""

    def __init__(self, every: int) -> None:
        self.every, self.count = every, 0

    def calls(self, client: incfed.ActingClient) -> bool:
        self.count += 1
        if self.count < self.every:
            return False
        self.count = 0
        return True


def counted(who: list[int], every: int) -> list[int]:
    """The steps in which `Counting` calls."""
    counts, found = dict.fromkeys(who, 0), []
    for step, client in enumerate(who):
        counts[client] += 1
        if counts[client] == every:
            counts[client] = 0
            found.append(step)
    return found


def test_every_client_of_every_run_has_its_own() -> None:
    world, trigger = trace(), Counting(every=7)
    rules = incfed.IncFedUCB(PAID, trigger=trigger)
    expected = counted(world.clients.tolist(), 7)
    for _ in range(2):
        assert incfed.simulate(world, rules).rounds.step.tolist() == expected
        assert drive(world, rules).rounds.step.tolist() == expected
    assert trigger.count == 0
    trigger.count = 3  # runs begin with it as it is given
    first = incfed.simulate(world, rules).rounds.step.tolist()
    assert first != expected
    run = incfed.Simulation(world, rules)
    trigger.count = 6  # and stay with that
    run.advance(300)
    assert run.result().rounds.step.tolist() == first


def test_comparisons_ask_it_too() -> None:
    both = {"own": incfed.IncFedUCB(PAID, trigger=Paper(1.0)), "built-in": incfed.DisLinUCB(1.0)}
    found = incfed.compare(WORLD, both, steps=200, seeds=2)
    for one, two in zip(*found.runs.values(), strict=True):
        np.testing.assert_array_equal(one.rounds.step, two.rounds.step)
    assert found.runs["own"][0].settings["algorithm"]["trigger"] == {"kind": "Paper", "D_c": 1.0}


# --------------------------------------------------------------------------------------- broken


@pytest.mark.parametrize(
    ("answer", "said"),
    [(None, "None"), (1, "1"), (0.5, r"0\.5"), (np.array([True]), r"array\(\[ True\]\)")],
)
def test_an_answer_that_is_none(answer: Any, said: str) -> None:
    class Odd(incfed.Trigger):
        def calls(self, client: incfed.ActingClient) -> bool:
            result: bool = answer
            return result

    rules = incfed.IncFedUCB(PAID, trigger=Odd())
    with pytest.raises(incfed.InputError, match=rf"^Odd\.calls: got {said}, must be True or False"):
        incfed.simulate(WORLD, rules, steps=5)
    with pytest.raises(incfed.InputError, match=rf"^Odd\.calls: got {said}, must be True or False"):
        incfed.Federation(1, 1, rules)[0].learn([1.0], 0.5)


def test_a_numpy_bool_is_an_answer() -> None:
    class Often(incfed.Trigger):
        def calls(self, client: incfed.ActingClient) -> bool:
            found: Any = np.bool_(client.pending > 3)
            return found  # type: ignore[no-any-return]

    result = incfed.simulate(WORLD, incfed.IncFedUCB(PAID, trigger=Often()), steps=60)
    assert len(result.rounds)


def test_its_errors_leave_the_run_as_they_are() -> None:
    class Failing(incfed.Trigger):
        def calls(self, client: incfed.ActingClient) -> bool:
            raise ZeroDivisionError("mine")

    rules = incfed.IncFedUCB(PAID, trigger=Failing())
    with pytest.raises(ZeroDivisionError, match=r"^mine$"):
        incfed.simulate(WORLD, rules, steps=5)
    with pytest.raises(ZeroDivisionError, match=r"^mine$"):
        incfed.Federation(1, 1, rules)[0].learn([1.0], 0.5)


def test_one_that_cannot_be_copied() -> None:
    class Locked(Counting):
        def __init__(self) -> None:
            super().__init__(every=3)
            self.lock = Lock()

    said = r"^Locked: cannot be copied for each client: TypeError: cannot pickle"
    with pytest.raises(incfed.InputError, match=said):
        incfed.simulate(WORLD, incfed.IncFedUCB(PAID, trigger=Locked()), steps=5)


def test_one_that_does_not_say_when() -> None:
    class Silent(incfed.Trigger):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Silent()  # type: ignore[abstract]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("threshold", r"say in calls\(self, client\) .* `return client\.growth > 0\.5`"),
        ("clocked", r"`return client\.steps \* client\.growth > 0\.5`"),
        ("streams", "the server opens rounds"),
        ("expected", "the server opens rounds"),
        ("signals", "the server opens rounds"),
    ],
)
@pytest.mark.parametrize("value", [math.inf, property(lambda self: 1.0), lambda self: 1.0])
def test_what_is_for_built_in_ones_is_refused(name: str, said: str, value: Any) -> None:
    for base in (incfed.Trigger, Paper, incfed.Threshold, incfed.Patient):
        with pytest.raises(incfed.InputError, match=rf"^Mine\.{name}: would be ignored: .*{said}"):
            type("Mine", (base,), {name: value})
    with pytest.raises(incfed.InputError, match=rf"^Mine\.{name}: "):  # of a mixin
        type("Mine", (type("Mixin", (), {name: value}), incfed.Trigger), {})
    with pytest.raises(incfed.InputError, match=rf"^Mine\.{name}: "):  # a setting
        type("Mine", (incfed.Trigger,), {"__annotations__": {name: float}})


def test_an_attribute_of_an_object_streams_nothing() -> None:
    class Mine(Counting):
        def __init__(self) -> None:
            super().__init__(every=4)
            self.streams = self.threshold = "rows"

    rules = incfed.IncFedUCB(PAID, trigger=Mine(), share_from=2, reports=incfed.Withholding(2))
    assert len(incfed.simulate(WORLD, rules, steps=100).rounds)


def test_built_in_ones_are_asked_not_extended() -> None:
    with pytest.raises(incfed.InputError, match=r"^Mine\.calls: .*derive your class from incfed"):
        type("Mine", (incfed.Threshold,), {"calls": lambda self, client: True})

    @dataclass(frozen=True)
    class Mine(incfed.Threshold):
        """Another name is no other rule."""

        D_c: float = 0.8

    own = incfed.simulate(WORLD, incfed.IncFedUCB(PAID, trigger=Mine()), steps=200)
    same(own, incfed.simulate(WORLD, incfed.IncFedUCB(PAID, 0.8), steps=200))

    class Both(incfed.Trigger):
        def calls(self, client: incfed.ActingClient) -> bool:
            return incfed.Threshold(0.8).calls(client) or incfed.GrowthRatio(1e9).calls(client)

    same(own, incfed.simulate(WORLD, incfed.IncFedUCB(PAID, trigger=Both()), steps=200))

    class Waiting(incfed.Trigger):
        def calls(self, client: incfed.ActingClient) -> bool:
            return incfed.News(2.0).calls(client)

    with pytest.raises(incfed.InputError, match="News: it is the server that opens rounds"):
        incfed.simulate(WORLD, incfed.IncFedUCB(PAID, trigger=Waiting()), steps=5)


# ------------------------------------------------------------------------------- where it is named

CODE = """
from dataclasses import dataclass
import incfed

@dataclass(frozen=True)
class Mine(incfed.Trigger):
    level: float = 1.0

    def calls(self, client):
        return client.steps * client.growth > self.level

class Wrong(incfed.Mechanism):
    def decide(self, round):
        return round.settle(round.everyone)
"""
ALGORITHM = {"kind": "IncFedUCB", "mechanism": "PayEveryone", "costs": 1.0}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(CODE)
    return tmp_path


def tables(trigger: object, **more: Any) -> dict[str, Any]:
    return {
        "run": {"steps": 60},
        "world": {"kind": "Synthetic", "clients": 3, "dim": 2, "arms": 3, "pool": 20},
        "algorithm": [{**ALGORITHM, "trigger": trigger}],
        **more,
    }


def test_in_a_config(folder: Path) -> None:
    own = {"kind": "own.py:Mine", "level": 0.5}
    [entry] = build(Recipe(tables(own), folder)).entries.values()
    assert entry.value.trigger.level == 0.5
    assert [Path(name).name for name in entry.sources] == ["own.py"]
    before = entry.identity
    [entry] = build(Recipe(tables("own.py:Mine"), folder)).entries.values()
    assert entry.value.trigger.level == 1.0
    (folder / "own.py").write_text(CODE + "# changed")
    [entry] = build(Recipe(tables(own), folder)).entries.values()
    assert entry.identity != before


@pytest.mark.parametrize(
    ("trigger", "said"),
    [
        ({"kind": "own.py:Mine", "levle": 1}, r"trigger\.levle: got 1, but there is no such"),
        ("own.py:Nine", r"trigger\.kind: own\.py has no Nine .did you mean 'Mine'"),
        ("own.py:Wrong", r"trigger\.kind: .* must be a class derived from incfed\.Trigger"),
        (
            "Mine",
            r"trigger\.kind: got 'Mine', must be one of Threshold, .* or 'my_file\.py:MyClass'",
        ),
    ],
)
def test_mistakes_in_a_config(folder: Path, trigger: object, said: str) -> None:
    with pytest.raises(incfed.InputError, match=rf"algorithm\[1\]\.{said}"):
        build(Recipe(tables(trigger), folder))


def test_in_a_sweep(folder: Path) -> None:
    over: Any = {"algorithm.trigger.level": [0.5, 5.0]}
    sweep = build_sweep(Recipe(tables("own.py:Mine", sweep=over), folder))
    levels = [cell.algorithm["trigger"]["level"] for cell in sweep.cells]
    assert sorted(set(levels)) == [0.5, 5.0]
    over = {"algorithm.trigger.kind": ["own.py:Mine", "Patient"]}
    sweep = build_sweep(Recipe(tables("own.py:Mine", sweep=over), folder))
    assert {cell.algorithm["trigger"]["kind"] for cell in sweep.cells} == {"own.py:Mine", "Patient"}


def test_a_served_federation_refuses_it(tmp_path: Path) -> None:
    said = "in a served federation it is the client that calls for a round"
    with pytest.raises(incfed.InputError, match=rf"^trigger: got Paper\(D_c=1\.0\), .*{said}"):
        Settings(dim=1, mechanism=PAID, trigger=Paper(1.0))
    (tmp_path / "own.py").write_text("raise SystemExit('this is not run')")
    table = {"dim": 1, "mechanism": "PayEveryone", "budget": 1, "trigger": "own.py:Mine"}
    with pytest.raises(incfed.InputError, match=rf"^federation\.trigger\.kind: got 'own.*{said}"):
        Settings.read(table, tmp_path)
    with pytest.raises(incfed.InputError, match="must be one of"):  # what a coordinator may say
        TRIGGERS.recorded({"kind": "own.py:Mine"})
