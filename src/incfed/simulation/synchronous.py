"""Rounds with all clients: how the simulator runs a `Synchronous` protocol."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..kernels.client import keep_base
from ..kernels.factor import Floats, Ints
from ..kernels.pending import Mask, collect
from ..kernels.signals import know
from ..kernels.step import FULL, TRIGGERED, Steps, advance
from ..kernels.store import BASE, OWN, PENDING, conclude, make_room
from ..kernels.trust import Personal, share_scores
from ..kernels.ucb import Bench, Rules
from ..mechanisms.base import Decision, Mechanism, Round
from ..mechanisms.pay_everyone import PayEveryone
from ..protocol import deciding
from ..protocol.deciding import Budget
from ..protocol.protocols import EVERYONE, Synchronous
from ..protocol.server import Server, Uploads
from ..protocol.strategy import Strategy
from ..protocol.traffic import (
    packed_matrix,
    packed_model,
    packed_vector,
    round_communication,
)
from ..protocol.triggers import GROWTH, ROWS, Threshold
from .presence import Presence
from .run import Run, StepTraffic

ATTEMPTS = 3  # after so many decisions no client is added to a round
NO_ROUNDS = Synchronous(Threshold(math.inf), PayEveryone())


class SynchronousRun(Run):
    """A federation whose clients talk in rounds."""

    def __init__(
        self, protocol: Synchronous, count: int, dim: int, rules: Rules, bench: Bench,
        costs: Floats, stale: bool, seed: int, personal: Personal | None = None,
    ) -> None:  # fmt: skip
        super().__init__(count, dim, rules, bench)
        self._protocol, self._trigger = protocol, protocol.trigger
        self._stale = True if stale else None  # None: not compiled in
        self._personal = personal
        self._scores = 0 if personal is None else personal.scalars
        self.server = Server(
            count=count, dim=dim, mechanism=protocol.mechanism, costs=costs, ridge=rules.ridge,
            budget=protocol.budget,
        )  # fmt: skip
        self._presence: Presence | None = None
        if protocol.availability != 1.0:
            self._presence = Presence(protocol.availability, count, seed)
        self._strategy: Strategy | None = None
        if protocol.varying is not None or protocol.behaviours:
            self._strategy = Strategy(costs, protocol.varying, protocol.behaviours, seed)
            self.server.costs = self._strategy.begin()
        self._signals = self._trigger.signals(count, dim, rules.ridge, self.server.costs)
        self._packed: list[int] = []  # scalars sent up in each round
        self._silent = np.full(count, -1)  # pending steps of clients that did not answer
        # Clients that were away when others got the model, and the steps in which they got it.
        self._late = np.zeros(count, np.bool_)
        self._fetched_late: list[int] = []

    def advance(self, steps: Steps, first: int) -> None:
        done, state, n = 0, FULL, len(steps.clients)
        while done < n or state == TRIGGERED:
            if state == FULL:
                self.store = make_room(self.store)
            elif state == TRIGGERED:
                self._round(first + done - 1, int(steps.clients[done - 1]))
            begin = done
            done, state = advance(
                self._stale,
                self._signals,
                self._personal,
                *steps,
                *self.store,
                *self.rules,
                *self.bench,
                done,
            )
            if self._late.any():
                self._count_late(steps, begin, done, first)

    def traffic(self, matched: Mask, fetched: Ints) -> StepTraffic:
        d = self.dim
        stream = {None: 0, ROWS: d, GROWTH: 1}[self._trigger.streams]
        scalars = np.where(matched, float(stream), 0.0)
        packed = scalars + packed_model(fetched, d) + self._scores * (fetched > 0)
        sent = fetched > 0 if self._protocol.download != EVERYONE else self._fetched_late
        scalars[sent] += d * d + d + self._scores
        rounds = self.rounds()
        np.add.at(scalars, rounds.step, rounds.communication)
        np.add.at(packed, rounds.step, self._packed)
        return StepTraffic(scalars, packed)

    def _round(self, step: int, acting: int) -> None:
        """One communication round (Alg. 1 lines 9-19), if the trigger wants it."""
        trigger, server, store = self._trigger, self.server, self.store
        strategy = self._strategy
        uploads = self._collect()
        one = _OpenRound(server, uploads, server.open(uploads, step=step, trigger=acting))
        if trigger.streams == ROWS and not trigger.opens(self._heard(one).round):
            return
        there = leaving = None
        if self._presence is not None:
            there, stays = self._presence.draw(step, acting)
            leaving = ~stays
            one = one.only(there[uploads.clients], int(np.count_nonzero(there)))
        if strategy is not None:
            one = self._willing(one, strategy)
        called, sent = one.round, store.table[one.uploads.clients, PENDING]
        if trigger.streams == GROWTH and not trigger.opens(one.round):  # too early
            decision = Decision(one.round.nobody, np.zeros(len(one.round)))
        elif leaving is None and math.isinf(self._protocol.budget):  # the same, in half the time
            decision = server.decide(one.round)
        else:
            one, decision = self._decide(one, leaving)
        sharing = one.round.clients[decision.participants]
        ranks, db = store.table[sharing, PENDING], store.pairs[store.table[sharing, OWN], 1]
        if len(sharing) and self._protocol.download != EVERYONE:
            self._keep_bases(uploads.clients, sharing)
        closed = server.close(one.round, decision, db)
        if self._personal is not None:
            share_scores(self._personal, sharing, ranks)
        conclude(*self.store, sharing, *server.shared, self._protocol.all_clocks)

        true = server.costs if strategy is None else strategy.costs
        closed = closed._replace(costs=true[sharing], asked=server.costs[sharing])
        if strategy is not None:
            strategy.end(one.round.clients, decision.payments)
            server.costs = strategy.begin()
            self._reprice()
        scalars = self._communication(called, len(sharing))
        idle = called.count - len(called)
        self.log(step, acting, len(called), closed._replace(communication=scalars, idle=idle))
        up = packed_vector(ranks, self.dim).sum() + self._scores * len(sharing)
        if trigger.streams != ROWS:
            up += packed_matrix(sent, self.dim).sum()
        self._packed.append(int(up))
        if len(sharing) and there is not None and self._protocol.download == EVERYONE:
            self._late = ~there
        if there is not None:
            self._silent = np.where(there, -1, store.table[: self.count, PENDING])
        if self._signals is not None:
            self._know(there)

    def _willing(self, one: _OpenRound, strategy: Strategy) -> _OpenRound:
        """Without clients that keep their data to themselves."""
        clients = one.uploads.clients
        uploads = strategy.uploads(self.store.table[: self.count, PENDING])[clients]
        silent = int(np.count_nonzero(~uploads))
        return one.only(uploads, one.round.count - silent) if silent else one

    def _heard(self, one: _OpenRound) -> _OpenRound:
        """Without clients that did not answer the last round and have not acted since: waiting for
        them, the server would open a round at every step."""
        if self._presence is None:
            return one
        clients = one.uploads.clients
        heard = self.store.table[clients, PENDING] != self._silent[clients]
        return one.only(heard, one.round.count - int(np.count_nonzero(~heard)))

    def _count_late(self, steps: Steps, begin: int, end: int, first: int) -> None:
        """Clients that were away when others got the model get it when they next act."""
        for t in begin + np.flatnonzero(steps.fetched[begin:end]):
            client = steps.clients[t]
            if self._late[client]:
                self._late[client] = False
                self._fetched_late.append(first + int(t))

    def _communication(self, round: Round, sharing: int) -> float:
        return round_communication(
            round.count, round.count - len(round), sharing, self.dim,
            streams=self._trigger.streams, everyone=self._protocol.download == EVERYONE,
            scores=self._scores,
        )  # fmt: skip

    def _collect(self) -> Uploads:
        """Line 10: all clients with pending data."""
        clients, logdets, pending = collect(self.store, self.rules.ridge)
        lagging = False
        if self._protocol.download != EVERYONE:
            lagging = bool(self.store.table[clients, BASE].any())
        return Uploads(clients, logdets, pending, lagging)

    def _decide(self, one: _OpenRound, leaving: Mask | None) -> tuple[_OpenRound, Decision]:
        """Within the budget, and again without those that leave after an offer."""
        offers = deciding.decide(one)
        failed = [] if leaving is None else [c for c in offers.payments if leaving[c]]
        attempt = 1
        while failed:
            kept = {c: paid for c, paid in offers.payments.items() if c not in failed}
            clients = one.round.clients
            one = one.only(~np.isin(clients, failed), one.round.count - len(failed))
            offers = deciding.decide_again(one, kept, add=attempt < ATTEMPTS)
            assert leaving is not None
            failed = [c for c in offers.payments if leaving[c] and c not in kept]
            attempt += 1
        return one, offers.decision(one.round)

    def _keep_bases(self, clients: Ints, sharing: Ints) -> None:
        """One for one: clients that do not share keep the model that they have."""
        staying = clients[~np.isin(clients, sharing) & (self.store.table[clients, BASE] == 0)]
        self.store = make_room(self.store, len(staying), 2 * len(staying))
        keep_base(*self.store, *self.bench, staying, self.rules.ridge)

    def _reprice(self) -> None:
        """Clients that stream say with it what sharing would cost them in the next round."""
        if self._signals is not None:
            rules, costs = self.rules, self.server.costs
            new = self._trigger.signals(self.count, self.dim, rules.ridge, costs)
            assert new is not None
            for name in ("need", "order", "ends"):  # the rest does not depend on costs
                getattr(self._signals, name)[:] = getattr(new, name)

    def _know(self, there: Mask | None) -> None:
        """What the server knows after a round of the data that is still pending."""
        signals = self._signals
        clients, _, pending = self._collect()[:3]  # brings log det V_i up to date
        if signals is None or signals.rows:
            return
        signals.grown[:] = 0.0  # also of clients that did not answer: they count again when they do
        uploaded = np.ones(len(clients), np.bool_) if there is None else there[clients]
        places = np.full(self.count, -1)
        places[clients[uploaded]] = np.flatnonzero(uploaded)
        shared = self.server.shared
        know(
            signals, places[signals.order], shared.V.copy(), shared.factor.copy(), shared.logdet,
            self.rules.ridge, pending,
        )  # fmt: skip


class PooledRun(Run):
    """All clients act as one, which never needs a round."""

    def __init__(self, count: int, dim: int, rules: Rules, bench: Bench, stale: bool) -> None:
        self._one = SynchronousRun(NO_ROUNDS, 1, dim, rules, bench, np.zeros(1), stale, seed=0)
        super().__init__(count, dim, rules, bench)

    def advance(self, steps: Steps, first: int) -> None:
        self._one.advance(steps._replace(clients=np.zeros_like(steps.clients)), first)

    def traffic(self, matched: Mask, fetched: Ints) -> StepTraffic:
        """Of every step: d^2 + d up, and to each of N clients down; packed, a row and a reward."""
        d, times = self.dim, 1 + self.count
        return StepTraffic(
            np.where(matched, float(times * (d * d + d)), 0.0),
            np.where(matched, float(times * (d + 1)), 0.0),
        )


class _OpenRound(NamedTuple):
    """A round in the simulator, to be decided; see `deciding.OpenRound`."""

    server: Server
    uploads: Uploads
    round: Round

    @property
    def mechanism(self) -> Mechanism:
        return self.server.mechanism

    @property
    def money(self) -> Budget:
        return Budget(self.server.budget, self.server.spent)

    def judge(self, mechanism: Mechanism) -> tuple[Round, Decision]:
        return self.round, self.server.decide(self.round, mechanism)

    def only(self, members: Mask, count: int) -> _OpenRound:
        """The same with some of the clients; `count` includes those without pending data."""
        uploads = self.uploads.only(members)
        round = self.server.open(
            uploads, step=self.round.step, trigger=self.round.trigger, count=count
        )
        return self._replace(uploads=uploads, round=round)
