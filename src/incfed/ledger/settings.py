"""What a federation runs by; every version of it is kept, so that an audit knows the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from .. import mechanisms
from ..mechanisms.base import Mechanism
from ..protocol.checks import Limits
from ..support import inputs

KINDS: dict[str, Callable[..., Mechanism]] = {
    "PaymentEfficient": mechanisms.PaymentEfficient,
    "PaymentFree": mechanisms.PaymentFree,
    "PayEveryone": mechanisms.PayEveryone,
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Times are in seconds, money in the units of the clients' costs."""

    dim: int
    mechanism: Mechanism
    threshold: float | None  # D_c; None: clients never ask for a round
    name: str = "federation"
    ridge: float = 0.1
    noise: float = 0.1
    delta: float = 0.1
    exploration: float | None = None
    arm_norm: float = 1.0  # L: no arm is longer
    reward_bound: float = 1.0  # Y: no reward is larger, up or down
    cost_limit: float = 1e6  # no cost is larger
    budget: float | None = None  # in all, ever; None: no end
    upload_time: float = 10.0  # to upload in, after a round opens
    answer_time: float = 10.0  # to answer and deliver in, after an offer
    live_time: float = 90.0  # who was heard of within it is waited for
    attempts: int = 3  # at deciding a round, before it closes with who delivered
    barred_rounds: int = 3  # that who failed to deliver takes no part in
    lag: int = 16  # epochs that an upload may be behind
    identity: str = ""  # the name and a random part: made at the founding, in no config

    def __post_init__(self) -> None:
        inputs.integer("dim", self.dim, low=1, high=inputs.MOST_DIM)
        if KINDS.get(type(self.mechanism).__name__) is not type(self.mechanism):
            raise inputs.refuse("mechanism", self.mechanism, f"one of {', '.join(KINDS)}")
        named = isinstance(self.name, str) and self.name.strip() and self.name.isprintable()
        if not named or len(self.name) > 80:
            raise inputs.refuse("name", self.name, "a text of 1 to 80 characters")
        inputs.number("ridge", self.ridge, low=0.0, open_low=True)
        inputs.number("noise", self.noise, low=0.0)
        inputs.number("delta", self.delta, low=0.0, high=1.0, open_low=True, open_high=True)
        for name in ("threshold", "exploration", "budget"):
            if getattr(self, name) is not None:
                inputs.number(name, getattr(self, name), low=0.0)
        for name in ("arm_norm", "reward_bound", "cost_limit"):
            inputs.number(name, getattr(self, name), low=0.0, high=1e100, open_low=True)
        for name in ("upload_time", "answer_time", "live_time"):
            inputs.number(name, getattr(self, name), low=0.0, high=1e7, open_low=True)
        inputs.integer("attempts", self.attempts, low=1, high=1000)
        inputs.integer("barred_rounds", self.barred_rounds, low=0, high=10**6)
        inputs.integer("lag", self.lag, low=0, high=10**6)

    def check(self, present: Settings | None = None) -> None:
        """InputError if a number is beyond its range, unless it is already so at `present`.

        Not checked when settings are made: an old ledger has to be read, whatever it says.
        """
        for name in inputs.RANGES.keys() & {one.name for one in fields(self)}:
            value = getattr(self, name)
            if value is not None and (present is None or value != getattr(present, name)):
                inputs.setting(name, value)

    @property
    def limits(self) -> Limits:
        return Limits(self.dim, self.arm_norm, self.reward_bound, self.cost_limit)

    def body(self) -> dict[str, Any]:
        """As the ledger keeps it."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**plain, "mechanism": self.mechanism.settings()}

    @classmethod
    def of(cls, body: dict[str, Any]) -> Settings:
        return cls(**{**body, "mechanism": make_mechanism(body["mechanism"])})


def make_mechanism(table: dict[str, Any]) -> Mechanism:
    """From its kind and options."""
    kind = inputs.choice("kind", table.get("kind"), KINDS)
    return KINDS[kind](**{key: value for key, value in table.items() if key != "kind"})
