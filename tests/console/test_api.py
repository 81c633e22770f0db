"""What the console's endpoints say, who may ask, and what operators change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select

import incfed
from incfed.console.access import PATH
from incfed.console.sessions import ATTEMPTS, COOKIE, LASTS
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.chain import entries_after
from incfed.ledger.full_export import write_full
from incfed.ledger.operators import revoke
from support.console import app_of, play, served, small, token_of
from support.federation import Federation


@pytest.fixture
def four(tmp_path: Path) -> Iterator[Federation]:
    made = small(tmp_path / "books.db")
    yield made
    made.store.close()


@contextmanager
def asking(four: Federation, role: str | None = None) -> Iterator[httpx.Client]:
    """Logged in with this role."""
    with served(app_of(four)) as url:
        origin = {"Origin": url.removesuffix(PATH)}
        with httpx.Client(base_url=f"{url}/", headers=origin, timeout=60.0) as client:
            if role is not None:
                token = token_of(four, f"a {role}", role)
                assert client.post("api/login", json={"token": token}).status_code == 200
            yield client


@pytest.fixture
def nobody(four: Federation) -> Iterator[httpx.Client]:
    with asking(four) as client:
        yield client


@pytest.fixture
def viewer(four: Federation) -> Iterator[httpx.Client]:
    with asking(four, "viewer") as client:
        yield client


@pytest.fixture
def operator(four: Federation) -> Iterator[httpx.Client]:
    with asking(four, "operator") as client:
        yield client


# ------------------------------------------------------------------------------- what it shows


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
    assert now["awaited"] == [f"client {k}" for k in range(4)]


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


def test_many_rounds_are_few_points(tmp_path: Path) -> None:
    from incfed.ledger.summaries import series

    many = small(tmp_path / "many.db", rounds=5)
    with many.store.read() as connection:
        found = series(connection, 2)
        alone = series(connection, 100)
    assert [(one["first"], one["last"]) for one in found] == [(1, 3), (4, 5)]
    assert found[0]["payment"] == pytest.approx(sum(one["payment"] for one in alone[:3]) / 3)
    many.store.close()


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


def test_a_client_and_why_it_was_paid(four: Federation, viewer: httpx.Client) -> None:
    paid = next(one for one in viewer.get("api/clients").json()["rows"] if one["paid"] > 0)
    own = viewer.get(f"api/clients/{paid['id']}").json()
    assert [one["round"] for one in own["history"]] == [3, 2, 1]
    last = next(one for one in own["history"] if one["payment"])
    assert own["last_paid"].startswith(f"Round {last['round']}: {paid['name']} shared")
    assert f"{last['payment']:.2f} in money" in own["last_paid"]
    assert viewer.get("api/clients/77").status_code == 422


def test_entries_and_exports(four: Federation, viewer: httpx.Client) -> None:
    ledger = viewer.get("api/ledger").json()
    page = viewer.get("api/ledger/entries", params={"kind": "closed"}).json()
    assert [one["what"]["round"] for one in page["rows"]] == [3, 2, 1]
    first = viewer.get("api/ledger/entries").json()["rows"][0]
    assert (first["number"], first["hash"]) == (ledger["entries"], ledger["hash"])
    text = viewer.get("api/export/payments.csv").text
    assert text.splitlines()[0].startswith("federation,round")
    assert viewer.get("api/export/secrets.csv").status_code == 422


def test_an_audit_runs_in_the_background(four: Federation, operator: httpx.Client) -> None:
    assert operator.post("api/ledger/audit").status_code == 202
    for _ in range(1000):
        found = operator.get("api/ledger").json()
        if found["audited"] is not None:
            break
    assert (found["outcome"], found["findings"]) == ("clean", [])


# --------------------------------------------------------------------------------- who may ask


def test_without_a_session_nothing_is_said(nobody: httpx.Client) -> None:
    paths = nobody.get("api/openapi.json").json()["paths"]
    asked = [path for path, methods in paths.items() if "get" in methods]
    for path in asked:
        made = path.format(number=1, client=0, what="rounds")
        assert nobody.get(made[1:]).status_code == 401, path
    assert len(asked) >= 12


def test_sessions_expire_and_end_when_an_operator_is_revoked(
    four: Federation, viewer: httpx.Client
) -> None:
    assert viewer.get("api/me").json() == {"name": "a viewer", "role": "viewer", "revoked": False}
    four.clock.now += LASTS + 1.0
    assert viewer.get("api/me").status_code == 401
    four.clock.now -= LASTS + 1.0
    assert viewer.get("api/me").status_code == 200
    with four.store.write() as connection:
        revoke(connection, "a viewer", four.clock())
    assert viewer.get("api/me").status_code == 401
    assert viewer.post("api/login", json={"token": "incfed_op_x"}).status_code == 401


def test_a_changed_cookie_is_nobodys(viewer: httpx.Client) -> None:
    body, mac = viewer.cookies[COOKIE].split(".")
    viewer.cookies.clear()
    for wrong in (f"{body}.{mac[:-4]}AAAA", f"x{body}.{mac}", body, "", ".", "a.b"):
        said = viewer.get("api/me", headers={"Cookie": f"{COOKIE}={wrong}"})
        assert said.status_code == 401
    assert viewer.get("api/me", headers={"Cookie": f"{COOKIE}={body}.{mac}"}).status_code == 200


def test_the_cookie_is_kept_from_scripts_and_other_sites(
    four: Federation, nobody: httpx.Client
) -> None:
    token = token_of(four, "ada", "viewer")
    for host, secure in (("shop.example", True), ("127.0.0.1", False)):
        headers = {"Host": host, "Origin": f"http://{host}"}
        said = nobody.post("api/login", json={"token": token}, headers=headers)
        cookie = said.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert ("Secure" in cookie) is secure


def test_without_a_login_only_this_machine_is_answered(four: Federation) -> None:
    with served(app_of(four, login=False)) as url, httpx.Client(base_url=f"{url}/") as client:
        assert client.get("api/now").status_code == 200
        assert client.get("api/now", headers={"Host": "evil.test"}).status_code == 403


def test_the_key_of_sessions_is_in_no_export(
    four: Federation, viewer: httpx.Client, tmp_path: Path
) -> None:
    assert viewer.get("api/me").status_code == 200
    with four.store.read() as connection:
        assert len(connection.execute(select(tables.session_key)).all()) == 1
        write_full(connection, tmp_path / "all.jsonl")
    assert "session_key" not in (tmp_path / "all.jsonl").read_text()


def test_attempts_are_limited(four: Federation, nobody: httpx.Client) -> None:
    for _ in range(ATTEMPTS):
        assert nobody.post("api/login", json={"token": "wrong"}).status_code == 401
    right = token_of(four, "ada", "viewer")
    said = nobody.post("api/login", json={"token": right})
    assert said.status_code == 429
    assert "wait" in said.json()["detail"]


def test_changes_need_an_operator_and_a_page_of_this_console(
    four: Federation, viewer: httpx.Client, operator: httpx.Client
) -> None:
    for path in ("pause", "resume", "clients/1/revoke", "clients/1/withdraw"):
        assert viewer.post(f"api/changes/{path}").status_code == 403
        for origin in ("http://evil.test", "null", ""):
            said = operator.post(f"api/changes/{path}", headers={"Origin": origin})
            assert said.status_code == 403
    assert viewer.post("api/ledger/audit").status_code == 403
    with four.store.read() as connection:
        assert not connection.scalar(select(tables.federation.c.paused))


def test_pages_load_nothing_from_elsewhere(nobody: httpx.Client) -> None:
    page = nobody.get("now")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in page.text.replace("http://www.w3.org/2000/svg", "")
    assert nobody.get("nowhere").status_code == 404


# ------------------------------------------------------------------------------- what is changed


def last_entry(four: Federation) -> dict[str, object]:
    with four.store.read() as connection:
        return entries_after(connection, 0)[-1]


def clean(four: Federation) -> None:
    with four.store.read() as connection:
        assert audit(connection).findings == []


def test_pause_and_resume(four: Federation, operator: httpx.Client) -> None:
    assert operator.post("api/changes/pause").json()["text"].startswith("Rounds are paused")
    assert last_entry(four) | {"number": 0, "at": 0} == {
        "number": 0, "at": 0, "kind": "paused", "by": "a operator",
    }  # fmt: skip
    with pytest.raises(Exception, match="paused"):
        four.coordinator.open_round(0)
    assert operator.post("api/changes/pause").status_code == 422  # it is paused
    operator.post("api/changes/resume")
    assert play(four, 9) == 4
    clean(four)


def test_settings_are_changed_and_stay_until_the_config_changes(
    four: Federation, operator: httpx.Client
) -> None:
    old = operator.get("api/changes/settings").json()
    assert (old["beta"], old["budget"], old["per_round"]) == (0.9, 100.0, None)
    new = {"beta": 0.5, "budget": 70.0, "per_round": 20.0}
    assert operator.post("api/changes/settings", json=new).status_code == 200
    assert last_entry(four)["by"] == "a operator"
    again = four.another()  # a coordinator that starts with the config as it was
    settings = again.settings()
    assert settings.mechanism == incfed.PaymentEfficient(beta=0.5)
    assert settings.budget == 70.0
    assert settings.limits is not None
    assert settings.limits.per_round == 20.0
    four.settings = four.settings.__class__(
        **{**vars(four.settings), "threshold": 2.0, "unsaid": ()}
    )
    assert four.another().settings().budget == 100.0  # the config was changed: it counts
    play(four, 9)
    clean(four)
    wrong = operator.post("api/changes/settings", json={"beta": 7.0})
    assert wrong.status_code == 422
    assert "beta" in wrong.json()["message"]


def test_clients_are_revoked_withdrawn_and_paid_out(
    four: Federation, operator: httpx.Client
) -> None:
    paid = next(one for one in operator.get("api/clients").json()["rows"] if one["paid"] > 0)
    who = paid["id"]
    assert operator.post(f"api/changes/clients/{who}/paid-out", json={}).status_code == 200
    assert operator.get(f"api/clients/{who}").json()["paid_out"] == pytest.approx(paid["paid"])
    assert operator.post(f"api/changes/clients/{who}/withdraw").status_code == 200
    assert last_entry(four)["by"] == "a operator"
    assert operator.post(f"api/changes/clients/{who}/revoke").status_code == 200
    assert last_entry(four)["by"] == "a operator"
    assert operator.get(f"api/clients/{who}").json()["client"]["state"] == "revoked"
    clean(four)


def test_a_forged_operator_is_found_by_the_audit(four: Federation) -> None:
    token_of(four, "ada", "viewer")
    with four.store.touch() as connection:
        connection.execute(tables.operators.update().values(role="operator"))
    with four.store.read() as connection:
        assert audit(connection).findings == ["operators ada: role is not what the entries say"]


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
    assert any("client 1 (cost)" in one["text"] for one in said)
    four.store.close()


def test_the_api_is_documented(nobody: httpx.Client) -> None:
    schema = nobody.get("api/openapi.json")
    assert {"/api/now", "/api/rounds/{number}", "/api/runs/view"} <= schema.json()["paths"].keys()
