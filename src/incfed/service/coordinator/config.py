"""federation.toml: every key checked before any work.

[federation]
dim = 25
mechanism = { kind = "PaymentEfficient", beta = 0.7 }   # or { kind = "my_file.py:Mine", ... }
threshold = 0.47                          # D_c
budget = 10_000.0                         # the other keys: incfed.ledger.settings.Settings
[server]
database = "sqlite:///federation.db"      # files are relative to the config
port = 8470
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields
from ipaddress import ip_network
from pathlib import Path

from ...experiments.commands import read_tables
from ...ledger.settings import Settings
from ...mechanisms.registry import load_code
from ...support import places
from ...support.inputs import choice, integer, number, refuse

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """Where the coordinator keeps its state and listens."""

    database: str = "sqlite:///federation.db"  # its URL: SQLite or PostgreSQL
    host: str = "127.0.0.1"  # where clients are listened to
    port: int = 8470  # where clients are listened to; 0: any free one
    certificate: Path | None = None  # for TLS, a PEM file; with `key`, or neither
    key: Path | None = None  # of the certificate, a PEM file
    operator_host: str = "127.0.0.1"  # where /metrics and /docs are, which need no token
    operator_port: int | None = None  # None: the port after `port`
    header_time: float = 10.0  # seconds that a caller has to send the head of a request,
    body_time: float = 60.0  # and its body, or to read an answer
    connections: int = 4096  # at a time; fewer if the process may not open so many files
    connections_per_address: int = 256  # of them; not for `proxies`
    requests_per_client: int = 8  # at a time, long polls included
    bad_tokens: int = 60  # a minute from one address, before it has to wait
    proxies: tuple[str, ...] = ("127.0.0.1", "::1")  # whose X-Forwarded-For is believed
    log_level: str = "INFO"  # DEBUG, INFO, WARNING or ERROR
    mechanism_files: tuple[str, ...] = ()  # code of mechanisms that earlier settings named

    def __post_init__(self) -> None:
        for name in ("database", "host", "operator_host"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise refuse(name, getattr(self, name), "a string that is not empty")
        integer("port", self.port, low=0, high=65535)
        if self.operator_port is not None:
            integer("operator_port", self.operator_port, low=0, high=65535)
            if self.operator_port == self.port != 0:
                raise refuse("operator_port", self.operator_port, "another one than port")
        for name in ("header_time", "body_time"):
            number(name, getattr(self, name), low=0.0, open_low=True)
        for name in ("connections", "connections_per_address", "requests_per_client", "bad_tokens"):
            integer(name, getattr(self, name), low=1)
        for proxy in self.proxies:
            _check_address(proxy)
        choice("log_level", self.log_level, LEVELS)
        if (self.certificate is None) != (self.key is None):
            raise refuse("key", self.key and str(self.key), "given with certificate, and only then")
        for name in ("certificate", "key"):
            file = getattr(self, name)
            if file is not None and not file.is_file():
                raise refuse(name, str(file), "an existing file")

    @property
    def operators(self) -> tuple[str, int]:
        """Host and port for operators."""
        beside = self.port + (1 if 0 < self.port < 65535 else -1)
        port = max(0, beside) if self.operator_port is None else self.operator_port
        return self.operator_host, port  # 0: any free port


@dataclass(frozen=True)
class Config:
    settings: Settings
    server: ServerConfig


def read_config(path: Path, *, load: bool = True) -> Config:
    """The federation in the file `path`. Runs the files of mechanisms that it names, unless `load`
    is false: then PaymentFree stands in for one's own, and all else is checked."""
    hint = f"Write one with: incfed init --federation {shlex.quote(str(path))}"
    found = read_tables(path, hint, commands=("serve --config",))
    folder = path.resolve().parent
    with places.at(str(path)):
        places.known("", found, ["federation", "server"])
        if "federation" not in found:
            raise places.missing("federation", "given: [federation] with dim, mechanism, threshold")
        settings = Settings.read(found["federation"], folder, load=load)
        server = _server(found.get("server", {}), folder)
        for file in server.mechanism_files if load else ():
            load_code(file, "server.mechanism_files", folder)
        return Config(settings, server)


def _check_address(value: str) -> None:
    try:
        ip_network(value)
    except ValueError:
        raise refuse("proxies", value, "addresses or networks, such as 192.0.2.0/24") from None


def _server(value: object, folder: Path) -> ServerConfig:
    made = places.table("server", value, "[server]")
    known = [field.name for field in fields(ServerConfig)]
    places.known("server", made, known)
    for name in ("certificate", "key"):
        if name in made:
            if not isinstance(made[name], str):
                raise refuse(f"server.{name}", made[name], "the path of a file")
            made[name] = folder / made[name]
    lists = {"mechanism_files": "files, such as ['mine.py']"}
    lists |= {"proxies": "addresses, such as ['192.0.2.7']"}
    for name in lists.keys() & made.keys():
        value = made[name]
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            raise refuse(f"server.{name}", value, f"a list of {lists[name]}")
        made[name] = tuple(value)
    relative = "sqlite:///"
    database = made.get("database", ServerConfig.database)
    if isinstance(database, str) and database.startswith(relative):
        file = database.removeprefix(relative)
        if file not in ("", ":memory:"):
            made["database"] = f"{relative}{folder / file}"
    with places.at("server", known):
        return ServerConfig(**made)
