"""A client whose folder is deleted while it is open: it says so at once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import incfed
from support.client_state import reopen, rows
from support.fake_coordinator import Fake
from support.fake_server import serving

pytestmark = pytest.mark.skipif(os.name != "posix", reason="open files cannot be deleted there")
GOOD = [0.6, 0.8]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Fake(1, 2, threshold=1e9)) as (url, _):
        yield url


@pytest.mark.parametrize("again", [False, True], ids=["gone", "made anew"])
def test_everything_says_so(url: str, tmp_path: Path, again: bool) -> None:
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


@pytest.mark.parametrize("act", ["flush", "rotate_if_large", "rotate", "close"])
def test_nothing_is_done_on_its_ground(act: str, tmp_path: Path) -> None:
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
