"""A client's folder: what is in it after a crash, and whose it is."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from incfed.service.client import state_folder
from incfed.service.client.durable_learner import DurableLearner, rules
from incfed.service.client.policies import Stake
from incfed.service.client.state_folder import Snapshot
from incfed.service.codec import read
from incfed.service.wire import ClientView, FederationView
from support.client_state import DIM, federation_settings, news, reopen, rows, same
from support.fake_coordinator import Fake


@settings(max_examples=80)
@given(st.text("lfatnr", max_size=25), st.sampled_from([None, 2.0, "auto"]))
def test_any_life_is_there_again_after_a_crash(acts: str, trust: float | str | None) -> None:
    """l: learn, f: freeze, a: answer, t: shared, n: not shared, r: rotate."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)
        one, round, x, chance = reopen(Path(name), trust), 0, rows(30), np.random.default_rng(0)
        for t, act in enumerate(acts):
            told = one.learner.frozen
            if act == "l":
                one.learn(x[t], 0.5)
            elif act == "f":
                round = told[0] if told else round + 1
                one.freeze(round, lambda stake: 1.5)
            elif act == "a" and told:
                one.answer(round, 1 + t % 2, lambda: bool(chance.integers(2)))
            elif act == "r":
                one.rotate()
            elif act in "tn":
                one.take_in(
                    news(one.learner.epoch + 1, *([round] if act == "t" and told else [])), True
                )
            one._journal.close()
            other = reopen(Path(name), trust)
            same(one, other)
            one = other
        assert one.learner.own.steps == acts.count("l")
        one.close()


def test_a_client_may_change_its_trust_and_follows_the_federations(tmp_path: Path) -> None:
    one, x = reopen(tmp_path), rows(6)
    assert one.learner.trust == math.inf
    for arm in x[:4]:
        one.learn(arm, 1.0)
    one.freeze(1, lambda stake: 0.0)
    one.take_in(news(1, 1), True)
    one.close()
    two = reopen(tmp_path, 0.0)  # it counts only what it learned itself: all that is kept
    theta = np.linalg.solve(0.1 * np.eye(DIM) + x[:4].T @ x[:4], x[:4].sum(axis=0))
    assert two.choose(np.array([theta, -theta])) == 0
    assert two.learner._models is not None
    U, t, _ = two.learner._models.best(two.learner.own.scores, two.learner.known)
    np.testing.assert_allclose(U.T @ t, theta)
    two.close()
    three = reopen(tmp_path)
    three.update_settings(federation_settings(trust="auto"))
    assert three.learner.trust == "auto"
    three.learn(x[4], 1.0)
    three.freeze(2, lambda stake: 0.0)
    scores = three.deliver(2).scores
    assert scores is not None
    assert scores[-1] == 1  # of one event; those before were not scored
    three.close()


def test_the_cost_is_asked_once_and_kept(tmp_path: Path) -> None:
    one = reopen(tmp_path)
    one.learn(rows(1)[0], 1.0)
    first = one.freeze(4, lambda stake: 1.25)
    one.learn(rows(1)[0], 1.0)
    one._journal.close()
    two = reopen(tmp_path)
    again = two.freeze(4, lambda stake: 99.0)
    assert again[:4] == first[:4] == (4, 0, 1, 1.25)
    assert again.dV.numbers.tobytes() == first.dV.numbers.tobytes()
    assert two.pending == 2
    two.close()


def test_steps_learned_while_the_owner_thinks_are_not_frozen(tmp_path: Path) -> None:
    one, x = reopen(tmp_path), rows(3)
    one.learn(x[0], 1.0)

    def think(stake: Stake) -> float:
        one.learn(x[1], 1.0)
        return float(stake.steps)

    assert one.freeze(1, think)[2:4] == (1, 1.0)
    one.learn(x[2], 1.0)
    one._journal.close()
    two = reopen(tmp_path)
    assert two.learner.frozen is not None
    assert (two.learner.frozen[1].steps, two.learner.fresh.steps) == (1, 2)
    two.close()


def test_an_answer_is_durable_before_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what a round is told: the last thing that happened to the file was an fsync."""
    events: list[str] = []

    def noted(name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: (events.append(name), act(*given))[1]  # type: ignore[func-returns-value]

    monkeypatch.setattr(os, "write", noted("write", os.write))
    monkeypatch.setattr(os, "fsync", noted("sync", os.fsync))
    one = reopen(tmp_path)
    one.learn(rows(1)[0], 1.0)
    assert events[-1] == "write", "a step waits for no disk"
    one.freeze(1, lambda stake: 1.0)
    assert events[-2:] == ["write", "sync"]
    assert one.answer(1, 1, lambda: True)
    assert events[-2:] == ["write", "sync"]
    one.close()


def test_an_old_copy_of_the_folder_is_found_out(tmp_path: Path) -> None:
    """It still has as pending what was shared since."""
    one = reopen(tmp_path)
    one.learn(rows(1)[0], 1.0)
    with pytest.raises(incfed.InputError, match="shared data in round 3"):
        one.take_in(news(1, 3), True)
    assert (one.learner.epoch, one.earned, one.pending) == (0, 0.0, 1)
    one.close()


@pytest.mark.parametrize(
    ("now", "word"),
    [
        (federation_settings(dim=4), "dim is 3, .* 4"),
        (federation_settings(who=1), "client.id is 0, .* 1"),
        (federation_settings(ridge=0.5), "ridge"),
        (federation_settings(federation="f2"), "federation is 'f1'"),
    ],
)
def test_whose_folder_it_is(now: FederationView, word: str, tmp_path: Path) -> None:
    one = reopen(tmp_path)
    with pytest.raises(incfed.InputError, match=word):
        one.update_settings(now)
    one.update_settings(federation_settings(threshold=9.0, noise=0.5))
    assert one.learner.rules.threshold == 9.0
    one.rotate()
    one.close()
    assert reopen(tmp_path).settings.threshold == 9.0


def test_settings_are_kept_as_they_were_told(tmp_path: Path) -> None:
    said = Fake(1, DIM, threshold=None).handle(0, "GET", "/v1/federation", None)[1]
    found = read(FederationView, said)
    assert (found.client, found.federation) == (ClientView(0, "client-0"), "f1")
    assert rules(found).threshold == math.inf, "JSON knows no infinity: null"
    state_folder.save(tmp_path, Snapshot.new(found))
    loaded = state_folder.load(tmp_path)
    assert loaded is not None
    assert loaded.settings == found


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"client": 0}, "client: got 0, must be an object with id, name"),
        ({"client": {"id": "0", "name": "a"}}, "client.id: got '0'"),
        ({"client": {"id": 0}}, "client.name: got None"),
        ({"federation": None}, "federation: got None"),
    ],
)
def test_settings_in_another_form(changed: dict[str, Any], said: str) -> None:
    told = Fake(1, DIM).handle(0, "GET", "/v1/federation", None)[1]
    with pytest.raises(incfed.InputError, match=said):
        read(FederationView, told | changed)


STREAMING: dict[str, Any] = {"threshold": None, "trigger": {"kind": "Patient", "signal": "rows"}}


@pytest.mark.parametrize("heard", [1, 2, 5])
@pytest.mark.parametrize("later", [1, 2, 3, 8])
def test_what_was_streamed_is_set_aside_and_no_more(heard: int, later: int, tmp_path: Path) -> None:
    """More steps come after the signal that the coordinator took for the upload."""
    one = DurableLearner(tmp_path, Snapshot.new(federation_settings(**STREAMING)))
    x = rows(heard + later)
    for row in x[:heard]:
        one.learn(row, 0.5)
    signal = one.signal(lambda stake: 1.5, None)
    assert (signal.learned, signal.steps, signal.cost, signal.rows) == (heard, heard, 1.5, None)
    assert signal.dV is not None
    one.learn(x[heard], 0.5)
    more = one.signal(lambda stake: 1.5, (0, heard))
    assert more.dV is None
    np.testing.assert_array_equal(more.rows, x[heard : heard + 1])
    for row in x[heard + 1 :]:
        one.learn(row, 0.5)
    assert one.freeze_streamed(1, heard)
    np.testing.assert_allclose(one.deliver(1).db, 0.5 * x[:heard].sum(axis=0))
    np.testing.assert_allclose(signal.dV.matrix(), x[:heard].T @ x[:heard])
    one._journal.close()
    other = reopen(tmp_path)
    same(one, other)
    assert other.cost == 1.5
    other.take_in(news(1, 1), True)
    left = other.learner.pending
    assert left.steps == later
    np.testing.assert_allclose(left.packed().matrix(), x[heard:].T @ x[heard:])
    other.close()


def test_a_signal_is_remembered_after_a_crash(tmp_path: Path) -> None:
    one = DurableLearner(tmp_path, Snapshot.new(federation_settings(**STREAMING)))
    x = rows(3)
    one.learn(x[0], 0.5)
    one.signal(lambda stake: 1.5, None)
    one.learn(x[1], 0.5)
    one._journal.close()
    other = reopen(tmp_path)
    other.learn(x[2], 0.5)
    assert not other.freeze_streamed(1, 2)  # no signal was about that step
    assert other.learner.frozen is None
    assert other.freeze_streamed(1, 1)
    np.testing.assert_allclose(other.deliver(1).db, 0.5 * x[0])
    assert (other.cost, other.learner.fresh.steps) == (1.5, 2)
    np.testing.assert_allclose(other.learner.fresh.V, x[1:].T @ x[1:])
    other.close()


@pytest.mark.parametrize("later", [1, DIM + 2])
def test_a_signal_is_remembered_after_two_restarts(later: int, tmp_path: Path) -> None:
    one = DurableLearner(tmp_path, Snapshot.new(federation_settings(**STREAMING)))
    x = rows(2 + later)
    for row in x[:2]:
        one.learn(row, 0.5)
    one.signal(lambda stake: 1.5, None)
    for row in x[2:]:
        one.learn(row, 0.5)
    one._journal.close()
    reopen(tmp_path)._journal.close()  # crashed again
    other = reopen(tmp_path)
    assert other.freeze_streamed(1, 2)
    np.testing.assert_allclose(other.deliver(1).db, 0.5 * x[:2].sum(axis=0))
    assert (other.cost, other.learner.fresh.steps) == (1.5, later)
    np.testing.assert_allclose(other.learner.fresh.packed().matrix(), x[2:].T @ x[2:], atol=1e-12)
    other.close()
