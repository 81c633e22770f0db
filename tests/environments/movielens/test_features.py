"""Features of movies against the formulas written out: dense TF-IDF, and numpy's SVD."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

import incfed
from incfed.environments.movielens.features import learn_features
from incfed.support.extras import install
from incfed.types import Floats
from support.movielens import Sample, real


def tf_idf(texts: list[str]) -> Floats:
    """count x (ln((1 + n) / (1 + df)) + 1), rows of length 1; words have two letters or more."""
    split = [
        [word for word in re.findall(r"\b\w\w+\b", text.lower()) if word not in ENGLISH_STOP_WORDS]
        for text in texts
    ]
    vocabulary = sorted({word for words in split for word in words})
    table = np.array([[words.count(word) for word in vocabulary] for words in split], float)
    for column in table.T:
        column *= math.log((1 + len(texts)) / (1 + np.count_nonzero(column))) + 1
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    return np.asarray(table / np.where(lengths > 0, lengths, 1))


def by_hand(texts: list[str], dim: int) -> Floats:
    left, sizes, _ = np.linalg.svd(tf_idf(texts), full_matrices=False)
    columns: Floats = left[:, :dim] * sizes[:dim]
    columns -= columns.mean(axis=0)
    columns /= np.sqrt((columns**2).mean(axis=0))
    return columns


def same_up_to_signs(one: Floats, other: Floats) -> None:
    signs = np.sign((one * other).sum(axis=0))
    np.testing.assert_allclose(one, other * signs, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_the_formulas_written_out(seed: int) -> None:
    sample = Sample(seed)
    texts = [f"{title} {' '.join(genres)}" for _, title, genres in sample.movies]
    texts[3] = ""  # a movie that nothing is known of
    for dim in (1, 4, 9):
        found = learn_features(texts, dim)
        same_up_to_signs(found, by_hand(texts, dim))
        np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(found.std(axis=0), 1)
        assert found.flags.c_contiguous


def test_pencil_and_paper() -> None:
    """df: robot 2 of 3, war 1, sad 1. idf: ln(4/3) + 1 = 1.287682, ln 2 + 1 = 1.693147.

    Rows (robot, sad, war): (1, 0, 0), (0, 1, 0), and robot robot war = (2.575364, 0, 1.693147) of
    length 3.082062 = (.835598, 0, .549355). The first two singular values: of the two rows with
    robot, sqrt(1 + .835598) with left vector (1, 0, 1) / sqrt 2; that of sad, 1 with (0, 1, 0).
    """
    found = learn_features(["the robot", "sad", "robot and Robot, war!"], 2)
    low, high = -math.sqrt(2), 1 / math.sqrt(2)  # of (c, 0, c): mean 2c/3, sd c sqrt(2)/3
    np.testing.assert_allclose(found[:, 0], [high, low, high])
    np.testing.assert_allclose(found[:, 1], [-high, -low, -high])


def test_the_same_whatever_the_order_of_words_and_the_time_of_day() -> None:
    texts = [" ".join(genres) + " " + title for _, title, genres in Sample(1).movies]
    backwards = [" ".join(reversed(text.split())) for text in texts]
    first = learn_features(texts, 5)
    np.random.default_rng().standard_normal(3)
    np.testing.assert_array_equal(first, learn_features(texts, 5))
    np.testing.assert_allclose(first, learn_features(backwards, 5), atol=1e-9)


@pytest.mark.parametrize(
    ("texts", "dim", "message"),
    [
        (["war robot", "sad war", "robot"], 3, "dim: got 3, must be at most 2: there are 3 movies"),
        (["war sad", "sad", "war war"] * 9, 2, "dim: got 2, must be at most 1: .* 2 words"),
        (["war sad twist"] * 5, 2, "dim: got 2, must be at most 1: the words of these"),
        (["war sad twist"] * 5, 1, "dim: got 1, must be fewer: in one of them all movies"),
        (["the", "", "a I"], 1, "movies: got 'no words in tags and genres'"),
    ],
)
def test_too_few_words(texts: list[str], dim: int, message: str) -> None:
    with pytest.raises(incfed.InputError, match=message):
        learn_features(texts, dim)


def test_without_scikit_learn_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    folder = Sample().write(tmp_path / "ml")
    with pytest.raises(ModuleNotFoundError, match=re.escape(install("movielens"))):
        incfed.MovieLens(folder, min_events=3, dim=3, arms=3)


def test_real_words_sparse_and_dense() -> None:
    """1,000 movies of the real data: the sparse way and the dense one."""
    from incfed.environments.movielens.release import recognise
    from incfed.environments.movielens.texts import read_movies

    texts = read_movies(recognise(real("movielens-heavy-54"))).texts[:1000]
    same_up_to_signs(learn_features(texts, 25), by_hand(texts, 25))
