"""The messages between clients and the coordinator, independent of any transport.

The messages of a round, in order (all can be repeated, with the same result):

    client -> coordinator   Signal      between rounds, if the server decides when one opens
    client -> coordinator   Open        open or join a round               -> number of the round
    client -> coordinator   Upload      dV, fixed at that moment; steps; cost
    coordinator -> client   Offer       the payment to this participant
    client -> coordinator   Answer      accept or decline
    client -> coordinator   Delivery    db, from participants that accepted
    coordinator -> client   Download    the changes since the client's epoch
"""

from __future__ import annotations

from typing import NamedTuple

from ..rules.rounds import DIGITS
from ..types import Floats
from .packing import Packed

VERSION = 1  # of these messages; other versions are refused


class Signal(NamedTuple):
    """Between rounds, for triggers that the server decides: what a client has not shared yet.

    Figures are sums, so that a signal that is lost or repeated does no harm; of rows that do not
    continue what the coordinator has, it says so, and gets dV instead.
    """

    epoch: int
    learned: int  # steps ever
    steps: int  # not shared yet
    growth: float  # log det V_i - log det V_g(epoch)
    cost: float  # D^p, if it shared now
    rows: Floats | None = None  # [k, d] if rows are streamed: x of the last k steps,
    dV: Packed | None = None  # or all that is not shared yet
    signature: str | None = None  # of the upload that it may become (protocol/statements.py)


class Upload(NamedTuple):
    """Line 10: the pending data of a client, and what sharing it would cost."""

    round: int
    epoch: int  # version of the shared statistics that the client has
    steps: int  # number of observations in dV; 0: no pending data
    cost: float  # D^p; 0 if steps is 0
    dV: Packed
    signature: str | None = None  # of its statement (protocol/statements.py)


class Offer(NamedTuple):
    """Line 11, to one participant."""

    round: int
    attempt: int  # increases when a round is decided again
    payment: float  # money, in addition to the data


class Answer(NamedTuple):
    round: int
    attempt: int
    accepted: bool
    upload: str | None = None  # the digest of the upload that it belongs to; None: not known
    signature: str | None = None


class Delivery(NamedTuple):
    """Line 12: what a participant adds to b_g. Only participants send it."""

    round: int
    db: Floats  # [d], or its coordinates in the factor that was uploaded,
    basis: int | None = None  # which has this checksum
    # trust "auto": squared errors of each model, summed over that data, and the number of events
    scores: Floats | None = None  # [G + 1]
    upload: str | None = None  # the digest of the upload that it belongs to; None: not known
    signature: str | None = None


class Download(NamedTuple):
    """Lines 17-20: the shared statistics of `epoch`, in full or as the difference to `since`.

    `shared` has the rounds in between in which this client took part, with the payment of each.
    Its own data of the rounds `without` is left out of a difference, because it has that. What it
    shared up to the round `withdrawn` was taken out of the statistics.
    """

    epoch: int
    since: int | None  # None: V and b are complete
    V: Packed
    b: Floats  # [d]
    shared: dict[int, float]
    without: tuple[int, ...] = ()
    # trust "auto": the mean score of all that was shared, and the mean squared norm of its arms
    scores: Floats | None = None  # [G + 1]
    money_digits: int = DIGITS  # of the payments
    withdrawn: int = 0
    history: str = ""  # the epoch with a hash of all that led to it; empty: not known
