"""A withdrawal takes out all that a client shared, and the audit recomputes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.federation import prune
from incfed.ledger.records import read_epoch, read_pooled_scores
from incfed.ledger.withdrawal import (
    RoundInProgress,
    Share,
    Withdrawal,
    Withdrawn,
    _split,
    withdraw,
)
from incfed.protocol.messages import Delivery, Upload
from incfed.protocol.packing import Packed, pack_matrix
from reference.mechanisms import FloatArray
from support.cli import invoke
from support.coordinator_app import Site
from support.federation import Federation, made
from support.serving import serving

DIM = 2


def federation(path: Path, count: int = 3, **options: object) -> Federation:
    base: dict[str, object] = {"dim": DIM, "ridge": 1.0, "threshold": 1.0, "live_time": 1e6}
    return Federation(path, count, mechanism=incfed.PayEveryone(), **base | options)


def play(one: Federation, rows: dict[int, FloatArray], scores: FloatArray | None = None) -> None:
    """A round in which these clients share these rows; the reward of each is 1."""
    number = one.upload(list(rows), list(rows.values()), 1.0)
    for client in set(range(len(one.tokens))) - set(rows):
        epoch = one.coordinator.state(client).epoch
        one.coordinator.upload(client, made(number, epoch, np.empty((0, DIM)), 0.0))
    for client, x in rows.items():
        one.coordinator.deliver(client, Delivery(number, x.sum(axis=0), scores=scores))
    one.clock.now += 1.0


def take_out(one: Federation, client: int, partial: bool = False) -> Withdrawn:
    with one.store.write() as connection:
        return withdraw(connection, client, one.clock(), partial=partial)


def model(one: Federation) -> tuple[FloatArray, FloatArray]:
    with one.store.read() as connection:
        return read_epoch(connection, one.coordinator.state(0).epoch, DIM)


def clean(one: Federation) -> bool:
    with one.store.read() as connection:
        assert audit(connection).findings == []
    return True


X = {k: np.array([[0.6, 0.1 * k], [0.2, -0.3]]) for k in range(3)}


def test_what_remains_is_what_the_others_shared(tmp_path: Path) -> None:
    three = federation(tmp_path / "ledger.db")
    play(three, {0: X[0], 1: X[1]})
    play(three, {1: X[2], 2: X[1]})
    done = take_out(three, 1)
    assert done == Withdrawn(epoch=3, rounds=[1, 2], steps=4, pruned=[])
    V, b = model(three)
    np.testing.assert_allclose(V, X[0].T @ X[0] + X[1].T @ X[1], atol=1e-12)
    np.testing.assert_allclose(b, (X[0] + X[1]).sum(axis=0), atol=1e-12)
    play(three, {0: X[1], 1: X[0]})  # it goes on, and so may the client
    assert clean(three)
    with three.store.read() as connection:
        report = audit(connection)
        paid = connection.exec_driver_sql(
            "SELECT sum(amount_units) / 100.0, count(*) FROM payments"
        ).one()
    assert report.rounds == 3
    assert tuple(paid) == (pytest.approx(report.spent), 6)  # what was paid stays paid
    assert take_out(three, 1).rounds == [3]
    V, _ = model(three)
    np.testing.assert_allclose(V, 2 * X[1].T @ X[1] + X[0].T @ X[0], atol=1e-12)
    take_out(three, 0)
    take_out(three, 2)
    V, b = model(three)
    assert not V.any()
    assert not b.any()
    assert clean(three)


def test_what_remains_is_positive_semi_definite(tmp_path: Path) -> None:
    """Each dV of clients 1 and 2 is a bit off, within what rounding may do: 1e-9 of its trace. What
    client 0 shared outweighed it."""
    three = federation(tmp_path / "ledger.db")
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((DIM, DIM)))[0]
    off = pack_matrix((turn * [2.0, -0.9e-9]) @ turn.T)

    def upload(number: int, client: int, dV: Packed) -> None:
        epoch = three.coordinator.state(client).epoch
        three.coordinator.upload(client, Upload(number, epoch, 9, 1.0, dV))

    three.coordinator.open_round(0)
    upload(1, 0, pack_matrix(np.eye(DIM)))
    for client in (1, 2):
        upload(1, client, off)
    for client in range(3):
        three.coordinator.deliver(client, Delivery(1, np.zeros(DIM)))
    assert np.linalg.eigvalsh(model(three)[0])[0] > 0.9
    take_out(three, 0)
    V, _ = model(three)
    assert np.linalg.eigvalsh(2.0 * off.matrix())[0] < -1e-9
    assert np.linalg.eigvalsh(V)[0] > -1e-15
    np.testing.assert_allclose(V, 2.0 * off.matrix(), atol=1e-8)
    assert clean(three)


def test_summaries_do_not_count_what_was_withdrawn(tmp_path: Path) -> None:
    three = federation(tmp_path / "ledger.db", lag=0)
    play(three, {0: X[0], 1: X[1]})
    play(three, {1: X[2], 2: X[1]})

    def summary(client: int) -> Any:
        with three.store.read() as connection:
            own = tables.client_summaries.c.client == client
            return connection.execute(tables.client_summaries.select().where(own)).one()

    before, other = summary(1), summary(2)
    with three.store.write() as connection:
        prune(connection, three.clock() - 1.5, three.clock())
    take_out(three, 1, partial=True)  # the second round only
    after = summary(1)
    ridge = np.eye(DIM)
    V = [np.zeros((DIM, DIM)), X[0].T @ X[0] + X[1].T @ X[1]]
    first, second = (
        np.linalg.slogdet(ridge + base + x.T @ x)[1] - np.linalg.slogdet(ridge + base)[1]
        for base, x in zip(V, (X[1], X[2]), strict=True)
    )
    assert before.nats == pytest.approx(first + second)
    assert (after.rounds, after.steps, after.paid_units) == (1, 2, before.paid_units)
    share = 2 / before.steps  # of its steps: by those, what remains is estimated
    assert after.nats == pytest.approx(share * (first + second))
    assert summary(2) == other
    take_out(three, 2)
    assert summary(2)[1:4] == (0, 0, 0.0)
    assert summary(2).paid_units == other.paid_units


def test_clients_get_the_corrected_model_whole(tmp_path: Path) -> None:
    three = federation(tmp_path / "ledger.db", download="one-for-one")
    play(three, {0: X[0][:1], 1: X[1][:1]})
    for client in range(3):
        three.coordinator.download(client, 0)
    take_out(three, 1)
    for client in range(3):  # client 2 shared nothing: it is entitled nevertheless
        assert three.coordinator.state(client).epoch == 2
        for packed in (False, True):
            news = three.coordinator.download(client, 1, packed=packed)
            assert (news.epoch, news.since) == (2, None)
            assert news.withdrawn == (1 if client == 1 else 0)
            np.testing.assert_allclose(news.V.matrix(), X[0][:1].T @ X[0][:1])
    play(three, {0: X[2][:1]})
    news = three.coordinator.download(0, 2, packed=True)
    assert (news.since, news.withdrawn) == (2, 0)  # a difference again


def test_a_withdrawal_waits_for_the_end_of_a_round(tmp_path: Path) -> None:
    two = federation(tmp_path / "ledger.db", 2)
    play(two, {0: X[0], 1: X[1]})
    two.coordinator.open_round(0)
    with pytest.raises(RoundInProgress, match="round 2 is in progress"):
        take_out(two, 1)


def test_who_has_shared_nothing_is_refused(tmp_path: Path) -> None:
    three = federation(tmp_path / "ledger.db")
    play(three, {0: X[0], 1: X[1]})
    with pytest.raises(incfed.InputError, match="client: got 2, must be one that has shared"):
        take_out(three, 2)
    take_out(three, 1)
    with pytest.raises(incfed.InputError, match="not pruned or withdrawn"):
        take_out(three, 1)


def test_what_was_pruned_cannot_be_taken_out(tmp_path: Path) -> None:
    three = federation(tmp_path / "ledger.db", lag=0)
    play(three, {0: X[0], 1: X[1]})
    play(three, {1: X[2]})
    play(three, {1: X[0], 2: X[2]})
    with three.store.write() as connection:
        assert prune(connection, three.clock() - 1.5, three.clock()).round == 2
    with pytest.raises(incfed.InputError, match=r"2 rounds up to 2 was pruned.*--partial"):
        take_out(three, 1)
    assert take_out(three, 1, partial=True) == Withdrawn(4, [3], 2, pruned=[1, 2])
    V, _ = model(three)
    stays = [X[0], X[1], X[2], X[2]]
    np.testing.assert_allclose(V, sum(x.T @ x for x in stays), atol=1e-12)
    assert take_out(three, 2).rounds == [3]
    assert clean(three)


@pytest.mark.parametrize("trust", [None, "auto"])
def test_what_was_pruned_since_an_earlier_withdrawal_is_not_needed(
    tmp_path: Path, trust: str | None
) -> None:
    """Of the sum that client 1 is not in, the first terms are gone."""
    three = federation(tmp_path / "ledger.db", lag=0, trust=trust)
    scores = None if trust is None else np.array([0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 2.0])
    play(three, {0: X[0], 1: X[1], 2: X[2]}, scores)
    play(three, {0: X[2], 1: X[0]}, scores)
    play(three, {0: X[1], 2: X[0]}, scores)
    take_out(three, 1)
    with three.store.write() as connection:
        assert prune(connection, three.clock() - 2.5, three.clock()).round == 1
    assert take_out(three, 0, partial=True) == Withdrawn(5, [2, 3], 4, pruned=[1])
    stays = [X[0], X[2], X[0]]
    V, b = model(three)
    np.testing.assert_allclose(V, sum(x.T @ x for x in stays), atol=1e-12)
    np.testing.assert_allclose(b, sum(x.sum(axis=0) for x in stays), atol=1e-12)
    if scores is not None:
        with three.store.read() as connection:
            np.testing.assert_allclose(read_pooled_scores(connection, 5), 3.0 * scores)
    assert clean(three)
    play(three, {0: X[1], 2: X[1]}, scores)
    assert take_out(three, 0, partial=True).rounds == [4]
    assert clean(three)
    with three.store.write() as connection:
        connection.exec_driver_sql("UPDATE epochs SET V = (SELECT V FROM epochs WHERE number = 4) "
                                   "WHERE number = 5")  # fmt: skip
    with three.store.read() as connection:
        assert any("V_g is not the sum of what" in one for one in audit(connection).findings)


def test_a_false_withdrawal_shows(tmp_path: Path) -> None:
    three = federation(tmp_path / "ledger.db")
    play(three, {0: X[0], 1: X[1]})
    take_out(three, 1)
    with three.store.write() as connection:
        connection.exec_driver_sql("UPDATE withdrawals SET client = 0")
        connection.exec_driver_sql("UPDATE epochs SET V = (SELECT V FROM epochs WHERE number = 1) "
                                   "WHERE number = 2")  # fmt: skip
    with three.store.read() as connection:
        found = audit(connection).findings
    assert (
        "entry 14 (withdrawn, round 1): V_g is not what remains without the data of that client"
        in found
    )
    assert "withdrawals 2: client is not what the entries say" in found


def test_scores_are_taken_out_too(tmp_path: Path) -> None:
    three = federation(tmp_path / "ledger.db", trust="auto")
    scores = np.array([0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 2.0])
    play(three, {0: X[0], 1: X[1]}, scores)
    play(three, {1: X[2], 2: X[1]}, 0.5 * scores)
    take_out(three, 1)
    with three.store.read() as connection:
        kept = read_pooled_scores(connection, 3)
    np.testing.assert_allclose(kept, 1.5 * scores)
    found = three.coordinator.download(0, 2).scores
    assert found is not None
    V, _ = model(three)
    assert found[-1] == pytest.approx(np.trace(V) / 4)  # of the four steps that remain


@given(
    st.lists(
        st.one_of(st.sets(st.integers(0, 3), min_size=1), st.integers(0, 3)), min_size=1, max_size=9
    )
)
def test_the_sum_starts_where_nothing_withdrawn_is_left(events: list[set[int] | int]) -> None:
    """Against the literal definition: which shares an epoch holds."""
    shares: list[Share] = []
    past: list[Withdrawal] = []
    holds: list[set[Share]] = [set()]  # by epoch
    round = 0
    for event in events:
        epoch = len(holds)
        if isinstance(event, set):
            round += 1
            new = {Share(epoch, round, client) for client in event}
            shares += sorted(new)
            holds.append(holds[-1] | new)
        elif own := {one for one in holds[-1] if one.client == event}:
            past.append(Withdrawal(epoch, event, min(one.round for one in own), round))
            holds.append(holds[-1] - own)
            base, kept = _split(shares, past)
            assert holds[base] <= holds[-1]
            assert set(kept) == holds[-1] - holds[base]
            assert not any(holds[n] <= holds[-1] for n in range(base + 1, epoch))


def test_withdraw_on_the_command_line(tmp_path: Path) -> None:
    two = federation(tmp_path / "federation.db", 2, arm_norm=2.0, reward_bound=2.0, cost_limit=9.0)
    play(two, {0: X[0], 1: X[1]})
    play(two, {0: X[0]})
    two.store.close()
    (tmp_path / "federation.toml").write_text(
        "[federation]\ndim = 2\nridge = 1.0\nthreshold = 1.0\nmechanism = 'PayEveryone'\n"
        "budget = 'none'\n"
    )
    done = invoke(tmp_path, "client", "withdraw", "client 0")
    assert done.returncode == 0, done.stderr
    assert "Client 0, client 0: 4 observations of 2 rounds taken out. Epoch 3" in done.stderr
    for who, why in (("0", "one that has shared data"), ("7", "the id or name of a client")):
        done = invoke(tmp_path, "client", "withdraw", who)
        assert (done.returncode, "Traceback" in done.stderr) == (2, False)
        assert why in " ".join(done.stderr.split())
    assert invoke(tmp_path, "ledger", "audit").returncode == 0


def test_running_clients_get_the_corrected_model(tmp_path: Path) -> None:
    site = Site(tmp_path)
    x, y = np.array([0.9, 0.1]), np.array([0.1, 0.9])
    with serving(site.app) as url, site.http:
        folders = [tmp_path / str(k) for k in range(2)]
        with (
            incfed.Client(url, site.tokens[0], folders[0], cost=1.0, trust=5.0) as bad,
            incfed.Client(url, site.tokens[1], folders[1], cost=1.0) as good,
        ):
            for client, arm in ((bad, x), (good, y)):
                epoch = client.epoch
                while client.epoch == epoch:
                    client.learn(arm, 1.0)
                    client.sync(60.0)
            with site.store.write() as connection:
                done = withdraw(connection, 0, site.clock())
            for client in (bad, good):
                client.sync(60.0)
                assert client.epoch == done.epoch
                assert client.problem is None
            with site.store.read() as connection:
                V, _ = read_epoch(connection, done.epoch, DIM)
                assert audit(connection).findings == []
            for client in (bad, good):
                np.testing.assert_allclose(client._durable.learner.V, V)
            assert bad._durable.learner.own.steps == bad.pending
            assert np.linalg.matrix_rank(V) == 1  # nothing of x is left
    site.store.close()
