"""How many scalars messages have: as the paper counts them, and packed.

A symmetric matrix of rank r is sent as a triangular factor with r rows, or as its upper triangle
if r >= d; a vector b that belongs to it, as its r coordinates in that factor.
"""

from __future__ import annotations

import numpy as np

from ..rules.privacy import Privacy
from ..types import Floats, Ints


def communication(
    count: int, dim: int, participants: int, *, matrices: bool = True, models: int | None = None,
    scores: int = 0,
) -> float:  # fmt: skip
    """Scalars of a round: all dV up, participants' db up, V_g and b_g down (docs/paper.md, reading
    11).

    matrices: whether dV is sent; not if the server knows the rows already. models: how many clients
    download, None: all. scores: scalars that go with every b (trust "auto").
    """
    up = count * dim**2 * matrices + participants * (dim + scores)
    return float(up + (count if models is None else models) * (dim**2 + dim + scores))


def round_communication(
    count: int, idle: int, sharing: int, dim: int, *, streams: str | None, everyone: bool,
    scores: int = 0,
) -> float:  # fmt: skip
    """Scalars of a round with `count` clients, with what the protocol saves.

    idle: clients without pending data, which count as participants. streams: what clients send
    between rounds. everyone: whether all download; otherwise a download is counted when it is sent.
    """
    models, participants = count if everyone else 0, idle + sharing
    if streams and not sharing:  # nothing is new
        models = participants = 0
    return communication(
        count, dim, participants, matrices=streams != "rows", models=models, scores=scores
    )


def packed_matrix(rank: Ints, dim: int) -> Ints:
    """Scalars of symmetric matrices of these ranks."""
    rank = np.minimum(rank, dim)
    return np.asarray(rank * dim - rank * (rank - 1) // 2)


def packed_vector(rank: Ints, dim: int) -> Ints:
    """Scalars of the vectors that belong to them."""
    return np.minimum(rank, dim)


def packed_model(rank: Ints, dim: int) -> Floats:
    """Scalars of both."""
    return (packed_matrix(rank, dim) + packed_vector(rank, dim)).astype(np.float64)


def packed_ranks(steps: Ints, dim: int, privacy: Privacy | None) -> Ints:
    """The ranks of sums over so many steps, as they are packed: noise goes in every direction."""
    return steps if privacy is None else np.where(steps > 0, dim, 0)
