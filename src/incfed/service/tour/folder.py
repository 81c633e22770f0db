"""The folder of a tour: a config as anybody would write it, its database, its clients."""

from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ...ledger import clients
from ...ledger.audit import AuditReport, audit
from ...ledger.federation import begin
from ...ledger.store import Store
from ...support.files import claim, write_text
from ...support.inputs import refuse
from ...support.toml import toml
from .plan import Plan

MARK = "tour.json"
LOCK = ".lock"  # of `alone_in`
CONFIG = """\
# Written by `incfed up`; `incfed serve --config` runs it without the tour.
[federation]
name = "{name}"
dim = {dim}
mechanism = {mechanism}
threshold = {threshold!r}     # D_c: how much news calls for a round
budget = {budget!r}     # in all; then rounds offer data alone
noise = {noise!r}
arm_norm = {arm_norm!r}     # no arm is longer
reward_bound = {reward_bound!r}     # no reward is larger
upload_time = {upload_time!r}     # seconds
answer_time = {answer_time!r}
[server]
database = "sqlite:///federation.db"
host = "127.0.0.1"
port = {port}
"""


@dataclass(frozen=True)
class Folder:
    path: Path
    again: bool  # has a tour been here before?

    @property
    def config(self) -> Path:
        return self.path / "federation.toml"

    @property
    def log(self) -> Path:
        return self.path / "coordinator.log"

    def client(self, name: str) -> Path:
        return self.path / "clients" / name


def find(path: Path | None) -> Path:
    """The folder, made if it is not there; None: a temporary one, which is nobody's to remove."""
    if path is None:
        return Path(tempfile.mkdtemp(prefix="incfed-up-"))
    claim(path, mark=MARK, ours=())
    others = sorted({one.name for one in path.iterdir()} - {LOCK})
    if others and not (path / MARK).exists():
        more = ", ..." if len(others) > 3 else ""
        allowed = f"new, empty or of an earlier tour: it has {', '.join(others[:3])}{more}"
        raise refuse("--output", str(path), allowed)
    return path


def furnish(plan: Plan, path: Path, port: int) -> Folder:
    """Everything that a federation needs; where a tour has been, it goes on from there."""
    again = (path / MARK).exists()
    fixed = {"clients": plan.clients, "seed": plan.seed}
    if again:
        _same(path, fixed)
    write_text(path / MARK, json.dumps(fixed))
    folder = Folder(path.resolve(), again)
    write_text(folder.config, _config(plan, port))
    store = Store(f"sqlite:///{folder.path / 'federation.db'}")
    try:
        with store.write() as connection:
            begin(connection, plan.settings, time.time())
            known = {one.name for one in clients.members(connection)}
            for name in plan.names:
                if name not in known:
                    _keep(folder.client(name), clients.enrol(connection, name, time.time())[1])
    finally:
        store.close()
    return folder


def check(folder: Folder) -> AuditReport:
    """The ledger, once more from what was recorded."""
    store = Store(f"sqlite:///{folder.path / 'federation.db'}")
    try:
        with store.read() as connection:
            return audit(connection)
    finally:
        store.close()


def _same(path: Path, fixed: dict[str, int]) -> None:
    try:
        found = json.loads((path / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise refuse("--output", str(path), "a folder of an earlier tour, or a new one") from None
    for name, value in fixed.items():
        if found.get(name) != value:
            allowed = f"{found.get(name)}, as in {path}: take a new folder for another"
            raise refuse(f"--{name}", value, allowed)


def _keep(folder: Path, token: str) -> None:
    """For its owner's eyes only."""
    folder.mkdir(parents=True, exist_ok=True)
    fd = os.open(folder / "token", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(fd, "w", encoding="ascii") as file:
        file.write(token)


def _config(plan: Plan, port: int) -> str:
    given = plan.settings.body()
    return CONFIG.format(**{**given, "mechanism": toml(given["mechanism"])}, port=port)
