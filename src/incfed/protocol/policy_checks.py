"""A conformance test for policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, refuse
from ..rules.learning import Learning
from ..support.inputs import counted
from ..types import Floats, Ints
from ..values import Whole
from .client import Learner, kernel_rules
from .policies import Policies, Policy

SIZES = ((1, 1), (2, 2), (3, 5), (8, 4))  # features, arms


def check_policy(policy: Policy, *, steps: int = 200, seed: int = 0) -> int:
    """Try `policy` for so many steps in each of several small worlds of two clients; raise
    InputError with the rules it breaks.

    It chooses and observes as it should, also before anything is learned, arms that are equal or
    all zero, and rewards of 0. The same run twice gives the same choices. A client chooses as it
    would if it were alone: clients share nothing but what a federation shares. Returns the number
    of steps tried.

    >>> import numpy as np
    >>> class Softmax(incfed.Policy):
    ...     def choose(self, model, arms, rng):
    ...         weights = np.exp(5 * model.predict(arms))
    ...         return weights / weights.sum()
    >>> incfed.check_policy(Softmax())
    800
    >>> class Forgetful(incfed.Policy):
    ...     def choose(self, model, arms, rng):
    ...         return np.random.randint(len(arms))
    >>> incfed.check_policy(Forgetful())
    Traceback (most recent call last):
        ...
    incfed.errors.InputError: Forgetful broke 1 rule:
    - the same run twice gave other choices: draw from `rng`, and keep what changes in self, not in
        the class or the module (2 features, 2 arms); and in 2 more worlds
    """
    if not isinstance(policy, Policy):
        raise refuse("policy", policy, "an instance of a class that derives from incfed.Policy")
    steps, seed = Whole(2).of("steps", steps), Whole(0).of("seed", seed)
    faults: dict[str, list[str]] = {}
    for n, (dim, arms) in enumerate(SIZES):
        title = f"({counted(dim, 'feature')}, {counted(arms, 'arm')})"
        for fault in _faults(policy, _PolicyTrial.made(dim, arms, steps, seed + n)):
            faults.setdefault(fault.partition(":")[0], []).append(f"{fault} {title}")
    if faults:
        lines = []
        for first, *rest in faults.values():
            more = f"; and in {counted(len(rest), 'more world')}" if rest else ""
            lines.append(f"- {first}{more}")
        broken = f"{type(policy).__name__} broke {counted(len(faults), 'rule')}"
        raise InputError("\n".join([f"{broken}:", *lines]))
    return steps * len(SIZES)


class _PolicyTrial(NamedTuple):
    """Steps of two clients."""

    seed: int
    clients: Ints  # [T]
    arms: Floats  # [T, K, d]
    rewards: Floats  # [T, K]

    @classmethod
    def made(cls, dim: int, count: int, steps: int, seed: int) -> _PolicyTrial:
        chance = np.random.default_rng(seed)
        arms = chance.standard_normal((steps, count, dim))
        arms /= np.maximum(1.0, np.linalg.norm(arms, axis=2, keepdims=True))
        arms[steps // 4 :: 7] = arms[steps // 4 :: 7, :1]  # all equal
        arms[steps // 4 :: 11] = 0.0
        rewards = arms @ chance.standard_normal(dim) + 0.1 * chance.standard_normal((steps, count))
        rewards[: steps // 4] = 0.0
        return cls(seed, chance.integers(0, 2, steps), arms, rewards)

    def run(self, policy: Policy, clients: Sequence[int]) -> list[tuple[Any, ...]]:
        """What these clients choose and learn."""
        dim = self.arms.shape[2]
        policies, rules, done = Policies(policy, self.seed), kernel_rules(Learning(), None, dim), []
        learners = {client: Learner(dim, rules) for client in clients}
        steps = zip(self.clients.tolist(), self.arms, self.rewards, strict=True)
        for client, arms, rewards in steps:
            if client in learners:
                learner, own = learners[client], policies.of(client)
                learner.policy = own
                choice = own.choose(learner.model(), arms.copy())
                x, y = learner.observed(arms[choice.arm].copy(), float(rewards[choice.arm]))
                learner.learn(x, y)
                done.append((client, choice.arm, str(choice.propensity), x.tolist(), y))
        return done


def _faults(policy: Policy, trial: _PolicyTrial) -> list[str]:
    try:
        first, again = trial.run(policy, (0, 1)), trial.run(policy, (0, 1))
        alone = [trial.run(policy, (client,)) for client in (0, 1)]
    except InputError as error:
        return [str(error)]
    except Exception as error:  # show the author whatever the policy raises
        return [f"it raised an error: {type(error).__name__}: {error}"]
    keep = "keep what changes in self, not in the class or the module"
    if first != again:
        return [f"the same run twice gave other choices: draw from `rng`, and {keep}"]
    if any(alone[client] != [one for one in first if one[0] == client] for client in (0, 1)):
        return [f"a client chose otherwise because another one acted in between: {keep}"]
    return []
