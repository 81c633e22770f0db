"""`incfed data movielens`: from a server on this machine, to a whole folder or to nothing."""

from __future__ import annotations

import gc
import hashlib
import io
import os
import signal
import stat
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import incfed
from incfed.environments.movielens.download import LICENCE, obtain, unpack
from support.movielens import Sample
from support.movielens_server import NAME, Server, archive, running


@pytest.fixture
def server() -> Iterator[Server]:
    with running() as server:
        yield server


@pytest.fixture
def packed(tmp_path: Path) -> bytes:
    return archive(Sample().write(tmp_path / "source"))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_fetched_checked_unpacked(tmp_path: Path, server: Server, packed: bytes) -> None:
    server.offer(packed)
    seen: list[tuple[int, int | None]] = []
    where = obtain(
        NAME,
        tmp_path / "new" / "data",
        address=server.address + "/",
        progress=lambda done, total: seen.append((done, total)),
    )
    assert where == tmp_path / "new" / "data" / NAME
    assert contents(where) == {**contents(tmp_path / "source"), "README.txt": b"terms"}
    assert [path.name for path in where.parent.iterdir()] == [NAME]
    assert seen[-1] == (len(packed), len(packed))
    said: list[str] = []
    assert obtain(NAME, where.parent, address=server.address, say=said.append) == where
    assert said == [f"{where} already exists"]
    assert len(server.asked) == 2


def test_an_archive_at_hand_is_used(tmp_path: Path, server: Server, packed: bytes) -> None:
    (tmp_path / f"{NAME}.zip").write_bytes(packed)
    said: list[str] = []
    obtain(NAME, tmp_path, address=server.address, say=said.append)
    assert server.asked == []
    assert "not verified" in said[-1]
    assert (tmp_path / f"{NAME}.zip").read_bytes() == packed
    (tmp_path / NAME).rename(tmp_path / "before")
    sums = tmp_path / f"{NAME}.zip.md5"
    sums.write_text("0" * 32)
    with pytest.raises(incfed.InputError, match=f"its MD5 is .*, must be {'0' * 32}"):
        obtain(NAME, tmp_path, address=server.address)
    sums.write_text(hashlib.md5(packed).hexdigest().upper() + "  x.zip")
    obtain(NAME, tmp_path, address=server.address)
    assert contents(tmp_path / NAME) == contents(tmp_path / "before")


def wrong_sum(server: Server, packed: bytes) -> None:
    server.offer(packed, md5="ab" * 16)


def no_sum(server: Server, packed: bytes) -> None:
    server.offer(packed)
    server.files[f"/datasets/{NAME}.zip.md5"] = b"<html>come back later</html>"


def cut_short(server: Server, packed: bytes) -> None:
    server.offer(packed)
    server.cut = 100


def not_there(server: Server, packed: bytes) -> None:
    server.offer(packed)
    del server.files[f"/datasets/{NAME}.zip"]


def no_zip(server: Server, packed: bytes) -> None:
    server.offer(b"PK, so to speak")


def half_a_zip(server: Server, packed: bytes) -> None:
    server.offer(packed[: len(packed) // 2])


def flipped(server: Server, packed: bytes) -> None:
    place = packed.index(b"ratings.csv") + 500
    server.offer(packed[:place] + bytes([packed[place] ^ 255]) + packed[place + 1 :])


def other_release(server: Server, packed: bytes) -> None:
    server.offer(packed.replace(NAME.encode(), b"ml-latest-SMALL"))


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        (wrong_sum, f"{NAME}.zip arrived damaged: .* checksum md5:abab"),
        (no_sum, "holds no MD5 checksum: got '<html>come back later"),
        (cut_short, r"broke off \(.*[\d,]+ more expected.*\n(.|\n)*put both into"),
        (not_there, "answered 404 Not Found\n(.|\n)*put both into"),
        (no_zip, "is not a whole zip archive"),
        (half_a_zip, "is not a whole zip archive"),
        (flipped, "is not a whole zip archive"),
        (other_release, f"does not hold a whole {NAME}"),
    ],
)
def test_nothing_is_left_of_what_fails(
    tmp_path: Path,
    server: Server,
    packed: bytes,
    trouble: Callable[[Server, bytes], None],
    message: str,
) -> None:
    trouble(server, packed)
    for folder in (tmp_path / "new", tmp_path):
        before = sorted(tmp_path.iterdir())
        with pytest.raises(incfed.InputError, match=message):
            obtain(NAME, folder, address=server.address)
        assert sorted(tmp_path.iterdir()) == before
    gc.collect()  # warns, which is an error, of a connection that is still open


def link(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name)
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    return member


@pytest.mark.parametrize(
    "name",
    ["../evil", f"{NAME}/../../evil", "{root}/evil", "C:/evil", "..\\evil", link(f"{NAME}/evil")],
    ids=str,
)
def test_hostile_archives(
    tmp_path: Path, server: Server, packed: bytes, name: str | zipfile.ZipInfo
) -> None:
    made = io.BytesIO(packed)
    with zipfile.ZipFile(made, "a") as more:
        absolute = name.format(root=tmp_path) if isinstance(name, str) else name
        more.writestr(absolute, "/etc/passwd")
    server.offer(made.getvalue())
    folder = tmp_path / "deep" / "data"
    folder.mkdir(parents=True)
    with pytest.raises(incfed.InputError, match="is not unpacked: "):
        obtain(NAME, folder, address=server.address)
    assert list(folder.iterdir()) == []
    assert not list(tmp_path.rglob("*evil*"))


def test_archives_that_would_fill_the_disk(tmp_path: Path) -> None:
    bomb, twice = tmp_path / "bomb.zip", tmp_path / "twice.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a/zeros", b"\0" * 1_000_001)
    with pytest.raises(incfed.InputError, match="it has 1 file of 1,000,001 bytes in all"):
        unpack(bomb, tmp_path / "out", most_bytes=1_000_000)
    with zipfile.ZipFile(twice, "w") as made:
        made.writestr("a/ratings.csv", "1")
        made.writestr("a/RATINGS.csv", "2")
    with pytest.raises(incfed.InputError, match="appears twice"):
        unpack(twice, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_in_the_way_is_not_touched(tmp_path: Path, server: Server, packed: bytes) -> None:
    server.offer(packed)
    (tmp_path / NAME).mkdir()
    (tmp_path / NAME / "mine.txt").write_text("dear")
    with pytest.raises(incfed.InputError, match="an unpacked MovieLens release"):
        obtain(NAME, tmp_path, address=server.address)
    with pytest.raises(incfed.InputError, match="cannot write to"):
        obtain(NAME, tmp_path / NAME / "mine.txt" / "x", address=server.address)
    assert contents(tmp_path / NAME) == {"mine.txt": b"dear"}
    for wrong in ("file:///etc", "ftp://x", "http://[x", "http://x:y"):
        with pytest.raises(incfed.InputError, match=r"address: got|cannot reach"):
            obtain(NAME, tmp_path / "new", address=wrong)
    with pytest.raises(incfed.InputError, match="release: got 'ml-2', must be one of 'ml-20m', "):
        obtain("ml-2", tmp_path)


def command(folder: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "incfed.cli", "data", "movielens", NAME, *more],
        cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_the_command(tmp_path: Path, server: Server, packed: bytes) -> None:
    server.offer(packed)
    run = command(tmp_path, "--from", server.address, "--folder", "data")
    out, err = run.communicate(timeout=60)
    assert run.returncode == 0, err
    assert out == f"data/{NAME} is ready: incfed.MovieLens('data/{NAME}')\n"
    assert LICENCE in err.replace("\n", " ")
    assert incfed.MovieLens(tmp_path / "data" / NAME, min_events=8, dim=3, arms=3).count > 1


def test_without_a_network(tmp_path: Path) -> None:
    run = command(tmp_path, "--from", "http://127.0.0.1:9/x", "--folder", "da ta")
    out, err = run.communicate(timeout=60)
    assert (run.returncode, out) == (2, "")
    assert "Traceback" not in err
    assert err.startswith(f"error: cannot reach http://127.0.0.1:9/x/{NAME}.zip.md5 (")
    for words in (
        f"download  http://127.0.0.1:9/x/{NAME}.zip\n",
        f"put both into  {tmp_path}/da ta\n",
        f"incfed data movielens {NAME} --folder 'da ta'\n",
    ):
        assert words in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_nothing(
    tmp_path: Path, server: Server, packed: bytes, sent: signal.Signals
) -> None:
    server.offer(packed)
    server.files[f"/datasets/{NAME}.zip"] = packed * 2000  # of which it sends a half, and waits
    server.wait.clear()
    folder = tmp_path / "empty"
    folder.mkdir()
    run = command(folder, "--from", server.address, "--folder", "new/data")
    limit = time.monotonic() + 60
    while not server.half_sent.is_set():
        assert time.monotonic() < limit
        assert run.poll() is None
        time.sleep(0.005)
    os.kill(run.pid, sent)
    out, err = run.communicate(timeout=60)
    assert (run.returncode, out, err) == (130, "", "error: stopped\n")
    assert list(folder.iterdir()) == []
