"""What a Client refuses: before anything is changed, by name."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.service.client.validation import check_url
from incfed.support.extras import install
from support.fake_coordinator import Fake
from support.fake_server import serving

DIM = 2
GOOD = [0.6, 0.8]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Fake(1, DIM, threshold=1e9, reward_bound=2.0)) as (url, _):
        yield url


@pytest.fixture
def client(url: str, tmp_path: Path) -> Iterator[incfed.Client]:
    with incfed.Client(url, "token-0", tmp_path) as client:
        yield client


NAN = float("nan")
BAD_ARMS: list[tuple[Any, str]] = [
    ([], "arms"),
    (np.zeros((0, DIM)), "arms: .*at least one arm"),
    (GOOD, r"arms: .*\(2,\)"),
    ([[0.1, 0.2, 0.3]], r"arms: .*\(1, 3\).*\[K, 2\]"),
    ([GOOD, [NAN, 0.0]], r"arms\[1, 0\]: got nan"),
    ([GOOD, [0.0, np.inf]], r"arms\[1, 1\]"),
    ([GOOD, [0.7, 0.8]], r"arms\[1\]: .*length 1\.06.*at most 1\.0 long"),
    ([[1e200, 1e200]], r"arms\[0\]"),
    ("arms", "arms"),
    ([["a", "b"]], "arms"),
    (None, "arms"),
]


@pytest.mark.parametrize(("arms", "said"), BAD_ARMS)
def test_arms(client: incfed.Client, arms: Any, said: str) -> None:
    with pytest.raises(incfed.InputError, match=said):
        client.choose(arms)


BAD_STEPS: list[tuple[Any, Any, str]] = [
    ([GOOD], 1.0, "arm: .*2 finite numbers"),
    ([0.1], 1.0, r"arm: .*\(1,\)"),
    ([NAN, 0.0], 1.0, r"arm\[0\]: got nan"),
    ([0.7, 0.8], 1.0, r"arm: .*at most 1\.0 long"),
    ([1.0 + 1e-12, 0.0], 1.0, r"length 1\.000000000001', must be at most 1\.0 long"),
    (GOOD, NAN, "reward: got nan"),
    (GOOD, 2.1, "reward: got 2.1, must be a number from -2 to 2"),
    (GOOD, -2.1, "reward"),
    (GOOD, "1", "reward"),
    (GOOD, None, "reward"),
]


@pytest.mark.parametrize(("arm", "reward", "said"), BAD_STEPS)
def test_steps(client: incfed.Client, arm: Any, reward: Any, said: str) -> None:
    size = client._durable._journal.size
    before = client._durable.learner.logdet
    with pytest.raises(incfed.InputError, match=said):
        client.learn(arm, reward)
    assert client.steps == client.pending == 0
    assert client._durable._journal.size == size
    assert client._durable.learner.logdet == before


def test_what_is_at_the_limit_is_fine(client: incfed.Client) -> None:
    """Whatever rounding makes of a vector that was scaled to the limit; any form of numbers."""
    for seed in range(200):
        x = np.random.default_rng(seed).standard_normal(DIM)
        client.learn(x / np.linalg.norm(x), 2.0)
    client.learn(np.array([1, 0]), -2)
    client.learn(np.array([0.5, 0.5], np.float32), np.float64(0.5))
    arms = np.eye(DIM, order="F")
    arms.flags.writeable = False
    client.choose(arms)
    client.choose(np.ones((8, DIM))[::2] / 2)
    assert client.steps == 202


def test_rewards_may_be_booleans(client: incfed.Client) -> None:
    for reward in (True, np.True_, False, np.False_):
        client.learn([1.0, 0.0], reward)  # type: ignore[arg-type]
    np.testing.assert_allclose(client._durable.learner.pending.b, [2.0, 0.0])


def test_what_was_learned_is_a_copy(client: incfed.Client) -> None:
    x = np.array(GOOD)
    client.learn(x, 1.0)
    x[:] = 0.0
    np.testing.assert_allclose(client._durable.learner.pending.rows, [GOOD])


BAD_URLS: list[Any] = [
    *(
        7,
        None,
        "",
        "ftp://host",
        "http://",
        "https://",
        "http:///path",
        "http://a b",
        "http://a\nb",
    ),
    *("http://host:abc", "http://host:99999", "http://host:0", "http://[::1", "http://a..b", " x"),
    *("http://me:word@host", "http://host?a=b", "http://host#a", "http://host/a b", "http://a,b"),
    *("http://" + "a" * 64, "http://xn--\u00e4", "http://host\n"),
]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"url": "coordinator:80"}, "url: got 'coordinator:80'"),
        *(({"url": url}, "url: got .*, must be https://") for url in BAD_URLS),
        ({"token": ""}, "token"),
        ({"token": "a\nb"}, "token: got 'a token that is not shown here'"),
        ({"state": 3}, "state"),
        ({"state": None}, "state"),
        ({"state": ""}, "state: got '', must be the name of a folder"),
        ({"state": os.fsencode("x")}, "state"),
        ({"state": "a\0b"}, "state: .*null (byte|character)"),
        (
            {"state": "/proc/x" if os.path.isdir("/proc") else "\0"},
            "state: .*a folder that can be",
        ),
        ({"state": "x" * 300}, "state: .*a folder that can be"),
        ({"cost": -1.0}, "cost: got -1"),
        ({"cost": NAN}, "cost"),
        ({"cost": "dear"}, "cost"),
        ({"accept": True}, "accept"),
        ({"timeout": 0}, "timeout"),
        ({"ca": "/no/such/file"}, "ca"),
    ],
)
def test_settings(changed: dict[str, Any], said: str, url: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"url": url, "token": "token-0", "state": tmp_path / "new"}
    with pytest.raises(incfed.InputError, match=said):
        incfed.Client(**(settings | changed))
    assert not (tmp_path / "new").exists()


def test_a_bad_address_is_not_a_coordinator_that_is_away(url: str, tmp_path: Path) -> None:
    incfed.Client(url, "token-0", tmp_path).close()
    for bad in BAD_URLS:
        with pytest.raises(incfed.InputError, match="url: got"):
            incfed.Client(bad, "token-0", tmp_path)
    for good in (
        "http://127.0.0.1:1/",
        "http://[::1]:1",
        "http://127.0.0.1:1/a/b-c",
    ):
        incfed.Client(good, "token-0", tmp_path).close()


@pytest.mark.parametrize(
    "good", ["https://a_b.example.", "http://b\u00fccher.example:8443", "http://h"]
)
def test_addresses(good: str) -> None:
    assert check_url(good) == good


def test_a_folder_that_cannot_be_written_to(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def forbidden(path: Any, *how: Any, **more: Any) -> int:
        if str(path).endswith("lock"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *how, **more)

    monkeypatch.setattr(os, "open", forbidden)
    with pytest.raises(incfed.InputError, match=r"state: .*Permission denied"):
        incfed.Client(url, "token-0", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_folder(url: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(incfed.InputError, match=r"state: .*a folder, not a file"):
        incfed.Client(url, "token-0", tmp_path / "file")


def test_one_folder_one_client(client: incfed.Client, url: str, tmp_path: Path) -> None:
    with pytest.raises(incfed.InputError, match=r"state: .*no other Client"):
        incfed.Client(url, "token-0", tmp_path)
    code = f"import incfed; incfed.Client({url!r}, 'token-0', {str(tmp_path)!r})"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "InputError: state" in other.stderr
    client.learn(GOOD, 1.0)  # undisturbed


@pytest.mark.parametrize(
    ("make", "token", "said"),
    [
        (lambda: Fake(1, 3), "token-0", "dim is 2, but the coordinator says 3"),
        (lambda: Fake(2, DIM), "token-1", "client.id is 0, but the coordinator says 1"),
        (lambda: Fake(1, DIM, federation="g"), "token-0", "federation is 'f1'"),
    ],
)
def test_a_folder_of_somebody_else(
    make: Callable[[], Fake], token: str, said: str, url: str, tmp_path: Path
) -> None:
    incfed.Client(url, "token-0", tmp_path).close()
    before = (tmp_path / "snapshot").read_bytes()
    with serving(make()) as (other, _), pytest.raises(incfed.InputError, match=said):
        incfed.Client(other, token, tmp_path)
    assert (tmp_path / "snapshot").read_bytes() == before
    incfed.Client(url, "token-0", tmp_path).close()  # not locked out


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_does_not_write_into_its_parents_journal(
    client: incfed.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(RuntimeError, match="not to a fork"):
        client.learn(GOOD, 1.0)
    client.close()  # leaves the parent's files alone
    monkeypatch.undo()
    client.learn(GOOD, 1.0)


def test_without_httpx_there_is_a_sentence(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['httpx'] = None\n"
        "import incfed\n"
        f"incfed.Client('http://127.0.0.1:1', 't', {str(tmp_path)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: a Client needs httpx")
    assert last.endswith(install("client"))


def test_a_client_loads_nothing_of_a_server() -> None:
    code = (
        "import sys, incfed; incfed.Client\n"
        "bad = {'fastapi', 'starlette', 'sqlalchemy', 'uvicorn', 'polars', 'httpx'}\n"
        "sys.exit(str(bad & set(sys.modules)) if bad & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
