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
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal

from ... import errors
from ...configured import Configured
from ...errors import refuse
from ...experiments.commands import read_tables
from ...ledger.settings import Settings
from ...mechanisms.registry import MECHANISMS
from ...rules.rule import names, rule, setting
from ...values import Number, String, Whole

Whereabouts = Annotated[str, String()]
Seconds = Annotated[float, Number(0.0, above=True)]
Count = Annotated[int, Whole(1)]
Port = Annotated[int, Whole(0, 65535)]


@rule(kw_only=True)
class ServerConfig(Configured):
    """Where the coordinator keeps its state and listens."""

    database: Whereabouts = setting(
        "its URL: SQLite or PostgreSQL", default="sqlite:///federation.db"
    )
    host: Whereabouts = setting("where clients are listened to", default="127.0.0.1")
    port: Port = setting("where clients are listened to; 0: any free one", default=8470)
    certificate: Path | None = setting(
        "for TLS, a PEM file; with `key`, or neither", default=None, example="certificate.pem"
    )
    key: Path | None = setting(
        "the key of the certificate, a PEM file", default=None, example="key.pem"
    )
    operator_host: Whereabouts = setting(
        "where /metrics and /docs are, which need no token", default="127.0.0.1"
    )
    operator_port: Port | None = setting("None: the port after `port`", default=None, example=8471)
    header_time: Seconds = setting(
        "seconds that a caller has to send the head of a request", default=10.0
    )
    body_time: Seconds = setting(
        "seconds that a caller has to send a body, or to read an answer", default=60.0
    )
    connections: Count = setting(
        "connections at a time; fewer if the process may not open so many files", default=4096
    )
    connections_per_address: Count = setting(
        "connections at a time from one address; not for `proxies`", default=256
    )
    requests_per_client: Count = setting(
        "requests of one client at a time, long polls included", default=8
    )
    bad_tokens: Count = setting("a minute from one address, before it has to wait", default=60)
    proxies: tuple[str, ...] = setting(
        "whose X-Forwarded-For is believed", default=("127.0.0.1", "::1")
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = setting(
        "DEBUG, INFO, WARNING or ERROR", default="INFO"
    )
    mechanism_files: tuple[str, ...] = setting(
        "code of mechanisms that earlier settings named", default=()
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.operator_port is not None and self.operator_port == self.port != 0:
            raise refuse("operator_port", self.operator_port, "another one than port")
        for proxy in self.proxies:
            _check_address(proxy)
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
    with errors.at(str(path)):
        errors.known("", found, ["federation", "server"])
        if "federation" not in found:
            raise errors.missing("federation", "given: [federation] with dim, mechanism, threshold")
        settings = Settings.read(found["federation"], folder, load=load)
        server = _server(found.get("server", {}), folder)
        for file in server.mechanism_files if load else ():
            MECHANISMS.load_code(file, "server.mechanism_files", folder)
        return Config(settings, server)


def _check_address(value: str) -> None:
    try:
        ip_network(value)
    except ValueError:
        raise refuse("proxies", value, "addresses or networks, such as 192.0.2.0/24") from None


def _server(value: object, folder: Path) -> ServerConfig:
    made = errors.table("server", value, "[server]")
    known = names(ServerConfig)
    errors.known("server", made, known)
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
    with errors.at("server", known):
        return ServerConfig(**made)
