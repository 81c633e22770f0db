"""docs/deployment.md: its unit, its configs and its figures are what it says they are. (Its openssl
commands are run by test_tls.py.)"""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from sqlalchemy import make_url

import incfed
from incfed.ledger.database import Database
from incfed.ledger.settings import Settings
from incfed.ranges import MOST_DIM
from incfed.rules.rule import served
from incfed.service.coordinator.app import largest_body
from incfed.service.coordinator.config import ServerConfig, read_config
from incfed.service.coordinator.connections import RESERVED
from incfed.service.coordinator.coordinator import Coordinator
from incfed.service.coordinator.monitoring import Metrics
from incfed.service.coordinator.routes import LONGEST_WAIT
from incfed.service.coordinator.serve import GRACE
from support.docs import ROOT, blocks

PAGE = "docs/deployment.md"
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
[UNIT] = [one.code for one in blocks(PAGE, "systemd")]
[NGINX] = [one.code for one in blocks(PAGE, "nginx")]
CONFIGS = [(page, one.code) for page in (PAGE, "docs/service.md") for one in blocks(page, "ini")]


def test_all_are_there() -> None:
    assert len(CONFIGS) == 4


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "incfed.service"
    unit.write_text(UNIT.replace("/opt/incfed/bin/incfed", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True
    )
    complaints = [line for line in done.stderr.splitlines() if "incfed.service" in line]
    assert (done.returncode, complaints) == (0, [])
    unit.write_text(UNIT.replace("ProtectClock=yes", "ProtectClok=yes"))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert "ProtectClok" in done.stderr, "it would have noticed"


def test_the_unit_fits_the_rest() -> None:
    set_ = dict(re.findall(r"(?m)^(\w+)=(.*)$", UNIT))
    assert int(set_["TimeoutStopSec"]) > GRACE
    assert "NUMBA_CACHE_DIR=/var/lib/incfed/" in set_["Environment"]
    assert set_["StateDirectory"] == "incfed"
    assert int(set_["LimitNOFILE"]) >= ServerConfig().connections + RESERVED
    assert "MemoryDenyWriteExecute" not in set_


@pytest.mark.parametrize(("page", "code"), CONFIGS)
def test_configs_are_read(page: str, code: str, tmp_path: Path) -> None:
    if "[federation]" not in code:
        needed = 'dim = 2\nmechanism = "PayEveryone"\nthreshold = 1.0\nbudget = 9.0'
        code = f"[federation]\n{needed}\n{code}"
    for name in ("server.pem", "server.key"):
        (tmp_path / name).touch()
    (tmp_path / "federation.toml").write_text(code.replace("/etc/incfed/", f"{tmp_path}/"))
    server = read_config(tmp_path / "federation.toml").server
    url = make_url(server.database)
    if url.get_backend_name() == "sqlite":
        where = tmp_path if page == "docs/service.md" else Path("/var/lib/incfed")
        assert url.database == str(where / "federation.db")
    else:
        assert (url.database, url.password) == ("incfed", None)


def test_nginx_waits_and_takes_in_what_it_must() -> None:
    assert NGINX.count("{") == NGINX.count("}")
    assert int(re.findall(r"proxy_read_timeout (\d+)s;", NGINX)[0]) > LONGEST_WAIT
    server = ServerConfig()
    assert f"client_header_timeout {server.header_time:g}s;" in NGINX
    assert f"client_body_timeout {server.body_time:g}s;" in NGINX
    assert f"limit_conn callers {server.connections_per_address};" in NGINX
    assert f'targets: ["{server.operators[0]}:{server.operators[1]}"]' in TEXT
    assert int(re.findall(r"client_max_body_size (\d+)m;", NGINX)[0]) * 2**20 > largest_body(
        MOST_DIM
    )
    for dim in (1, 25):
        assert largest_body(dim) == 8 * dim * (dim + 1) + 4096, "as the comment says"


def test_alerts_are_about_figures_that_there_are(tmp_path: Path) -> None:
    store = Database(f"sqlite:///{tmp_path}/books.db")
    settings = Settings(dim=2, mechanism=incfed.PayEveryone(), threshold=1.0)
    metrics = Metrics()
    metrics.answered("/v1/state", 200, 0.1)
    metrics.refused("dV")
    metrics.event({"event": "void"})
    page = metrics.page(Coordinator(store, settings, time.time).overview()).decode()
    store.close()
    named = set(re.findall(r"\bincfed_\w+", TEXT))
    assert len(named) >= 7
    for name in named:
        assert re.search(rf"(?m)^{name}[ {{]", page), name
    events = re.findall(r'event="(\w+)"', TEXT)
    source = (ROOT / "src/incfed/service/coordinator/round.py").read_text()
    assert all(f'self.record("{event}"' in source for event in events)


def test_all_keys_of_the_server_are_listed_with_their_defaults() -> None:
    """docs/service.md, as below."""
    page = (ROOT / "docs/service.md").read_text(encoding="utf-8")
    table = page.partition("### Where it listens")[2].partition("## Settings")[0]
    listed: dict[str, str] = {}
    for names, default in re.findall(r"(?m)^\| (`.*?) \| (.*?) \|", table):
        listed |= dict.fromkeys(names.replace("`", "").split(", "), default.replace("`", ""))
    fields = {one.name: one.default for one in dataclasses.fields(ServerConfig)}
    assert listed.keys() == fields.keys()
    for name, default in fields.items():
        if default is None:
            assert listed[name].startswith("not set")
        else:
            shown = json.dumps(list(default)) if isinstance(default, tuple) else str(default)
            assert listed[name] == shown


def test_all_settings_are_listed_with_their_defaults() -> None:
    """docs/service.md, the table of keys: `key`, ... | `default`, ... |"""
    page = (ROOT / "docs/service.md").read_text(encoding="utf-8")
    table = page.partition("## Settings")[2].partition("\n\n`name`")[0]
    listed: dict[str, str] = {}
    for row in re.findall(r"(?m)^\| (`.*?) \| (.*?) \|", table):
        names, defaults = (cell.replace("`", "").split(", ") for cell in row)
        listed.update(zip(names, defaults, strict=True))
    known = {one.name: one.default for one in dataclasses.fields(Settings)}
    fields = {name: known[name] for name in served(Settings)}
    assert listed.keys() == fields.keys()
    assert (listed.pop("budget"), listed.pop("limits")) == ("required", "safe ones")  # of a config
    del fields["budget"], fields["limits"]
    for name, default in fields.items():
        if default is dataclasses.MISSING:
            assert listed[name] == "required"
        elif default is None:
            assert listed[name].startswith("not set")
        else:
            assert listed[name].strip('"') == str(default) or float(listed[name]) == default


def test_all_limits_are_listed() -> None:
    page = (ROOT / "docs/service.md").read_text(encoding="utf-8")
    table = page.partition("### Limits")[2].partition("## How a round works")[0]
    listed = [name for row in re.findall(r"(?m)^\| (`.*?) \|", table) for name in row.split(", ")]
    assert [name.strip("`") for name in listed] == [
        one.name for one in dataclasses.fields(incfed.Limits)
    ]
