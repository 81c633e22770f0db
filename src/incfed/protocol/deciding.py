"""How a round of real clients is decided, and decided again when somebody fails; without I/O.

The coordinator decides with this, and an audit recomputes with it. In the simulator everybody
always delivers and knows the present V_g; here some may lag (V_i = dV_i + an older V_g), decline,
or fail to deliver, and money may end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..kernels.coalition import log_gains
from ..kernels.factor import Floats
from ..mechanisms.base import Decision, Mechanism, Round
from ..mechanisms.payment_free import PaymentFree
from .messages import Upload
from .packing import gather
from .server import Closed, Server, Uploads, communication
from .shared import Shared

ROUNDING = 1e-9  # of the budget: far above what processors round differently


class Verdict(NamedTuple):
    """Who takes part, and for how much; `data_only`: the budget's end kept money out of it."""

    payments: dict[int, float]  # by client, ascending
    data_only: bool

    @property
    def total(self) -> float:
        return math.fsum(self.payments.values())


class Table(NamedTuple):
    """All that a decision depends on."""

    uploads: Mapping[int, Upload]  # by client: all that uploaded and may take part, idle ones too
    others: int  # who uploaded and may not: barred, or failed in this round
    shared: Callable[[int], Shared]  # the statistics of an epoch
    epoch: int  # the present one
    trigger: int  # who opened the round
    rounds: int  # closed ones before
    spent: float
    budget: float  # infinite: no end
    mechanism: Mechanism
    dim: int
    ridge: float

    @property
    def active(self) -> list[int]:
        """Who has something to share, ascending."""
        return sorted(client for client, one in self.uploads.items() if one.steps)

    def affords(self, verdict: Verdict) -> bool:
        """Is there money for it? Not a rounding error more than the budget is ever spent; what
        costs nothing is affordable even if the budget was lowered below what is spent."""
        return not verdict.total or self.spent + verdict.total <= self.budget

    def afforded(self, verdict: Verdict, kept: Mapping[int, float]) -> Verdict | None:
        """The verdict, if there is money for it; never below `kept`, what was offered before.

        Where rounding alone makes it too dear, it is cut down to what is left: another processor
        rounds otherwise, and must not decide otherwise."""
        payments = dict(verdict.payments)
        for client, paid in payments.items():
            total = math.fsum(payments.values())
            excess = min(self.spent + total - self.budget, total)
            if not 0.0 < excess <= ROUNDING * (1.0 + self.budget):
                break
            payments[client] = max(kept.get(client, 0.0), paid - excess - math.ulp(self.budget))
        fitted = Verdict(payments, verdict.data_only)
        return fitted if self.affords(fitted) else None

    def without(self, failed: Sequence[int]) -> Table:
        """The same without those who failed."""
        left = {client: one for client, one in self.uploads.items() if client not in failed}
        return self._replace(uploads=left, others=self.others + len(self.uploads) - len(left))


def decide(table: Table) -> Verdict:
    """Line 11; where the mechanism's payments exceed what is left, data is the only payment."""
    _, round, decision = _judge(table, table.mechanism)
    verdict = table.afforded(_verdict(round, decision, False), {})
    if verdict is not None:
        return verdict
    _, round, decision = _judge(table, PaymentFree())
    return _verdict(round, decision, True)


def decide_again(table: Table, kept: Mapping[int, float], *, add: bool) -> Verdict:
    """Keep who delivered (`kept`: what each was offered), and (`add`) only add to them.

    Each is paid the larger of what it was offered and what it is now owed. Where there is not
    enough money for that, even if nobody else is paid, each is paid what it was offered, which was
    set aside for it.
    """
    mechanisms = (table.mechanism, PaymentFree()) if add else (None,)
    for data_only, mechanism in enumerate(mechanisms):
        _, round, decision = _judge(table, mechanism or PaymentFree())
        held = np.isin(round.clients, list(kept))
        S = held | decision.participants if mechanism else held
        owed = round.settle(S).payments
        if data_only:  # who is added comes for data alone
            owed[~held] = 0.0
        payments = {
            client: max(float(owed[place]), kept.get(client, 0.0))
            for place, client in enumerate(round.clients.tolist())
            if S[place]
        }
        verdict = table.afforded(Verdict(payments, bool(data_only)), kept)
        if verdict is not None:
            return verdict
    return Verdict({client: kept.get(client, 0.0) for client in payments}, True)


def close(table: Table, verdict: Verdict, db: Sequence[Floats]) -> tuple[Shared, Closed]:
    """Lines 12-14: the new statistics (db: the participants', in order of id), and the account."""
    server, round, _ = _judge(table, PaymentFree())
    members = np.isin(round.clients, list(verdict.payments))
    payments = np.zeros(len(round))
    payments[members] = list(verdict.payments.values())
    closed = server.close(round, Decision(members, payments), np.array(db).reshape(-1, table.dim))
    everyone = len(table.uploads) + table.others
    scalars = communication(everyone, table.dim, closed.idle + len(closed.participants))
    return server.shared, closed._replace(communication=scalars)


def _judge(table: Table, mechanism: Mechanism) -> tuple[Server, Round, Decision]:
    """The server as the simulator has it, set up for this one round."""
    clients = table.active
    sent = [table.uploads[client] for client in clients]
    costs = np.zeros(max(clients, default=-1) + 1)
    costs[clients] = [one.cost for one in sent]
    server = Server(
        count=len(table.uploads),
        dim=table.dim,
        mechanism=mechanism,
        costs=costs,
        ridge=table.ridge,
        shared=table.shared(table.epoch),
        rounds=table.rounds,
        spent=table.spent,
        budget_left=max(0.0, table.budget - table.spent),
    )
    epochs = np.array([one.epoch for one in sent], np.int64)
    pending = gather([one.dV for one in sent], table.dim)
    logdets, gains = np.empty(len(sent)), np.empty(len(sent))
    for epoch in np.unique(epochs).tolist():  # log det(V_g(epoch_i) + dV_i)
        old, among = table.shared(epoch), epochs == epoch
        log_gains(old.V, old.factor, old.logdet, table.ridge, pending, among, gains)
        logdets[among] = old.logdet + gains[among]
    uploads = Uploads(
        np.array(clients, np.int64), logdets, pending, bool((epochs != table.epoch).any())
    )
    return server, *server.decide(uploads, step=0, trigger=table.trigger)


def _verdict(round: Round, decision: Decision, data_only: bool) -> Verdict:
    members = decision.participants
    pairs = zip(round.clients[members].tolist(), decision.payments[members].tolist(), strict=True)
    return Verdict(dict(pairs), data_only)
