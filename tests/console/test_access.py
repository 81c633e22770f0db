"""Who may ask the console, and who may change what."""

from __future__ import annotations

from pathlib import Path

import httpx
from sqlalchemy import Table, select

from incfed.console.sessions import ATTEMPTS, COOKIE, LASTS
from incfed.ledger import tables
from incfed.ledger.clients import hashed
from incfed.ledger.full_export import write_full
from incfed.ledger.operators import revoke
from support.console import app_of, asking, served, token_of
from support.federation import Federation


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
    assert "wait" in said.json()["message"]


def asked_of(client: httpx.Client, *methods: str) -> list[tuple[str, str]]:
    """Method and path of each endpoint with one of these methods, but for the session's own."""
    paths = client.get("api/openapi.json").json()["paths"]
    found = [
        (method, path.format(number=1, client=1, what="rounds")[1:])
        for path, each in paths.items()
        for method in each
        if method in methods
    ]
    return [one for one in found if one[1] not in ("api/login", "api/logout", "api/me")]


def test_a_viewer_sees_everything_and_changes_nothing(four: Federation, tmp_path: Path) -> None:
    changes = [
        ("post", f"api/changes/{name}")
        for name in (
            "settings", "pause", "resume", "clients/1/revoke", "clients/1/withdraw",
            "clients/1/paid-out",
        )
    ]  # fmt: skip
    with asking(four, "viewer", folder=tmp_path) as viewer:
        asked = asked_of(viewer, "post", "put", "patch", "delete")
        assert asked == [("post", "api/ledger/audit"), *changes, ("put", "api/runs/tags")]
        before = list(viewer.get("api/ledger").json().values())
        for method, path in asked:
            said = viewer.request(method, path, json={"tags": ["mine"]}, params={"id": "x"})
            assert said.status_code == 403, path
            assert said.json()["message"] == "viewers cannot change anything: ask an operator"
        assert list(viewer.get("api/ledger").json().values()) == before
        assert list(tmp_path.glob(".incfed*")) == []
        for _, path in asked_of(viewer, "get"):
            if not path.startswith("api/runs/"):  # these name what they are about
                assert viewer.get(path).status_code == 200, path


def test_changes_come_from_a_page_of_this_console(four: Federation, tmp_path: Path) -> None:
    with asking(four, "operator", folder=tmp_path) as operator:
        asked = asked_of(operator, "post", "put", "patch", "delete")
        before = list(operator.get("api/ledger").json().values())
        for method, path in [*asked, ("post", "api/login"), ("post", "api/logout")]:
            for origin in ("http://evil.test", "null", "", None):
                headers = {} if origin is None else {"Origin": origin}
                if origin is None:
                    del operator.headers["Origin"]
                said = operator.request(method, path, json={"token": ""}, headers=headers)
                assert said.status_code == 403, (path, origin)
                operator.headers["Origin"] = f"http://{operator.base_url.netloc.decode()}"
        assert list(operator.get("api/ledger").json().values()) == before


def test_only_hashes_of_tokens_are_kept(four: Federation) -> None:
    token = token_of(four, "ada", "viewer")
    kept = [
        str(value)
        for table in tables.metadata.tables.values()
        for value in _values(four, table)
    ]  # fmt: skip
    assert not any(token in value for value in kept)
    assert hashed(token) in kept
    assert not any(hashed(token) in value for value in kept if value != hashed(token))  # entries


def _values(four: Federation, table: Table) -> list[object]:
    with four.store.read() as connection:
        return [value for row in connection.execute(select(table)) for value in row]


def test_pages_load_nothing_from_elsewhere(nobody: httpx.Client) -> None:
    page = nobody.get("now")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in page.text.replace("http://www.w3.org/2000/svg", "")
    assert nobody.get("nowhere").status_code == 404


def test_no_page_is_shown_inside_another(nobody: httpx.Client) -> None:
    for path in ("now", "api/docs", "api/me"):
        assert "frame-ancestors 'none'" in nobody.get(path).headers["content-security-policy"]
