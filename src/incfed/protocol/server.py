"""The server's half of Algorithm 1 (lines 10-19), without I/O: uploads in, a closed round out."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..kernels import coalition
from ..kernels.pending import Pending
from ..mechanisms.base import Decision, Mechanism, MechanismError, Round, malformed
from ..types import Floats, Ints, Mask
from .global_statistics import GlobalStatistics
from .money import exact_sum
from .traffic import communication


class Uploads(NamedTuple):
    """Line 10: what the clients with pending data send when a round opens."""

    clients: Ints  # [n] ascending
    logdets: Floats  # [n] log det V_i
    pending: Pending  # dV_i
    lagging: bool = False  # whether some client has an older V_g than the current one

    def only(self, members: Mask) -> Uploads:
        """Those of some of the clients."""
        return self._replace(
            clients=self.clients[members],
            logdets=self.logdets[members],
            pending=self.pending.only(members),
        )


class Closed(NamedTuple):
    """The outcome of a round."""

    participants: Ints  # ids of the clients with pending data that shared
    payments: Floats  # the payment of each
    idle: int  # clients without pending data, which count as participants
    communication: float  # scalars
    ratio: float  # det V_g(S) / det V_g(everyone)
    gap: float = 0.0  # see `Decision`
    costs: Floats | None = None  # what sharing truly cost each participant, where that is known
    asked: Floats | None = None  # what each had reported


class Server:
    """Holds (V_g, b_g), calls the mechanism, and adds the participants' data."""

    def __init__(
        self,
        *,
        count: int,
        dim: int,
        mechanism: Mechanism,
        costs: Floats,
        ridge: float,
        shared: GlobalStatistics | None = None,
        rounds: int = 0,
        spent: float = 0.0,
        budget: float = math.inf,
        money_digits: int | None = None,
    ) -> None:
        self.shared = GlobalStatistics.empty(dim, ridge) if shared is None else shared
        self.rounds = rounds
        self.spent = spent
        self.budget = budget
        self.money_digits = money_digits  # of payments; None: they are not rounded
        self.count = count
        self._dim = dim
        self.mechanism = mechanism
        self.costs = costs  # reported, of every client
        self._ridge = ridge

    @property
    def budget_left(self) -> float:
        return max(0.0, self.budget - self.spent)

    def open(self, uploads: Uploads, *, step: int, trigger: int, count: int | None = None) -> Round:
        """Line 10: a round of `count` clients (None: all), of which these have pending data."""
        return Round(
            clients=uploads.clients.copy(),
            costs=self.costs[uploads.clients],
            count=self.count if count is None else count,
            V=self.shared.V,
            factor=self.shared.factor,
            logdet=self.shared.logdet,
            ridge=self._ridge,
            pending=uploads.pending,
            logdets=uploads.logdets,
            number=self.rounds,
            step=step,
            trigger=trigger,
            spent=self.spent,
            budget_left=self.budget_left,
            lagging=uploads.lagging,
        )

    def decide(self, round: Round, mechanism: Mechanism | None = None) -> Decision:
        """Line 11: the mechanism (None: the federation's) selects participants and payments."""
        mechanism = self.mechanism if mechanism is None else mechanism
        clients, costs = round.clients.copy(), round.costs.copy()
        decision = mechanism.decide(round)
        fault = malformed(decision, clients)
        if not coalition.untouched(round.clients, clients, round.costs, costs):
            fault = "it changed the round it was given: work on copies"
        if fault:
            name = type(mechanism).__name__
            raise MechanismError(f"{name}, round {self.rounds}: {fault}")
        return decision

    def close(self, round: Round, decision: Decision, db: Floats) -> Closed:
        """Lines 12-20: add the participants' data (db in order of id) and record the round."""
        members = decision.participants
        payments = decision.payments[members]
        if len(db):
            self.shared = self.shared.plus(round.pending, members, db, self._ridge)
        self.rounds += 1
        paid = math.fsum(payments.tolist())
        self.spent = exact_sum(self.spent, paid, self.money_digits)
        idle = round.count - len(round)
        ratio = math.exp(min(0.0, self.shared.logdet - round.full_value))
        cost = communication(round.count, self._dim, idle + len(payments))
        return Closed(round.clients[members], payments, idle, cost, ratio, decision.gap)
