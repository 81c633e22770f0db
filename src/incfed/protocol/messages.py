"""What clients and the coordinator tell each other; no bytes, no addresses.

A round, in order (everything may be sent twice and is then answered alike):

    client -> coordinator   Open        my trigger fired (or: I join)      -> number of the round
    client -> coordinator   Upload      dV, frozen at that moment; steps; cost
    coordinator -> client   Offer       you take part: so much money, and the others' data
    client -> coordinator   Answer      yes or no
    client -> coordinator   Delivery    db, from those who said yes
    coordinator -> client   Download    what is new since the epoch that you have
"""

from __future__ import annotations

from typing import NamedTuple

from ..kernels.factor import Floats
from .packing import Packed

VERSION = 1  # of these messages; another one is refused


class Upload(NamedTuple):
    """Line 10: what a client has not shared, and what sharing it would cost."""

    round: int
    epoch: int  # of the shared statistics that it has
    steps: int  # how many observations are in dV; 0: it has nothing to share
    cost: float  # D^p; of no account where steps is 0
    dV: Packed


class Offer(NamedTuple):
    """Line 11, to one participant."""

    round: int
    attempt: int  # grows when a round is decided once more
    payment: float  # in money, on top of the data


class Answer(NamedTuple):
    round: int
    attempt: int
    accepted: bool


class Delivery(NamedTuple):
    """Line 12: what a participant adds to b_g. Asked of nobody else."""

    round: int
    db: Floats  # [d]


class Download(NamedTuple):
    """Lines 17-20: the shared statistics of `epoch`, whole or less those of `since`.

    `shared` are the rounds in between in which this client took part, each with what was paid.
    """

    epoch: int
    since: int | None  # None: V and b are whole
    V: Packed
    b: Floats  # [d]
    shared: dict[int, float]
