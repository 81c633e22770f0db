"""federation.toml: every key checked before any work.

[federation]
dim = 25
mechanism = { kind = "PaymentEfficient", beta = 0.7 }
threshold = 0.47                          # D_c
budget = 10_000.0                         # the other keys: incfed.ledger.settings.Settings
[server]
database = "sqlite:///federation.db"      # a file's path is relative to the config
port = 8470
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ...experiments import kinds, places
from ...ledger.settings import KINDS, Settings
from ...support import toml
from ...support.inputs import choice, integer, refuse

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where the coordinator keeps its state and listens."""

    database: str = "sqlite:///federation.db"
    host: str = "127.0.0.1"
    port: int = 8470
    certificate: Path | None = None  # PEM files; both or neither
    key: Path | None = None
    log_level: str = "INFO"

    def __post_init__(self) -> None:
        for name in ("database", "host"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise refuse(name, getattr(self, name), "a text")
        integer("port", self.port, low=0, high=65535)
        choice("log_level", self.log_level, LEVELS)
        if (self.certificate is None) != (self.key is None):
            raise refuse("key", self.key and str(self.key), "given with certificate, and only then")
        for name in ("certificate", "key"):
            file = getattr(self, name)
            if file is not None and not file.is_file():
                raise refuse(name, str(file), "an existing file")


@dataclass(frozen=True)
class Config:
    settings: Settings
    server: Server


def read_config(path: Path) -> Config:
    """The federation in the file `path`."""
    found = toml.read(path)
    with places.at(str(path)):
        places.known("", found, ["federation", "server"])
        if "federation" not in found:
            raise places.missing("federation", "given: [federation] with dim, mechanism, threshold")
        federation = places.table("federation", found["federation"], "[federation]")
        server = places.table("server", found.get("server", {}), "[server]")
        folder = path.resolve().parent
        return Config(_settings(federation, folder), _server(server, folder))


def _settings(given: dict[str, Any], folder: Path) -> Settings:
    known = [one.name for one in fields(Settings) if one.name != "identity"]
    places.known("federation", given, known)
    for name in ("dim", "mechanism", "threshold"):
        if name not in given:
            raise places.missing(f"federation.{name}", "given")
    value = given["mechanism"]
    spot, example = "federation.mechanism", '{ kind = "PaymentEfficient", beta = 0.7 }'
    table = {"kind": value} if isinstance(value, str) else places.table(spot, value, example)
    if table.get("kind") not in [*KINDS]:  # an audit has to find it again, anywhere
        raise refuse(f"{spot}.kind", table.get("kind"), f"one of {', '.join(KINDS)}")
    mechanism = kinds.build(kinds.MECHANISMS, table, spot, folder).value
    threshold = given["threshold"]
    never = isinstance(threshold, float) and threshold == math.inf
    made = {**given, "mechanism": mechanism, "threshold": None if never else threshold}
    with places.at("federation", known):
        return Settings(**made)


def _server(given: dict[str, Any], folder: Path) -> Server:
    known = [one.name for one in fields(Server)]
    places.known("server", given, known)
    made = dict(given)
    for name in ("certificate", "key"):
        if name in made:
            if not isinstance(made[name], str):
                raise refuse(f"server.{name}", made[name], "the path of a file")
            made[name] = folder / made[name]
    relative = "sqlite:///"
    database = made.get("database", Server.database)
    if isinstance(database, str) and database.startswith(relative):
        file = database.removeprefix(relative)
        if file not in ("", ":memory:"):
            made["database"] = f"{relative}{folder / file}"
    with places.at("server", known):
        return Server(**made)
