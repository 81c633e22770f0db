"""MovieLens in a config: found beside it, run, and run again only if the data changed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import incfed
from incfed.experiments import read, run
from incfed.experiments.engine import Local
from incfed.support.extras import install
from support.movielens import Sample

TOML = """
[run]
seeds = 2

[world]
kind = "MovieLens"
folder = "data/ml"
min_events = 8
dim = 3
arms = 3

[[algorithm]]
kind = "IncFedUCB"
mechanism = "PayEveryone"
threshold = "high"
exploration = 0.3
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Sample().write(tmp_path / "data" / "ml")
    (tmp_path / "ml.toml").write_text(TOML)
    return tmp_path / "ml.toml"


def test_run_and_kept_by_content(config: Path) -> None:
    experiment = read(config)
    assert isinstance(experiment.world, incfed.MovieLens)
    assert experiment.steps == experiment.world.length  # all of it, if not said otherwise
    outcome = run(experiment, executor=Local(2))
    assert outcome.complete, outcome.failures
    [results] = outcome.runs.values()
    direct = incfed.simulate(experiment.world, *experiment.algorithms.values(), seed=1)
    assert results[1].reward.tolist() == direct.reward.tolist()
    assert run(read(config), executor=Local(1)).kept == 2
    ratings = config.parent / "data" / "ml" / "ratings.csv"
    ratings.write_bytes(ratings.read_bytes().replace(b",5.0,", b",4.0,", 1))
    assert run(read(config), executor=Local(1)).kept == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"data/ml"', '"data"', "ml.toml: world.folder: got .*did you mean '.*data/ml'"),
        ("min_events = 8", "min_events = 800", "ml.toml: world.min_events: got 800, must be below"),
        ("min_events", "least", "world.least: got 8, but there is no such setting"),
        ("[run]", "[run]\nsteps = 9999", "run.steps: got 9999, must be at most"),
    ],
)
def test_mistakes_are_named_by_their_place(config: Path, old: str, new: str, message: str) -> None:
    config.write_text(config.read_text().replace(old, new, 1))
    with pytest.raises(incfed.InputError, match=message):
        read(config)


def test_without_scikit_learn(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(incfed.InputError, match=re.escape(install("movielens"))):
        read(config)
