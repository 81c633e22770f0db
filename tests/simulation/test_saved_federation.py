"""A saved federation goes on as one that was not saved, and nothing else is taken for one."""

from __future__ import annotations

import copy
import json
import os
import pickle  # noqa: TID251 - no file, and of this process
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from incfed.simulation import saved_federation
from incfed.simulation.members import Member
from incfed.support.files import fingerprint
from support.federations import CLIENTS, DIM, SETTINGS, drive, federation_of, rules
from support.past import contents, refused, sentence

FREE = incfed.PaymentFree()


def same(one: incfed.Federation, two: incfed.Federation) -> None:
    """To the last bit: the same operations came in the same order."""
    assert repr(one) == repr(two)
    assert one.spent == two.spent
    first, second = one.result(), two.result()
    for name in ("reward", "communication", "packed", "payment"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), name)
    for name, column in vars(first.rounds).items():
        np.testing.assert_array_equal(getattr(second.rounds, name), column, name)
    for a, b in zip(one, two, strict=True):
        assert (a.number, a.name, a.paid, a.cost, a.pending_steps) == (
            b.number, b.name, b.paid, b.cost, b.pending_steps,
        )  # fmt: skip
        np.testing.assert_array_equal(a.theta, b.theta)


def saved(federation: incfed.Federation, folder: Path) -> incfed.Federation:
    federation.save(folder)
    return incfed.Federation.load(folder)


@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)
def test_200_steps_after_loading_equal_those_without(
    options: dict[str, Any], tmp_path: Path
) -> None:
    federation = federation_of(options)
    drive(federation, 150, seed=1)
    federation[0].cost = 12.0
    federation.leave("shop-1")
    federation.join("shop-1", cost=4.0, trust=1.0 if options.get("trust") is not None else None)
    drive(federation, 50, seed=2)
    before = len(federation.rounds)
    again = saved(federation, tmp_path / "kept")
    same(federation, again)
    assert drive(again, 200, seed=4) == drive(federation, 200, seed=4)
    same(federation, again)
    assert len(federation.rounds) > before > 0
    assert again.join("late", cost=1.0, trust=np.inf).number == CLIENTS + 1


@pytest.mark.parametrize("trust", [np.inf, 3.0, "auto"])
def test_a_member_that_learns_long_without_a_round(trust: Any, tmp_path: Path) -> None:
    """What is computed anew after so many steps is so after as many."""
    federation = federation_of({"threshold": np.inf, "trust": trust})
    drive(federation, 1000, seed=1)
    again = saved(federation, tmp_path)
    assert drive(again, 500, seed=2) == drive(federation, 500, seed=2)
    same(federation, again)


@settings(max_examples=25)
@given(st.sampled_from(sorted(SETTINGS)), st.integers(0, 60), st.data())
def test_saved_at_any_moment(
    tmp_path_factory: pytest.TempPathFactory, name: str, steps: int, data: st.DataObject
) -> None:
    federation = federation_of(SETTINGS[name])
    if steps:
        drive(federation, steps, seed=data.draw(st.integers(0, 9)))
    for gone in data.draw(st.sets(st.integers(0, CLIENTS - 1), max_size=CLIENTS - 1)):
        federation.leave(f"shop-{gone}")
    again = saved(federation, tmp_path_factory.mktemp("kept"))
    same(federation, again)
    assert drive(again, 60, seed=5) == drive(federation, 60, seed=5)
    same(federation, again)


@pytest.mark.parametrize("copied", [lambda it: pickle.loads(pickle.dumps(it)), copy.deepcopy])
@pytest.mark.parametrize("name", ["patient, growth", "private batches", "one for one, auto"])
def test_a_pickled_one_goes_on_too(
    name: str, copied: Callable[[incfed.Federation], incfed.Federation]
) -> None:
    federation = federation_of(SETTINGS[name])
    drive(federation, 100, seed=1)
    again = copied(federation)
    assert drive(again, 100, seed=2) == drive(federation, 100, seed=2)
    same(federation, again)


def test_noise_is_not_drawn_anew(tmp_path: Path) -> None:
    """A batch that an upload has had keeps its noise, and the next batch gets that of its number:
    noise that is drawn again could be averaged away."""
    limits = incfed.Limits(least_sharers=CLIENTS + 1)  # nobody ever shares
    federation = federation_of({**SETTINGS["privacy"], "limits": limits})
    drive(federation, 60, seed=1)
    federation.communicate()
    again = saved(federation, tmp_path / "kept")
    for one, two in zip(federation, again, strict=True):
        first, second = (who._upload(99, 0.0) for who in (one, two))
        assert one.pending_steps == first.steps > 0
        np.testing.assert_array_equal(first.dV.numbers, second.dV.numbers)
        np.testing.assert_array_equal(one._deliver(99)[0], two._deliver(99)[0])


def test_with_everything_else_that_may_be_there(tmp_path: Path) -> None:
    """No steps; nobody left; DisLinUCB; a member that has not acted since it joined."""
    federation = incfed.Federation(2, 1, incfed.DisLinUCB(threshold=np.inf))
    again = saved(federation, tmp_path / "new")
    same(federation, again)
    for one in (federation, again):
        one[0].learn([1.0], 0.5)
        one.communicate()
        one.join("third")
    again = saved(again, tmp_path / "third")
    for one in (federation, again):
        one["third"].learn([1.0], 0.5)
    same(federation, again)
    for name in ("client 0", "client 1", "third"):
        federation.leave(name)
    empty = saved(federation, tmp_path / "empty")
    assert (len(empty), empty.names) == (0, ("client 0", "client 1", "third"))
    assert empty.join("fourth").predict([1.0]) == federation.join("fourth").predict([1.0])


def test_a_member_is_saved_as_a_learner_of_its_own(tmp_path: Path) -> None:
    federation = federation_of(SETTINGS["trust"])
    drive(federation, 60, seed=1)
    file = federation["shop-2"].save(tmp_path / "shop-2")
    arms = np.random.default_rng(2).standard_normal((6, DIM))
    for learner in (Member.load(file), incfed.LinUCB.load(file), federation[0].load(file)):
        assert type(learner) is incfed.LinUCB
        assert learner.steps == federation["shop-2"].steps
        expected = federation["shop-2"].predict(arms)
        np.testing.assert_allclose(learner.predict(arms), expected, rtol=1e-9)
    federation.leave("shop-2")
    learner.learn(arms[0], 0.5)  # it is nobody's member


# ------------------------------------------------------------------ classes of the user's own


@dataclass(frozen=True)
class Fixed(incfed.Mechanism):
    price: float

    def decide(self, round: incfed.mechanisms.Round) -> incfed.Decision:
        return incfed.Decision(round.everyone, np.maximum(round.costs, self.price))


class PayEveryone(incfed.PayEveryone):  # named as a built-in one
    pass


@pytest.mark.parametrize("mechanism", [Fixed(2.0), PayEveryone()])
def test_a_class_of_the_users_own_has_to_be_given(
    mechanism: incfed.Mechanism, tmp_path: Path
) -> None:
    algorithm = incfed.IncFedUCB(mechanism, threshold=0.5, costs=1.0)
    federation = incfed.Federation(CLIENTS, DIM, algorithm)
    drive(federation, 60, seed=1)
    federation.save(tmp_path)
    said = (
        "algorithm: is missing, must be given: the IncFedUCB of this federation has a class of "
        "your own, which is not saved with it. Write load(folder, algorithm=...)"
    )
    with refused(tmp_path, said):
        incfed.Federation.load(tmp_path)
    again = incfed.Federation.load(tmp_path, algorithm=algorithm)
    assert drive(again, 60, seed=2) == drive(federation, 60, seed=2)
    same(federation, again)


def test_another_algorithm_is_refused(tmp_path: Path) -> None:
    federation = federation_of({"threshold": np.inf})
    federation.save(tmp_path)
    same(federation, incfed.Federation.load(tmp_path, algorithm=federation.algorithm))
    other = rules({"threshold": 2.0})
    with pytest.raises(
        incfed.InputError, match=r"algorithm: got .*must be that of .*: its threshold is 'inf'"
    ):
        incfed.Federation.load(tmp_path, algorithm=other)
    with pytest.raises(incfed.InputError, match="algorithm: got 3, must be the algorithm that"):
        incfed.Federation.load(tmp_path, algorithm=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize(
    "mechanism",
    [
        FREE, incfed.PayEveryone(), incfed.PaymentEfficient(beta=0.7, order="ascending"),
        incfed.Truthful(0.7, reserve=30.0), incfed.CostAware(0.7), incfed.Exact(0.7),
        incfed.PostedPrice(5.0), incfed.BudgetFeasible(5.0), incfed.ShapleySplit(5.0),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)  # fmt: skip
def test_every_algorithm_of_incfed_is_made_again(
    mechanism: incfed.Mechanism, options: dict[str, Any]
) -> None:
    algorithm = incfed.IncFedUCB(mechanism, **options)
    written = json.loads(json.dumps(saved_federation.recorded(algorithm), allow_nan=False))
    assert saved_federation.algorithm_of(written, None) == algorithm


# ------------------------------------------------------------------------- what is refused


def kept(folder: Path) -> Path:
    federation = federation_of(SETTINGS["threshold"])
    drive(federation, 40, seed=1)
    federation.save(folder)
    return folder


def test_what_is_not_a_saved_federation_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "none").mkdir()
    for name, text in (("text", "text"), ("other", "{}"), ("list", "[]")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "federation.json").write_text(text)
    for name, said in (
        ("missing", "folder not found"),
        ("file", "folder not found"),
        ("none", "is not a saved federation: no federation.json"),
        ("text", "cannot be read"),
        ("other", "its federation.json is another file"),
        ("list", "its federation.json is another file"),
    ):
        with pytest.raises(incfed.InputError, match=said) as error:
            incfed.Federation.load(tmp_path / name)
        assert "\n" not in str(error.value)
    federation = federation_of({"threshold": 1.0})
    for name in ("file", "text", "other", "list"):
        before = contents(tmp_path)
        with pytest.raises(incfed.InputError, match="folder: "):
            federation.save(tmp_path / name)
        assert contents(tmp_path) == before


@settings(max_examples=60)
@given(st.data())
def test_damage_is_found(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Cut short, or a byte flipped, anywhere."""
    folder = kept(tmp_path_factory.mktemp("kept"))
    file = data.draw(st.sampled_from(sorted(folder.iterdir())))
    whole = file.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    flipped = bytes([whole[at] ^ data.draw(st.integers(1, 255))])
    harmless = file.suffix == ".json" and (whole[at : at + 1] + flipped).isspace()
    cut = data.draw(st.booleans())
    file.write_bytes(whole[:at] if cut else whole[:at] + flipped + whole[at + 1 :])
    if harmless or (cut and whole[at:].isspace()):
        return  # white space between values says nothing
    with pytest.raises(incfed.InputError) as error:
        incfed.Federation.load(folder)
    assert "\n" not in str(error.value)


def test_a_file_of_arrays_that_is_missing(tmp_path: Path) -> None:
    [arrays] = kept(tmp_path).glob("*.npz")
    arrays.unlink()
    with pytest.raises(incfed.InputError, match=r"is incomplete: federation-.*npz is missing"):
        incfed.Federation.load(tmp_path)


def test_federations_of_newer_versions_are_refused_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(saved_federation, "VERSION", 99)
        newer.setattr(saved_federation, "__version__", "9.9.0")
        kept(tmp_path)
    said = sentence(tmp_path / "federation.json", "incfed 9.9.0")
    with refused(tmp_path, said):
        incfed.Federation.load(tmp_path)
    with refused(tmp_path, said):
        federation_of({"threshold": 1.0}).save(tmp_path)


# ---------------------------------------------------------------------------------- replacing


def test_a_saved_one_is_replaced(tmp_path: Path) -> None:
    federation = federation_of(SETTINGS["threshold"])
    (tmp_path / "notes.txt").write_text("kept")
    for steps in (0, 20, 20):
        drive(federation, steps, seed=steps)
        same(federation, saved(federation, tmp_path))
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".json", ".npz", ".txt"]


class Crash(BaseException):
    pass


@pytest.mark.parametrize("moment", range(6))
def test_a_crash_leaves_the_one_before_or_the_new_one(
    moment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each call that changes the folder."""
    federation = federation_of(SETTINGS["threshold"])
    drive(federation, 40, seed=1)
    federation.save(tmp_path)
    before = incfed.Federation.load(tmp_path)
    drive(federation, 40, seed=2)
    calls = 0

    def counted(act: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*given: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > moment:
                raise Crash
            return act(*given, **options)

        return counting

    with monkeypatch.context() as crashing:
        for place, name in ((np, "savez"), (os, "fsync"), (os, "replace"), (Path, "write_text")):
            crashing.setattr(place, name, counted(getattr(place, name)))
        with suppress(Crash):
            federation.save(tmp_path)
    same(incfed.Federation.load(tmp_path), before if calls > moment else federation)
    same(saved(federation, tmp_path), federation)
    assert len(list(tmp_path.iterdir())) == 2  # nothing of the crash is left


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    federation = federation_of(SETTINGS["threshold"])
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file" / "inside", tmp_path / "file"):
        with pytest.raises((incfed.InputError, OSError)) as caught:
            federation.save(folder)
        assert "unlink" not in str(caught.value)
    assert (tmp_path / "file").read_text() == "mine"


def test_an_index_that_was_forged(tmp_path: Path) -> None:
    federation = federation_of(SETTINGS["threshold"])
    federation.save(tmp_path)
    index = json.loads((tmp_path / "federation.json").read_text())
    for wrong in ({"members": 5}, {"arrays": 5}, {"names": None}, {"epochs": [7]}):
        forged = {**index, **wrong}
        forged["sha256"] = fingerprint({k: v for k, v in forged.items() if k != "sha256"})
        (tmp_path / "federation.json").write_text(json.dumps(forged))
        with pytest.raises(incfed.InputError, match="is corrupt"):
            incfed.Federation.load(tmp_path)
    (tmp_path / "federation.json").write_text("[" * 100_000)
    with pytest.raises(incfed.InputError, match="cannot be read"):
        incfed.Federation.load(tmp_path)
