"""The settings of a federation. Every version is kept, for the audit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

from .. import errors, ranges
from ..errors import at, missing, refuse
from ..mechanisms.base import Mechanism
from ..mechanisms.payment_free import PaymentFree
from ..mechanisms.registry import BUILT_IN, MECHANISMS, Pinned
from ..protocol.checks import MessageBounds
from ..protocol.money import MOST_UNITS, from_units
from ..protocol.triggers import TRIGGERS, BuiltIn, Threshold, Trigger, trigger_of
from ..rules.clients import ClientRules
from ..rules.conduct import Conduct
from ..rules.limits import NONE, Limits, build_limits, safe_limits
from ..rules.privacy import Privacy, build_privacy
from ..rules.rounds import RoundRules
from ..rules.rule import rule, served, setting
from ..values import String

SAFE = safe_limits(None)  # stands for those of the budget in settings that name no limits
BUDGET = replace(ranges.BUDGET, words=(NONE,), as_float=True)  # of a config
SERVED_TRIGGERS = replace(TRIGGERS, extended=False)
SERVED_ONES = (
    f"one of {', '.join(TRIGGERS.makers)}: in a served federation it is the client that calls for "
    "a round, and it knows only these. A trigger of your own is for simulations"
)


@rule(kw_only=True)
class Settings(Conduct, ClientRules, RoundRules):
    """Times are in seconds, money in the units of the clients' costs."""

    mechanism: Mechanism = setting("who takes part in a round, and what each is paid")
    trigger: Trigger | None = setting(
        "when a round opens, if not by the paper's trigger: threshold or trigger is given",
        default=None,
        example={"kind": "Patient", "news": 5.0},
    )
    name: Annotated[str, String(80)] = setting(
        "shown to clients and in the ledger", default="federation"
    )
    budget: ranges.Budget | None = setting(  # type: ignore[assignment]  # in JSON
        'for all payments ever; None, in a config "none": no limit', default=None
    )
    identity: str = setting(
        "the name and a random part: made with the federation, in no config",
        default="",
        served=False,
    )
    limits: Limits = setting("by default, safe ones for this budget", default=SAFE)

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in fields(self):  # those of simulations only
            simulated = not field.metadata["served"] and field.name != "identity"
            if simulated and getattr(self, field.name) != field.default:
                allowed = f"left out: a served federation has {field.default!r}"
                raise refuse(field.name, getattr(self, field.name), allowed)
        kind = type(self.mechanism)
        if kind is not Pinned and BUILT_IN.get(kind.__name__) is not kind:
            allowed = f"one of {', '.join(BUILT_IN)}, or one that a config names"
            raise refuse("mechanism", self.mechanism, allowed)
        self._check_trigger()
        most = from_units(MOST_UNITS, self.money_digits)
        for name in ("cost_limit", "budget"):
            value = getattr(self, name)
            if value is not None and value > most:
                allowed = f"at most {most:,.0f} with {self.money_digits} money_digits"
                raise refuse(name, value, allowed)
        if self.limits is SAFE:
            object.__setattr__(self, "limits", safe_limits(self.budget))

    def _check_trigger(self) -> None:
        trigger = self.trigger
        if trigger is None:
            return
        if TRIGGERS.makers.get(type(trigger).__name__) is not type(trigger):
            raise refuse("trigger", trigger, SERVED_ONES)
        if isinstance(trigger, Threshold):
            finite = None if trigger.D_c == math.inf else trigger.D_c  # as JSON has it
            object.__setattr__(self, "threshold", finite)
            object.__setattr__(self, "trigger", None)
        elif math.inf in trigger.settings().values():
            allowed = "one with finite numbers; if clients never ask for a round, threshold = inf"
            raise refuse("trigger", trigger, allowed)

    @property
    def rule(self) -> BuiltIn:
        """When a round opens: `trigger`, or the paper's."""
        return trigger_of(self)

    def check(self) -> None:
        """InputError if the mechanism breaks a rule. Not checked when settings are made: a ledger
        must be readable whatever it says."""
        if isinstance(self.mechanism, Pinned):
            self.mechanism.check()

    @property
    def warnings(self) -> list[str]:
        """Warnings about these settings for whoever runs the federation."""
        if self.budget is None:
            return ["no budget is set: nothing limits what is paid in all"]
        return []

    @property
    def bounds(self) -> MessageBounds:
        known = self.dim, self.arm_norm, self.reward_bound, self.cost_limit
        most = self.limits.steps_per_upload
        return MessageBounds(*known) if most is None else MessageBounds(*known, most)

    def body(self) -> dict[str, Any]:
        """As the ledger keeps them; with the SHA-256 of a mechanism of the user's own."""
        trigger, privacy = self.trigger, self.privacy
        return {
            **{name: getattr(self, name) for name in (*served(Settings), "identity")},
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
            "mechanism": MECHANISMS.recorded(body["mechanism"]),
            "limits": Limits(**body["limits"]),
            "trigger": trigger and TRIGGERS.recorded(trigger),
            "privacy": privacy and Privacy(**privacy),
        }
        return cls(**{**body, **objects})

    @classmethod
    def read(cls, value: object, folder: Path, *, load: bool = True) -> Settings:
        """The [federation] of a config; a mechanism's file is relative to `folder`, and is run.

        Without `load` it is not run: PaymentFree takes its place, and all else is checked.
        """
        given = errors.table("federation", value, "[federation]")
        known = served(cls)
        errors.known("federation", given, known)
        for name in ("dim", "mechanism"):
            if name not in given:
                raise missing(f"federation.{name}", "given")
        if "threshold" not in given and "trigger" not in given:
            raise missing("federation.threshold", "given, unless trigger is")
        spot = "federation.mechanism"
        mechanism = MECHANISMS.table(given["mechanism"], spot)
        own = ":" in str(mechanism.get("kind"))
        given["mechanism"] = (
            PaymentFree() if own and not load else MECHANISMS.pinned(mechanism, spot, folder)
        )
        if "trigger" in given:
            spot = "federation.trigger"
            kind = SERVED_TRIGGERS.table(given["trigger"], spot).get("kind")
            if isinstance(kind, str) and ":" in kind:
                raise refuse(f"{spot}.kind", kind, SERVED_ONES)
            given["trigger"] = SERVED_TRIGGERS.build(given["trigger"], spot, folder).value
        if "budget" not in given:
            allowed = 'given: a number, the most that is ever paid in all; or "none" for no limit'
            raise missing("federation.budget", allowed)
        budget = BUDGET.of("federation.budget", given["budget"])
        given["budget"] = None if budget == NONE else budget
        if "limits" in given:
            start = safe_limits(given["budget"])
            given["limits"] = build_limits(given["limits"], "federation.limits", start)
        if "privacy" in given:
            place = "federation.privacy"
            given["privacy"] = build_privacy(given["privacy"], place, ("epsilon", "delta"))
        with at("federation", known):
            return cls(**given)
