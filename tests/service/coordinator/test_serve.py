"""A coordinator's process: where it listens, what it shows where, and what it warns of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from incfed.errors import InputError
from incfed.service.coordinator.config import ServerConfig
from incfed.service.coordinator.serve import plain_http, preflight
from support.live_coordinator import SETTINGS, live

FOR_OPERATORS = ("/metrics", "/docs", "/openapi.json")


def test_what_needs_no_token_is_on_a_port_of_its_own(tmp_path: Path) -> None:
    """And plain HTTP off loopback is warned of."""
    with live(tmp_path, 1, SETTINGS, server='host = "0.0.0.0"\n') as site:
        site.start()
        [listening] = site.logged("listening")
        operators = listening["for_operators"]
        assert operators.startswith("http://127.0.0.1:")
        assert listening["for_clients"] == f"http://0.0.0.0:{site.port}"
        for page in FOR_OPERATORS:
            assert httpx.get(f"{operators}{page}").status_code == 200
            hidden = httpx.get(f"{site.url}{page}")
            assert (hidden.status_code, hidden.json()["field"]) == (404, "request")
        assert "incfed_budget_left" in httpx.get(f"{operators}/metrics").text
        for address in (site.url, operators):
            assert httpx.get(f"{address}/healthz").json()["status"] == "ok"
            assert httpx.get(f"{address}/v1/state").json()["field"] == "Incfed-Protocol"
        log = (tmp_path / "log").read_text()
        assert log.count("PLAIN HTTP on 0.0.0.0: anybody on the way can read the tokens") == 1


def test_plain_http_off_loopback_is_warned_of(tmp_path: Path) -> None:
    for name in ("a.pem", "a.key"):
        (tmp_path / name).touch()
    tls: dict[str, Any] = {"certificate": tmp_path / "a.pem", "key": tmp_path / "a.key"}
    assert plain_http(ServerConfig()) == plain_http(ServerConfig(host="localhost")) == []
    assert plain_http(ServerConfig(host="0.0.0.0", operator_host="::", **tls)) == []
    for host in ("0.0.0.0", "::", "192.0.2.7", "shops.example"):
        assert [one.split(":")[0] for one in plain_http(ServerConfig(host=host))] != []
    assert "metrics" in plain_http(ServerConfig(operator_host="0.0.0.0"))[0]


def test_the_operators_port(tmp_path: Path) -> None:
    assert ServerConfig(port=9000).operators == ("127.0.0.1", 9001)
    assert ServerConfig(port=65535).operators == ("127.0.0.1", 65534)
    assert ServerConfig(port=0).operators == ("127.0.0.1", 0)
    assert ServerConfig(operator_host="::1", operator_port=7).operators == ("::1", 7)
    with pytest.raises(InputError, match="operator_port: got 9000, must be another one than port"):
        ServerConfig(port=9000, operator_port=9000)
    with pytest.raises(InputError, match=r"server.operator_host: got 'no\.such\.host\.invalid'"):
        preflight(ServerConfig(port=0, operator_host="no.such.host.invalid"))
    wrong: dict[str, Any]
    for wrong in ({"header_time": 0.0}, {"connections": 0}, {"proxies": ("here",)}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))}: got"):
            ServerConfig(**wrong)
