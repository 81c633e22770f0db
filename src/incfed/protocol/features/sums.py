"""Uploads as the sums that they are, for features that change them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...kernels.pending import Pending
from ...kernels.store import BASE
from ...types import Floats, Ints
from ..open_round import OpenRound, Uploads

if TYPE_CHECKING:
    from ..synchronous import SynchronousRun


def uploaded_sums(uploads: Uploads) -> tuple[list[Floats], Floats]:
    """dV and db of each upload."""
    assert uploads.db is not None
    return [uploads.pending.matrix(j) for j in range(len(uploads.clients))], uploads.db


def with_sums(
    run: SynchronousRun, opened: OpenRound, V: Sequence[Floats], b: Sequence[Floats], steps: Ints
) -> OpenRound:
    """The round with these uploads of the same clients, of so many steps each."""
    d, uploads = run.dim, opened.uploads
    grams = np.array(V).reshape(-1, d, d)
    known = run.store.blocks[run.store.table[uploads.clients, BASE], 1] + grams
    logdets = np.linalg.slogdet(known + run.rules.ridge * np.eye(d))[1]
    return opened.of(
        uploads._replace(
            steps=steps,
            logdets=np.asarray(logdets),
            pending=Pending.of_matrices(grams),
            db=np.array(b).reshape(-1, d),
        )
    )
