"""What bad and hostile clients send to the real application: refused with a 4xx that names the
field, counted, and nothing changed in the database; never repeated in the logs."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from incfed.ledger import tables
from incfed.ledger.clients import revoke
from incfed.service.coordinator.app import largest_body
from support.coordinator_app import Site, encoded
from support.serving import serving

NAN, INF = float("nan"), float("inf")
UPLOAD, ANSWER, DELIVERY = (f"/v1/rounds/{{0}}/{kind}" for kind in ("upload", "answer", "delivery"))


@contextmanager
def third_round(folder: Path) -> Iterator[Site]:
    """Two rounds are closed; the third waits for uploads."""
    made = Site(folder)
    with serving(made.app) as address, made.http:
        made.http.base_url = httpx.URL(address)
        for k in range(3):
            made(k, "GET", "/v1/state")
        for number in (1, 2):
            made(0, "POST", "/v1/rounds")
            for k in range(3):
                assert made(k, "PUT", UPLOAD.format(number), honest(number - 1)).status_code == 200
            for k in range(3):
                made(k, "PUT", DELIVERY.format(number), {"db": encoded(0.5, 0.0)})
        assert made(0, "POST", "/v1/rounds").json() == {"round": 3}
        yield made
    made.store.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """For all tests that change nothing."""
    with third_round(tmp_path_factory.mktemp("site")) as made:
        yield made


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Site]:
    with third_round(tmp_path) as made:
        yield made


def honest(epoch: int = 2, **changes: Any) -> dict[str, Any]:
    dV = {"form": "factor", "numbers": encoded(1.0, 0.0)}
    return {"epoch": epoch, "steps": 1, "cost": 2.0, "dV": dV} | changes


def dV(form: str, *numbers: float, steps: int = 1) -> dict[str, Any]:
    return honest(steps=steps, dV={"form": form, "numbers": encoded(*numbers)})


def dump(site: Site) -> dict[str, list[Any]]:
    """All that is in the database, but for the count of what was refused."""
    with site.store.read() as connection:
        every = {table.name: select(table) for table in tables.metadata.sorted_tables}
        del every["refusals"]
        return {name: list(connection.execute(query)) for name, query in every.items()}


def refused(site: Site, field: str) -> float:
    """How often, by what /metrics says."""
    page = site.http.get("/metrics").text
    found = re.search(rf'^incfed_refused_total{{field="{re.escape(field)}"}} (\S+)$', page, re.M)
    return float(found[1]) if found else 0.0


def check(site: Site, answer: httpx.Response, status: int, field: str, counted: float) -> None:
    assert (answer.status_code, answer.json()["field"]) == (status, field), answer.text
    assert answer.json()["message"]
    assert refused(site, field) == counted + 1


UPLOADS = [
    (honest(epoch=0), 409, "epoch"),  # it has shared since
    (honest(epoch=3), 409, "epoch"),
    (honest(epoch=-1), 422, "epoch"),
    (honest(epoch=10**30), 422, "epoch"),
    (honest(steps=1.5), 422, "steps"),
    (honest(steps="1"), 422, "steps"),
    (honest(steps=-1), 422, "steps"),
    (honest(steps=10**12), 422, "steps"),
    (honest(cost=-1.0), 422, "cost"),
    (honest(cost=1e7), 422, "cost"),  # the limit is 1e6
    (honest(cost=NAN), 422, "cost"),
    (honest(cost=INF), 422, "cost"),
    (honest(cost=None), 422, "cost"),
    (honest(cost="nothing"), 422, "cost"),
    (honest(client=1), 422, "(unknown)"),  # somebody else's id has no place
    (honest(dV=None), 422, "dV"),
    (honest(dV={"form": "factor", "numbers": "?"}), 422, "dV.numbers"),
    (honest(dV={"form": "factor", "numbers": "abc"}), 422, "dV.numbers"),
    (honest(dV={"form": "factor", "numbers": "abcd"}), 422, "dV.numbers"),
    (dV("rows", 1.0, 0.0), 422, "dV.form"),
    (dV("factor", 1.0), 422, "dV.numbers"),  # of another dimension
    (dV("factor", 1.0, 0.0, 0.0), 422, "dV.numbers"),
    (dV("triangle", 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, steps=3), 422, "dV.numbers"),
    (dV("factor", 1.0, NAN), 422, "dV.numbers"),
    (dV("triangle", NAN, 0.0, 1.0, steps=2), 422, "dV.numbers"),
    (dV("triangle", 1.0, INF, 1.0, steps=2), 422, "dV.numbers"),
    (dV("triangle", 1.0, 0.9, 0.5, steps=2), 422, "dV"),  # not positive semi-definite
    (dV("triangle", 1.0, 0.0, -1e-8, steps=2), 422, "dV"),
    (dV("triangle", 0.0, 1.0, 0.0, steps=2), 422, "dV"),
    (dV("factor", 1.1, 0.0), 422, "dV"),  # one step of an arm no longer than 1
    (dV("triangle", 1.5, 0.0, 0.6, steps=2), 422, "dV"),
    (dV("factor", 1.0, 0.0, 0.0, 1.0), 422, "dV"),  # more rows than steps
    ([], 422, "body"),
    ("x", 422, "body"),
]


@pytest.mark.parametrize(("body", "status", "field"), UPLOADS)
def test_uploads(site: Site, body: Any, status: int, field: str) -> None:
    before, counted = dump(site), refused(site, field)
    check(site, site(0, "PUT", UPLOAD.format(3), body), status, field, counted)
    assert dump(site) == before


RAW = [
    (b" " * (largest_body(2) + 1), 413),
    ([b" " * 3000] * 4, 413),  # without saying beforehand how long it will be
    (b"{", 422),
    (b"", 422),
    (b"\xff\xfe\x00", 400),
    (b'{"epoch": 1e999999}', 422),
    (b'{"\\ud800": 1, "epoch": "\\ud800"}', 422),
    (b"[" * 4000, None),
]


@pytest.mark.parametrize(("content", "status"), RAW, ids=range(len(RAW)))
def test_bodies_that_are_none(site: Site, content: Any, status: int | None) -> None:
    before = dump(site)
    headers = {"Authorization": f"Bearer {site.tokens[0]}", "Incfed-Protocol": "1"}
    headers |= {"Content-Type": "application/json"}
    sent = iter(content) if isinstance(content, list) else content
    answer = site.http.put(UPLOAD.format(3), content=sent, headers=headers)
    assert answer.status_code in ((400, 422) if status is None else (status,))
    assert answer.json()["field"] in ("body", "epoch", "steps", "(unknown)")
    assert refused(site, answer.json()["field"]) >= 1
    assert dump(site) == before


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "field"),
    [
        ("PUT", UPLOAD.format(2), honest(1), 409, "dV"),  # frozen: not what it was
        ("PUT", UPLOAD.format(4), honest(), 409, "round"),
        ("PUT", UPLOAD.format(0), honest(), 422, "number"),
        ("PUT", UPLOAD.format(10**30), honest(), 422, "number"),
        ("PUT", ANSWER.format(3), {"attempt": 1, "accepted": True}, 409, "round"),  # no offer
        ("PUT", ANSWER.format(3), {"attempt": -1, "accepted": True}, 422, "attempt"),
        ("PUT", ANSWER.format(3), {"attempt": 1, "accepted": "yes"}, 422, "accepted"),
        ("PUT", ANSWER.format(2), {"attempt": 1, "accepted": False}, 409, "accepted"),
        ("PUT", DELIVERY.format(3), {"db": encoded(0.0, 0.0)}, 409, "round"),
        ("PUT", DELIVERY.format(2), {"db": encoded(0.4, 0.0)}, 409, "db"),
        ("POST", "/v1/rounds?epoch=0", None, 409, "epoch"),  # a call that is long over
        ("GET", "/v1/download?since=9", None, 409, "since"),
        ("GET", "/v1/download?since=-1", None, 422, "since"),
        ("GET", "/v1/state?after=-1", None, 422, "after"),
        ("GET", "/v1/state?wait=1e9", None, 422, "wait"),
        ("GET", "/v1/state?wait=nan", None, 422, "wait"),
        ("GET", "/v1/else", None, 404, "request"),
        ("DELETE", "/v1/state", None, 405, "request"),
    ],
)
def test_what_does_not_fit(
    site: Site, method: str, path: str, body: Any, status: int, field: str
) -> None:
    before, counted = dump(site), refused(site, field)
    if (status, field) == (409, "dV"):
        body = body | {"cost": 3.0}
    check(site, site(0, method, path, body), status, field, counted)
    assert dump(site) == before


def test_who_may_ask(own: Site) -> None:
    site = own
    mine, one = f"Bearer {site.tokens[2]}", {"Incfed-Protocol": "1"}
    wrong: list[tuple[dict[str, str], int, str]] = [
        (one, 401, "Authorization"),
        (one | {"Authorization": "Bearer wrong"}, 401, "Authorization"),
        (one | {"Authorization": f"Basic {site.tokens[2]}"}, 401, "Authorization"),
        (one | {"Authorization": f"{mine}x"}, 401, "Authorization"),
        ({"Authorization": mine}, 400, "Incfed-Protocol"),
        ({"Authorization": mine, "Incfed-Protocol": "2"}, 426, "Incfed-Protocol"),
    ]
    for headers, status, field in wrong:
        for method, path in (("GET", "/v1/state"), ("PUT", UPLOAD.format(3))):
            before, counted = dump(site), refused(site, field)
            body = json.dumps(honest()) if method == "PUT" else None
            kind = {"Content-Type": "application/json"}
            answer = site.http.request(method, path, content=body, headers={**kind, **headers})
            check(site, answer, status, field, counted)
            assert dump(site) == before
    assert site(2, "GET", "/v1/state").status_code == 200
    with site.store.write() as connection:
        revoke(connection, "client 2", 0.0)
    counted = refused(site, "Authorization")
    check(site, site(2, "GET", "/v1/state"), 401, "Authorization", counted)


def test_deliveries_and_what_is_in_the_logs(own: Site, caplog: pytest.LogCaptureFixture) -> None:
    """db that its dV cannot have made, somebody else's offer; no token and no payload is logged."""
    site = own
    caplog.set_level(logging.DEBUG)
    site(0, "PUT", UPLOAD.format(3), honest(cost=-31415.926535))
    site(0, "PUT", UPLOAD.format(3), dV("factor", 1.1, 0.0))
    nothing = honest(steps=0, cost=0.0, dV={"form": "factor", "numbers": ""})
    for k, body in enumerate((honest(), honest(), nothing)):
        assert site(k, "PUT", UPLOAD.format(3), body).status_code == 200
    for db in (encoded(1.0, 0.1), encoded(1.1, 0.0), encoded(1.0), encoded(NAN, 0.0), "abcd", "?"):
        before, counted = dump(site), refused(site, "db")
        check(site, site(0, "PUT", DELIVERY.format(3), {"db": db}), 422, "db", counted)
        assert dump(site) == before
    counted = refused(site, "attempt")
    late = site(0, "PUT", ANSWER.format(3), {"attempt": 2, "accepted": True})
    check(site, late, 409, "attempt", counted)
    for path, body in (
        (ANSWER, {"attempt": 1, "accepted": True}),
        (DELIVERY, {"db": encoded(0.0, 0.0)}),
    ):
        before, counted = dump(site), refused(site, "round")
        theirs = site(2, "PUT", path.format(3), body)  # the offers are the others'
        check(site, theirs, 409, "round", counted)
        assert dump(site) == before
    site.http.get("/v1/state", headers={"Authorization": "Bearer not-a-token"})
    for k in range(2):
        sent = site(k, "PUT", DELIVERY.format(3), {"db": encoded(1.0, 0.0)})
        assert sent.status_code == 200
    assert sent.json()["epoch"] == 3
    ours = [one for one in caplog.records if not one.name.startswith(("httpx", "httpcore"))]
    written = [str(record.__dict__) for record in ours]
    assert any("'event': 'closed'" in line and "'round': 3" in line for line in written)
    secrets = [*site.tokens, "not-a-token", "31415.926535"]
    secrets += [encoded(1.0, 0.0), encoded(1.1, 0.0), encoded(1.0, 0.1)]
    for secret in secrets:
        assert not any(secret in line for line in written), secret


def test_a_failing_database_does_not_show_what_was_sent(site: Site) -> None:
    """An error names the statement that failed, not the values in it."""
    with pytest.raises(IntegrityError) as raised, site.store.write() as connection:
        connection.execute(tables.settings.insert().values(number=1, body="secret"))
    assert "INSERT INTO settings" in str(raised.value)
    assert "secret" not in str(raised.value)
