"""When a round opens, who takes part in it, and for what."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Annotated

from .. import ranges
from ..configured import Configured
from ..errors import InputError, hint, refuse
from ..values import NotAllowed, Number, Whole, Word
from .learning import AUTO
from .limits import Limits
from .plugins import Plugin
from .privacy import Privacy
from .rule import rule, setting

EVERYONE, ONE_FOR_ONE = "everyone", "one-for-one"
ALL, PARTICIPANTS = "all", "participants"
FORMULAS = ("high", "low", "theory")  # of D_c, by name: see `algorithms.thresholds`
DIGITS, MOST_DIGITS = 2, 9  # of money, in a served federation by default; and at most


class ThresholdValue(Number):
    """D_c: a number, or the name of a formula."""

    def refused(self, place: str, value: object, error: NotAllowed) -> InputError:
        words = ", ".join(f"{word!r}" for word in self.words)
        if isinstance(value, Plugin):
            return refuse(place, value, "a number; pass a trigger as trigger=")
        if not isinstance(value, str):
            return refuse(place, value, f"a number (or inf) of at least 0, or one of {words}")
        close = hint(value, self.words)
        return InputError(f"got {value!r}{close}, must be a number or one of {words}", place)


D_C = ThresholdValue(0.0, or_inf=True, words=FORMULAS)


@rule()
class Payments(Configured):
    """Who takes part in a round and for what: rules that only the server knows."""

    mechanism: Plugin = setting("who takes part in a round, and what each is paid")
    _: KW_ONLY
    budget: Annotated[float, Number(0.0, ranges.LARGEST, or_inf=True)] = setting(
        "money for all rounds together; rounds that it does not cover are decided for data alone",
        default=math.inf,
    )
    limits: Limits | None = setting(
        "what may be paid at most. Then clients that the budget, or a limit, does not cover "
        "are left out one by one, rather than nobody being paid",
        default=None,
        example={"per_round": 100.0},
    )


@rule()
class Terms(Configured):
    """When a round opens, what is shared in it, and who gets the model: rules that clients know."""

    threshold: Annotated[float | str, D_C] | None = setting(
        "D_c of the paper's trigger; 0 triggers a round at every step with new data, infinity "
        'triggers none. "high", "low" or "theory": the formula of this name in '
        "`incfed.thresholds`, for the run at hand",
        default=None,
    )
    _: KW_ONLY
    trigger: Plugin | None = setting(
        "when a round opens, if not by the paper's trigger: threshold or trigger is given",
        default=None,
        example={"kind": "Patient", "news": 5.0},
    )
    clocks: Annotated[str, Word((ALL, PARTICIPANTS))] = setting(
        'whose count of steps a round restarts, "all" or "participants" (Alg. 1 as printed)',
        default=ALL,
        served=False,
    )
    download: Annotated[str, Word((EVERYONE, ONE_FOR_ONE))] = setting(
        'who gets the new model, "everyone" or "one-for-one": joining, and each share, entitles '
        "a client to one download",
        default=EVERYONE,
    )
    money_digits: Annotated[int, Whole(0, MOST_DIGITS)] | None = setting(
        "each payment is rounded up to so many decimal digits; None: it is not",
        default=None,
        example=DIGITS,
    )
    share_from: ranges.Steps = setting(
        "a client shares only from so many steps on: it calls for a round, and adds to what it "
        "uploads, when it has so many that no upload has had before",
        default=1,
        served=False,
    )
    privacy: Privacy | None = setting(
        "noise on all that clients share (docs/privacy.md)",
        default=None,
        example={"epsilon": 4.0, "delta": 1e-5},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trigger is not None and self.threshold is not None:
            raise refuse("threshold", self.threshold, "left out: trigger says when rounds open")
        # Only the class counts: an object of the user's own may have an attribute of that name.
        streaming = hasattr(type(self.trigger), "streams")
        if streaming and getattr(self.trigger, "streams", None) is not None:
            why = f"left out with {type(self.trigger).__name__}: clients stream every step"
            if self.share_from > 1:
                raise refuse("share_from", self.share_from, why)
            if self.privacy is not None:
                raise refuse("privacy", self.privacy, why)
        trust = getattr(self, "trust", math.inf)  # of the learners that these rules are for
        if self.share_from > 1 and trust == AUTO:
            allowed = 'left out with trust "auto", whose scores are of all pending steps'
            raise refuse("share_from", self.share_from, allowed)
        if self.privacy is not None and trust not in (None, math.inf):
            allowed = "left out with privacy, whose noise hides what is a client's own"
            raise refuse("trust", trust, allowed)


@rule()
class RoundRules(Terms, Payments):
    """All rules of rounds."""
