"""LinUCB without a server: one learner, which chooses and learns in your own loop."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from .. import errors, ranges
from .._version import __version__
from ..configured import Described
from ..protocol.client import Learner, Observations
from ..protocol.policies import OwnPolicy, Policy
from ..rules.learning import AUTO
from ..rules.plugins import copied
from ..support import inputs
from ..support.files import replacing
from ..support.formats import FormatError, check_format
from ..types import Floats
from ..values import Whole
from .base import Algorithm
from .baselines import Independent

FORMAT = 2  # of saved learners
_SETTINGS = ("ridge", "noise", "delta", "exploration", "width", "width_scale")


class Prediction(NamedTuple):
    """The reward that a learner expects of an arm, give or take the width of its interval. For
    several arms, both are arrays. `choose` takes the arm with the largest sum of the two."""

    reward: Any
    width: Any


class LinUCB(Described):
    """A contextual bandit for arms of `dim` features: ridge regression and an upper confidence
    bound (Eq. 2). It is what a client of a federation is between rounds.

    The settings are those of `Algorithm`: `exploration` is alpha itself, if its formula explores
    too much or too little for you. `policy`: one of your own (docs/extending.md), of which it has
    a copy. `seed`: of its random numbers; None: other ones each time.

    >>> learner = incfed.LinUCB(dim=2)
    >>> arms = [[1.0, 0.0], [0.0, 1.0]]
    >>> for _ in range(20):
    ...     k = learner.choose(arms)
    ...     learner.learn(arms[k], reward=[0.2, 0.9][k])
    >>> learner.choose(arms)
    1
    """

    def __init__(
        self,
        dim: int,
        *,
        ridge: float = 0.1,
        noise: float = 0.1,
        delta: float = 0.1,
        exploration: float | None = None,
        width: str = "paper",
        width_scale: float = 1.0,
        policy: Policy | None = None,
        seed: int | None = None,
    ) -> None:
        dim = Whole(1, 10_000).of("dim", dim)
        self._algorithm: Algorithm = Independent(
            ridge=ridge, noise=noise, delta=delta, exploration=exploration, width=width,
            width_scale=width_scale, policy=policy,
        )  # fmt: skip
        self._learner = Learner(dim, self._algorithm.rules(dim))
        seed = None if seed is None else Whole(0).of("seed", seed)
        if policy is not None:
            self._learner.policy = OwnPolicy(copied(policy), np.random.default_rng(seed))

    def choose(self, arms: ArrayLike) -> int:
        """The index of the arm [K, d] with the largest optimistic estimate, the first of equals; or
        of the one that its own policy chooses.

        >>> learner.choose([[1.0, 0.0], [0.6, 0.8]])
        1
        """
        return self._learner.choose(self._checked(arms))

    def learn(self, arm: ArrayLike, reward: ArrayLike) -> None:
        """Learn the reward of an arm [d]; or the rewards [n] of arms [n, d], one after another.
        Booleans count as 0 and 1.

        >>> learner.learn([1.0, 0.0], reward=0.3)
        >>> learner.learn([[1.0, 0.0], [0.0, 1.0]], reward=[0.2, 0.9])  # several at once
        """
        if np.ndim(arm) == 0:  # what `choose` returned
            allowed = f"the {inputs.counted(self.dim, 'feature')} of the arm: arms[k], not k"
            raise errors.refuse("arm", arm, allowed)
        single = np.ndim(arm) == 1
        arms = self._checked([arm] if single else arm, "arm")
        rewards = np.reshape(reward, 1) if single and np.ndim(reward) == 0 else reward
        checked = inputs.array("reward", rewards, ndim=1, most=ranges.LARGEST, booleans=True)
        if len(checked) != len(arms):
            allowed = f"{inputs.counted(len(arms), 'number')}, one for each arm"
            raise errors.refuse("reward", inputs.counted(len(checked), "number"), allowed)
        for x, y in zip(arms, checked.tolist(), strict=True):
            self._learn(x, y)

    def predict(self, arm: ArrayLike) -> Prediction:
        """The estimated reward of an arm [d], and the width of its interval; of arms [n, d], arrays
        of both.

        >>> reward, width = learner.predict([0.0, 1.0])
        >>> round(reward, 2)
        0.9
        """
        if np.ndim(arm) == 1:
            reward, width = self._learner.predict(self._checked([arm], "arm"))
            return Prediction(float(reward[0]), float(width[0]))
        return Prediction(*self._learner.predict(self._checked(arm, "arm")))

    @property
    def dim(self) -> int:
        """d, the number of features.

        >>> learner.dim
        2
        """
        return self._learner.dim

    @property
    def steps(self) -> int:
        """How many rewards it has learned itself.

        >>> learner.steps
        23
        """
        return self._learner.own.steps

    @property
    def theta(self) -> Floats:
        """[d] the estimated parameter: the reward of an arm x is estimated as x @ theta.

        >>> learner.theta.round(1)
        array([0.2, 0.9])
        """
        return self._learner.theta()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write all that it has learned to a file (.npz), from which `load` makes it again. Of a
        policy of your own, attributes that are numbers, texts or arrays are kept; others are
        refused.

        >>> learner.save("shop-7").name
        'shop-7.npz'
        """
        learner = self._learner
        pending, own = learner.pending, learner.own
        about = {
            "format": FORMAT,
            "incfed": __version__,
            "dim": self.dim,
            "settings": {name: getattr(self._algorithm, name) for name in _SETTINGS},
            "trust": str(learner.trust),
            "steps": [pending.steps, own.steps],
            "others": learner.others,
        }
        if learner.policy is not None:
            about["policy"] = learner.policy.state()
        arrays: dict[str, Any] = {
            "V": learner.V + learner.given.V, "b": learner.b + learner.given.b,
            "pending_V": pending.V, "pending_b": pending.b,
            "own_V": own.V, "own_b": own.b, "scores": own.scores, "known": learner.known,
        }  # fmt: skip
        target = inputs.path("path", path, "the name of a file")
        target = target if target.suffix == ".npz" else target.with_name(target.name + ".npz")
        with replacing(target) as fresh:
            np.savez(fresh, about=np.array(json.dumps(about)), **arrays)
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, policy: Policy | None = None) -> Self:
        """The learner that `save` wrote. It goes on as the saved one would, up to rounding.
        `policy`: if it had one of your own, an object of that class, whose attributes are set to
        those that were saved.

        >>> incfed.LinUCB.load("shop-7.npz")
        <LinUCB: 2 features, 23 steps learned>
        """
        file = inputs.path("path", path, "the name of a file")
        try:
            with np.load(file, allow_pickle=False) as found:
                about = json.loads(str(found["about"]))
                check_format(file, about["format"], FORMAT, about.get("incfed"))
                _check_policy_of(about, policy)
                made = cls(about["dim"], **about["settings"], policy=policy)
                made._resume(about, {name: found[name] for name in found.files})
        except FileNotFoundError:
            raise errors.InputError(f"path: file not found: {file}") from None
        except (FormatError, errors.InputError):
            raise
        except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile):
            allowed = "a file that LinUCB.save wrote"
            raise errors.refuse("path", str(file), allowed) from None
        return made

    def _resume(self, about: dict[str, Any], saved: dict[str, Floats]) -> None:
        (pending, own), scores = about["steps"], saved["scores"]
        self._learner.resume(
            0, 0, saved["V"], saved["b"], None,
            Observations(pending, saved["pending_V"], saved["pending_b"], [], scores),
            own=Observations(own, saved["own_V"], saved["own_b"], [], scores.copy()),
            known=saved["known"],
        )  # fmt: skip
        self._learner.others = about.get("others", 0)
        if self._learner.policy is not None:
            self._learner.policy.restore(about["policy"])
        trust = about["trust"]
        self._learner.trust = trust if trust == AUTO else float(trust)

    def _learn(self, x: Floats, y: float) -> None:
        """One step; x and y are checked."""
        self._learner.learn(*self._learner.observed(x, y))

    def _checked(self, arms: object, name: str = "arms") -> Floats:
        allowed = (
            f"arms of {inputs.counted(self.dim, 'feature')} each, such as an array [K, {self.dim}]"
        )
        checked = inputs.array(name, arms, ndim=2, allowed=allowed, most=ranges.LARGEST)
        if checked.shape[1] != self.dim or not len(checked):
            raise errors.refuse(name, f"an array of shape {checked.shape}", allowed)
        return checked

    def _facts(self) -> dict[str, Any]:
        alpha = self._learner.alpha
        theta = np.array2string(self.theta, precision=3, suppress_small=True, threshold=8)
        said = {"features": self.dim, "steps learned": self.steps, "theta": theta}
        return {**said, "alpha": f"{alpha:.3g}", **self._algorithm._facts()}

    def _usual(self) -> frozenset[str]:
        return self._algorithm._usual()

    def __repr__(self) -> str:
        size, learned = inputs.counted(self.dim, "feature"), inputs.counted(self.steps, "step")
        return f"<LinUCB: {size}, {learned} learned>"


def _check_policy_of(about: dict[str, Any], policy: Policy | None) -> None:
    """Is it the policy of the saved learner?"""
    if "policy" in about and policy is None:
        allowed = "given: this learner had a policy of your own, whose code is not saved with it"
        raise errors.missing("policy", allowed)
    if "policy" not in about and policy is not None:
        raise errors.refuse("policy", policy, "left out: the saved learner had none of your own")
