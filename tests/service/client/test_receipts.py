"""Receipts and forks; `incfed ledger verify` over HTTP and from the database."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

import incfed
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.chain import canonical, entries_after, link
from incfed.ledger.clients import enrol
from incfed.ledger.database import Database
from incfed.ledger.proofs import LedgerTree
from incfed.ledger.settings import Settings
from incfed.protocol.heads import Inclusion
from incfed.protocol.messages import Signal
from incfed.protocol.packing import pack_rows
from incfed.protocol.statements import statement, stream_fields
from incfed.service import requests
from incfed.service.client import verification
from incfed.service.client.receipts import Fork, Receipts, read_receipts
from incfed.service.client.verification import over_http, verify_folder
from incfed.service.coordinator.app import make_app
from incfed.support.signing import new_key, public_key, sign
from support.cli import invoke
from support.coordinator_app import Site
from support.serving import serving
from support.sqlite import unguarded


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, str, Path]]:
    """A client has shared in two rounds, and declined between them; its folder is closed."""
    folder = tmp_path_factory.mktemp("site")
    made = Site(folder)
    made.clock.now = 0.0
    with serving(made.app) as url, made.http:
        made.http.base_url = httpx.URL(url)
        with incfed.Client(
            url, made.tokens[0], folder / "state", cost=2.0, accept=lambda offer: offer.round != 2
        ) as client:
            for n in range(3):
                client.learn(np.array([0.9, 0.1]), 0.5)
                while client.epoch == n:
                    client.learn(np.array([0.1 * n, 0.9]), 0.5)
                    client.sync(60.0)
        (folder / "token").write_text(made.tokens[0])
        yield made, url, folder
    made.store.close()


def test_a_receipt_is_durable_and_outlives_a_line_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    request = requests.get_state()._replace(signature="c2lnbmVk")
    for n in (1, 2):
        receipts = Receipts(tmp_path)
        receipts.see({requests.HEAD.lower(): f"{n} {'0' * 64} {'0' * 64}"})
        receipts.keep(request, "uploaded", {"round": n}, {requests.ENTRY.lower(): str(n)})
        assert len(synced) == n + 1  # with the name of the file, the first time
        with open(tmp_path / "receipts", "a", encoding="ascii") as file:
            file.write('{"head": ')  # cut off by a crash
    assert [one.fields["round"] for one in read_receipts(tmp_path)] == [1, 2]


def test_every_act_has_a_receipt_and_is_proved(shared: tuple[Site, str, Path]) -> None:
    made, url, folder = shared
    kept = list(read_receipts(folder / "state"))
    yes, no = ["uploaded", "delivered"], ["uploaded", "answered"]
    assert [one.kind for one in kept] == [*yes, *no, *yes]
    numbers = [one.entry or 0 for one in kept]
    assert numbers == sorted(set(numbers))
    assert all(0 < number <= one.head.number for number, one in zip(numbers, kept, strict=True))
    verdict = verify_folder(folder / "state", over_http(url, made.tokens[0]))
    assert (verdict.findings, verdict.acts) == ([], 6)
    token = ("--token-file", "token")
    for source in (("sqlite:///ledger.db",), (url, *token)):
        done = invoke(folder, "ledger", "verify", *source, "--folder", "state")
        assert done.returncode == 0, done.stderr
        assert "6 acts of this client" in done.stdout
        assert done.stdout.strip().endswith("proved")


def test_proofs_show_nobody_else(shared: tuple[Site, str, Path]) -> None:
    made, *_ = shared
    for round in (0, 1, 2, 3):
        reply = made(1, "GET", f"/v1/proof?round={round}", headers={"Accept": "application/json"})
        assert reply.json()["entries"] == []
    assert made(1, "GET", "/v1/proof?since=9999").status_code == 409


def forged(folder: Path, copy: Path, change: str) -> str:
    """Somebody with all rights changes the ledger, and makes all hashes fit."""
    shutil.copy(folder / "ledger.db", copy)
    for suffix in ("-wal", "-shm"):
        if (folder / f"ledger.db{suffix}").exists():
            shutil.copy(folder / f"ledger.db{suffix}", f"{copy}{suffix}")
    with unguarded(copy) as outside:
        bodies = [json.loads(one) for (one,) in outside.execute("SELECT body FROM entries")]
        [first, *_] = [one for one in bodies if one["kind"] == "uploaded"]
        if change == "price":
            first["cost"] = 1.0
        elif change == "dropped":
            bodies.remove(first)
        elif change == "twice":
            bodies.insert(first["number"], {**first})
        elif change == "forged":
            bodies.append({**first, "round": 2, "kind": "answered", "attempt": 7, "accepted": True})
        elif change == "key":
            bodies.insert(5, {"kind": "key", "client": 0, "key": "A" * 43 + "=", "at": 0.0})
        outside.execute("DELETE FROM entries")
        previous = "0" * 64
        for number, body in enumerate(bodies, 1):
            text = canonical({**body, "number": number})
            previous = link(previous, text)
            outside.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, text, previous))
    done = invoke(folder, "ledger", "verify", f"sqlite:///{copy}", "--folder", "state")
    assert done.returncode == (1 if change else 0)
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("price", "what this client uploaded was changed"),
        ("dropped", "what this client uploaded is not in the ledger"),
        ("twice", "what this client uploaded is in the ledger 2 times"),
        ("forged", "says that this client answered, without its signature"),
        ("key", "1 other key of this client"),
        ("", ""),
    ],
)
def test_what_was_forged_shows(
    shared: tuple[Site, str, Path], tmp_path: Path, change: str, said: str
) -> None:
    found = forged(shared[2], tmp_path / "copy.db", change)
    assert said in found
    assert ("does not extend" in found) == (change not in ("", "forged"))


@pytest.mark.parametrize("missing", [None, "steps", "learned", "numbers"])
@pytest.mark.parametrize("kind", ["uploaded", "answered", "delivered"])
def test_the_signature_of_a_stream_is_one_of_an_upload_alone(
    kind: str, missing: str | None
) -> None:
    """The coordinator writes an entry with all that the client signed, and more."""
    key = new_key()
    signal, stream = Signal(0, 1, 1, 0.1, 2.0), pack_rows(np.eye(2)[:1])
    fields = stream_fields(0, signal, stream, 0)
    body = fields | {"signature": sign(key, statement("f-1", "streamed", fields))}
    body |= {"round": 1, "epoch": 0, "attempt": 1, "accepted": True, "db": "00", "kind": kind}
    body.pop(missing or "", None)
    entries = [Inclusion(7, canonical(body), [])]
    _, found = verification._compare([], entries, "f-1", public_key(key), True)
    forged = [f"round 1: entry 7 says that this client {kind}, without its signature"]
    assert found == ([] if kind == "uploaded" and missing is None else forged)


def test_another_head_of_the_same_number_is_a_fork(shared: tuple[Site, str, Path]) -> None:
    made, _, folder = shared
    receipts = Receipts(folder / "state")
    head = receipts.last
    receipts.see({"incfed-head": str(head)})
    receipts.see({"incfed-head": "nonsense"})
    with pytest.raises(Fork, match=f"it shows another entry {head.number} than before"):
        receipts.see({"incfed-head": str(head._replace(root="0" * 64))})
    receipts.check(200, made(0, "GET", receipts.question().path).json())
    for wrong in ({"consistency": ["0" * 64]}, {"root": "0" * 64}, {"number": 3}):
        reply = made(0, "GET", f"/v1/proof?since={head.number - 1}").json()
        receipts.last = head._replace(number=head.number - 1)
        with pytest.raises(Fork, match="does not extend"):
            receipts.check(200, reply | wrong)
    with pytest.raises(Fork, match="does not extend"):
        receipts.check(409, {"field": "since", "message": "at most 3"})


def test_a_client_halts_at_a_fork(shared: tuple[Site, str, Path], tmp_path: Path) -> None:
    """The coordinator comes back with a ledger of the same length that says something else."""
    _, _, folder = shared
    state = tmp_path / "state"
    shutil.copytree(folder / "state", state)
    lines = (state / "receipts").read_text().splitlines()
    last = json.loads(lines[-1])
    number, hash, root = last["head"].split()
    last["head"] = f"{number} {hash} {root[::-1]}"
    (state / "receipts").write_text("\n".join([*lines[:-1], json.dumps(last)]) + "\n")
    with pytest.raises(Fork, match=r"docs/ledger\.md"):
        incfed.Client(shared[1], shared[0].tokens[0], state)


def test_replies_carry_the_head(shared: tuple[Site, str, Path]) -> None:
    made, _, folder = shared
    reply = made(0, "GET", "/v1/state")
    with made.store.read() as connection:
        head = LedgerTree().follow(connection)
    assert reply.headers[requests.HEAD] == str(head)
    assert requests.HEAD not in made.http.get("/healthz").headers
    with sqlite3.connect(folder / "ledger.db") as outside:
        last = outside.execute("SELECT max(number) FROM entries").fetchone()[0]
    outside.close()
    assert head.number == last


def test_what_a_client_streams_is_signed_and_proved(tmp_path: Path) -> None:
    """Two clients stream more rows than dimensions, and share for data alone."""
    store = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    settings = Settings(
        dim=2, mechanism=incfed.PaymentFree(), trigger=incfed.News(2.0), ridge=1.0, money_digits=2
    )
    app = make_app(store, settings)
    with store.write() as connection:
        tokens = [enrol(connection, name, 0.0)[1] for name in ("ada", "bob")]
    chance = np.random.default_rng(6)
    with serving(app) as url:
        folders = [tmp_path / name for name in ("ada", "bob")]
        clients = [
            incfed.Client(url, token, folder, cost=0.01)
            for token, folder in zip(tokens, folders, strict=True)
        ]
        while min(client.epoch for client in clients) < 2:
            for client in clients:
                x = chance.standard_normal(2)
                client.learn(x / np.linalg.norm(x), 0.5)
                client.sync(60.0)
        for client in clients:
            client.close()
        for token, folder in zip(tokens, folders, strict=True):
            verdict = verify_folder(folder, over_http(url, token))
            assert verdict.findings == []
            assert verdict.acts >= 2
    with store.read() as connection:
        assert audit(connection).findings == []
        sent = [one for one in entries_after(connection, 0) if one["kind"] == "uploaded"]
    forms = {one["form"] for one in sent if one["steps"]}
    assert all(("signature" in one) == (one["steps"] > 0) for one in sent)
    assert "triangle" in forms
    with store.touch() as connection:  # the coordinator says that ada had said something else
        first = next(one["number"] for one in sent if one["client"] == 0 and one["steps"])
        body = entries_after(connection, first - 1)[0]
        own = tables.entries.c.number == first
        changed = tables.entries.update().where(own).values(body=canonical(body | {"cost": 2}))
    store.close()
    with unguarded(tmp_path / "ledger.db") as outside:
        text = str(changed.compile(compile_kwargs={"literal_binds": True}))
        outside.execute(text)
    store = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    with store.read() as connection:
        tree = LedgerTree()
        tree.follow(connection)
        found = verify_folder(
            folders[0], lambda since, round: tree.prove(connection, 0, since, round)
        ).findings
    store.close()
    assert any("without its signature" in one for one in found)
