"""Features of movies from their words: TF-IDF, truncated SVD, columns of mean 0, variance 1."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import numpy as np

from ... import errors
from ...support import inputs
from ...support.extras import install
from ...types import Floats

NEGLIGIBLE = 1e-6  # times the largest singular value: smaller dimensions are rounding errors


def learn_features(texts: list[str], dim: int) -> Floats:
    """Features [movies, dim] from one text per movie; the same texts give the same numbers.

    The matrix of words stays sparse: only products with single vectors are computed.
    """
    try:
        from scipy.sparse.linalg import svds
        from sklearn.feature_extraction.text import TfidfVectorizer
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError as error:
        raise _missing(error) from error
    try:
        words = TfidfVectorizer(stop_words="english").fit_transform(texts)
    except ValueError:  # "empty vocabulary"
        raise errors.refuse("movies", "no words in tags and genres", "described by some") from None
    widest = min(words.shape) - 1
    if dim > widest:
        counts = map(inputs.counted, words.shape, ("movie", "word"))
        allowed = f"at most {widest}: there are {' and '.join(counts)}"
        raise errors.refuse("dim", dim, allowed)
    # A fixed start and one thread, so that sums have a fixed order.
    begin = np.random.default_rng(0).standard_normal(min(words.shape))
    with threadpool_limits(1):
        left, sizes, _ = svds(words, k=dim, v0=begin, solver="arpack")
    largest_first = np.argsort(-sizes)
    sizes, left = sizes[largest_first], left[:, largest_first]
    rank = int((sizes > NEGLIGIBLE * sizes[0]).sum())
    if rank < dim:
        allowed = f"at most {rank}: the words of these movies have no more dimensions"
        raise errors.refuse("dim", dim, allowed)
    columns = left * sizes
    # The sign is arbitrary: make the largest entry positive.
    largest = np.abs(columns).argmax(axis=0)
    columns *= np.sign(columns[largest, np.arange(dim)])
    spread = columns.std(axis=0)
    if not (spread > NEGLIGIBLE * sizes[0] / np.sqrt(len(texts))).all():
        raise errors.refuse("dim", dim, "fewer: in one of them all movies are the same")
    return np.ascontiguousarray((columns - columns.mean(axis=0)) / spread)


def learned_by() -> str:
    """The version of scikit-learn: another one may split or weigh words differently."""
    try:
        return f"scikit-learn {version('scikit-learn')}"
    except PackageNotFoundError as error:
        raise _missing(error) from error


def _missing(error: Exception) -> ModuleNotFoundError:
    return ModuleNotFoundError(
        f"MovieLens needs scikit-learn ({error}); install it with: {install('movielens')}",
        name="sklearn",
    )
