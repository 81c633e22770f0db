"""A mechanism gets a `Round` (what the server knows) and returns a `Decision`.

The clients of a round are the n clients with pending data; a set S of them is a boolean mask of
length n. Clients without pending data have no cost, always take part, and are only counted. All
determinants are of the matrix plus lambda I, as logarithms: at d = 25 plain ones overflow.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .. import errors
from ..kernels import coalition
from ..kernels.auction import Auction, run_auction
from ..kernels.cheapest import SearchTree, search_cheapest
from ..kernels.pending import Pending, absorb
from ..kernels.shapley import add_marginals
from ..rules.plugins import Plugin
from ..types import Floats, Ints, Mask

CLEARLY = 1e-9  # relative: a smaller difference in money, or in gain per money, is none
_LOTS = 2**31 + 3  # spawn key: beside those of what clients do by chance
MEETS = 1e-9  # docs/paper.md, reading 7: log ratio >= log beta - 1e-9


class MechanismError(AssertionError):
    """A mechanism breaks a rule; the message says which one, and in which round.

    >>> class Stingy(incfed.Mechanism):
    ...     def decide(self, round):
    ...         return incfed.Decision(round.everyone, round.costs / 2)
    >>> incfed.check_mechanism(Stingy())
    Traceback (most recent call last):
        ...
    incfed.mechanisms.base.MechanismError: ...
    """


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """Who shares (a mask over the round's clients) and what each is paid (0 outside the mask).

    gap: of a mechanism that looks for the least money, how much more it may have found at most.

    >>> import numpy as np
    >>> decision = incfed.Decision(np.array([True, False]), np.array([2.5, 0.0]))
    >>> decision.payments.tolist()
    [2.5, 0.0]
    """

    participants: Mask
    payments: Floats
    gap: float = 0.0


class ShapleyValues(NamedTuple):
    """Shapley values of log det V_g(S), estimated, and their standard errors; 0 outside S."""

    values: Floats
    errors: Floats


class Round:
    """One communication round as the server sees it; read only.

    A set S of its clients is a mask: an array of n times True or False.

    >>> class Curious(incfed.Mechanism):
    ...     def decide(self, round):
    ...         self.round = round  # kept, to look at it
    ...         return round.settle(round.everyone)
    >>> mechanism = Curious()
    >>> rules = incfed.IncFedUCB(mechanism, threshold=float("inf"), costs=[5.0, 20.0, 300.0])
    >>> federation = incfed.Federation(3, dim=2, algorithm=rules)
    >>> for member, arm in zip(federation, [[1, 0], [0, 1], [1, 1]]):
    ...     member.learn(arm, reward=1.0)
    >>> _ = federation.communicate()
    >>> round = mechanism.round
    >>> round.clients, round.costs, round.count
    (array([0, 1, 2]), array([  5.,  20., 300.]), 3)
    """

    def __init__(
        self,
        *,
        clients: Ints,
        costs: Floats,
        count: int,
        V: Floats,
        factor: Floats,
        logdet: float,
        ridge: float,
        pending: Pending,
        logdets: Floats,
        number: int = 0,
        step: int = 0,
        trigger: int = -1,
        spent: float = 0.0,
        budget_left: float = np.inf,
        lagging: bool = False,
        seed: int = 0,
    ) -> None:
        self.clients = clients  # [n] ids with pending data, ascending
        self.costs = costs  # [n] D^p of each
        self.count = count  # N: all clients, including those without pending data
        self.number = number  # number of rounds before this one
        self.step = step  # number of steps before the one that triggered the round
        self.trigger = trigger  # id of the client that triggered it
        self.spent = spent  # money paid in earlier rounds
        self.budget_left = budget_left
        self.logdets = logdets  # [n] log det V_i, where V_i = dV_i + the V_g that client i has
        self.lagging = lagging  # some client has an older V_g than the current one
        self._all = ~np.zeros(len(clients), np.bool_)  # np.ones is slower
        self._full: float | None = None  # computed on first use, like
        self._needed: Floats | None = None
        self._shared = (V, factor, logdet)
        self._ridge = ridge
        self.pending = pending
        self._seed = seed

    def __len__(self) -> int:
        return len(self.clients)

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers for a mechanism that draws lots. Each access starts them anew, so that a
        mechanism that is asked twice answers the same. In a simulation the seed of the run and the
        number of the round decide them; in a served federation its identity and the ledger's last
        entry before the decision, which no member knows when it names its price.

        >>> lots = round.rng.permutation(len(round))
        >>> bool((lots == round.rng.permutation(len(round))).all())
        True
        """
        seed = np.random.SeedSequence(self._seed, spawn_key=(_LOTS, self.number))
        return np.random.default_rng(seed)

    @property
    def everyone(self) -> Mask:
        """The set of all clients of the round.

        >>> round.everyone
        array([ True,  True,  True])
        """
        return self._all.copy()

    @property
    def nobody(self) -> Mask:
        """The empty set.

        >>> round.nobody
        array([False, False, False])
        """
        return np.zeros(len(self.clients), np.bool_)

    def value(self, S: Mask) -> float:
        """log det V_g(S), where V_g(S) is what the server would know.

        >>> round.value(round.nobody) < round.value(round.everyone)
        True
        """
        check_mask("S", S, len(self.clients))
        return coalition.log_value(self._shared[0], self._ridge, self.pending, S)

    @property
    def start_value(self) -> float:
        """log det V_g: what the server knows before the round.

        >>> round.start_value == round.value(round.nobody)
        True
        """
        return float(self._shared[2])

    @property
    def full_value(self) -> float:
        """log det V_g(everyone), which beta is relative to.

        >>> round.full_value == round.value(round.everyone)
        True
        """
        if self._full is None:
            self._full = self.value(self._all)
        return self._full

    def meets(self, S: Mask, beta: float) -> bool:
        """det V_g(S) / det V_g(everyone) >= beta.

        >>> import numpy as np
        >>> two = np.array([True, True, False])
        >>> round.meets(two, beta=0.3), round.meets(two, beta=0.9)
        (True, False)
        """
        return self.value(S) >= self.goal(beta)

    def goal(self, beta: float) -> float:
        """The log det V_g(S) that meets beta (docs/paper.md, reading 7).

        >>> round.value(two) >= round.goal(0.3)
        True
        """
        return -np.inf if beta <= 0.0 else self.full_value + math.log(beta) - MEETS

    def contributions(self, S: Mask) -> Floats:
        """log c_j(S) of Eq. 6 for every j outside S; 0 for members.

        >>> round.contributions(round.nobody).round(2)
        array([2.4 , 2.4 , 3.04])
        """
        return self.coalition(S).contributions(~S)

    def incentives(self, S: Mask) -> Floats:
        """I^d_i(S) of Eq. 4: for members from being in S, for others from joining it.

        >>> round.incentives(round.everyone).round(1)
        array([30. , 30. , 15.2])
        """
        joined = self.coalition(S)
        grown = joined.value + joined.contributions(~S) - self.logdets
        return np.expm1(np.minimum(np.maximum(grown, 0.0), coalition.LARGEST))

    def willing(self, S: Mask) -> Mask:
        """The clients whose data incentive under S covers their cost.

        >>> round.willing(round.everyone)
        array([ True,  True, False])
        """
        return self.incentives(S) >= self.costs - coalition.WILLING * (1.0 + self.costs)

    @property
    def needed(self) -> Floats:
        """tau_i: client i shares for data alone if log det(V_g(S) + dV_i) is at least this.

        `willing` in logarithms: I^d >= D - 1e-9 (1 + D) is 1 + I^d >= (1 - 1e-9)(1 + D).

        >>> round.needed <= round.full_value  # the same, in logarithms
        array([ True,  True, False])
        """
        return self._needs().copy()

    def _needs(self) -> Floats:
        if self._needed is None:
            self._needed = np.empty(len(self.clients))
            coalition.needs(self.costs, self.logdets, self._needed)
        return self._needed

    def stable_set(self, price: float | Floats = 0.0) -> Mask:
        """The largest S in which every member is willing: the result of Algorithm 2. With `price`,
        every member is paid that; or its own, of one for each.

        Client i of S is willing when log det V_g(S) >= `needed[i]`. The left side grows with S, so
        the largest such set is unique and does not depend on the order of removal.

        >>> round.stable_set(), round.stable_set(price=300.0)
        (array([False, False, False]), array([ True,  True,  True]))
        """
        S, needed = self.everyone, self._needs()
        if not isinstance(price, float) or price > 0.0:
            needed = np.empty(len(self.clients))
            coalition.needs(np.maximum(self.costs - price, 0.0), self.logdets, needed)
        order = np.argsort(needed, kind="stable")
        self._full = coalition.stable(*self._shared, self._ridge, self.pending, needed, order, S)
        return S

    def settle(self, S: Mask) -> Decision:
        """The decision that S takes part and each is paid what data does not cover.

        >>> round.settle(two)
        Decision(participants=array([ True,  True, False]), payments=array([ 0., 10.,  0.]),
        gap=0.0)
        """
        check_mask("S", S, len(self.clients))
        value = self.full_value if len(S) == np.count_nonzero(S) else self.value(S)
        return Decision(S.copy(), self._owed(S, value))

    def _owed(self, paid: Mask, value: float) -> Floats:
        money = np.empty(len(self.clients))
        coalition.owed(self.costs, self.logdets, value, paid, money)
        return money

    def coalition(self, S: Mask) -> Coalition:
        """A copy of S that can grow, one client at a time.

        >>> S = round.coalition(round.nobody)
        >>> S.add(S.best(round.everyone))  # who contributes most
        >>> S.members
        array([False, False,  True])
        """
        return Coalition(self, S)

    def shapley(self, S: Mask, orders: Ints) -> ShapleyValues:
        """The mean of what each member of S adds to log det V_g when they join in these orders
        (each row: all clients of the round).

        >>> orders = np.array([[0, 1, 2], [2, 1, 0]])
        >>> round.shapley(round.everyone, orders).values.round(2)
        array([1.68, 2.11, 2.04])
        """
        check_mask("S", S, len(self.clients))
        sums, squares = np.zeros(len(S)), np.zeros(len(S))
        add_marginals(*self._shared, self._ridge, self.pending, S, orders, sums, squares)
        samples = len(orders)
        means = sums / samples
        spread = np.maximum(0.0, squares / samples - means**2)
        return ShapleyValues(means, np.sqrt(spread / max(1, samples - 1)))

    def cheapest(self, start: Decision, *, goal: float, nodes: int) -> Decision:
        """The least money for which log det V_g(S) reaches `goal`, by branch and bound.

        The search begins with `start`, and ends when no cheaper set is possible, or after so many
        nodes; `gap` then says how much less another set might cost.

        >>> start = round.settle(round.everyone)
        >>> round.cheapest(start, goal=round.goal(0.3), nodes=1000).payments.round(2)
        array([ 0., 10.,  0.])
        """
        V, U, logdet = self._shared
        S, total = start.participants.copy(), float(start.payments.sum())
        _, best, least = search_cheapest(
            *SearchTree.of(len(self.clients), len(V)), *self.pending, V, U, logdet, self._ridge,
            self.costs, self.logdets, self._needs(), goal, nodes, total, S,
        )  # fmt: skip
        found = start if best == total else self.settle(S)
        return Decision(found.participants, found.payments, max(0.0, best - least))

    def auction(self, eligible: Mask, *, target: float, reserve: float) -> Decision:
        """Add the best gain per cost until log det V_g(S) reaches `target`; pay critical values.

        A gain counts up to `target` only. Clients without a cost come first; ties (1e-9, relative)
        go to the lowest id. Each winner is paid the highest cost with which it would have been
        added, at most `reserve`; so is one that cannot be replaced.

        >>> bought = round.auction(round.costs <= 100.0, target=round.value(two), reserve=100.0)
        >>> bought.payments
        array([100., 100.,   0.])
        """
        check_mask("eligible", eligible, len(self.clients))
        V, U, logdet = self._shared
        S, payments = self.nobody, np.zeros(len(self.clients))
        bids = Auction.of(V, U, self._ridge, self.pending, self.costs, eligible)
        run_auction(*bids, logdet, target, reserve, S, payments)
        return Decision(S, payments)


class Coalition:
    """A growing set S with V_g(S): who contributes most, who would join, does S meet beta."""

    def __init__(self, round: Round, S: Mask) -> None:
        check_mask("S", S, len(round))
        self.round = round
        self.members = S.copy()
        V, U, self.value = round._shared
        self._V, self._U = V.copy(), U.copy()
        if np.count_nonzero(S):
            self.value = coalition.form(self._V, round._ridge, round.pending, S, self._U)
        # Contributions to S, or to a smaller set, which are upper bounds: at first log c_j(nobody),
        # known only if all clients have the current V_g; otherwise computed on demand.
        self._bound = round.logdets - round._shared[2]
        if round.lagging:
            self._bound = np.full(len(round), np.inf)
        self._exact = np.zeros(len(round), np.bool_)

    def contributions(self, among: Mask) -> Floats:
        """log c_j(S) of Eq. 6 for the clients `among` outside S; 0 for all others."""
        check_mask("among", among, len(self.members))
        gains = np.zeros(len(self.members))
        coalition.log_gains(*self._state(), among & ~self.members, gains)
        self._bound[among] = gains[among]
        self._exact[among] = True
        return gains

    def best(self, among: Mask) -> int:
        """The largest contributor of `among`, computed lazily, ties to the lowest id; -1 if none
        is left."""
        check_mask("among", among, len(self.members))
        return coalition.best(*self._state(), self.members, among, self._bound, self._exact)

    def meets(self, beta: float, plus: int | None = None) -> bool:
        """Whether S (with client `plus`) meets beta."""
        value = self.value if plus is None else self.value + self._contribution(plus)
        return bool(value >= self.round.goal(beta))

    def add(self, j: int) -> None:
        """Add client j (its index in the round)."""
        if not 0 <= j < len(self.members) or self.members[j]:
            allowed = f"the index (0 to {len(self.members) - 1}) of a client outside S"
            raise errors.refuse("j", j, allowed)
        self.members[j] = True
        self._exact[:] = False  # contributions computed so far become upper bounds
        self.value = absorb(*self._state(), j)

    def welcome(self, among: Mask) -> None:
        """Add the clients of `among` whose cost data now covers (Alg. 4 lines 5-8)."""
        self.value = coalition.welcome(*self._state(), *self._search(among))

    def recruit(self, among: Mask, picked: Mask, *, until: float, welcome: bool) -> bool:
        """Iterations of Alg. 4 lines 3-8: add the best of `among`, then (`welcome`) the clients
        whose cost data now covers.

        Continues until beta = `until` is met (0: one iteration) or no client is left. Marks the
        clients it picked in `picked`. Returns False if there was none to pick.
        """
        turns, self.value = coalition.recruit(
            *self._state(), *self._search(among), welcome, self.round.goal(until), picked
        )
        return turns > 0

    def price(self, j: int) -> float:
        """The part of client j's cost that data does not cover if j joins S."""
        value = self.value + self._contribution(j)
        gained = coalition.incentive(value - self.round.logdets[j])
        return float(max(0.0, self.round.costs[j] - gained))

    def owed(self, paid: Mask, plus: int | None = None) -> Floats:
        """The part of the costs of the members `paid` that data does not cover; 0 for all others
        (docs/paper.md, reading 5). With `plus`: if that client joined S."""
        check_mask("paid", paid, len(self.members))
        value = self.value if plus is None else self.value + self._contribution(plus)
        return self.round._owed(paid, value)

    def _contribution(self, j: int) -> float:
        if not self._exact[j]:
            self.contributions(np.arange(len(self.members)) == j)
        return float(self._bound[j])

    def _search(self, among: Mask) -> tuple[Mask, Mask, Floats, Mask, Floats]:
        check_mask("among", among, len(self.members))
        return self.members, among, self._bound, self._exact, self.round._needs()

    def _state(self) -> tuple[Floats, Floats, float, float, Pending]:
        return self._V, self._U, self.value, self.round._ridge, self.round.pending


def check_mask(name: str, S: Mask, n: int) -> None:
    """Kernels do not check their masks, so it is done here."""
    if not (isinstance(S, np.ndarray) and S.dtype.char == "?" and S.shape == (n,)):
        raise errors.refuse(name, S, f"a boolean array of length {n}, an entry per client")


def malformed(decision: object, clients: Ints) -> str | None:
    """The error in the form of a decision over these clients, or None."""
    n = len(clients)
    if not isinstance(decision, Decision):
        return f"it did not return a Decision: got {type(decision).__name__}"
    members, payments = decision.participants, decision.payments
    if not isinstance(members, np.ndarray) or members.dtype.char != "?" or members.shape != (n,):
        return f"participants is not a boolean array with an entry per client: {members!r:.60}"
    if not isinstance(payments, np.ndarray) or payments.shape != (n,):
        return f"payments is not an array with an entry per client: {payments!r:.60}"
    if payments.dtype.char != "d":
        return f"payments are not floats: {payments!r:.60}"
    if coalition.sound(members, payments):
        return None
    if not (payments <= coalition.MOST_MONEY).all():
        return f"payments are not finite, or above 1e300: {payments!r:.60}"
    if (payments < 0).any():
        return (
            f"a payment is negative: client {clients[payments.argmin()]} is paid {payments.min():g}"
        )
    j = int(np.flatnonzero(~members & (payments != 0))[0])
    return f"a client that does not take part is paid: client {clients[j]} gets {payments[j]:g}"


class Mechanism(Plugin, ABC):
    """Base class: write `decide`, and set `beta` if det V_g(S) / det V_g(all) >= beta always holds.

    A mechanism is a pure function of the round, which also holds what it may need of the past.

    >>> class Everyone(incfed.Mechanism):
    ...     def decide(self, round):
    ...         return round.settle(round.everyone)
    >>> incfed.check_mechanism(Everyone())  # rounds tried
    206
    """

    _example = "PaymentEfficient(beta=0.7)"
    beta: float | None = None

    @abstractmethod
    def decide(self, round: Round) -> Decision:
        """Who shares in this round, and what each of them is paid.

        >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
        >>> algorithm = incfed.IncFedUCB(Everyone(), threshold=1.0, costs=10.0)
        >>> len(incfed.simulate(world, algorithm, steps=200).rounds)
        19
        """

    def promised(self, round: Round) -> float:
        """The log det V_g(S) that every decision of this round reaches; -inf: nothing is promised.

        By default what `beta` needs. Overridden by mechanisms that promise something else.

        >>> Everyone().promised(round), incfed.PaymentFree().promised(round)
        (-inf, -inf)
        """
        return -math.inf if self.beta is None else round.goal(self.beta)

    def amend(
        self, round: Round, decision: Decision, S: Mask, offered: Floats | None = None
    ) -> Floats:
        """The payments of the members of S if clients failed and the round is decided again: S has
        those of the new decision, and all who had delivered before.

        offered: what each was offered before, which stands: whoever is owed less is paid that
        (None: nothing). By default what data does not cover. Overridden by mechanisms that promise
        something else, such as a budget.

        >>> mine = Everyone()
        >>> mine.amend(round, mine.decide(round), two).round(2)  # the third client failed
        array([ 0., 10.,  0.])
        """
        return round.settle(S).payments

    def lie_bound(self, highest: float) -> str | None:
        """A bound on what a client gains by lying about its cost where no true cost is above
        `highest`, and how it is known: a proof, or a measurement. None: no bound is known.

        >>> Everyone().lie_bound(highest=20.0) is None
        True
        >>> print(incfed.PaymentFree().lie_bound(highest=20.0))
        a liar gains no money, as nobody is paid. It may spare itself its own cost, and others
        then learn without its data (proved)
        """
        return None
