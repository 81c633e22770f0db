"""A client that shares from so many steps on, or with noise: what it sends, and after a crash."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from incfed.protocol.checks import MessageBounds, check_delivery, check_upload
from incfed.protocol.client import Learner
from incfed.rules.privacy import Privacy
from incfed.service.client import state_folder
from incfed.service.client.durable_learner import DurableLearner, rules
from incfed.service.client.policies import Discretion
from incfed.service.client.state_folder import Snapshot
from support.client_state import DIM, federation_settings, news, rows


def open_folder(folder: Path, discretion: Discretion, **changed: Any) -> DurableLearner:
    start = state_folder.load(folder) or Snapshot.new(federation_settings(**changed))
    return DurableLearner(folder, start, None, discretion)


def upload(one: DurableLearner, round: int) -> tuple[int, bytes, bytes]:
    """What the coordinator gets."""
    sent = one.freeze(round, lambda stake: 1.0)
    return sent.steps, sent.dV.matrix().tobytes(), one.deliver(round).db.tobytes()


# ------------------------------------------------------------------------------- share_from


def test_it_waits_until_it_has_enough_new_steps(tmp_path: Path) -> None:
    one, x = open_folder(tmp_path, Discretion(share_from=3)), rows(9)
    for arm in x[:2]:
        one.learn(arm, 1.0)
    assert upload(one, 1)[0] == 0
    one.take_in(news(1), True)
    one.learn(x[2], 1.0)
    assert upload(one, 2)[0] == 3
    one.take_in(news(2), True)  # not shared
    one.learn(x[3], 1.0)
    sent = one.freeze(3, lambda stake: 1.0)  # the same three: one more would show by itself
    assert sent.steps == 3
    np.testing.assert_allclose(sent.dV.matrix(), x[:3].T @ x[:3], atol=1e-15)
    one.take_in(news(3, 3), True)
    assert one.pending == 1
    for arm in x[4:6]:
        one.learn(arm, 1.0)
    sent = one.freeze(4, lambda stake: 1.0)
    np.testing.assert_allclose(sent.dV.matrix(), x[3:6].T @ x[3:6], atol=1e-15)
    one.close()


def test_it_calls_for_a_round_only_then() -> None:
    one = Learner(DIM, rules(federation_settings(threshold=0.0)))
    one.share_from = 3
    assert [one.learn(arm, 1.0) for arm in rows(5)] == [False, False, True, True, True]


def test_what_was_frozen_stays_so_if_the_option_changes(tmp_path: Path) -> None:
    for first, second, steps in ((1, 5, 2), (5, 1, 0)):
        folder = tmp_path / str(first)
        folder.mkdir()
        one = open_folder(folder, Discretion(share_from=first))
        for arm in rows(2):
            one.learn(arm, 1.0)
        before = upload(one, 1)
        assert before[0] == steps
        one._journal.close()
        two = open_folder(folder, Discretion(share_from=second))
        assert upload(two, 1) == before
        assert two.pending == 2
        two.close()


# ---------------------------------------------------------------------------------- privacy


def test_noise_is_drawn_once_for_the_same_steps(tmp_path: Path) -> None:
    quiet = Discretion(privacy=Privacy(1.0))
    one, x = open_folder(tmp_path, quiet), rows(9)
    for arm in x[:5]:
        one.learn(arm, 1.0)
    first = upload(one, 1)
    assert upload(one, 1) == first
    assert not np.allclose(np.frombuffer(first[1]), (x[:5].T @ x[:5]).ravel())
    one._journal.close()  # as in a crash
    two = open_folder(tmp_path, quiet)
    assert upload(two, 1) == first
    two.take_in(news(1), True)  # not shared
    two._journal.close()
    three = open_folder(tmp_path, quiet)
    assert upload(three, 2) == first
    three.take_in(news(2), True)
    noise = three.learner.noise
    assert noise is not None
    three.learn(x[5], 1.0)
    assert upload(three, 3)[0] == 6  # more noise, for one more step
    assert three.learner.noise is not None
    assert not np.array_equal(three.learner.noise.V, noise.V)
    three.take_in(news(3, 3), True)
    assert three.learner.noise is None
    three.close()


@settings(max_examples=30)
@given(
    st.text("lllfftnc", max_size=20),
    st.integers(1, 4),
    st.sampled_from([None, Privacy(0.5), Privacy(8.0)]),
)
def test_any_life_sends_the_same_after_a_crash(
    acts: str, share_from: int, privacy: Privacy | None
) -> None:
    """l: learn, f: freeze, t: shared, n: not shared, c: crash."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)
        discretion, x = Discretion(share_from, privacy), rows(20)
        one, round, sent, shared = open_folder(Path(name), discretion), 0, None, 0
        limits = MessageBounds(DIM, 1.0, 10.0, 1e6)
        for t, act in enumerate(acts):
            frozen = one.learner.frozen
            if act == "l":
                one.learn(x[t], 0.5)
            elif act == "f":
                round = frozen.round if frozen else round + 1
                message = one.freeze(round, lambda stake: 1.0)
                check_upload(message, limits)
                check_delivery(one.deliver(round).db, message.dV, message.steps, limits)
                assert frozen is None or upload(one, round) == sent
                sent = upload(one, round)
            elif act in "tn":
                took = act == "t" and frozen is not None and frozen.data.steps > 0
                shared += frozen.data.steps if took and frozen else 0
                one.take_in(news(one.learner.epoch + 1, *([round] if took else [])), True)
            else:
                one._journal.close()
                one = open_folder(Path(name), discretion)
                assert one.learner.frozen is None or upload(one, round) == sent
            assert one.pending == acts[: t + 1].count("l") - shared
        one.close()


# ------------------------------------------------------------------------ what does not fit


def test_a_client_follows_the_federation_and_may_only_be_stricter(tmp_path: Path) -> None:
    private: dict[str, Any] = {"privacy": {"epsilon": 4.0, "delta": 1e-5}, "reward_bound": 2.0}
    one = open_folder(tmp_path, Discretion(), **private)
    assert one.learner.privacy == Privacy(4.0, reward_bound=2.0)
    one.update_settings(federation_settings(privacy={"epsilon": 1.0, "delta": 1e-6}))
    assert one.learner.privacy == Privacy(1.0, 1e-6, reward_bound=10.0)
    one.close()
    view = federation_settings(**private)
    assert Discretion(1, Privacy(2.0)).within(view, None, np.inf) == Privacy(2.0, reward_bound=2.0)
    with pytest.raises(incfed.InputError, match="at least as strict as the federation's"):
        Discretion(1, Privacy(8.0)).within(view, None, np.inf)
    with pytest.raises(incfed.InputError, match=r"privacy: .*stream every step"):
        Discretion().within(view, "rows", np.inf)
    with pytest.raises(incfed.InputError, match=r"share_from: got 2.*stream every step"):
        Discretion(2).within(federation_settings(), "growth", np.inf)
    with pytest.raises(incfed.InputError, match=r"trust: got 3.0, must be left out with privacy"):
        Discretion(1, Privacy(2.0)).within(federation_settings(), None, 3.0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((0, None), "share_from: got 0, must be a whole number from 1"),
        ((1.5, None), "share_from: got 1.5"),
        ((1, 4.0), "privacy: got 4.0, must be a Privacy, such as Privacy"),
    ],
)
def test_options_that_are_refused(options: tuple[Any, Any], said: str) -> None:
    with pytest.raises(incfed.InputError) as refused:
        Discretion.of(*options)
    assert str(refused.value).startswith(said)
