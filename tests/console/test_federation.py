"""What the console says of a federation, over SQLite and over PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import Connection, event, insert, select, update

import incfed
from incfed.console import auditing
from incfed.console.access import PATH
from incfed.ledger import audits, overview, records, roster, tables
from incfed.ledger.audit import AuditReport, audit
from incfed.ledger.database import Database
from incfed.ledger.explaining import explain
from incfed.ledger.federation import change_settings, create, prune
from incfed.ledger.settings import Settings
from incfed.mechanisms.registry import MECHANISMS
from incfed.rules.limits import Limits
from support.console import app_of, asking, play, served, small
from support.federation import Federation, made

BOTH = pytest.mark.parametrize("four", ["sqlite", "postgresql"], indirect=True)


@BOTH
def test_now(four: Federation, viewer: httpx.Client) -> None:
    now = viewer.get("api/now").json()
    assert now["rounds"] == 3
    assert now["members"] == {"live": 4, "away": 0, "barred": 0, "revoked": 0}
    assert now["round"] is None
    spent = now["spending"]
    assert spent["spent"] == pytest.approx(four.coordinator.overview().spent)
    assert spent["budget"] == 100.0
    left, days = 100.0 - spent["spent"], (spent["runs_out"] - now["at"]) / 86_400
    assert days == pytest.approx(left / spent["per_day"])
    assert [one["kind"] for one in now["attention"]] == ["budget", "audit", "head"]


def test_the_round_in_progress(four: Federation, viewer: httpx.Client) -> None:
    four.coordinator.open_round(2)
    now = viewer.get("api/now").json()["round"]
    assert (now["number"], now["stage"], now["called_by"], now["uploaded"]) == (
        4, "open", "client 2", 0,
    )  # fmt: skip
    assert (now["awaited"], now["more"]) == ([f"client {k}" for k in range(4)], 0)


def test_nobody_is_awaited_who_is_away_or_silent(tmp_path: Path) -> None:
    """As the coordinator says, which opens no round for them."""
    nine = Federation(
        tmp_path / "nine.db", 9, dim=1, threshold=1.0, live_time=90.0, silent_rounds=2,
        mechanism=incfed.PayEveryone(),
    )  # fmt: skip
    nine.coordinator.open_round(0)
    with nine.store.write() as connection:
        connection.execute(
            insert(tables.conduct).values(client=8, silent=2, false_calls=0, noisy=False)
        )
        away = update(tables.presence).where(tables.presence.c.client == 0)
        connection.execute(away.values(heard=nine.clock() - 91.0))
    with nine.store.read() as connection:
        now = overview.look(connection, nine.clock())
    nine.store.close()
    assert now.round is not None
    assert (now.round.awaited, now.round.more) == ([f"client {k}" for k in range(1, 6)], 2)
    assert next(one for one in now.attention if one.kind == "silent").link == "clients/8"


@pytest.mark.parametrize("raised", [False, True])
def test_a_budget_that_is_too_small_needs_attention(tmp_path: Path, raised: bool) -> None:
    """Something is left of it, but clients ask for more. A larger one is awaited first."""
    poor = small(tmp_path / "poor.db", rounds=1, budget=0.5, limits=Limits())
    with poor.store.write() as connection:
        if raised:
            change_settings(connection, {"budget": 50.0}, "ada", poor.clock())
        said = overview.look(connection, poor.clock()).attention
    removed = sum(limit == "budget" for limit in poor.of("decided")[-1]["removed"].values())
    poor.store.close()
    texts = [(one.text, one.link) for one in said if one.kind == "budget"]
    words = f"The budget left is too small: round 1 passed over {removed} clients for it."
    assert removed > 1
    assert texts == ([] if raised else [(words, "rounds/1")])


def test_a_week_without_payments(four: Federation) -> None:
    with four.store.read() as connection:
        spent = overview.look(connection, four.clock() + overview.PACE_OVER + 1.0).spending
    assert (spent.per_day, spent.runs_out) == (0.0, None)


@pytest.mark.parametrize(("rounds", "told"), [(9, False), (10, True)])
def test_ten_payments_are_a_pace_within_the_first_hour(
    rounds: int, told: bool, tmp_path: Path
) -> None:
    """A budget may be gone by then."""
    quick = small(tmp_path / "quick.db", rounds=rounds, budget=1000.0)
    began, own = quick.clock(), tables.round_summaries
    with quick.store.touch() as connection:
        ended = began + 6.0 * (own.c.round - 1)
        connection.execute(update(own).values(ended=ended, payment_units=200))
        spent = overview.look(connection, began + 100.0).spending
    quick.store.close()
    if told:
        assert spent.since == began
        assert spent.per_day == pytest.approx(20.0 / 100.0 * 86_400)
    else:
        assert (spent.since, spent.per_day, spent.runs_out) == (None, None, None)


@BOTH
def test_summaries_are_what_the_evidence_says(four: Federation, viewer: httpx.Client) -> None:
    points = viewer.get("api/rounds").json()["points"]
    with four.store.read() as connection:
        paid = connection.execute(select(tables.payments)).all()
    for point in points:
        own = [row for row in paid if row.round == point["first"]]
        assert point["for_data"] + point["for_money"] + point["no_cost"] == len(own)
        assert point["payment"] == pytest.approx(sum(row.amount_units for row in own) / 100)
        assert point["for_money"] == sum(row.amount_units > 0 for row in own)
        assert point["passed_over"] == 4 - len(own)
    closed = four.of("closed")
    assert [one["ratio"] for one in points] == [one["ratio"] for one in closed]
    assert [one["communication"] for one in points] == [one["communication"] for one in closed]
    rows = viewer.get("api/clients").json()["rows"]
    for row in rows:
        own = [one for one in paid if one.client == row["id"]]
        assert row["rounds"] == len(own)
        assert row["paid"] == pytest.approx(sum(one.amount_units for one in own) / 100)


def test_beta_is_that_of_each_round(four: Federation, viewer: httpx.Client) -> None:
    """A new one says nothing of rounds that closed before."""
    changes = {"mechanism": incfed.PaymentEfficient(beta=0.5)}
    for new in (changes, {"budget": 90.0}, {"mechanism": incfed.PayEveryone()}):
        with four.store.write() as connection:
            change_settings(connection, new, "ada", four.clock())
        play(four, 9)
    goals = viewer.get("api/rounds").json()["goals"]
    assert [(one["first"], one["beta"]) for one in goals] == [(1, 0.9), (4, 0.5), (6, None)]


def test_many_rounds_are_few_points(tmp_path: Path) -> None:
    from incfed.ledger.summaries import series

    many = small(tmp_path / "many.db", rounds=5)
    with many.store.read() as connection:
        found = series(connection, 2)
        alone = series(connection, 100)
    assert [(one["first"], one["last"]) for one in found] == [(1, 3), (4, 5)]
    assert found[0]["payment"] == pytest.approx(sum(one["payment"] for one in alone[:3]) / 3)
    many.store.close()


@BOTH
def test_a_round_is_explained(four: Federation, viewer: httpx.Client) -> None:
    round = viewer.get("api/rounds/1").json()
    assert [one["steps"] for one in round["shares"]] != []
    nats = [one["nats"] for one in round["shares"]]
    assert nats == sorted(nats, reverse=True)
    by_name = {one["name"]: one for one in round["shares"]}
    assert by_name["client 0"]["why"] == "Sharing costs it nothing."
    for one in round["shares"]:
        if one["joined"] and one["payment"] > 0:
            rest = one["cost"] - one["incentive"]
            assert one["payment"] == pytest.approx(max(0.0, rest), abs=0.011)
            assert f"{one['payment']:.2f} in money covers the rest" in one["why"]
    assert viewer.get("api/rounds/99").status_code == 422
    assert "from 1 to 3" in viewer.get("api/rounds/99").json()["message"]


CODE = """
import incfed

class Generous(incfed.Mechanism):
    def decide(self, round):
        return round.settle(round.everyone)
"""


def test_without_the_code_of_its_mechanism_a_round_is_shown_as_far_as_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "generous.py").write_text(CODE)
    mine = MECHANISMS.pinned("generous.py:Generous", "mechanism", tmp_path)
    four = small(tmp_path / "own.db", rounds=1, mechanism=mine)
    records._parse.cache_clear()
    for key in list(MECHANISMS.loaded):
        monkeypatch.delitem(MECHANISMS.loaded, key)
    with four.store.read() as connection:
        found = explain(connection, 1)
        own = roster.history(connection, 3, four.clock())
        why = roster.why_paid(connection, 1, 3)
    four.store.close()
    assert (found.missing_code, found.mechanism) == (True, "generous.py:Generous")
    assert {one.nats for one in found.shares} == {None}
    assert own.last_paid == 1
    assert f"{own.history[0].payment:.2f} in money" in why
    assert why.endswith("More cannot be said without the mechanism's code.")


def test_a_void_round_is_not_decided_any_more(tmp_path: Path) -> None:
    four = small(tmp_path / "void.db", rounds=0)
    four.coordinator.open_round(0)
    with four.store.touch() as connection:
        connection.execute(tables.rounds.update().values(stage="void", ended=four.clock()))
    with four.store.read() as connection:
        found = explain(connection, 1)
    four.store.close()
    assert (found.stage, found.version) == ("void", "void")


def test_clients_are_searched_sorted_and_paged(tmp_path: Path) -> None:
    many = Federation(tmp_path / "many.db", 60, dim=1, threshold=1.0, live_time=1e6,
                      mechanism=incfed.PayEveryone())  # fmt: skip
    with asking(many, "viewer") as viewer:
        _search(viewer)
    many.store.close()


def _search(viewer: httpx.Client) -> None:
    first = viewer.get("api/clients", params={"sort": "name", "descending": True}).json()
    assert (first["total"], first["pages"], len(first["rows"])) == (60, 2, 50)
    assert first["rows"][0]["name"] == "client 9"
    assert len(viewer.get("api/clients", params={"page": 2}).json()["rows"]) == 10
    found = viewer.get("api/clients", params={"search": "CLIENT 5"}).json()
    assert {one["id"] for one in found["rows"]} == {5, *range(50, 60)}
    assert viewer.get("api/clients", params={"state": "away"}).json()["total"] == 0
    assert viewer.get("api/clients", params={"search": "%"}).json()["total"] == 0
    assert viewer.get("api/clients", params={"sort": "token"}).status_code == 422


@BOTH
def test_a_client_and_why_it_was_paid(four: Federation, viewer: httpx.Client) -> None:
    paid = next(one for one in viewer.get("api/clients").json()["rows"] if one["paid"] > 0)
    own = viewer.get(f"api/clients/{paid['id']}").json()
    assert [one["round"] for one in own["history"]] == [3, 2, 1]
    last = next(one for one in own["history"] if one["payment"])
    assert own["last_paid"] == last["round"]
    why = viewer.get(f"api/clients/{paid['id']}/rounds/{last['round']}").json()
    assert why.startswith(f"Round {last['round']}: \u2068{paid['name']}\u2069 shared")
    assert f"{last['payment']:.2f} in money" in why
    assert viewer.get("api/clients/77").status_code == 422


@BOTH
def test_entries_and_exports(four: Federation, viewer: httpx.Client) -> None:
    ledger = viewer.get("api/ledger").json()
    page = viewer.get("api/ledger/entries", params={"kind": "closed"}).json()
    assert [one["what"]["round"] for one in page["rows"]] == [3, 2, 1]
    first = viewer.get("api/ledger/entries").json()["rows"][0]
    assert (first["number"], first["hash"]) == (ledger["entries"], ledger["hash"])
    text = viewer.get("api/export/payments.csv").text
    assert text.splitlines()[0].startswith("federation,round")
    assert viewer.get("api/export/secrets.csv").status_code == 422


@BOTH
def test_an_audit_is_shown_by_every_coordinator(
    four: Federation, operator: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one has a database connection of its own, and knows nothing else."""
    halfway, go_on = threading.Event(), threading.Event()

    def slow(connection: Connection, watch: Callable[[int, int], None]) -> AuditReport:
        watch(1, 2)
        halfway.set()
        assert go_on.wait(60.0)
        return audit(connection, watch=watch)

    monkeypatch.setattr(auditing, "audit", slow)
    monkeypatch.setattr(audits, "BEAT", 0.01)
    with closing(Database(four.url)) as store, asking(four, store=store) as other:
        other.cookies.update(operator.cookies)  # a session of one is one of the other
        assert operator.post("api/ledger/audit").status_code == 202
        assert halfway.wait(60.0)
        found: dict[str, Any] = {"running": 0.0}
        while found["running"] == 0.0:
            found = other.get("api/ledger").json()
        assert (found["running"], found["audited"]) == (0.5, None)
        again = other.post("api/ledger/audit", headers={"Origin": _origin(other)})
        assert again.status_code == 409
        assert again.json()["message"] == "an audit is running already, begun by a operator"
        go_on.set()
        while found["running"] is not None:
            found = other.get("api/ledger").json()
        assert (found["outcome"], found["findings"]) == ("clean", [])
        assert (found["audited_by"], found["interrupted"]) == ("a operator", None)


def _origin(client: httpx.Client) -> str:
    return f"http://{client.base_url.netloc.decode()}"


def test_an_audit_that_cannot_be_made_says_why(
    four: Federation, operator: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(connection: Connection, watch: object) -> AuditReport:
        raise LookupError("no such code")

    monkeypatch.setattr(auditing, "audit", broken)
    operator.post("api/ledger/audit")
    found = operator.get("api/ledger").json()
    while found["audited"] is None:
        found = operator.get("api/ledger").json()
    assert (found["outcome"], found["findings"]) == ("failed", ["LookupError: no such code"])


def test_an_audit_whose_coordinator_died_was_interrupted(
    four: Federation, operator: httpx.Client
) -> None:
    with four.store.write() as connection:
        audits.begin(connection, "ada", four.clock())
    assert operator.get("api/ledger").json()["running"] == 0.0
    four.clock.now += audits.SILENCE + 1.0
    found = operator.get("api/ledger").json()
    assert (found["running"], found["interrupted"]["by"]) == (None, "ada")
    assert operator.post("api/ledger/audit").status_code == 202  # nothing stands in the way


# ----------------------------------------------------------------------------------------- polls

LIVE = ("now", "rounds", "rounds/3", "clients", "clients/1", "ledger")


@BOTH
def test_what_is_not_new_is_not_said_again(four: Federation, viewer: httpx.Client) -> None:
    for path in LIVE:
        version = viewer.get(f"api/{path}").json()["version"]
        again = viewer.get(f"api/{path}", params={"after": version})
        assert (again.status_code, again.content) == (204, b""), path
    before = {path: viewer.get(f"api/{path}").json()["version"] for path in LIVE}
    play(four, 9)
    for path, version in before.items():
        status = 204 if path == "rounds/3" else 200  # a round that has ended stays as it is
        assert viewer.get(f"api/{path}", params={"after": version}).status_code == status, path
    with four.store.change() as connection:
        prune(connection, four.clock(), four.clock())
    assert viewer.get("api/rounds/3", params={"after": before["rounds/3"]}).json()["pruned"]


def test_what_changes_by_itself_is_said_in_time(four: Federation, viewer: httpx.Client) -> None:
    """Nothing is written when a client falls silent, or an audit becomes overdue."""
    found = viewer.get("api/now").json()
    four.clock.now += overview.TURN
    assert viewer.get("api/now", params={"after": found["version"]}).status_code == 200
    four.coordinator.open_round(2)
    found = viewer.get("api/now").json()
    state = four.coordinator.state(1)
    four.coordinator.upload(1, made(4, state.epoch, np.ones((1, 2)), 1.0))
    found = viewer.get("api/now", params={"after": found["version"]}).json()
    assert found["round"]["uploaded"] == 1  # every step of a round is news


def test_a_poll_without_news_is_one_query(four: Federation) -> None:
    """However long the ledger is. Who asks is looked up beside it, where there is a login."""
    asked: list[str] = []
    with asking(four, login=False) as client:
        versions = {path: client.get(f"api/{path}").json()["version"] for path in LIVE}
        event.listen(four.store.engine, "before_cursor_execute", lambda *a: asked.append(a[2]))
        for path, version in versions.items():
            asked.clear()
            assert client.get(f"api/{path}", params={"after": version}).status_code == 204
            assert len([one for one in asked if one.startswith("SELECT")]) == 1, path


# --------------------------------------------------------------------------------------- the rest


def test_a_database_without_a_federation(tmp_path: Path) -> None:
    with (
        closing(Database(f"sqlite:///{tmp_path / 'empty.db'}")) as store,
        served(app_of(store=store, login=False)) as url,
        httpx.Client(base_url=f"{url}/api/", headers={"Origin": url.removesuffix(PATH)}) as client,
    ):
        for path in (*LIVE, "ledger/entries", "export/payments.csv", "changes/settings"):
            said = client.get(path)
            assert said.status_code == 404, path
            assert said.json()["message"].startswith("this database has no federation yet.")
        assert client.post("changes/pause").status_code == 404
        settings = Settings(dim=1, mechanism=incfed.PayEveryone(), threshold=1.0)
        with store.write() as connection:
            create(connection, settings, 0.0)
        assert client.get("now").status_code == 200  # founded meanwhile


def test_refused_messages_need_attention(tmp_path: Path) -> None:
    from incfed.service.coordinator.refusals import Refusals

    four = small(tmp_path / "books.db", rounds=0)
    refusals = Refusals()
    for _ in range(3):
        refusals.note(1, "dV")
    refusals.flush(four.store, four.clock())
    refusals.note(1, "cost")
    refusals.flush(four.store, four.clock() + 1.0)  # too soon
    refusals.flush(four.store, four.clock() + 6.0)
    with four.store.read() as connection:
        row = connection.execute(select(tables.refusals)).one()
    assert row._asdict() == {"client": 1, "count": 4, "field": "cost", "at": four.clock() + 6.0}
    with asking(four, "viewer") as viewer:
        said = viewer.get("api/now").json()["attention"]
    assert any("client 1\u2069 (cost)" in one["text"] for one in said)
    four.store.close()


def test_the_api_is_documented(nobody: httpx.Client) -> None:
    """Every endpoint says what it answers, and in which form; every query is described."""
    schema = nobody.get("api/openapi.json").json()
    paths = schema["paths"]
    assert {"/api/now", "/api/rounds/{number}", "/api/runs/view"} <= paths.keys()
    for path, methods in paths.items():
        for method, one in methods.items():
            assert len(one.get("description", "")) > 10, (method, path)
            [answer] = [one["responses"][code] for code in one["responses"] if code in GOOD][:1]
            form = answer.get("content", {}).get("application/json", {}).get("schema")
            assert form != {} or path in FILES, (method, path)
            for query in one.get("parameters", []):
                plain = query["in"] == "path" or query["name"] in PLAIN
                assert plain or query.get("description"), (path, query["name"])
    missing = nobody.get("api/nothing")
    assert (missing.status_code, "no such endpoint" in missing.json()["message"]) == (404, True)


GOOD = ("200", "202", "204")
PLAIN = ("descending",)  # say all by their name
FILES = ("/api/export/{what}.csv", "/api/runs/table.csv")
