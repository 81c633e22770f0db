"""Packed messages: 8 bytes a scalar and a head, over the real application."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import select

import incfed
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.protocol.checks import Refusal
from incfed.protocol.messages import Delivery, Download, Signal, Upload
from incfed.protocol.packing import pack_matrix, pack_rows
from incfed.protocol.traffic import packed_matrix, packed_model, packed_vector
from incfed.service import binary
from incfed.service.binary import OVERHEAD, PACKED, ROUND_OVERHEAD
from incfed.service.coordinator.app import make_app
from incfed.service.coordinator.handlers import delivery
from incfed.service.requests import Request
from support.federation import Federation, federate, made, synthetic
from support.in_step import play

NAN, INF = float("nan"), float("inf")


class Http:
    """The requests of clients over HTTP, as the transport sends them; counts what bodies hold."""

    def __init__(self, federation: Federation, send: Callable[..., httpx.Response]) -> None:
        self._tokens, self._dim, self.send = federation.tokens, federation.settings.dim, send
        self.sizes: list[tuple[str, int, int]] = []  # kind, round, bytes of packed bodies

    def __call__(self, who: int, request: Request) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self._tokens[who]}", "Incfed-Protocol": "1"}
        headers["Accept"] = f"application/json, {PACKED}"
        body: dict[str, Any] = {"json": request.body}
        if isinstance(request.body, bytes):
            body = {"content": request.body}
            headers["Content-Type"] = PACKED
            self.sizes.append((request.kind, request.number, len(request.body)))
        path = request.path.replace("wait=25", "wait=0")
        got = self.send(request.method, path, headers=headers, **body)
        if got.headers["Content-Type"] != PACKED:
            return got.status_code, got.json()
        rounds = binary.read_download(got.content, self._dim).shared
        without = len(got.content) - ROUND_OVERHEAD * len(rounds)
        self.sizes.append((request.kind, request.number, without))
        return got.status_code, got.content

    def scalars(self, *kinds: str) -> int:
        """All that was sent, without heads."""
        sizes = [size - OVERHEAD for kind, _, size in self.sizes if kind in kinds]
        assert all(size >= 0 and size % 8 == 0 for size in sizes)
        return sum(sizes) // 8


@contextmanager
def over_http(federation: Federation) -> Iterator[Http]:
    app = make_app(federation.store, federation.settings, clock=federation.clock)
    with asyncio.Runner() as runner:
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here")
        yield Http(federation, lambda *args, **more: runner.run(client.request(*args, **more)))


@pytest.mark.parametrize(
    "given",
    [
        {"threshold": 0.5},
        {"trigger": incfed.Patient(2.0), "mechanism": incfed.PaymentFree()},
        {"trigger": incfed.Patient(2.0, "growth", 1.0), "mechanism": incfed.PaymentFree()},
        {"threshold": 0.5, "trust": "auto"},
    ],
    ids=["threshold", "rows", "growth", "scores"],
)
def test_a_run_sends_what_the_simulator_counts(given: dict[str, Any], memory: Path) -> None:
    """Where downloads are one for one, clients download when they next act, as the count has it."""
    trace = synthetic(6, 60)
    options = {"mechanism": incfed.PaymentEfficient(beta=0.7), **given}
    costs = [0.0, 0.5, 1.0, 2.0, 2.0, 3.0]
    algorithm = incfed.IncFedUCB(**options, costs=costs, download="one-for-one")
    expected = incfed.simulate(trace, algorithm)
    federation = federate(memory / "ledger.db", trace, algorithm, lag=0)
    with over_http(federation) as http:
        rewards = play(trace, federation, costs, memory, ask=http)
    np.testing.assert_array_equal(np.cumsum(rewards), expected.reward)
    assert len(expected.rounds) > 3
    kinds = ("upload", "delivery", "signal", "download")
    assert http.scalars(*kinds) == expected.packed[-1]
    with federation.store.read() as connection:
        assert audit(connection).findings == []
    federation.store.close()


def test_everyone_downloads_what_is_new(memory: Path) -> None:
    """What clients send is what the simulator counts; they do not wait until they act to download,
    so each message is counted by itself."""
    trace, costs = synthetic(6, 60), [0.0, 0.5, 1.0, 2.0, 2.0, 3.0]
    algorithm = incfed.IncFedUCB(incfed.PaymentEfficient(beta=0.7), threshold=0.5, costs=costs)
    run = incfed.Simulation(trace, algorithm)
    run.advance(trace.length)
    federation = federate(memory / "ledger.db", trace, algorithm)
    with over_http(federation) as http:
        play(trace, federation, costs, memory, ask=http)
    sent = sum(
        packed_matrix(one.sent, 5).sum() + packed_vector(one.shared, 5).sum()
        for one in run._run.log
    )
    assert http.scalars("upload", "delivery") == sent
    steps = {(e["round"], e["client"]): e["steps"] for e in rows_of(federation, tables.uploads)}
    downloads = 0
    for paid in rounds_of(federation):
        shared = {client: steps[round, client] for round, client in paid}
        for client in range(6):
            new = sum(shared.values()) - shared.get(client, 0)
            downloads += int(packed_model(np.array(new), 5))
    assert http.scalars("download") == downloads
    federation.store.close()


def rows_of(federation: Federation, table: Any) -> list[dict[str, Any]]:
    with federation.store.read() as connection:
        return [dict(row) for row in connection.execute(select(table)).mappings()]


def rounds_of(federation: Federation) -> list[list[tuple[int, int]]]:
    """Who shared in each round."""
    paid = rows_of(federation, tables.payments)
    numbers = [row["number"] for row in rows_of(federation, tables.rounds)]
    return [[(n, row["client"]) for row in paid if row["round"] == n] for n in numbers]


# ----------------------------------------------------------------------------- single messages

D = 4
X = np.random.default_rng(1).standard_normal((7, D)) / 5


def packed(count: int) -> Any:
    return pack_rows(X[:count]) if count < D else pack_matrix(X[:count].T @ X[:count])


@pytest.mark.parametrize("count", range(7))
def test_every_message_comes_back_and_has_its_size(count: int) -> None:
    V, b, rank = packed(count), X[:count].sum(axis=0), np.array(count)
    matrix, vector = int(packed_matrix(rank, D)), int(packed_vector(rank, D))

    def same(one: Any, other: Any) -> None:
        assert one._replace(dV=None) == other._replace(dV=None)
        assert one.dV.form == other.dV.form
        assert one.dV.numbers.tobytes() == other.dV.numbers.tobytes()

    upload = Upload(3, 2, count, 1.5, V)
    data = binary.write_upload(upload, 2)
    assert len(data) == OVERHEAD + 8 * matrix
    same(binary.read_upload(3, data, D), upload)

    body = binary.put_delivery(Delivery(3, b), V).body
    assert isinstance(body, bytes)
    assert len(body) == OVERHEAD + 8 * vector
    sent = binary.read_delivery(3, body, D)
    assert sent.basis == (V.checksum() if count < D else None)

    signal = Signal(2, 9, count, 0.0, 1.5, None, V)
    data = binary.write_signal(signal, D, 2)
    assert len(data) == OVERHEAD + 8 * matrix
    same(binary.read_signal(data, D), signal)

    news = Download(5, 2 if count < D else None, V, b, {3: 1.5, 4: 0.0})
    data = binary.write_download(news)
    assert len(data) == OVERHEAD + 2 * ROUND_OVERHEAD + 8 * (matrix + vector)
    got = binary.read_download(data, D)
    assert got.V.numbers.tobytes() == V.numbers.tobytes()
    np.testing.assert_allclose(got.b, b, rtol=1e-12, atol=1e-15)
    assert got[:2] + got[4:] == news[:2] + news[4:]


@pytest.mark.parametrize("digits", [0, 2, 9])
def test_money_goes_as_minor_units(digits: int) -> None:
    """1,234 units are the bytes of 1234, whatever float they make."""
    amount, V = 1234 / 10**digits, packed(2)
    sent = binary.write_upload(Upload(3, 2, 2, amount, V), digits)
    assert (sent[7], sent[32:40]) == (1 + digits, struct.pack("<Q", 1234))
    assert binary.read_upload(3, sent, D).cost == amount
    shared = {3: amount, 4: 0.0}
    news = Download(5, 2, V, X[:2].sum(axis=0), shared, money_digits=digits, withdrawn=2)
    data = binary.write_download(news)
    assert data[32:72] == struct.pack("<5Q", 2, 3, 1234, 4, 0)  # a round is no money
    got = binary.read_download(data, D)
    assert (got.shared, got.money_digits, got.withdrawn) == (shared, digits, 2)
    with pytest.raises(Refusal, match="minor units"):
        binary.read_upload(3, sent[:32] + b"\xff" * 8 + sent[40:], D)


@pytest.mark.parametrize("count", [0, 2, 5])
def test_scores_come_back(count: int) -> None:
    V, b, scores = packed(count), X[:count].sum(axis=0), np.arange(7.0)
    plain = binary.put_delivery(Delivery(3, b), V).body
    scored = binary.put_delivery(Delivery(3, b, scores=scores), V).body
    assert isinstance(plain, bytes)
    assert isinstance(scored, bytes)
    assert len(scored) == len(plain) + 8 * 7
    sent = binary.read_delivery(3, scored, D)
    assert sent.scores is not None
    assert sent.scores.tolist() == scores.tolist()
    assert sent._replace(scores=None, db=b) == binary.read_delivery(3, plain, D)._replace(db=b)
    news = Download(5, 2 if count < D else None, V, b, {3: 1.5}, scores=scores)
    got = binary.read_download(binary.write_download(news), D)
    assert got.scores is not None
    assert got.scores.tolist() == scores.tolist()
    np.testing.assert_allclose(got.b, b, rtol=1e-12, atol=1e-15)
    for wrong in (
        with_(scored, scores=6),
        with_(scored, scores=8),
        with_(scored, scalars=6),
        scored[:-8],
        scored[:-8] + struct.pack("<d", NAN),
        scored + b"\0" * 8,
        scored[:OVERHEAD],
    ):
        with pytest.raises(Refusal):
            binary.read_delivery(3, wrong, D)


def test_what_is_streamed_has_its_size() -> None:
    rows = Signal(2, 9, 3, 0.0, 1.5, X[:2])
    data = binary.write_signal(rows, D, 2)
    assert len(data) == OVERHEAD + 8 * 2 * D
    again = binary.read_signal(data, D)
    assert again.rows is not None
    assert again.rows.tobytes() == X[:2].tobytes()
    growth = Signal(2, 9, 3, 0.25, 1.5)
    data = binary.write_signal(growth, D, 2)
    assert len(data) == OVERHEAD + 8
    assert binary.read_signal(data, D) == growth


UPLOAD = binary.write_upload(Upload(1, 0, 2, 1.5, packed(2)), 2)
FIELDS = {  # offset, format
    "magic": (0, "<4s"), "kind": (4, "<B"), "form": (5, "<B"), "scores": (6, "<B"),
    "money": (7, "<B"), "dim": (8, "<I"), "scalars": (12, "<I"), "epoch": (16, "<I"),
    "number": (20, "<I"), "large": (24, "<Q"), "cost": (32, "<Q"), "first": (40, "<d"),
}  # fmt: skip


def with_(data: bytes, **changes: Any) -> bytes:
    changed = bytearray(data)
    for name, value in changes.items():
        offset, form = FIELDS[name]
        struct.pack_into(form, changed, offset, value)
    return bytes(changed)


HOSTILE = [
    (b"x", "body"),
    (UPLOAD[:OVERHEAD], "body"),
    (UPLOAD[:-1], "body"),
    (UPLOAD[:-8], "body"),
    (UPLOAD + b"\0" * 8, "body"),
    (UPLOAD + b"\0", "body"),
    (with_(UPLOAD, magic=b"IFB2"), "body"),
    (with_(UPLOAD, kind=binary.DELIVERY), "body"),
    (with_(UPLOAD, kind=9), "body"),
    (with_(UPLOAD, scores=7), "scores"),
    (with_(UPLOAD, large=1), "body"),
    (with_(UPLOAD, form=binary.ROWS), "form"),
    (with_(UPLOAD, form=0), "form"),
    (with_(UPLOAD, form=binary.TRIANGLE), "dV"),
    (with_(UPLOAD, dim=D + 1), "dim"),
    (with_(UPLOAD, dim=2**32 - 1), "dim"),
    (with_(UPLOAD, scalars=8), "body"),
    (with_(UPLOAD, scalars=2**32 - 1), "body"),
    (with_(UPLOAD, epoch=2**32 - 1), "epoch"),
    (with_(UPLOAD, epoch=1), "epoch"),
    (with_(UPLOAD, number=1), "dV"),
    (with_(UPLOAD, number=3), "dV"),
    (with_(UPLOAD, number=0), "dV"),
    (with_(UPLOAD, number=D), "form"),
    (with_(UPLOAD, number=2**32 - 1), "steps"),
    (with_(UPLOAD, money=0), "money"),  # a cost that is not in minor units
    (with_(UPLOAD, money=11), "money"),
    (with_(UPLOAD, cost=2**64 - 1), "cost"),
    (with_(UPLOAD, cost=10**6 * 10**2 + 1), "cost"),
    (with_(UPLOAD, first=NAN), "dV"),
    (with_(UPLOAD, first=INF), "dV"),
    (with_(UPLOAD, first=1e9), "dV"),  # longer than arms may be
]


@contextmanager
def one_round(folder: Path) -> Iterator[tuple[Federation, Http]]:
    federation = Federation(
        folder / "ledger.db", 2, dim=D, ridge=1.0, threshold=1.0, cost_limit=1e6, arm_norm=1.0,
        reward_bound=1.0, mechanism=incfed.PayEveryone(),
    )  # fmt: skip
    federation.coordinator.open_round(0)
    with over_http(federation) as http:
        yield federation, http
    federation.store.close()


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Federation, Http]]:
    with one_round(tmp_path_factory.mktemp("binary")) as both:
        yield both


def dump(federation: Federation) -> dict[str, list[Any]]:
    return {table.name: rows_of(federation, table) for table in tables.metadata.sorted_tables}


@pytest.mark.parametrize(("data", "field"), HOSTILE, ids=range(len(HOSTILE)))
def test_uploads_that_are_refused(opened: tuple[Federation, Http], data: bytes, field: str) -> None:
    federation, http = opened
    before = dump(federation)
    status, said = http(0, Request("upload", "PUT", "/v1/rounds/1/upload", data))
    assert (status, said["field"]) == (409 if data == with_(UPLOAD, epoch=1) else 422, field), said
    assert said["message"]
    assert dump(federation) == before


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (binary.write_signal(Signal(0, 3, 3, NAN, 1.0), D, 2), "growth"),
        (binary.write_signal(Signal(0, 3, 3, -1.0, 1.0), D, 2), "growth"),
        (binary.write_signal(Signal(0, 2, 3, 1.0, 1.0), D, 2), "steps"),
        (with_(binary.write_signal(Signal(0, 3, 3, 0.0, 1.0), D, 2), large=2**63), "learned"),
        (binary.write_signal(Signal(0, 9, 9, 0.0, 1.0, np.ones((5, D))), D, 2), "rows"),
        (
            with_(binary.write_signal(Signal(0, 3, 3, 0.0, 1.0, X[:1]), D, 2), scalars=3)[:-8],
            "rows",
        ),
        (binary.write_signal(Signal(0, 3, 3, 0.0, 1.0, 99 * X[:1]), D, 2), "rows"),
        (with_(binary.write_signal(Signal(0, 3, 3, 0.0, 1.0), D, 2), cost=2**63), "cost"),
    ],
)
def test_signals_that_are_refused(tmp_path: Path, data: bytes, field: str) -> None:
    federation = Federation(
        tmp_path / "ledger.db", 1, dim=D, mechanism=incfed.PaymentFree(), arm_norm=1.0,
        trigger=incfed.Patient(1.0),
    )  # fmt: skip
    before = dump(federation)
    with pytest.raises(Refusal) as refused:
        federation.coordinator.signal(0, binary.read_signal(data, D))
    assert refused.value.field == field
    assert dump(federation) == before
    federation.store.close()


def scored(delivery: bytes, count: int, score: float) -> bytes:
    """With so many scores."""
    changed = with_(delivery, scalars=D + count, scores=count)
    return changed + np.full(count, score).tobytes()


def test_deliveries(tmp_path: Path) -> None:
    """What is stored is what the message decodes to; in another factor, it is not understood."""
    with one_round(tmp_path) as (federation, http):
        for client in range(2):
            federation.coordinator.upload(client, made(1, 0, X[: 2 + client], 0.5))
        path = "/v1/rounds/1/delivery"

        def deliver(data: bytes, client: int = 0) -> tuple[int, Any]:
            return http(client, Request("delivery", "PUT", path, data))

        good = binary.put_delivery(Delivery(1, X[:2].sum(axis=0)), packed(2)).body
        assert isinstance(good, bytes)
        plain = binary.write_delivery(Delivery(1, X[:2].sum(axis=0)), D)
        before = dump(federation)
        for data, status, field in (
            (with_(good, number=7), 409, "basis"),
            (good[:-8], 422, "body"),
            (with_(good, scalars=1)[:-8], 422, "db"),
            (with_(good, first=NAN), 422, "db"),
            (with_(good, first=1e9), 422, "db"),
            (with_(good, first=1e308), 422, "db"),
            (with_(good, epoch=1), 422, "body"),
            (with_(good, form=binary.VECTOR), 422, "body"),
            (with_(good, form=binary.VECTOR, number=0), 422, "db"),
            (with_(plain, form=binary.COORDINATES), 409, "basis"),
            (with_(plain, first=NAN), 422, "db"),
            (scored(plain, 7, NAN), 422, "scores"),
            (scored(plain, 7, -1.0), 422, "scores"),
            (scored(plain, 3, 1.0), 422, "scores"),
        ):
            got, said = deliver(data)
            assert (got, said["field"]) == (status, field), said
            assert dump(federation) == before
        assert deliver(good)[0] == 200
        [stored] = rows_of(federation, tables.deliveries)
        db = np.frombuffer(stored["db"], "<f8")
        np.testing.assert_allclose(db, X[:2].sum(axis=0), rtol=1e-12, atol=1e-15)
        assert deliver(good)[0] == 200  # again
        assert deliver(with_(good, first=0.1))[1]["field"] == "db"
        last = binary.put_delivery(
            Delivery(1, X[:3].sum(axis=0)), None
        ).body  # db itself does as well
        assert isinstance(last, bytes)
        assert deliver(last, 1)[0] == 200
        status, news = http(0, binary.get_download(0, True, True, (1,)))
        assert status == 200
        got_news = binary.read_download(news, D, (1,))
        assert (got_news.since, got_news.V.rank, got_news.without) == (0, 3, (1,))
        np.testing.assert_allclose(got_news.V.matrix(), X[:3].T @ X[:3], atol=1e-15)
        with federation.store.read() as connection:
            assert audit(connection).findings == []


def test_a_refused_delivery_is_not_stored_with_those_beside_it(tmp_path: Path) -> None:
    with one_round(tmp_path) as (federation, _):
        here = federation.coordinator
        for client in range(2):
            here.upload(client, made(1, 0, X[:2], 0.5))
        good = Delivery(1, X[:2].sum(axis=0))
        bad = good._replace(scores=np.full(7, -1.0))
        refused, _ = here.handle([(0, delivery, bad), (1, delivery, good)])
        assert isinstance(refused, Refusal)
        assert [row["client"] for row in rows_of(federation, tables.deliveries)] == [1]


def test_other_kinds_of_bodies_are_refused(opened: tuple[Federation, Http]) -> None:
    federation, http = opened
    headers = {"Authorization": f"Bearer {federation.tokens[0]}", "Incfed-Protocol": "1"}
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        got = http.send(
            "PUT", "/v1/rounds/1/upload", content=UPLOAD, headers={**headers, "Content-Type": kind}
        )
        assert (got.status_code, got.json()["field"]) == (422, "Content-Type")


def test_json_is_for_who_does_not_ask_for_packed_replies(
    opened: tuple[Federation, Http],
) -> None:
    federation, http = opened
    headers = {"Authorization": f"Bearer {federation.tokens[0]}", "Incfed-Protocol": "1"}
    got = http.send("GET", "/v1/download?since=0", headers=headers)
    assert got.headers["Content-Type"] == "application/json"
