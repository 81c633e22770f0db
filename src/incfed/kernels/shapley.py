"""Sums of what each client adds to log det V_g in random orders, for Shapley values."""

from __future__ import annotations

from ..types import Floats, Ints, Mask
from .compiling import compiled
from .factor import copy_square
from .pending import Pending, absorb


@compiled
def add_marginals(
    V: Floats,
    U: Floats,
    logdet: float,
    ridge: float,
    pending: Pending,
    members: Mask,
    orders: Ints,
    sums: Floats,
    squares: Floats,
) -> None:
    """In every order, the members join one after the other: sums[j] += what j adds, and squares[j]
    its square."""
    grown, factor = pending.squares[2], pending.squares[3]
    for sample in range(orders.shape[0]):
        copy_square(V, grown)
        copy_square(U, factor)
        value = logdet
        for place in range(orders.shape[1]):
            j = orders[sample, place]
            if members[j]:
                after = absorb(grown, factor, value, ridge, pending, j)
                gain = max(0.0, after - value)  # below 0 by rounding only
                sums[j] += gain
                squares[j] += gain * gain
                value = after
