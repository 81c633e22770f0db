from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import polars
import pytest

from incfed.errors import InputError
from incfed.results import Result, Rounds, load, save, storage
from incfed.support.files import digest
from support.past import copied, refused, sentence
from support.results import bare, round_record, sample, silent

FILES = ["clients.parquet", "result.json", "rounds.parquet", "steps.parquet"]


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("result", [sample(), sample(known=False), silent(), sample(steps=5000)])
def test_what_is_saved_comes_back(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "deep" / "down")
    back = Result.load(tmp_path / "deep" / "down")
    assert back == result
    assert back.regret.tobytes() == result.regret.tobytes()
    assert not back.regret.flags.writeable
    assert not back.rounds.payments.flags.writeable
    assert tree(tmp_path / "deep") == ["down", *(f"down/{name}" for name in FILES)]


def test_the_index_is_strict_json_for_people_too(tmp_path: Path) -> None:
    save(sample(known=False), tmp_path / "a")

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    index = json.loads((tmp_path / "a/result.json").read_text(), parse_constant=refuse)
    assert index["summary"]["regret"] is None
    assert index["summary"]["payment"] == 2.5
    assert index["settings"] == sample().settings


def test_saving_again_replaces(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for result in (sample(), silent()):
        for name in ("a", "empty"):
            save(result, tmp_path / name)
            assert load(tmp_path / name) == result
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "empty"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    save(sample(), tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    save(silent(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "real") == silent()


@pytest.mark.parametrize("with_result", [False, True])
def test_other_peoples_folders_are_left_alone(with_result: bool, tmp_path: Path) -> None:
    mine = tmp_path / "thesis"
    if with_result:
        save(sample(), mine)
    mine.mkdir(exist_ok=True)
    (mine / "chapter.txt").write_text("years of work")
    before = tree(tmp_path)
    with pytest.raises(InputError, match=r"chapter\.txt"):
        save(silent(), mine)
    assert tree(tmp_path) == before


def test_a_foreign_index_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/result.json").write_text("{}")
    with pytest.raises(InputError, match="not a saved result"):
        save(sample(), tmp_path / "a")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        save(sample(), tmp_path / "file")
    with pytest.raises(InputError, match="cannot write"):
        save(sample(), tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "x"


def test_a_failed_write_leaves_the_old_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(sample(), tmp_path / "a")

    def full(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(storage, "digest", full)
    with pytest.raises(OSError, match="disk full"):
        save(silent(), tmp_path / "a")
    monkeypatch.undo()
    assert tree(tmp_path) == ["a", *(f"a/{name}" for name in FILES)]
    assert load(tmp_path / "a") == sample()


def test_a_failed_rename_puts_the_old_result_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(sample(), tmp_path / "a")
    rename = os.rename

    def refuses_new(source: Path, target: Path) -> None:
        if source.name.endswith(".new"):
            raise OSError("no")
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuses_new)
    with pytest.raises(OSError, match="no"):
        save(silent(), tmp_path / "a")
    assert load(tmp_path / "a") == sample()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder not found"):
        load(tmp_path / "nothing")
    with pytest.raises(InputError, match=r"no result\.json"):
        load(tmp_path)
    for text, said in [("{", "cannot be read"), ("[]", "something else"), ("{}", "something")]:
        (tmp_path / "result.json").write_text(text)
        with pytest.raises(InputError, match=said):
            load(tmp_path)


@pytest.mark.parametrize("name", ["steps.parquet", "rounds.parquet", "clients.parquet"])
def test_damage_is_noticed(name: str, tmp_path: Path) -> None:
    save(sample(), tmp_path / "a")
    file = tmp_path / "a" / name
    whole = file.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    for damaged in (b"", whole[:middle], flipped):
        file.write_bytes(damaged)
        with pytest.raises(InputError, match=f"corrupt: {name}"):
            load(tmp_path / "a")
    file.unlink()
    with pytest.raises(InputError, match=f"{name} is missing"):
        load(tmp_path / "a")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 99}, r"result\.json: has the format of a newer incfed, which reads it"),
        ({"settings": None}, "lacks a part"),
        ({"format": "other"}, "something else"),
    ],
)
def test_an_index_of_another_kind(change: dict[str, object], said: str, tmp_path: Path) -> None:
    save(sample(), tmp_path / "a")
    file = tmp_path / "a/result.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(InputError, match=said):
        load(tmp_path / "a")


def test_results_of_earlier_versions_are_refused_and_left_alone(tmp_path: Path) -> None:
    folder = copied("results/data/result-0.2.0", tmp_path / "kept")
    said = sentence(folder / "result.json")
    with refused(folder, said):
        load(folder)
    with refused(folder, said):
        save(sample(), folder)


@pytest.mark.parametrize(
    "frame",
    [
        polars.DataFrame({"step": [0]}),
        sample().to_polars().with_columns(regret=polars.lit("x")),
        sample(steps=3001).to_polars().head(4),
    ],
)
def test_well_formed_files_with_the_wrong_content(frame: polars.DataFrame, tmp_path: Path) -> None:
    save(sample(), tmp_path / "a")
    file = tmp_path / "a/steps.parquet"
    frame.write_parquet(file)
    index = json.loads((tmp_path / "a/result.json").read_text())
    index["sha256"]["steps.parquet"] = digest(file)
    (tmp_path / "a/result.json").write_text(json.dumps(index))
    with pytest.raises(InputError, match="corrupt"):
        load(tmp_path / "a")


def test_many_rounds_keep_their_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    records = []
    for step in range(400):
        ids = np.flatnonzero(rng.random(30) < rng.choice([0.0, 0.3, 1.0]))
        paid = rng.exponential(size=ids.size)
        records.append(round_record(step, 1, 30, 0, 7.0, rng.random(), ids, paid))
    curve = np.full(400, 0.1).cumsum()
    result = bare(curve, Rounds.collect(records))
    result.save(tmp_path / "a")
    assert list(load(tmp_path / "a").rounds) == records
