"""Rounds with all clients (Alg. 1): the rules of such a federation, and how it is simulated."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..kernels.pending import collect, squares_of
from ..kernels.signals import Signals
from ..kernels.step import FULL, ROUNDING, TRIGGERED, Steps, advance
from ..kernels.store import BASE, CLOCK, PENDING, SERVER, VERSION, conclude, make_room
from ..mechanisms.base import Decision
from ..rules.members import Members
from ..rules.rounds import ALL, EVERYONE, RoundRules
from ..types import Floats, Ints, Mask
from .deciding import decide_until_delivered
from .features import FEATURES, Feature
from .global_statistics import GlobalStatistics
from .money import round_up
from .open_round import OpenRound, Server, Uploads
from .policies import Policies
from .policy_steps import PolicySteps
from .run import LoggedRound, Protocol, Run, Setup, StepTraffic, concatenated
from .traffic import packed_matrix, packed_model, packed_ranks, packed_vector
from .triggers import GROWTH, ROWS, ActingClient, copies_of, trigger_of

ALWAYS_THERE = Members()  # without costs


@dataclass(frozen=True)
class Synchronous(Protocol):
    """Rounds with all clients, by these rules. `members`: what is simulated of the clients
    themselves."""

    rules: RoundRules
    members: Members = ALWAYS_THERE

    def start(self, setup: Setup) -> Run:
        return SynchronousRun(self, setup)


class SynchronousRun(Run):
    """A federation whose clients talk in rounds. What only some federations have are `features`."""

    def __init__(self, protocol: Synchronous, setup: Setup) -> None:
        super().__init__(setup)
        rules = protocol.rules
        self.members, self.trigger = protocol.members, trigger_of(rules)
        self.costs = round_up(setup.costs, rules.money_digits)  # as clients report them
        self.server = Server(
            rules, setup.rules.ridge, setup.clients,
            GlobalStatistics.empty(setup.dim, setup.rules.ridge), scores=setup.scores,
            seed=setup.seed,
        )  # fmt: skip
        self.signals: Signals | None = None  # what the server hears between rounds
        self._stale = True if setup.stale else None  # None: not compiled in
        self._own = copies_of(self.trigger)  # a trigger of the user's own, asked after each step
        self.choosing: PolicySteps | None = None  # a policy of the user's own
        if setup.policy is not None:
            policies = Policies(setup.policy, setup.seed, rules.privacy)
            self.choosing = PolicySteps(self, policies, lambda one, _: self._kernel(one, 0))
        self._all_clocks = rules.clocks == ALL
        self._squares = squares_of(self.dim)
        found = (kind.of(self) for kind in FEATURES)
        self.features: list[Feature] = [one for one in found if one is not None]
        # What the mechanism decides is then what happens.
        self._unlimited = (
            not any(one.may_fail for one in self.features)
            and rules.limits is None
            and rules.money_digits is None
            and self.server.money.limit == math.inf
        )

    def check(self, items: Floats, rewards: Floats) -> None:
        for one in self.features:
            one.check(items, rewards)

    def advance(self, steps: Steps, first: int) -> None:
        done, state, n, own = 0, FULL, len(steps.clients), self._own
        while done < n or state == TRIGGERED:
            if state == FULL:
                self.store = make_room(self.store)
            elif state == TRIGGERED:
                self._round(first + done - 1, int(steps.clients[done - 1]))
            begin = done
            if self.choosing is not None and begin < n:
                done, state = self.choosing.run(steps, begin)
            else:
                part = steps if own is None else steps._replace(clients=steps.clients[: begin + 1])
                done, state = self._kernel(part, begin)
            for one in self.features:
                one.advanced(steps, begin, done, first)
            if own is not None and done > begin and not math.isnan(steps.reward[begin]):
                acting = self._acting(int(steps.clients[begin]), first + begin)
                state = TRIGGERED if own.calls(acting) else state

    def _kernel(self, steps: Steps, begin: int) -> tuple[int, int]:
        """As far as they go without a round."""
        return advance(
            self._stale, self.signals, self.personal, *steps, *self.store, *self.rules, *self.bench,
            begin,
        )  # fmt: skip

    @property
    def propensity(self) -> array[float] | None:
        return None if self.choosing is None else self.choosing.propensity

    def _acting(self, client: int, step: int) -> ActingClient:
        """What a trigger of the user's own sees."""
        row, logdets = self.store.table[client], self.store.logdet
        logdet = float(logdets[client, 0])
        grown = logdet - float(logdets[client, 2] if row[BASE] else logdets[SERVER, 0])
        return ActingClient(
            index=client,
            dim=self.dim,
            step=step,
            steps=int(row[CLOCK]),
            pending=int(row[PENDING]),
            growth=grown if grown > ROUNDING else 0.0,
            logdet=logdet,
            cost=float(self.costs[client]),
            epoch=int(row[VERSION]),
        )

    def collect(self) -> Uploads:
        """Line 10: all clients with pending data."""
        found, pending = collect(self.store, self.rules.ridge, self._squares)
        clients, steps, logdets, db = found
        return Uploads(clients, steps, self.costs[clients], logdets, pending, db=db)

    def _round(self, step: int, acting: int) -> None:
        """One communication round (Alg. 1 lines 9-19), if every feature wants it."""
        features = self.features
        for one in features:
            if not one.calls(acting):
                return
        uploads = self.collect()
        for one in features:
            uploads = one.collected(uploads)
        opened = OpenRound(self.server, uploads, step=step, trigger=acting)
        for one in features:
            if not one.wants(opened):
                return
        for one in features:
            opened = one.called(opened)
        sent = opened.uploads.steps
        opened, decision = self._decide(opened)
        places, uploads = decision.participants.nonzero()[0], opened.uploads
        for one in features:
            one.sharing(uploads.clients[places], uploads.steps[places])
        assert uploads.db is not None
        self.server, closed = opened.close(decision, uploads.db.take(places, 0))
        conclude(*self.store, closed.participants, *self.server.shared, self._all_clocks)
        for one in features:
            closed = one.closed(opened, decision, closed)
        self.log.append(LoggedRound(step, acting, closed, sent, uploads.steps[places]))

    def _decide(self, opened: OpenRound) -> tuple[OpenRound, Decision]:
        """Line 11; the round that is closed is without the clients that failed."""
        for one in self.features:
            if one.too_early(opened):
                return opened, Decision(opened.round.nobody, np.zeros(len(opened.round)))
        if self._unlimited:
            return opened, opened.ask()
        return decide_until_delivered(
            opened, lambda client: any(one.fails(client) for one in self.features)
        )

    def traffic(self, matched: Mask, fetched: Ints) -> StepTraffic:
        late = [step for one in self.features for step in one.late]
        return traffic_of_rounds(
            self.log, self.server.rules, self.dim, self.scores, matched, fetched, late
        )


def traffic_of_rounds(
    log: Sequence[LoggedRound], rules: RoundRules, dim: int, scores: int, matched: Mask,
    fetched: Ints, late: Iterable[int] = (),
) -> StepTraffic:  # fmt: skip
    """The traffic of rounds with all clients; `fetched`: the observations that were downloaded
    before each step; `late`: steps with a download that no round has counted."""
    streams = trigger_of(rules).streams
    scalars = np.where(matched, {None: 0.0, ROWS: float(dim), GROWTH: 1.0}[streams], 0.0)
    packed = scalars + packed_model(packed_ranks(fetched, dim, rules.privacy), dim)
    packed += scores * (fetched > 0)
    downloads = fetched > 0 if rules.download != EVERYONE else list(late)
    scalars[downloads] += dim * dim + dim + scores
    steps = np.array([one.step for one in log], np.int64)
    scalars += np.bincount(steps, [one.closed.communication for one in log], len(scalars))

    def add(parts: list[Ints], size: Callable[[Ints, int], Ints], beside: int = 0) -> None:
        ranks = packed_ranks(concatenated(parts), dim, rules.privacy)
        at = np.repeat(steps, [len(part) for part in parts])
        packed[:] += np.bincount(at, size(ranks, dim) + beside, len(packed))

    add([one.shared for one in log], packed_vector, scores)
    if streams != ROWS:  # otherwise the server has the rows
        add([one.sent for one in log], packed_matrix)
    return StepTraffic(scalars, packed)
