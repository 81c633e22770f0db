"""The settings of a federation. Every version is kept, for the audit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from ..mechanisms.base import Mechanism
from ..mechanisms.payment_free import PaymentFree
from ..mechanisms.registry import (
    BUILT_IN,
    Pinned,
    load_mechanism,
    mechanism_table,
    recorded_mechanism,
)
from ..protocol.checks import Limits
from ..protocol.protocols import EVERYONE, ONE_FOR_ONE
from ..protocol.statements import REGISTERED, REQUIRED
from ..protocol.triggers import (
    TRIGGERS,
    Threshold,
    Trigger,
    build_trigger,
    recorded_trigger,
)
from ..protocol.trust import AUTO, Auto, check_trust
from ..support import inputs, places

# Recorded if they differ from version 0.1.
LATER = ("trigger", "download", "width", "width_scale", "trust", "signatures")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Times are in seconds, money in the units of the clients' costs."""

    dim: int
    mechanism: Mechanism
    threshold: float | None = None  # D_c; None: another trigger, or clients never ask for a round
    name: str = "federation"
    ridge: float = 0.1
    noise: float = 0.1
    delta: float = 0.1
    exploration: float | None = None
    arm_norm: float = 1.0  # L: no arm is longer
    reward_bound: float = 1.0  # Y: no reward is larger, up or down
    cost_limit: float = 1e6  # no cost is larger
    budget: float | None = None  # for all payments ever; None: no limit
    upload_time: float = 10.0  # to upload, after a round opens
    answer_time: float = 10.0  # to answer and deliver, after an offer
    live_time: float = 90.0  # clients seen within this time are awaited
    attempts: int = 3  # decisions of a round, before it closes with those who delivered
    barred_rounds: int = 3  # rounds that a client is excluded from after failing to deliver
    lag: int = 16  # epochs that an upload may be behind
    identity: str = ""  # the name and a random part: made with the federation, in no config
    trigger: Trigger | None = None  # if it is not the paper's, which `threshold` describes
    download: Literal["everyone", "one-for-one"] = "everyone"  # who gets the new model
    width: Literal["paper", "mixture"] = "paper"  # of the confidence set
    width_scale: float = 1.0
    trust: float | Auto | None = None  # of clients that say nothing; None: infinite
    signatures: Literal["registered", "required"] = "registered"  # who signs: who has a key, or all

    def __post_init__(self) -> None:
        inputs.integer("dim", self.dim, low=1, high=inputs.MOST_DIM)
        kind = type(self.mechanism)
        if kind is not Pinned and BUILT_IN.get(kind.__name__) is not kind:
            allowed = f"one of {', '.join(BUILT_IN)}, or one that a config names"
            raise inputs.refuse("mechanism", self.mechanism, allowed)
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
        self._check_trigger()
        inputs.choice("download", self.download, (EVERYONE, ONE_FOR_ONE))
        inputs.choice("signatures", self.signatures, (REGISTERED, REQUIRED))
        inputs.choice("width", self.width, ("paper", "mixture"))
        inputs.number("width_scale", self.width_scale, low=0.0)
        if self.exploration is not None and self.width_scale != 1.0:
            allowed = "left out: exploration takes the place of the formula"
            raise inputs.refuse("width_scale", self.width_scale, allowed)
        if self.trust is not None:
            object.__setattr__(self, "trust", _finite(check_trust(self.trust)))

    def _check_trigger(self) -> None:
        trigger = self.trigger
        if trigger is None:
            return
        if TRIGGERS.makers.get(type(trigger).__name__) is not type(trigger):
            raise inputs.refuse("trigger", trigger, f"one of {', '.join(TRIGGERS.makers)}")
        if self.threshold is not None:
            allowed = "left out: trigger says when rounds open"
            raise inputs.refuse("threshold", self.threshold, allowed)
        if isinstance(trigger, Threshold):
            object.__setattr__(self, "threshold", _finite(trigger.D_c))
            object.__setattr__(self, "trigger", None)
        elif math.inf in trigger.settings().values():
            allowed = "one with finite numbers; if clients never ask for a round, threshold = inf"
            raise inputs.refuse("trigger", trigger, allowed)

    @property
    def rule(self) -> Trigger:
        """When a round opens: `trigger`, or the paper's."""
        if self.trigger is not None:
            return self.trigger
        return Threshold(math.inf if self.threshold is None else self.threshold)

    def check(self, present: Mapping[str, Any] | None = None) -> None:
        """InputError if the mechanism breaks a rule, or a number is out of range that `present` (a
        body) does not have already.

        Not checked when settings are made: an old ledger must be readable whatever it says.
        """
        known = {} if present is None else present
        for name in inputs.RANGES.keys() & {one.name for one in fields(self)}:
            value = getattr(self, name)
            given = value is not None and value != AUTO
            if given and (name not in known or value != known[name]):
                inputs.setting(name, value)
        if isinstance(self.mechanism, Pinned):
            self.mechanism.check()

    @property
    def limits(self) -> Limits:
        return Limits(self.dim, self.arm_norm, self.reward_bound, self.cost_limit)

    def body(self) -> dict[str, Any]:
        """As the ledger keeps them; with the SHA-256 of a mechanism of the user's own."""
        plain = {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if one.name not in LATER or getattr(self, one.name) != one.default
        }
        if self.trigger is not None:
            plain["trigger"] = self.trigger.settings()
        return {**plain, "mechanism": self.mechanism.settings()}

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Settings:
        """From a body; MissingCode if the mechanism's code is not loaded."""
        objects: dict[str, Any] = {"mechanism": recorded_mechanism(body["mechanism"])}
        if "trigger" in body:
            objects["trigger"] = recorded_trigger(body["trigger"])
        return cls(**{**body, **objects})

    @classmethod
    def read(cls, value: object, folder: Path, *, load: bool = True) -> Settings:
        """The [federation] of a config; a mechanism's file is relative to `folder`, and is run.

        Without `load` it is not run: PaymentFree takes its place, and all else is checked.
        """
        given = places.table("federation", value, "[federation]")
        known = [one.name for one in fields(cls) if one.name != "identity"]
        places.known("federation", given, known)
        for name in ("dim", "mechanism"):
            if name not in given:
                raise places.missing(f"federation.{name}", "given")
        if "threshold" not in given and "trigger" not in given:
            raise places.missing("federation.threshold", "given, unless trigger is")
        spot = "federation.mechanism"
        mechanism = mechanism_table(given["mechanism"], spot)
        own = ":" in str(mechanism.get("kind"))
        given["mechanism"] = (
            PaymentFree() if own and not load else load_mechanism(mechanism, spot, folder)
        )
        if "trigger" in given:
            place = "federation.trigger"
            given["trigger"] = build_trigger(given["trigger"], place, folder)
            if "threshold" in given:
                allowed = "left out: federation.trigger says when rounds open"
                raise inputs.refuse("federation.threshold", given["threshold"], allowed)
        given["threshold"] = _finite(given.get("threshold"))
        with places.at("federation", known):
            return cls(**given)


def _finite(number: Any) -> Any:
    """None for infinity, which JSON does not have; it is checked later."""
    return None if isinstance(number, float) and number == math.inf else number
