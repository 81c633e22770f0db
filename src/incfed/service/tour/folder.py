"""The folder of a tour: an ordinary federation with its config, database and clients."""

from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ...ledger import clients
from ...ledger.audit import AuditReport, audit
from ...ledger.database import Database
from ...ledger.federation import create
from ...support.files import claim, write_text
from ...support.inputs import refuse
from ...support.toml import toml
from .options import TourOptions

MARK = "tour.json"
LOCK = ".lock"  # of `alone_in`
CONFIG = """\
# Written by `incfed up`. Run it without the tour: incfed serve --config
[federation]
name = "{name}"
dim = {dim}
mechanism = {mechanism}
threshold = {threshold!r}     # D_c: how much a client learns before it asks for a round
budget = {budget!r}     # in total; once spent, rounds offer only data
noise = {noise!r}
arm_norm = {arm_norm!r}     # largest length of an arm
reward_bound = {reward_bound!r}     # largest size of a reward
upload_time = {upload_time!r}     # seconds
answer_time = {answer_time!r}
[server]
database = "sqlite:///federation.db"
host = "127.0.0.1"
port = {port}
"""


@dataclass(frozen=True)
class TourFolder:
    path: Path
    again: bool  # is there an earlier tour in it?

    @property
    def config(self) -> Path:
        return self.path / "federation.toml"

    @property
    def log(self) -> Path:
        return self.path / "coordinator.log"

    def client(self, name: str) -> Path:
        return self.path / "clients" / name


def find_folder(path: Path | None) -> Path:
    """The folder, created if needed; None: a new temporary one, which is kept."""
    if path is None:
        return Path(tempfile.mkdtemp(prefix="incfed-up-"))
    claim(path, mark=MARK, ours=())
    others = sorted({one.name for one in path.iterdir()} - {LOCK})
    if others and not (path / MARK).exists():
        more = ", ..." if len(others) > 3 else ""
        allowed = "a new or empty folder, or one of an earlier tour"
        raise refuse("--output", str(path), f"{allowed}: it has {', '.join(others[:3])}{more}")
    return path


def prepare_folder(options: TourOptions, path: Path, port: int) -> TourFolder:
    """Write the config, the database and the tokens, or continue an earlier tour."""
    again = (path / MARK).exists()
    fixed = {"clients": options.clients, "seed": options.seed}
    if again:
        _check_same(path, fixed)
    write_text(path / MARK, json.dumps(fixed))
    folder = TourFolder(path.resolve(), again)
    write_text(folder.config, _config(options, port))
    store = Database(f"sqlite:///{folder.path / 'federation.db'}")
    try:
        with store.write() as connection:
            create(connection, options.settings, time.time())
            known = {one.name for one in clients.members(connection)}
            for name in options.names:
                if name not in known:
                    _write_token(
                        folder.client(name), clients.enrol(connection, name, time.time())[1]
                    )
    finally:
        store.close()
    return folder


def audit_folder(folder: TourFolder) -> AuditReport:
    """Audit the ledger."""
    store = Database(f"sqlite:///{folder.path / 'federation.db'}")
    try:
        with store.read() as connection:
            return audit(connection)
    finally:
        store.close()


def _check_same(path: Path, fixed: dict[str, int]) -> None:
    try:
        found = json.loads((path / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise refuse("--output", str(path), "a new folder, or one of an earlier tour") from None
    for name, value in fixed.items():
        if found.get(name) != value:
            allowed = f"{found.get(name)}, as in {path}; for another value use a new folder"
            raise refuse(f"--{name}", value, allowed)


def _write_token(folder: Path, token: str) -> None:
    """Readable by its owner only."""
    folder.mkdir(parents=True, exist_ok=True)
    fd = os.open(folder / "token", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(fd, "w", encoding="ascii") as file:
        file.write(token)


def _config(options: TourOptions, port: int) -> str:
    given = options.settings.body()
    return CONFIG.format(**{**given, "mechanism": toml(given["mechanism"])}, port=port)
