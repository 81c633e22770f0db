"""A client's folder: a start that fails, and a folder that is deleted while it is in use."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import incfed
from incfed.service.client.transport import ServiceError, Unreachable
from incfed.support.formats import FormatError
from support.cli import invoke
from support.client_state import reopen, rows
from support.fake_coordinator import Fake
from support.fake_server import serving

posix = pytest.mark.skipif(os.name != "posix", reason="open files cannot be deleted there")
GOOD, SOON = [0.6, 0.8], 60.0


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Fake(1, 2, threshold=1e9)) as (url, _):
        yield url


def listed(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("there", [(), ("deep",), ("deep/shop",), ("deep/shop/of-others",)])
def test_a_first_start_that_fails_leaves_nothing(there: tuple[str, ...], tmp_path: Path) -> None:
    for name in there:
        (tmp_path / name).mkdir(parents=True)
    before, folder = listed(tmp_path), tmp_path / "deep" / "shop"
    with serving(Fake(1, 2)) as (url, served):
        with pytest.raises(ServiceError, match="401"):
            incfed.Client(url, "wrong", folder)
        with pytest.raises(Unreachable):
            incfed.Client("http://127.0.0.1:1", "token-0", folder)
        served.before = lambda who, method, path: (403, None) if "download" in path else None
        aggregator = served.fake.aggregator
        aggregator.close(*aggregator.decide({}), lambda who: rows(1)[0][:2])  # an epoch to get
        with pytest.raises(ServiceError, match="403"):
            incfed.Client(url, "token-0", folder)
        assert listed(tmp_path) == before
        served.before = lambda *request: None
        incfed.Client(url, "token-0", folder).close()


def test_a_later_start_that_fails_takes_nothing_away(tmp_path: Path) -> None:
    with serving(Fake(1, 2)) as (url, _):
        with incfed.Client(url, "token-0", tmp_path) as client:
            client.learn(GOOD, 1.0)
            client.sync(SOON)
        with serving(Fake(1, 2)) as (other, _), pytest.raises(incfed.InputError, match="only 0"):
            incfed.Client(other, "token-0", tmp_path)
        kinds = sorted(path.name.split("-")[0] for path in tmp_path.iterdir())
        assert kinds == ["journal", "key", "lock", "snapshot"]
        with incfed.Client(url, "token-0", tmp_path) as client:
            assert (client.steps, client.epoch) == (1, 1)


@posix
@pytest.mark.parametrize("again", [False, True], ids=["gone", "made anew"])
def test_a_deleted_folder_is_reported_by_every_call(url: str, tmp_path: Path, again: bool) -> None:
    folder = tmp_path / "shop"
    client = incfed.Client(url, "token-0", folder)
    client.learn(GOOD, 1.0)
    assert client.problem is None
    shutil.rmtree(folder)
    if again:
        folder.mkdir()
    assert isinstance(client.problem, OSError), "before anybody learns or syncs"
    logdet = client._durable.learner.logdet
    for _ in range(2):
        with pytest.raises(OSError, match=r"state was deleted while .*shop"):
            client.learn(GOOD, 1.0)
    assert (client.steps, client.pending) == (1, 1)
    assert client._durable.learner.logdet == logdet
    assert client.choose([GOOD]) == 0
    for _ in range(2):
        with pytest.raises(OSError, match="state was deleted"):
            client.sync(20.0)
    with pytest.raises(OSError, match="state was deleted"):
        client.close()
    assert list(tmp_path.glob("shop/*")) == [], "nothing is put into what may be another's"
    incfed.Client(url, "token-0", folder).close()  # a new life


@posix
@pytest.mark.parametrize("act", ["flush", "rotate_if_large", "rotate", "close"])
def test_nothing_is_done_in_its_folder(act: str, tmp_path: Path) -> None:
    """Not even where a new folder of that name would let it."""
    folder = tmp_path / "shop"
    folder.mkdir()
    one = reopen(folder)
    one.learn(rows(1)[0], 1.0)
    shutil.rmtree(folder)
    folder.mkdir()
    with pytest.raises(OSError, match="state was deleted"):
        getattr(one, act)()
    assert list(folder.iterdir()) == []
    one._journal.close()


@posix
def test_a_file_system_that_counts_no_names_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fstat

    def uncounted(fd: int) -> os.stat_result:
        found = list(real(fd))
        found[3] = 0
        return os.stat_result(found)

    monkeypatch.setattr(os, "fstat", uncounted)
    one = reopen(tmp_path)
    one.learn(rows(1)[0], 1.0)
    assert one.problem is None
    one.close()


def test_a_folder_of_an_earlier_version_is_refused_and_left_as_it_was(
    url: str, tmp_path: Path
) -> None:
    """data/state-0.2.0 was made by a client of version 0.2.0: a round, and one step since."""
    folder = tmp_path / "state"
    shutil.copytree(Path(__file__).parent / "data" / "state-0.2.0", folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    said = "has the format of incfed 0.2.0, which reads it; this version does not"
    with pytest.raises(FormatError) as refused:
        incfed.Client(url, "token-0", folder)
    assert str(refused.value) == f"{folder / 'snapshot'}: {said}"
    done = invoke(tmp_path, "ledger", "verify", "sqlite:///none.db", "--folder", "state")
    assert (done.returncode, said in " ".join(done.stderr.split())) == (2, True), done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_folder_of_a_newer_version_is_refused(url: str, tmp_path: Path) -> None:
    incfed.Client(url, "token-0", tmp_path).close()
    snapshot = (tmp_path / "snapshot").read_bytes()
    (tmp_path / "snapshot").write_bytes(snapshot.replace(b"incfed-client-2", b"incfed-client-3", 1))
    with pytest.raises(FormatError, match="has the format of a newer incfed, which reads it; this"):
        incfed.Client(url, "token-0", tmp_path)
