"""TLS between real processes, with the certificates that docs/deployment.md says how to make; and
what keeps a coordinator from serving, said before it serves."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import incfed
from incfed.service.client.transport import Unreachable
from support.cli import INCFED, invoke
from support.cli import incfed as command
from support.docs import blocks
from support.fake_coordinator import Fake
from support.fake_server import serving

TOML = """
[federation]
dim = 2
mechanism = "PayEveryone"
threshold = 0.5
[server]
certificate = "server.pem"
key = "server.key"
operator_port = 0
"""
SOON = 60.0

openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="needs openssl to make certificates"
)


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the docs say how to make, for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("certified")
    [script] = [one.code for one in blocks("docs/deployment.md", "sh") if "openssl" in one.code]
    assert "192.0.2.10" in script
    script = script.replace("192.0.2.10", "127.0.0.1")
    subprocess.run(["sh", "-euc", script], cwd=folder, check=True, capture_output=True)
    (folder / "federation.toml").write_text(TOML)
    return folder


def refused(folder: Path, *arguments: str) -> str:
    """What `incfed serve` says when it does not serve."""
    done = invoke(folder, "serve", *arguments)
    assert done.returncode == 2, done.stderr
    return done.stderr.replace("\n", " ")


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """The port of a coordinator's process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(
            [*INCFED, "serve", "--port", str(port)], cwd=folder, stderr=log, text=True
        )
    try:
        while '"for_clients": "https' not in (said := (folder / "log").read_text()):
            assert process.poll() is None, said
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


@openssl
def test_a_round_over_tls(certified: Path, tmp_path: Path) -> None:
    token = command(certified, "client", "enrol", "a").stdout.strip()
    with served(certified) as port:
        url = f"https://127.0.0.1:{port}"
        with incfed.Client(url, token, tmp_path / "a", ca=certified / "ca.pem") as client:
            client.learn([1.0, 0.0], 1.0)
            client.sync(SOON)
            assert (client.epoch, client.pending) == (1, 0)
        known = "certificate is not trusted. Pass the certificate of its authority as `ca`"
        with pytest.raises(Unreachable, match=known):
            incfed.Client(url, token, tmp_path / "b")
        with pytest.raises(Unreachable, match=r"certificate is not trusted.*'localhost'"):
            incfed.Client(
                f"https://localhost:{port}", token, tmp_path / "b", ca=certified / "ca.pem"
            )
        with pytest.raises(Unreachable, match="Try https://"):
            incfed.Client(f"http://127.0.0.1:{port}", token, tmp_path / "b")
        with pytest.raises(incfed.InputError, match=r"ca: got .*server\.ext.*in PEM"):
            incfed.Client(url, token, tmp_path / "b", ca=certified / "server.ext")
        second = command(certified, "serve", "--port", str(port))
        assert second.returncode == 2
        assert f"server.port: got {port}, must be a free port" in second.stderr
        assert "Traceback" not in second.stderr


@openssl
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("server.pem", "none.pem", "server.certificate: got"),
        ("server.key", "none.key", "server.key: got"),
        ('key = "server.key"', "", "server.key: got None, must be given with certificate"),
        ("server.pem", "server.ext", "server.ext', must be a PEM file"),
        ("server.key", "server.pem", "must be the certificate's key"),
        ("server.key", "ca.key", "must be the certificate's key"),
    ],
)
def test_certificates_that_are_none(certified: Path, old: str, new: str, said: str) -> None:
    config = certified / "other.toml"
    config.write_text(TOML.replace(old, new))
    assert said in refused(certified, "--config", "other.toml", "--port", "0")


def test_https_where_none_is_spoken(tmp_path: Path) -> None:
    with (
        serving(Fake(1, 2)) as (url, _),
        pytest.raises(Unreachable, match="Try http://"),
    ):
        incfed.Client(url.replace("http", "https"), "token-0", tmp_path)


@pytest.mark.parametrize(
    ("database", "said"),
    [
        ("sqlite:///folder", "database: cannot open sqlite:///"),
        ("sqlite:///federation.toml", "file is not a database"),
        ("sqlite:///no/such/books.db", "unable to open database file"),
        ("mysql://here/books", "database: got 'mysql://here/books', must be 'sqlite:///file.db'"),
        ("books", "database: got 'an invalid address'"),
        ("postgresql://me:secret@127.0.0.1:1/books", "me:***@127.0.0.1:1/books: connection"),
        ("postgresql://me:secret@127.0.0.1:x/books", "database: got 'an invalid address'"),
    ],
)
def test_databases_that_are_none(database: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    rest = TOML.partition("[server]")[0]
    (tmp_path / "federation.toml").write_text(f'{rest}[server]\ndatabase = "{database}"\n')
    found = refused(tmp_path, "--port", "0")
    assert said in found
    assert "secret" not in found


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_addresses_of_others(host: str, tmp_path: Path) -> None:
    (tmp_path / "federation.toml").write_text(TOML.partition("[server]")[0])
    assert host in refused(tmp_path, "--host", host, "--port", "0")
