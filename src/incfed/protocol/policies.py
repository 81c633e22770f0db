"""Policies of the user's own: how a client chooses an arm, and what it learns of a reward.

They are asked in Python, client by client (docs/extending.md). The upper confidence bound of the
paper is compiled into the kernels.

An observation of weight w adds w x x' to V and w r x to b, as the row sqrt(w) x with the reward
sqrt(w) r does: that is what the client learns, and keeps, streams and shares.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import ranges
from ..errors import InputError, refuse
from ..kernels.ucb import Rules, confidence, measure
from ..rules.plugin_state import attributes, put_back
from ..rules.plugins import Kinds, Plugin, copied
from ..rules.privacy import SLACK, Privacy
from ..types import Floats, Ints

SUM = 1e-9  # probabilities may miss 1 by so much
_STREAM = 2**31 + 4  # spawn key: beside those of `presence`, `reports`, `privacy` and rounds
_PROBABILITIES = "finite, at least 0, and 1 in sum"


class PendingChain(NamedTuple):
    """Steps that a factor does not have yet, as the kernels keep them (kernels/store.py)."""

    pairs: Floats  # [., 2, d]
    before: Ints
    tail: int  # the newest pair, 0: none


def no_chain(dim: int) -> PendingChain:
    return PendingChain(np.zeros((1, 2, dim)), np.zeros(1, np.int64), 0)


class ClientModel:
    """The model that a client would choose with, as a policy sees it: ridge regression on all that
    it has downloaded and learned, with trust if that is not infinite.

    It is read-only, and shows the client as it is in this call: do not keep it, but what you need.

    >>> class Shown(incfed.Policy):
    ...     seen = []
    ...     def choose(self, model, arms, rng):
    ...         self.seen.append(model)
    ...         return 0
    >>> learner = incfed.LinUCB(dim=2, ridge=1.0, policy=Shown())
    >>> learner.learn([2.0, 0.0], reward=1.0)
    >>> learner.choose([[1.0, 0.0], [0.0, 1.0]])
    0
    >>> model = Shown.seen[-1]
    >>> model
    <ClientModel: 2 features, 1 step, theta [0.4 0. ]>
    """

    def __init__(
        self, rules: Rules, U: Floats, t: Floats, logdet: float, steps: int,
        sums: Callable[[], tuple[Floats, Floats]] | None, chain: PendingChain,
    ) -> None:  # fmt: skip
        """`sums`: V and b; None: they are to be had from the factor."""
        self._rules, self._U, self._t, self._chain = rules, U, t, chain
        self._logdet, self._steps, self._sums = logdet, steps, sums
        self._arms: Floats | None = None  # those that are to be chosen from,
        self._given: Floats | None = None  # as the policy has them,
        self._measured: tuple[Floats, Floats] | None = None  # and what is known of them
        self._theta: Floats | None = None
        self._V: Floats | None = None
        self._b: Floats | None = None
        self._alpha = math.nan

    @property
    def dim(self) -> int:
        """d, the number of features.

        >>> model.dim
        2
        """
        return len(self._t)

    @property
    def steps(self) -> int:
        """How many steps the model rests on, shared and pending. (In an `incfed.Client`, its own.)

        >>> model.steps
        1
        """
        return self._steps

    @property
    def ridge(self) -> float:
        """lambda.

        >>> model.ridge
        1.0
        """
        return self._rules.ridge

    @property
    def V(self) -> Floats:
        """[d, d] the sum of x x' over all observations, each times its weight; without lambda I.

        >>> model.V
        array([[4., 0.],
               [0., 0.]])
        """
        return self._both()[0].copy()

    @property
    def b(self) -> Floats:
        """[d] the sum of x times the response, each times its weight.

        >>> model.b
        array([2., 0.])
        """
        return self._both()[1].copy()

    @property
    def theta(self) -> Floats:
        """[d] the estimated parameter, (V + lambda I)^-1 b.

        >>> model.theta
        array([0.4, 0. ])
        """
        if self._theta is None:
            self._theta = self._U.T @ self._t
        return self._theta.copy()

    @property
    def logdet(self) -> float:
        """log det(V + lambda I).

        >>> round(model.logdet, 3)  # log 5
        1.609
        """
        return self._logdet

    @property
    def alpha(self) -> float:
        """How far Eq. 2 would explore now.

        >>> round(model.alpha, 2)
        1.25
        """
        if math.isnan(self._alpha):
            self._alpha = float(confidence(self._logdet, self.dim, self._rules))
        return self._alpha

    def predict(self, arms: ArrayLike) -> Floats:
        """[K] x'theta of each of these arms [K, d].

        >>> model.predict([[1.0, 0.0], [0.0, 1.0]]).round(1)
        array([0.4, 0. ])
        """
        return self._measure(arms)[0].copy()

    def widths(self, arms: ArrayLike) -> Floats:
        """[K] the length of each of these arms [K, d] in (V + lambda I)^-1: how uncertain the
        estimate of its reward is, in units of the noise.

        >>> model.widths([[1.0, 0.0], [0.0, 1.0]]).round(2)
        array([0.45, 1.  ])
        """
        return self._measure(arms)[1].copy()

    def _show(self, arms: Floats) -> Floats:
        """These arms, read-only: what is known of them is computed once."""
        self._arms, self._given, self._measured = arms, arms.view(), None
        self._given.flags.writeable = False
        return self._given

    def _measure(self, arms: ArrayLike) -> tuple[Floats, Floats]:
        if arms is not self._given:
            return self._measured_of(self._checked(arms))
        if self._measured is None:
            assert self._arms is not None
            self._measured = self._measured_of(self._arms)
        return self._measured

    def _checked(self, arms: ArrayLike) -> Floats:
        found = np.array(arms, np.float64, order="C")
        if found.ndim != 2 or found.shape[1] != self.dim:
            raise refuse("arms", f"an array of shape {found.shape}", f"an array [K, {self.dim}]")
        return found

    def _measured_of(self, arms: Floats) -> tuple[Floats, Floats]:
        count = len(arms)
        reward, width, scratch = np.empty((3, count))
        ids, z = np.arange(count), np.empty_like(arms)
        measure(arms, ids, self._U, self._t, *self._chain, z, scratch, reward, width)
        return reward, width

    def _both(self) -> tuple[Floats, Floats]:
        if self._V is None or self._b is None:
            self._V, self._b = self._from_factor() if self._sums is None else self._sums()
        return self._V, self._b

    def _from_factor(self) -> tuple[Floats, Floats]:
        L = np.linalg.inv(self._U)
        return L @ L.T - self.ridge * np.eye(self.dim), L @ self._t

    def __repr__(self) -> str:
        theta = np.array2string(self.theta, precision=3, suppress_small=True, threshold=8)
        features = "feature" if self.dim == 1 else "features"
        steps = "step" if self.steps == 1 else "steps"
        return f"<ClientModel: {self.dim:,} {features}, {self.steps:,} {steps}, theta {theta}>"


class Policy(Plugin, ABC):
    """The base class of policies: how a client chooses an arm, and what it learns of a reward.

    Every client of a run has its own copy of the object, made of it as it was given.

    >>> class Greedy(incfed.Policy):
    ...     def choose(self, model, arms, rng):
    ...         return model.predict(arms).argmax()
    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.IncFedUCB(incfed.PayEveryone(), threshold=1.0, policy=Greedy())
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> len(result.rounds)
    19
    """

    _example = "an object of your own class that derives from incfed.Policy"

    @abstractmethod
    def choose(self, model: ClientModel, arms: Floats, rng: np.random.Generator) -> int | ArrayLike:
        """The index of one of these arms [K, d]; or the probabilities [K] with which each is to be
        chosen: then the arm is drawn from them, and they are its propensities.

        `rng` is the client's own, and is seeded by that of the run.

        >>> import numpy as np
        >>> class Softmax(incfed.Policy):
        ...     def choose(self, model, arms, rng):
        ...         weights = np.exp(5 * model.predict(arms))
        ...         return weights / weights.sum()
        >>> algorithm = incfed.IncFedUCB(incfed.PayEveryone(), threshold=1.0, policy=Softmax())
        >>> len(incfed.simulate(world, algorithm, steps=200).rounds)
        19
        """

    def observe(self, model: ClientModel, x: Floats, y: float) -> tuple[float, float]:
        """(weight, response) of an observed reward y of arm x [d]: it adds weight x x' to V and
        weight * response * x to b. Without a method of your own, 1 and y. `model` is that before
        the step. A weight is finite and above 0.

        >>> class Early(Greedy):
        ...     def observe(self, model, x, y):
        ...         return 1 / (1 + model.steps), y
        >>> algorithm = incfed.IncFedUCB(incfed.PayEveryone(), threshold=1.0, policy=Early())
        >>> len(incfed.simulate(world, algorithm, steps=200).rounds)
        9
        """
        return 1.0, y


POLICIES = Kinds(Policy, {}, example='{ kind = "my_file.py:Mine" }')


class Choice(NamedTuple):
    """The arm that a policy chose, and the probability with which it did; NaN: not known."""

    arm: int
    propensity: float


class ObservedBounds(NamedTuple):
    """Of what a client may learn of a step, where it is not the only one to be concerned. A weight
    is then at most 1."""

    response: float  # up or down
    why: str

    @classmethod
    def of(cls, privacy: Privacy | None) -> ObservedBounds | None:
        if privacy is None:
            return None
        return cls(privacy.reward_bound * SLACK, "with privacy, whose noise is made for that")


class OwnPolicy:
    """One client's copy of a policy of the user's own; what it answers is checked."""

    def __init__(
        self, policy: Policy, rng: np.random.Generator, bounds: ObservedBounds | None = None
    ) -> None:
        self.policy, self.rng, self.bounds = policy, rng, bounds
        self._name = type(policy).__name__
        self._plain = type(policy).observe is Policy.observe

    def choose(self, model: ClientModel, arms: Floats) -> Choice:
        answer = self.policy.choose(model, model._show(arms), self.rng)
        if isinstance(answer, int | np.integer) and not isinstance(answer, bool):
            if not 0 <= answer < len(arms):
                allowed = f"from 0 to {len(arms) - 1}, the index of an arm"
                raise refuse(f"{self._name}.choose", int(answer), allowed)
            return Choice(int(answer), math.nan)
        return self._drawn(answer, len(arms))

    def _drawn(self, answer: object, count: int) -> Choice:
        place = f"{self._name}.choose"
        allowed = f"the index of an arm, or the probabilities [{count}] of all arms"
        try:
            given = np.asarray(answer)
            if given.dtype.kind not in "fiu":
                raise ValueError
            chances = given.astype(np.float64)
        except (TypeError, ValueError):
            raise refuse(place, answer, allowed) from None
        if chances.shape != (count,):
            wrong = f"an array of shape {chances.shape}" if chances.ndim else repr(answer)
            raise InputError(f"got {wrong}, must be {allowed}", place)
        upto = chances.cumsum()
        if not (chances.min() >= 0.0 and abs(upto[-1] - 1.0) <= SUM):  # nor if any is NaN
            k = int(np.argmin(chances))  # of a NaN, if there is one
            wrong = f"a sum of {float(upto[-1])!r}"
            if not chances[k] >= 0.0:
                wrong = f"{float(chances[k])!r} for arm {k}"
            raise InputError(f"got {wrong}, must be probabilities that are {_PROBABILITIES}", place)
        # The product is below the sum, also when rounded: random() is at most 1 - 2^-53.
        drawn = int(upto.searchsorted(self.rng.random() * upto[-1], side="right"))
        return Choice(drawn, float(chances[drawn] / upto[-1]))

    def observed(self, model: ClientModel, x: Floats, y: float) -> tuple[Floats, float]:
        """What it learns of the reward y of arm x: a row, and the reward of that row."""
        if self._plain and self.bounds is None:
            return x, y
        shown = x.view()
        shown.flags.writeable = False
        weight, response = self._numbers(self.policy.observe(model, shown, y))
        root = math.sqrt(weight)
        return root * x, root * response

    def _numbers(self, answer: object) -> tuple[float, float]:
        place = f"{self._name}.observe"
        try:
            weight, response = map(float, answer)  # type: ignore[call-overload]
        except (TypeError, ValueError):
            raise refuse(place, answer, "(weight, response), two numbers") from None
        if not 0.0 < weight <= ranges.LARGEST:
            raise refuse(place, weight, "a finite weight above 0")
        if not abs(response) <= ranges.LARGEST:
            raise refuse(place, response, "a finite response")
        bounds = self.bounds
        if bounds is not None and weight > 1.0:
            raise refuse(place, weight, f"a weight of at most 1 {bounds.why}")
        if bounds is not None and abs(response) > bounds.response:
            most = f"at most reward_bound, {bounds.response:g}, up or down"
            raise refuse(place, response, f"a response of {most} {bounds.why}")
        return weight, response

    def state(self) -> dict[str, Any]:
        """What it keeps, and where its random numbers are, for JSON."""
        return {"attributes": attributes(self.policy), "rng": self.rng.bit_generator.state}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where the policy stopped that had this `state`."""
        put_back(self.policy, state["attributes"])
        self.rng.bit_generator.state = state["rng"]


class Policies:
    """A policy of the user's own in one run: each client's copy of it as it was given."""

    def __init__(self, policy: Policy, seed: int, privacy: Privacy | None = None) -> None:
        self._given, self._seed, self._bounds = copied(policy), seed, ObservedBounds.of(privacy)
        self._of: dict[int, OwnPolicy] = {}  # by client, from its first step on

    def of(self, client: int) -> OwnPolicy:
        """That of this client."""
        if client not in self._of:
            chance = np.random.SeedSequence(self._seed, spawn_key=(_STREAM, client))
            rng = np.random.default_rng(chance)
            self._of[client] = OwnPolicy(copied(self._given), rng, self._bounds)
        return self._of[client]
