"""Rounds with all clients: how the simulator runs a `Synchronous` protocol."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np

from ..kernels.client import keep_base
from ..kernels.pending import collect
from ..kernels.signals import know
from ..kernels.step import FULL, TRIGGERED, Steps, advance
from ..kernels.store import BASE, OWN, PENDING, conclude, make_room
from ..kernels.trust import Personal, share_scores
from ..kernels.ucb import Bench, Rules
from ..mechanisms.base import Decision, Mechanism, Round
from ..mechanisms.pay_everyone import PayEveryone
from ..protocol import deciding
from ..protocol.money import Budget, round_up
from ..protocol.protocols import Synchronous
from ..protocol.server import Server, Uploads
from ..protocol.strategy import Strategy
from ..protocol.traffic import round_communication
from ..protocol.triggers import GROWTH, ROWS, Threshold
from ..rules.limits import Limits, Past
from ..rules.rounds import EVERYONE
from ..types import Floats, Ints, Mask
from .presence import Presence
from .run import Run, StepTraffic, packed_up
from .sharing import Sharing, check_bounds

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
        costs = round_up(costs, protocol.money_digits)
        self.server = Server(
            count=count, dim=dim, mechanism=protocol.mechanism, costs=costs, ridge=rules.ridge,
            budget=protocol.budget, money_digits=protocol.money_digits,
        )  # fmt: skip
        self._presence: Presence | None = None
        if protocol.availability != 1.0:
            self._presence = Presence(protocol.availability, count, seed)
        self._strategy: Strategy | None = None
        if protocol.varying is not None or protocol.behaviours:
            self._strategy = Strategy(costs, protocol.varying, protocol.behaviours, seed)
            self.server.costs = round_up(self._strategy.begin(), protocol.money_digits)
        self._signals = self._trigger.signals(count, dim, rules.ridge, self.server.costs)
        self._past: dict[int, Past] = {}  # of clients, if there are limits
        self._sharing: Sharing | None = None
        if protocol.share_from > 1 or protocol.privacy is not None:
            self._sharing = Sharing(protocol.share_from, protocol.privacy, count, dim, seed)
        self._silent = np.full(count, -1)  # pending steps of clients that did not answer
        # Clients that were away when others got the model, and the steps in which they got it.
        self._late = np.zeros(count, np.bool_)
        self._fetched_late: list[int] = []

    def check(self, items: Floats, rewards: Floats) -> None:
        if self._protocol.privacy is not None:
            check_bounds(self._protocol.privacy, items, rewards)

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
        return self.synchronous_traffic(
            self._protocol, self.dim, self._scores, matched, fetched, self._fetched_late
        )

    def _round(self, step: int, acting: int) -> None:
        """One communication round (Alg. 1 lines 9-19), if the trigger wants it."""
        trigger, server, store = self._trigger, self.server, self.store
        strategy, sharers = self._strategy, self._sharing
        if sharers is not None and not sharers.calls(acting, store):
            return
        uploads = self._collect()
        round = server.open(uploads, step=step, trigger=acting)
        counts = store.table[: self.count, PENDING].copy()
        one = _OpenRound(server, uploads, round, self._protocol.limits, self._past, counts)
        if trigger.streams == ROWS and not deciding.worthwhile(trigger, self._heard(one)):
            return
        if trigger.streams == GROWTH and deciding.shortfall(one, one.active) is not None:
            return
        there = leaving = None
        if self._presence is not None:
            there, stays = self._presence.draw(step, acting)
            leaving = ~stays
            one = one.only(there[uploads.clients], int(np.count_nonzero(there)))
        if strategy is not None:
            one = self._willing(one, strategy)
        if sharers is not None:
            one = self._shared(one, sharers)
        one = self._allowed(one)
        called, sent = one.round, self._ranks(one.uploads.clients)
        if trigger.streams == GROWTH and not deciding.worthwhile(trigger, one):  # too early
            decision = Decision(one.round.nobody, np.zeros(len(one.round)))
        elif leaving is None and self._protocol.unlimited:  # the same, in half the time
            decision = server.decide(one.round)
        else:
            one, decision = self._decide(one, leaving)
        sharing = one.round.clients[decision.participants]
        ranks, db = self._ranks(sharing), store.pairs[store.table[sharing, OWN], 1]
        if sharers is not None:
            db = sharers.deliver(sharing)
        if len(sharing) and self._protocol.download != EVERYONE:
            self._keep_bases(uploads.clients, sharing)
        closed = server.close(one.round, decision, db)
        if self._personal is not None:
            share_scores(self._personal, sharing, ranks)
        conclude(*self.store, sharing, *server.shared, self._protocol.all_clocks)
        if sharers is not None:
            self.store = sharers.conclude(sharing, self.store)

        true = server.costs if strategy is None else strategy.costs
        closed = closed._replace(costs=true[sharing], asked=server.costs[sharing])
        if strategy is not None:
            strategy.end(one.round.clients, decision.payments)
            server.costs = round_up(strategy.begin(), server.money_digits)
            self._reprice()
        self._remember(called, sharing, closed.payments, one.counts)
        scalars = self._communication(called, len(sharing))
        idle = called.count - len(called)
        packed = packed_up(self._protocol, self.dim, self._scores, sent, ranks)
        closed = closed._replace(communication=scalars, idle=idle)
        self.log(step, acting, len(called), closed, packed)
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

    def _allowed(self, one: _OpenRound) -> _OpenRound:
        """Without clients whose upload is refused: it is of too many steps."""
        most = None if one.limits is None else one.limits.steps_per_upload
        if most is None:
            return one
        fits = one.counts[one.uploads.clients] <= most
        large = int(np.count_nonzero(~fits))
        return one.only(fits, one.round.count - large) if large else one

    def _remember(self, round: Round, sharing: Ints, payments: Floats, counts: Ints) -> None:
        """Remember what limits depend on in later rounds."""
        limits = self._protocol.limits
        if limits is None:
            return
        paid = dict(zip(sharing.tolist(), payments.tolist(), strict=True))
        for client, price in zip(round.clients.tolist(), round.costs.tolist(), strict=True):
            past = self._past.get(client, Past())
            self._past[client] = limits.next(past, price, paid.get(client), int(counts[client]))

    def _shared(self, one: _OpenRound, sharers: Sharing) -> _OpenRound:
        """As clients upload it: from so many steps on, perhaps with noise. The others count as
        clients without pending data."""
        ready = one.only(sharers.ready(one.uploads.clients, self.store), one.round.count)
        uploaded = ready.of(sharers.upload(ready.uploads, self.store, self.rules.ridge))
        return uploaded._replace(counts=sharers.steps.copy())

    def _ranks(self, clients: Ints) -> Ints:
        """The ranks of what these clients upload, as it is packed."""
        if self._sharing is not None:
            return self._sharing.ranks(clients)
        return np.asarray(self.store.table[clients, PENDING])

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
        if deciding.shortfall(one, offers.payments) is not None:
            offers = deciding.Offers({}, False)
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
        """Update what the server knows, after a round, of the data that is still pending."""
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
        """Each step sends d^2 + d up, and to each of N clients down; packed, a row and a reward."""
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
    limits: Limits | None
    past: dict[int, Past]
    counts: Ints  # [N] steps that each would share

    @property
    def members(self) -> int:
        return self.server.count

    @property
    def mechanism(self) -> Mechanism:
        return self.server.mechanism

    @property
    def money(self) -> Budget:
        return Budget(self.server.budget, self.server.spent, self.server.money_digits)

    @property
    def active(self) -> list[int]:
        clients: list[int] = self.round.clients.tolist()
        return clients

    def steps(self, clients: Iterable[int]) -> int:
        return int(self.counts[list(clients)].sum())

    def table(self) -> Round:
        return self.round

    def decide(self, mechanism: Mechanism) -> tuple[Round, Decision]:
        return self.round, self.server.decide(self.round, mechanism)

    def without(self, clients: Collection[int]) -> _OpenRound:
        out = np.isin(self.round.clients, list(clients))
        return self.only(~out, self.round.count - int(np.count_nonzero(out)))

    def only(self, members: Mask, count: int) -> _OpenRound:
        """The round with some of the clients; `count` includes those without pending data."""
        return self.of(self.uploads.only(members), count)

    def of(self, uploads: Uploads, count: int | None = None) -> _OpenRound:
        """The round with other uploads."""
        count = self.round.count if count is None else count
        round = self.server.open(
            uploads, step=self.round.step, trigger=self.round.trigger, count=count
        )
        return self._replace(uploads=uploads, round=round)
