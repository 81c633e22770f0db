"""check_policy: what it finds, and what it lets pass."""

from __future__ import annotations

from itertools import count
from typing import Any, ClassVar

import numpy as np
import pytest

import incfed
from reference.mechanisms import FloatArray


class Sound(incfed.Policy):
    """Keeps what changes in self, and draws from rng."""

    def __init__(self) -> None:
        self.chosen: list[int] = []

    def choose(self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator) -> Any:
        self.chosen.append(int(model.widths(arms).argmax()))
        if rng.random() < 2 / (1 + len(self.chosen)):
            return np.full(len(arms), 1 / len(arms))
        return self.chosen[-1]

    def observe(self, model: incfed.ClientModel, x: FloatArray, y: float) -> tuple[float, float]:
        return 0.1 + 1 / (1 + model.steps), y - float(model.theta @ x)


class Shared(incfed.Policy):
    turns: ClassVar[list[int]] = []

    def choose(self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator) -> int:
        if model.steps == 0:
            self.turns.clear()
        self.turns.append(1)
        return len(self.turns) % len(arms)


class Uncopied(Sound):
    def __deepcopy__(self, memo: object) -> Uncopied:
        return self


class Counted(Sound):
    number = count()

    def choose(self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator) -> int:
        return next(self.number) % len(arms)


class Observing(Sound):
    """Chance in what it learns, not in what it chooses."""

    def choose(self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator) -> int:
        return 0

    def observe(self, model: incfed.ClientModel, x: FloatArray, y: float) -> tuple[float, float]:
        return 0.5 + np.random.default_rng().random(), y


class Failing(Sound):
    def choose(self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator) -> int:
        return 0 // (len(arms) - 4)


class Few(Sound):
    def choose(self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator) -> int:
        return 3


def test_a_sound_one() -> None:
    policy = Sound()
    assert incfed.check_policy(policy) == 800
    assert incfed.check_policy(policy, steps=10, seed=4) == 40
    assert policy.chosen == []


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (Shared(), "a client chose otherwise because another one acted in between: keep what"),
        (Uncopied(), "- the same run twice gave other choices: draw from `rng`, and keep what"),
        (Counted(), r"because another one acted.*\(2 features, 2 arms\); and in 2 more worlds"),
        (Observing(), r"twice gave other choices.*\(1 feature, 1 arm\); and in 3 more worlds"),
        (Failing(), r"it raised an error: ZeroDivisionError: .*\(8 features, 4 arms\)$"),
        (Few(), r"- Few\.choose: got 3, must be from 0 to 0.*\(1 feature, 1 arm\); and in 1 more"),
    ],
)
def test_what_it_finds(policy: incfed.Policy, said: str) -> None:
    name = type(policy).__name__
    with pytest.raises(incfed.InputError, match=rf"(?s)^{name} broke \d rules?:\n.*{said}"):
        incfed.check_policy(policy)


@pytest.mark.parametrize("policy", [Sound, 3, incfed.PayEveryone()])
def test_what_is_no_policy(policy: Any) -> None:
    with pytest.raises(incfed.InputError, match=r"^policy: got .*, must be an instance of a class"):
        incfed.check_policy(policy)
    for wrong in ({"steps": 1}, {"seed": -1}):
        with pytest.raises(incfed.InputError, match=rf"^{next(iter(wrong))}: "):
            incfed.check_policy(Sound(), **wrong)
