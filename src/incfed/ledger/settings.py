"""The settings of a federation. Every version is kept, for the audit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from .. import ranges
from ..mechanisms.base import Mechanism
from ..mechanisms.payment_free import PaymentFree
from ..mechanisms.registry import (
    BUILT_IN,
    Pinned,
    load_mechanism,
    mechanism_table,
    recorded_mechanism,
)
from ..protocol.checks import MessageBounds
from ..protocol.limits import NONE, Limits, build_limits, safe_limits
from ..protocol.money import DIGITS, MOST_DIGITS, MOST_UNITS, from_units
from ..protocol.privacy import Privacy, build_privacy
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

SAFE = safe_limits(None)  # stands for those of the budget in settings that name no limits
BURST = 1.0  # seconds' worth of steps that are allowed at once


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Times are in seconds, money in the units of the clients' costs."""

    dim: int  # d: the number of features of an arm
    mechanism: Mechanism  # who takes part in a round, and what each is paid
    threshold: float | None = None  # D_c; None: another trigger, or clients never ask for a round
    name: str = "federation"  # shown to clients and in the ledger
    ridge: float = 0.1  # lambda
    noise: float = 0.1  # sigma, the noise of rewards that the confidence bound assumes
    delta: float = 0.1  # the probability with which the confidence bound may fail
    exploration: float | None = None  # a number to use as alpha instead of its formula
    arm_norm: float = 1.0  # L: no arm is longer
    reward_bound: float = 1.0  # Y: no reward is larger, up or down
    cost_limit: float = 1e6  # no cost is larger
    budget: float | None = None  # for all payments ever; None, in a config "none": no limit
    upload_time: float = 10.0  # seconds to upload, after a round opens
    answer_time: float = 10.0  # seconds to answer and deliver, after an offer
    live_time: float = 90.0  # clients seen within this time are awaited
    attempts: int = 3  # decisions of a round, before it closes with those who delivered
    barred_time: float = 300.0  # seconds out after failing to deliver; 0: it is not barred
    silent_rounds: int = 2  # silent ones after which a client is not awaited; 0: it always is
    round_interval: float = 0.5  # seconds between two rounds that the same client calls for
    rounds_per_second: float = 2.0  # the most, whoever calls for them; 0: no limit
    false_calls: int = 3  # in a row, after which a client's calls are ignored; 0: never
    ignored_time: float = 60.0  # seconds that false calls are ignored
    steps_per_second: float = 1000.0  # the most that a client can learn; 0: no limit
    lag: int = 16  # epochs that an upload may be behind
    identity: str = ""  # the name and a random part: made with the federation, in no config
    trigger: Trigger | None = None  # if it is not the paper's, which `threshold` describes
    download: Literal["everyone", "one-for-one"] = "everyone"  # who gets the new model
    width: Literal["paper", "mixture"] = "paper"  # of the confidence set
    width_scale: float = 1.0  # multiplies the formula of alpha
    trust: float | Auto | None = None  # of clients that say nothing; None: infinite
    limits: Limits = SAFE  # by default, safe ones for this budget
    money_digits: int = DIGITS  # decimal digits of money, which is in whole minor units
    privacy: Privacy | None = None  # the noise that clients add; its bounds are those above
    signatures: Literal["registered", "required"] = "registered"  # who signs: who has a key, or all

    def __post_init__(self) -> None:
        inputs.integer("dim", self.dim, low=1, high=ranges.MOST_DIM)
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
        inputs.number("barred_time", self.barred_time, low=0.0, high=1e7)
        inputs.integer("silent_rounds", self.silent_rounds, low=0, high=10**6)
        inputs.number("round_interval", self.round_interval, low=0.0, high=1e7)
        inputs.number("rounds_per_second", self.rounds_per_second, low=0.0, high=1e6)
        if 0.0 < self.rounds_per_second < 1e-7:  # the gap between two is no number of seconds
            allowed = "0 for no limit, or from 1e-07 to 1,000,000"
            raise inputs.refuse("rounds_per_second", self.rounds_per_second, allowed)
        inputs.integer("false_calls", self.false_calls, low=0, high=10**6)
        inputs.number("ignored_time", self.ignored_time, low=0.0, high=1e7)
        inputs.number("steps_per_second", self.steps_per_second, low=0.0, high=1e9)
        inputs.integer("lag", self.lag, low=0, high=10**6)
        self._check_trigger()
        inputs.choice("download", self.download, (EVERYONE, ONE_FOR_ONE))
        inputs.choice("signatures", self.signatures, (REGISTERED, REQUIRED))
        inputs.choice("width", self.width, ("paper", "mixture"))
        inputs.number("width_scale", self.width_scale, low=0.0)
        if self.exploration is not None and self.width_scale != 1.0:
            allowed = "left out: exploration takes the place of the formula"
            raise inputs.refuse("width_scale", self.width_scale, allowed)
        self._check_money()
        if self.trust is not None:
            object.__setattr__(self, "trust", _finite(check_trust(self.trust)))
        self._check_privacy()
        if self.limits is SAFE:
            object.__setattr__(self, "limits", safe_limits(self.budget))

    def _check_privacy(self) -> None:
        if self.privacy is None:
            return
        if not isinstance(self.privacy, Privacy):
            raise inputs.refuse("privacy", self.privacy, "a table, such as { epsilon = 4 }")
        if self.rule.streams is not None:
            allowed = f"left out with {type(self.rule).__name__}: clients stream every step"
            raise inputs.refuse("privacy", self.privacy.epsilon, allowed)
        if self.trust is not None:
            allowed = "left out with privacy, whose noise hides what is a client's own"
            raise inputs.refuse("trust", self.trust, allowed)

    def _check_money(self) -> None:
        digits = inputs.integer("money_digits", self.money_digits, low=0, high=MOST_DIGITS)
        most = from_units(MOST_UNITS, digits)
        for name in ("cost_limit", "budget"):
            value = getattr(self, name)
            if value is not None and value > most:
                allowed = f"at most {most:,.0f} with {digits} money_digits"
                raise inputs.refuse(name, value, allowed)

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
        for name in ranges.RANGES.keys() & {setting.name for setting in fields(self)}:
            value = getattr(self, name)
            given = value is not None and value != AUTO
            if given and (name not in known or value != known[name]):
                ranges.check(name, value)
        if isinstance(self.mechanism, Pinned):
            self.mechanism.check()

    @property
    def warnings(self) -> list[str]:
        """Warnings about these settings for whoever runs the federation."""
        if self.budget is None:
            return ["no budget is set: nothing limits what is paid in all"]
        return []

    @property
    def round_gap(self) -> float:
        """Seconds from the opening of a round to that of the next, at least."""
        return 1.0 / self.rounds_per_second if self.rounds_per_second else 0.0

    def most_steps(self, seconds: float) -> float:
        """That a client can have learned in this time."""
        if not self.steps_per_second:
            return math.inf
        return math.floor(self.steps_per_second * (max(0.0, seconds) + BURST))

    def barred_until(self, now: float) -> float | None:
        """Until when a client is barred that fails to deliver now; None: it is not."""
        return now + self.barred_time if self.barred_time else None

    @property
    def bounds(self) -> MessageBounds:
        known = self.dim, self.arm_norm, self.reward_bound, self.cost_limit
        most = self.limits.steps_per_upload
        return MessageBounds(*known) if most is None else MessageBounds(*known, most)

    def body(self) -> dict[str, Any]:
        """As the ledger keeps them; with the SHA-256 of a mechanism of the user's own."""
        trigger, privacy = self.trigger, self.privacy
        return {
            **{setting.name: getattr(self, setting.name) for setting in fields(self)},
            "mechanism": self.mechanism.settings(),
            "limits": self.limits.settings(),
            "trigger": trigger and trigger.settings(),
            "privacy": privacy and {"epsilon": privacy.epsilon, "delta": privacy.delta},
        }

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Settings:
        """From a body; MissingCode if the mechanism's code is not loaded."""
        trigger, privacy = body["trigger"], body["privacy"]
        objects = {
            "mechanism": recorded_mechanism(body["mechanism"]),
            "limits": Limits(**body["limits"]),
            "trigger": trigger and recorded_trigger(trigger),
            "privacy": privacy and Privacy(**privacy),
        }
        return cls(**{**body, **objects})

    @classmethod
    def read(cls, value: object, folder: Path, *, load: bool = True) -> Settings:
        """The [federation] of a config; a mechanism's file is relative to `folder`, and is run.

        Without `load` it is not run: PaymentFree takes its place, and all else is checked.
        """
        given = places.table("federation", value, "[federation]")
        known = [setting.name for setting in fields(cls) if setting.name != "identity"]
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
        if "budget" not in given:
            allowed = 'given: a number, the most that is ever paid in all; or "none" for no limit'
            raise places.missing("federation.budget", allowed)
        given["budget"] = _budget(given["budget"])
        if "limits" in given:
            start = safe_limits(given["budget"])
            given["limits"] = build_limits(given["limits"], "federation.limits", start)
        if "privacy" in given:
            place = "federation.privacy"
            given["privacy"] = build_privacy(given["privacy"], place, ("epsilon", "delta"))
        given["threshold"] = _finite(given.get("threshold"))
        with places.at("federation", known):
            return cls(**given)


def _budget(budget: Any) -> float | None:
    """The budget of a config, where "none" is a word."""
    if budget == NONE:
        return None
    try:
        return inputs.number("federation.budget", budget, low=0.0)
    except inputs.InputError as error:
        raise inputs.InputError(f'{error}, or "none"') from None


def _finite(number: Any) -> Any:
    """None for infinity, which JSON does not have; it is checked later."""
    return None if isinstance(number, float) and number == math.inf else number
