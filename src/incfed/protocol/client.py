"""The client's half of Algorithm 1 (lines 4-9, 12, 15-18), without I/O.

A client has the shared statistics of the epoch that it last downloaded, and its own observations
that are not shared yet. While a round is open, what it uploaded is *frozen*: what it learns in the
meantime belongs to the next round. Frozen data is dropped when a download says that it was shared,
and is pending again when the round is known to have closed without it. Until then it stays frozen:
uploading it to another round might share it twice.

Where downloads are one for one, a client may learn that its data was shared before it downloads the
statistics that contain it. In the meantime that data is *given*: shared, but not in V and b yet.

A client may share only from so many steps on, and with noise (privacy.py). With noise, what is
uploaded and delivered, and counts as given, is the *release* of what is frozen.

A client that trusts others only so far chooses with models of its own (kernels/trust.py), made of
what it has downloaded and of all its own data. What it shares does not depend on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..kernels.factor import add_outer, factorize, update, whiten
from ..kernels.step import triggered
from ..kernels.store import thin_limit
from ..kernels.trust import SCORES
from ..kernels.ucb import Rules, choose_dense, confidence
from ..rules.learning import AUTO, Learning
from ..rules.privacy import Noise, Normals, Privacy, secret_normals
from ..types import Arrays, Floats, Ints
from .messages import Download, Upload
from .packing import TRIANGLE, Packed, pack_matrix, pack_rows
from .policies import ClientModel, OwnPolicy, no_chain
from .triggers import BuiltIn
from .trust import Models, state_of

REFRESH = 256  # own updates after which the factor is made afresh from V
LOST = 1e-6  # relative to V: more than rounding can be


def kernel_rules(learning: Learning, trigger: BuiltIn | None, dim: int) -> Rules:
    """The settings of a client as the kernels take them; `trigger`: when it calls for a round,
    None: never."""
    return Rules(
        ridge=float(learning.ridge),
        noise=float(learning.noise),
        surprise=2.0 * math.log(1.0 / learning.delta),
        exploration=math.nan if learning.exploration is None else float(learning.exploration),
        mixture=learning.width == "mixture",
        threshold=math.inf if trigger is None else trigger.threshold,
        clocked=False if trigger is None else trigger.clocked,
        limit=thin_limit(dim),
        scale=float(learning.width_scale),
    )


class Observations(NamedTuple):
    """The sums over some of the client's own observations; the rows only while they are few."""

    steps: int
    V: Floats
    b: Floats
    rows: list[Floats]  # all of them while there are fewer than d, else (or with noise) none
    # Trust "auto": squared errors of each model's predictions of them, and of how many of them.
    scores: Floats  # [G + 1]

    @classmethod
    def empty(cls, dim: int) -> Observations:
        return cls(0, np.zeros((dim, dim)), np.zeros(dim), [], np.zeros(SCORES))

    def plus(self, other: Observations) -> Observations:
        steps, rows = self.steps + other.steps, self.rows + other.rows
        rows = rows if len(rows) == steps < len(self.b) else []
        scores = self.scores + other.scores
        return Observations(steps, self.V + other.V, self.b + other.b, rows, scores)

    def minus(self, first: Observations) -> Observations:
        """Without the first of them; as sums only."""
        steps, scores = self.steps - first.steps, self.scores - first.scores
        return Observations(steps, self.V - first.V, self.b - first.b, [], scores)

    def add(self, x: Floats, y: float, scores: Floats | float = 0.0) -> Observations:
        add_outer(self.V, x)
        self.b[:] += y * x
        self.scores[:] += scores
        few = self.steps + 1 < len(self.b)
        rows = [*self.rows, x.copy()] if few else []
        return Observations(self.steps + 1, self.V, self.b, rows, self.scores)

    def packed(self) -> Packed:
        if len(self.rows) == self.steps < len(self.b):
            return pack_rows(np.array(self.rows).reshape(-1, len(self.b)))
        return pack_matrix(self.V)

    def state(self, name: str) -> Arrays:
        """Its arrays, named so; without those that are all zero."""
        d, some = len(self.b), self.steps > 0
        arrays: Arrays = {
            "steps": np.array([self.steps]),
            "V": self.V if some else np.empty((0, d)),
            "b": self.b if some else np.empty(0),
            "rows": np.array(self.rows).reshape(-1, d),
            "scores": self.scores,
        }
        return {f"{name}.{part}": array for part, array in arrays.items()}

    @classmethod
    def of(cls, state: Arrays, name: str, dim: int) -> Observations:
        """Those whose `state` it is."""
        steps, V, b, rows, scores = (
            state[f"{name}.{part}"] for part in ("steps", "V", "b", "rows", "scores")
        )
        none = cls.empty(dim)
        if steps[0]:
            none = none._replace(V=V.copy(), b=b.copy())
        return none._replace(steps=int(steps[0]), rows=[*rows.copy()], scores=scores.copy())


class FrozenData(NamedTuple):
    """Set aside for a round: uploaded, or about to be."""

    round: int
    data: Observations
    release: Observations | None = None  # with noise; None: as it is
    streamed: bool = False  # the coordinator made the upload of rows

    @property
    def sent(self) -> Observations:
        """The data that the coordinator gets."""
        return self.data if self.release is None else self.release

    def digest(self) -> str | None:
        """The digest of the upload. None: it is the sum of streamed rows, and the coordinator may
        have rounded it otherwise."""
        packed = self.sent.packed()
        return None if self.streamed and packed.form == TRIANGLE else packed.digest()


class Learner:
    """One client: choose, learn, trigger; freeze, and take in what was downloaded."""

    def __init__(self, dim: int, rules: Rules, trust: float | str = math.inf) -> None:
        self.dim = dim
        self.share_from = 1  # new steps with which it uploads
        self.privacy: Privacy | None = None
        self.policy: OwnPolicy | None = None  # of the user's own
        self.others = 0  # steps of others in V and b, as far as it is told
        self.normals: Normals = secret_normals  # of which its noise is made
        self.uploaded_steps = 0  # the first of its pending steps, which an upload had before,
        self.noise: Noise | None = None  # their noise,
        self.kept = Observations.empty(dim)  # and their sums, if it waits for more to add to them
        self.rules = rules
        self.own = Observations.empty(dim)  # all of them
        self.known = np.zeros(SCORES)  # the scores of others, downloaded with the epoch
        self._models: Models | None = None
        self.epoch = 0
        self.clock = 0  # own steps since the last download: delta t of line 8
        self.frozen: FrozenData | None = None
        self.fresh = Observations.empty(dim)  # learned since that was frozen
        self.given = Observations.empty(dim)
        self.given_rounds: tuple[int, ...] = ()
        self.V, self.b = np.zeros((dim, dim)), np.zeros(dim)  # of the epoch
        self._U, self._t = np.empty((dim, dim)), np.empty(dim)
        self._scratch = np.empty((3, dim))
        self._ids: Ints = np.empty(0, np.int64)
        self._z, self._score = np.empty((0, dim)), np.empty(0)
        self._logdet = self._logdet_shared = 0.0
        self._age = 0  # own updates since the factor was made afresh
        self._chain = no_chain(dim)
        self.trust = trust

    @property
    def trust(self) -> float | str:
        """For how many observations the data of others counts at most; "auto": it finds out."""
        return self._trust

    @trust.setter
    def trust(self, trust: float | str) -> None:
        self._trust = trust
        paper = trust == math.inf
        self._models = None if paper else Models(self.dim, self.rules.ridge, trust)
        self._refactor()

    def choose(self, arms: Floats) -> int:
        """Eq. 2, or a policy of the user's own: the index of one of these arms [K, d]."""
        if self.policy is not None:
            return self.policy.choose(self.model(), arms).arm
        if len(self._ids) != len(arms):
            self._ids, self._z, self._score = np.arange(len(arms)), arms.copy(), np.empty(len(arms))
        (U, t, alpha), ids = self._model(), self._ids
        return choose_dense(arms, ids, ids, U, t, alpha, self._z, self._score)

    def predict(self, arms: Floats) -> tuple[Floats, Floats]:
        """The two terms of Eq. 2 for each of these arms [K, d]: x'theta and alpha ||x||."""
        U, t, alpha = self._model()
        z = arms @ U.T
        return z @ t, alpha * np.linalg.norm(z, axis=1)

    def theta(self) -> Floats:
        """The estimated parameter with which it chooses."""
        U, t, _ = self._model()
        return np.asarray(U.T @ t)

    def model(self) -> ClientModel:
        """What a policy sees of it, until it learns."""
        sums: Callable[[], tuple[Floats, Floats]] | None = self._sums
        U, t, logdet = self._U, self._t, self._logdet
        if self._models is not None:
            sums, (U, t, logdet) = None, self._models.best(self.own.scores, self.known)
        steps = self.own.steps + self.others
        return ClientModel(self.rules, U, t, logdet, steps, sums, self._chain)

    def _sums(self) -> tuple[Floats, Floats]:
        """V_i and b_i."""
        pending, given = self.pending, self.given
        return self.V + given.V + pending.V, self.b + given.b + pending.b

    @property
    def alpha(self) -> float:
        """How far it explores now."""
        return self._model()[2]

    def _model(self) -> tuple[Floats, Floats, float]:
        """U, t and alpha to choose with."""
        U, t, logdet = self._U, self._t, self._logdet
        if self._models is not None:
            U, t, logdet = self._models.best(self.own.scores, self.known)
        return U, t, confidence(logdet, self.dim, self.rules)

    def observed(self, x: Floats, y: float) -> tuple[Floats, float]:
        """What it is to learn of the reward y of arm x: a row, and the reward of that row."""
        return (x, y) if self.policy is None else self.policy.observed(self.model(), x, y)

    def learn(self, x: Floats, y: float) -> bool:
        """Lines 6-8: add an observation, as `observed` has it; does it call for a round?"""
        scores = 0.0 if self._models is None else self._models.learn(x, y)
        self.fresh, self.own = self.fresh.add(x, y, scores), self.own.add(x, y, scores)
        scratch = self._scratch
        square = update(self._U, x, y, self._t, scratch[0], scratch[1])
        self._logdet += float(np.log1p(square))
        self._age += 1
        self.clock += 1
        if self._age == REFRESH:
            self._refactor()
        return self.triggered

    @property
    def triggered(self) -> bool:
        """Line 8, for what may go into the next round."""
        grown = self._logdet - self._logdet_shared
        own = self.clock > 0  # a round answers what was learned before, whoever shared in it
        if not self.ready:
            return False
        return own and triggered(self.clock, grown, self.rules.threshold, self.rules.clocked)

    @property
    def ready(self) -> bool:
        """Whether it has as many new steps as it shares from."""
        return self.share_from == 1 or self.new_steps >= self.share_from

    @property
    def logdet(self) -> float:
        """log det V_i(lambda)."""
        return self._logdet

    @property
    def logdet_shared(self) -> float:
        """log det V_g(lambda), of the epoch that it has."""
        return self._logdet_shared

    @property
    def pending(self) -> Observations:
        """All that is not known to be shared."""
        first = self.kept if self.frozen is None else self.frozen.data
        return first.plus(self.fresh) if first.steps else self.fresh

    @property
    def pending_steps(self) -> int:
        """How many steps that is."""
        first = self.kept if self.frozen is None else self.frozen.data
        return first.steps + self.fresh.steps

    @property
    def new_steps(self) -> int:
        """Pending steps that no upload has had."""
        return self.pending_steps - self.uploaded_steps

    def freeze(self, round: int, cost: float) -> Upload:
        """Line 10: the upload to this round. Called again, it returns the same."""
        if self.frozen is None:
            data = self.kept
            if not 0 < self.new_steps < self.share_from:
                data, self.fresh = self.pending, Observations.empty(self.dim)
            self.frozen = FrozenData(round, data, self._release(data))
            self.kept = Observations.empty(self.dim)
            self.uploaded_steps = max(self.uploaded_steps, data.steps)
        if self.frozen.round != round:
            frozen = self.frozen.round
            raise ValueError(f"still frozen for round {frozen}: nothing for round {round} yet")
        sent = self.frozen.sent
        return Upload(round, self.epoch, sent.steps, cost if sent.steps else 0.0, sent.packed())

    def _release(self, data: Observations) -> Observations | None:
        """The data with noise, as it is sent; None: it is sent as it is. Steps that were sent
        before keep the noise that they had: drawn anew, it could be averaged away."""
        if self.privacy is None or not data.steps:
            return None
        noise = Noise.none(self.dim) if self.noise is None else self.noise
        if data.steps > self.uploaded_steps or self.noise is None:
            noise = noise.plus(self.privacy.noise(self.dim, self.normals))
        self.noise = noise
        V, b = self.privacy.plausible(data.V + noise.V, data.b + noise.b, data.steps)
        return Observations(data.steps, V, b, [], np.zeros(SCORES))

    def freeze_first(self, round: int, first: Observations, last: Observations) -> None:
        """Freeze only the first of the pending steps, if the coordinator has just those; `last`:
        the others."""
        if self.frozen is None:
            self.frozen, self.fresh = FrozenData(round, first, streamed=True), last
            self.uploaded_steps = first.steps

    def thaw(self) -> None:
        """The round has another upload of this client: what was frozen for it is not in it."""
        if self.frozen is not None:
            self._put_back(self.frozen.data)

    def _put_back(self, data: Observations) -> None:
        """Make frozen data pending again, as it was not shared."""
        self.frozen = None
        if self.share_from > 1:
            self.kept = data
        else:
            self.fresh = data.plus(self.fresh)

    def deliver(self, round: int) -> Floats:
        """Line 12: db of what was frozen for this round."""
        if self.frozen is None or self.frozen.round != round:
            raise ValueError(f"nothing was uploaded in round {round}")
        return self.frozen.sent.b.copy()

    def scores(self, round: int) -> Floats | None:
        """To be delivered with it, if this client compares models."""
        if self.frozen is None or self.frozen.round != round or self._trust != AUTO:
            return None
        return self.frozen.data.scores.copy()

    def held(self, closed: bool) -> tuple[int, ...]:
        """The rounds whose data of its own it has, apart from V and b, if they shared it.
        `closed`: is that of the frozen data over?"""
        own = (self.frozen.round,) if closed and self.frozen is not None else ()
        return self.given_rounds + own

    def take_in(self, news: Download, closed: bool = True) -> None:
        """Lines 17-20, and the clock restarts.

        `closed`: was the round of the frozen data over when the download was requested? If not,
        and if the download does not contain that data, it stays frozen.
        """
        if news.since is not None and news.since != self.epoch:
            raise ValueError(f"a download since epoch {news.since}, but this is {self.epoch}")
        newer, whole = news.epoch > self.epoch, news.since is None
        mine = self.given if min(self.given_rounds, default=0) > news.withdrawn else None
        if self.frozen is not None:
            round, data, sent = self.frozen.round, self.frozen.data, self.frozen.sent
            if round in news.shared:
                self.frozen = None
                if data.steps:
                    self.uploaded_steps, self.noise = 0, None
                if round > news.withdrawn:
                    mine = sent if mine is None else mine.plus(sent)
                if not newer or round in news.without:  # it is not in the download
                    self.given = self.given.plus(sent)
                    self.given_rounds = (*self.given_rounds, round)
            elif closed:
                self._put_back(data)
        self.V = news.V.matrix() if whole else self.V + news.V.matrix()
        self.b = news.b.copy() if whole else self.b + news.b
        if news.scores is not None:
            self.known = news.scores
        if newer:
            if news.without and not whole:
                self.V, self.b = self.V + self.given.V, self.b + self.given.b
            self.given, self.given_rounds = Observations.empty(self.dim), ()
            if news.withdrawn:  # of its own data, only this is still in V and b
                self.own = (mine or Observations.empty(self.dim)).plus(self.pending)
        self.epoch = news.epoch
        self.clock = 0
        self._refactor()

    def resume(
        self,
        epoch: int,
        clock: int,
        V: Floats,
        b: Floats,
        frozen: FrozenData | None,
        fresh: Observations,
        given: Observations | None = None,
        given_rounds: tuple[int, ...] = (),
        *,
        own: Observations,
        known: Floats | None = None,
        uploaded_steps: int = 0,
        noise: Noise | None = None,
        kept: Observations | None = None,
    ) -> None:
        """Go on where another learner stopped."""
        self.epoch, self.clock, self.V, self.b = epoch, clock, V.copy(), b.copy()
        self.frozen, self.fresh = frozen, fresh
        self.kept = Observations.empty(self.dim) if kept is None else kept
        self.given = Observations.empty(self.dim) if given is None else given
        self.given_rounds = given_rounds
        self.own = own
        self.known = np.zeros(SCORES) if known is None else known
        self.uploaded_steps, self.noise = uploaded_steps, noise
        self._refactor()

    def state(self) -> Arrays:
        """All that it knows, while no round is open: with it, `restore` makes another learner of
        the same settings go on as this one would, to the last bit."""
        assert self.frozen is None, "in a round"
        noise = Noise(np.empty((0, self.dim)), np.empty(0)) if self.noise is None else self.noise
        return {
            "counts": np.array([self.epoch, self.clock, self.uploaded_steps, self._age]),
            "given_rounds": np.array(self.given_rounds, np.int64),
            "logdets": np.array([self._logdet, self._logdet_shared]),
            "V": self.V, "b": self.b, "U": self._U, "t": self._t,
            "known": self.known, "noise.V": noise.V, "noise.b": noise.b,
            **self.fresh.state("fresh"), **self.own.state("own"),
            **self.kept.state("kept"), **self.given.state("given"),
            **state_of(self._models, self.dim),
        }  # fmt: skip

    def restore(self, state: Arrays) -> None:
        """Go on where the learner stopped that had this `state`."""
        epoch, clock, uploaded_steps, age = state["counts"].tolist()
        fresh, own, kept, given = (
            Observations.of(state, name, self.dim) for name in ("fresh", "own", "kept", "given")
        )
        noise = Noise(state["noise.V"].copy(), state["noise.b"].copy())
        self.resume(
            epoch, clock, state["V"], state["b"], None, fresh, given,
            tuple(state["given_rounds"].tolist()), own=own, known=state["known"].copy(),
            uploaded_steps=uploaded_steps, noise=noise if len(noise.b) else None, kept=kept,
        )  # fmt: skip
        # What was updated step by step: computed anew, it would differ by rounding.
        self._U, self._t = state["U"].copy(), state["t"].copy()
        self._logdet, self._logdet_shared = state["logdets"].tolist()
        self._age = age
        if self._models is not None:
            self._models.restore(state)

    def _refactor(self) -> None:
        """The factor, log det and t from V_i = V_g + dV_i itself."""
        pending, V, b = self.pending, self.V.copy(), self.b
        if self.given.steps:
            V, b = V + self.given.V, b + self.given.b
        L, ridge = np.empty_like(V), self.rules.ridge
        self._logdet_shared = factorize(V, ridge, L, self._U)
        self._logdet = self._logdet_shared
        if pending.steps:
            self._logdet = factorize(V + pending.V, ridge, L, self._U)
        whiten(self._U, b + pending.b, self._t)
        self._age = 0
        if self._models is not None:
            if not _contains(V + pending.V, self.own.V):  # the federation has lost some of it
                self.own = self.given.plus(pending)
            own, others = self.own, (V + pending.V - self.own.V, b + pending.b - self.own.b)
            # nobody else compares models: then by its own arms
            norm = float(self.known[-1] or np.trace(own.V) / max(1, own.steps))
            self._models.renew(*others, own.V, own.b, norm)


def _contains(V: Floats, own: Floats) -> bool:
    """Whether V can be the sum of `own` and other data: V - own is positive semi-definite."""
    return bool(np.linalg.eigvalsh(V - own)[0] >= -LOST * (1.0 + np.trace(V)))
