"""The search space: the mechanism with its beta, the trigger with D_c or the news it waits for, who
downloads, how wide the confidence set is, how far clients trust each other, and lambda."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from .. import errors, ranges
from ..algorithms import thresholds
from ..mechanisms.registry import BUILT_IN, MECHANISMS
from ..mechanisms.truthful import LEAST_COVER, NEAR
from ..protocol.triggers import GROWTH, ROWS, TRIGGERS
from ..rules.learning import AUTO, Trusting
from ..rules.rounds import EVERYONE, ONE_FOR_ONE, RoundRules
from ..values import Flag, Number, Word
from .template import VARIED

PAID, FREE, ALL = "PaymentEfficient", "PaymentFree", "PayEveryone"
USUAL = (PAID, FREE, ALL)  # mechanisms
THRESHOLD, PATIENT = "Threshold", "Patient"
PAPER, MIXTURE, CONSTANT = "paper", "mixture", "constant"  # widths; of the last, alpha is searched
FULL, LIMITED = "full", "limited"  # trust: infinite, or a number that is searched; or AUTO
CHOICES = {
    "triggers": (THRESHOLD, PATIENT),
    "downloads": (EVERYONE, ONE_FOR_ONE),
    "widths": (PAPER, MIXTURE, CONSTANT),
    "trusts": (FULL, AUTO, LIMITED),
}
USUAL_RULES: dict[str, Any] = {
    rule.name: rule.default for kind in (Trusting, RoundRules) for rule in fields(kind)
}
RIDGE: float = USUAL_RULES["ridge"]
COVERS = (LEAST_COVER, 0.85, 1.0)  # of Truthful
BETAS = (0.7, 0.3, 0.05, 0.01)  # tried first
FIRST_PATIENT = (  # width, trust, news, lambda
    (PAPER, FULL, 5.0, RIDGE), (MIXTURE, FULL, 5.0, 0.3), (MIXTURE, FULL, 9.0, 0.3),
    (CONSTANT, FULL, 5.0, 0.2), (CONSTANT, AUTO, 5.0, 0.2), (CONSTANT, LIMITED, 5.0, 0.2),
)  # fmt: skip
Options = tuple[tuple[str, Any], ...]
KEYS = (
    "mechanisms", "beta", "triggers", "threshold", "news", "signal", "downloads", "widths",
    "exploration", "width_scale", "trusts", "trust", "ridge", "first", "clients_may_lie",
)  # fmt: skip


@dataclass(frozen=True)
class Candidate:
    """A mechanism that may be tried, or a trigger of the user's own."""

    kind: str
    options: Options = ()  # fixed
    searched: bool = False  # whether its beta is
    lie_bound: str | None = None  # if clients may lie: what a liar gains at most

    def __str__(self) -> str:
        fixed = ", ".join(f"{key} {value}" for key, value in self.options)
        return f"{self.kind} ({fixed})" if fixed else self.kind


@dataclass(frozen=True)
class Setting:
    """One answer to "what should I run?"."""

    mechanism: str
    beta: float | None  # None: it is not searched
    threshold: float | None  # D_c; None: the trigger is Patient
    ridge: float
    options: Options = ()  # other options of the mechanism
    news: float | None = None  # of Patient
    signal: str = ROWS
    download: str = EVERYONE
    width: str = PAPER
    exploration: float | None = None  # a constant alpha
    width_scale: float = 1.0  # of its formula, otherwise
    trust: float | str = math.inf
    own: Candidate | None = None  # the trigger, if it is the user's own

    @property
    def candidate(self) -> str:
        """The name of its mechanism in the search space."""
        return str(Candidate(self.mechanism, self.options))

    @property
    def trigger(self) -> str:
        if self.own is not None:
            return str(self.own)
        return THRESHOLD if self.news is None else PATIENT

    @property
    def trusting(self) -> str:
        """How far clients trust each other: in full, so far, or as far as each finds out."""
        if self.trust == AUTO:
            return AUTO
        return FULL if self.trust == math.inf else LIMITED

    def table(self, fixed: Mapping[str, Any], costs: Any) -> dict[str, Any]:
        """As an [[algorithm]] of a config."""
        mechanism: dict[str, Any] = {"kind": self.mechanism, **dict(self.options)}
        if self.beta is not None:
            mechanism["beta"] = self.beta
        table: dict[str, Any] = {"kind": "IncFedUCB", "mechanism": mechanism}
        if self.own is not None:
            table["trigger"] = {"kind": self.own.kind, **dict(self.own.options)}
        elif self.news is None:
            table["threshold"] = self.threshold
        else:
            table["trigger"] = {"kind": PATIENT, "news": self.news, "signal": self.signal}
        rules = {name: getattr(self, name) for name in VARIED}
        if self.width == CONSTANT:  # no formula: alpha is given
            del rules["width"]
        changed = {name: value for name, value in rules.items() if value != USUAL_RULES[name]}
        return {**table, "costs": costs, "ridge": self.ridge, **changed, **fixed}

    def __str__(self) -> str:
        beta = [] if self.beta is None else [f"beta {self.beta:g}"]
        name = self.candidate
        usual = {FREE: ["payment-free"], ALL: ["everyone paid"], PAID: beta}
        who = ", ".join(usual.get(name, [name.rpartition(":")[2], *beta]))
        when = self.trigger.rpartition(":")[2]
        if self.own is None:
            when = f"D_c {self.threshold:g}" if self.news is None else f"patient {self.news:g}"
        parts = [who, when]
        if self.news is not None and self.signal != ROWS:
            parts.append(self.signal)
        if self.download != EVERYONE:
            parts.append(self.download)
        if self.width == MIXTURE:
            parts.append(MIXTURE)
        if self.exploration is not None:
            parts.append(f"alpha {self.exploration:g}")
        if self.width_scale != 1.0:
            parts.append(f"width x {self.width_scale:g}")
        if self.trust != math.inf:
            parts.append(f"trust {self.trust}" if self.trust == AUTO else f"trust {self.trust:g}")
        return ", ".join([*parts, f"lambda {self.ridge:g}"])


@dataclass(frozen=True)
class Range:
    """From `low` to `high`, both included; a fixed value if they are the same."""

    low: float
    high: float

    @property
    def fixed(self) -> bool:
        return self.low == self.high

    def clip(self, value: float, digits: int = 2) -> float:
        """The nearest value within the range, rounded: more digits would only look exact."""
        short = float(f"{value:.{digits}g}")
        return min(max(short, self.low), self.high)


@dataclass(frozen=True)
class Space:
    """All settings that may be tried."""

    candidates: Mapping[str, Candidate]  # by name
    beta: Range
    threshold: Range
    news: Range
    exploration: Range
    width_scale: Range
    trust: Range
    ridge: Range
    triggers: tuple[str, ...] = CHOICES["triggers"]
    downloads: tuple[str, ...] = CHOICES["downloads"]
    widths: tuple[str, ...] = CHOICES["widths"]
    trusts: tuple[str, ...] = CHOICES["trusts"]
    signal: str = ROWS
    own_triggers: Mapping[str, Candidate] = field(default_factory=dict)  # those of `triggers`

    @property
    def ranges(self) -> dict[str, Range]:
        """Those that some setting uses."""
        used = {
            "beta": any(candidate.searched for candidate in self.candidates.values()),
            "threshold": THRESHOLD in self.triggers,
            "news": PATIENT in self.triggers,
            "exploration": CONSTANT in self.widths,
            "width_scale": any(width != CONSTANT for width in self.widths),
            "trust": LIMITED in self.trusts,
            "ridge": True,
        }
        return {name: getattr(self, name) for name, is_used in used.items() if is_used}

    @property
    def choices(self) -> dict[str, tuple[str, ...]]:
        return {
            "mechanism": tuple(self.candidates),
            "trigger": self.triggers,
            "download": self.downloads,
            "width": self.widths,
            "trusting": self.trusts,
        }

    def make(
        self, mechanism: str, trigger: str, download: str, width: str, trusting: str = FULL, *,
        ridge: float = RIDGE, beta: float = 1.0, threshold: float = 1.0, news: float = 5.0,
        exploration: float = 0.3, width_scale: float = 1.0, trust: float = 10.0,
    ) -> Setting:  # fmt: skip
        """Numbers that it has no use for are ignored."""
        one, patient = self.candidates[mechanism], trigger == PATIENT
        paper = trigger == THRESHOLD
        return Setting(
            mechanism=one.kind,
            beta=self.beta.clip(beta) if one.searched else None,
            threshold=self.threshold.clip(threshold, digits=3) if paper else None,
            ridge=self.ridge.clip(ridge),
            options=one.options,
            news=self.news.clip(news) if patient else None,
            signal=self.signal if patient else ROWS,
            download=download,
            width=width,
            exploration=self.exploration.clip(exploration) if width == CONSTANT else None,
            width_scale=1.0 if width == CONSTANT else self.width_scale.clip(width_scale),
            trust=self._trust(trusting, trust),
            own=self.own_triggers.get(trigger),
        )

    def _trust(self, trusting: str, limit: float) -> float | str:
        if trusting == LIMITED:
            return self.trust.clip(limit)
        return AUTO if trusting == AUTO else math.inf

    def numbers(self, setting: Setting) -> dict[str, float]:
        """Those of the ranges that a setting uses."""
        unused = {"trust"} if setting.trusting != LIMITED else set()
        unused |= {"width_scale"} if setting.width == CONSTANT else set()
        found = {name: getattr(setting, name) for name in self.ranges if name not in unused}
        return {name: value for name, value in found.items() if value is not None}

    def holds(self, setting: Setting) -> bool:
        """Whether it may be tried."""
        chosen = {"mechanism": setting.candidate, "trigger": setting.trigger,
                  "download": setting.download, "width": setting.width,
                  "trusting": setting.trusting}  # fmt: skip
        return all(chosen[name] in among for name, among in self.choices.items()) and all(
            self.ranges[name].low <= value <= self.ranges[name].high
            for name, value in self.numbers(setting).items()
        )

    def first(self, usual: float) -> list[Setting]:
        """The settings to begin with: patient ones for the cheapest mechanism; then from everyone
        paid to nobody, at the usual D_c and at four times that, which the paper does not try, and
        with each trigger of the user's own."""
        tried: dict[Setting, None] = {}
        cheapest = FREE if FREE in self.candidates else next(iter(self.candidates))
        for width, trusting, news, ridge in FIRST_PATIENT:
            if PATIENT in self.triggers and width in self.widths and trusting in self.trusts:
                chosen = (cheapest, PATIENT, self.downloads[-1], width, trusting)
                middle = math.sqrt(max(self.trust.low, self.trust.high / 100) * self.trust.high)
                tried[self.make(*chosen, beta=BETAS[-1], news=news, ridge=ridge, trust=middle)] = (
                    None
                )
        paper = [(THRESHOLD, usual, BETAS), (THRESHOLD, 4 * usual, BETAS[::2])]
        starts = paper if THRESHOLD in self.triggers else []
        starts += [(trigger, usual, BETAS) for trigger in self.own_triggers]
        for trigger, threshold, betas in starts:
            for name, candidate in self.candidates.items():
                rest = (trigger, self.downloads[0], self.widths[0], self.trusts[0])
                for beta in betas if candidate.searched else (1.0,):
                    tried[self.make(name, *rest, beta=beta, threshold=threshold)] = None
        return list(tried)

    def identity(self) -> list[Any]:
        ranges = [[name, span.low, span.high] for name, span in self.ranges.items()]
        return [ranges, {name: list(among) for name, among in self.choices.items()}, self.signal]


def usual_threshold(steps: int, clients: int, dim: int) -> float:
    """T / (N d ln T), the D_c of the paper's Table 1."""
    return thresholds.high(steps=max(steps, 2), clients=clients, dim=dim)


def read_space(
    table: Mapping[str, Any], fixed: Mapping[str, Any], usual: float, folder: Path = Path(),
    norm: float = 1.0, dearest: float = 0.0,
) -> Space:  # fmt: skip
    """The [search] table, or an InputError; `fixed` is [algorithm]: what it sets is not searched.
    `norm`: the mean squared one of arms. `dearest`: the highest cost of a client, for prices if
    clients may lie.

    D_c is searched from a tenth of the usual one to a hundred times it. Further down there are more
    and more rounds, up to one a step, and runs take longer, but regret hardly falls.
    """
    errors.known("search", table, KEYS)
    for own, theirs in (
        ("ridge", "ridge"), ("exploration", "exploration"), ("widths", "exploration"),
        ("widths", "width"), ("exploration", "width"), ("downloads", "download"),
        ("width_scale", "width_scale"), ("width_scale", "exploration"), ("trusts", "trust"),
        ("trust", "trust"),
    ):  # fmt: skip
        if own in table and theirs in fixed:
            raise errors.InputError(
                f"search.{own}: algorithm.{theirs} is given too, must be one of them"
            )
    given = dict(table)
    if "ridge" in fixed:
        given["ridge"] = fixed["ridge"]
    if "download" in fixed:
        given["downloads"] = [
            Word(CHOICES["downloads"]).of("algorithm.download", fixed["download"])
        ]
    if "width" in fixed or "exploration" in fixed:  # fixed: not searched
        given["widths"] = [PAPER]
    if fixed.keys() & {"width", "exploration", "width_scale"}:
        given["width_scale"] = 1.0
    if "width_scale" in fixed:  # of a formula
        given.setdefault("widths", [PAPER, MIXTURE])
    if "trust" in fixed:
        given["trusts"] = [FULL]
    stale = fixed.get("reads") == "stale"
    if stale:  # then clients cannot find out
        given.setdefault("trusts", [FULL, LIMITED])
    choices = {name: _choice(name, given) for name in CHOICES}
    own_triggers = _own_triggers(given.get("triggers", []), folder)
    if "width_scale" in fixed and CONSTANT in choices["widths"]:
        allowed = "without constant where algorithm.width_scale is given"
        raise errors.refuse("search.widths", given["widths"], allowed)
    if stale and AUTO in choices["trusts"]:
        raise errors.refuse("search.trusts", given["trusts"], "without auto where reads are stale")
    lies = Flag().of("search.clients_may_lie", given.get("clients_may_lie", False))
    usually = lie_proof(dearest) if lies else list(USUAL)
    return Space(
        triggers=(*choices["triggers"], *own_triggers),
        own_triggers=own_triggers,
        downloads=choices["downloads"],
        widths=choices["widths"],
        trusts=choices["trusts"],
        signal=Word((ROWS, GROWTH)).of("search.signal", given.get("signal", ROWS)),
        news=_range("search.news", given.get("news", [1.0, 20.0]), 0.0, 1e6),
        exploration=_range(
            "search.exploration",
            given.get("exploration", [0.01, 1.0]),
            ranges.EXPLORATION.low,
            ranges.EXPLORATION.high,
        ),
        width_scale=_range(
            "search.width_scale",
            given.get("width_scale", [0.1, 1.0]),
            ranges.WIDTH_SCALE.low,
            ranges.WIDTH_SCALE.high,
        ),
        trust=_range(
            "search.trust",
            given.get("trust", [norm, 100.0 * norm]),
            ranges.TRUST.low,
            ranges.TRUST.high,
        ),
        candidates=_candidates(given.get("mechanisms", usually), folder, dearest if lies else None),
        beta=_range("search.beta", given.get("beta", [0.001, 1.0]), 0.0, 1.0),
        threshold=_range(
            "search.threshold", given.get("threshold", [0.1 * usual, 100.0 * usual]), 1e-9, 1e9
        ),
        ridge=_range(
            "algorithm.ridge" if "ridge" in fixed else "search.ridge",
            given.get("ridge", [0.01, 1.0]),
            ranges.RIDGE.low,
            ranges.RIDGE.high,
        ),
    )


def _choice(name: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Some of the words of CHOICES, each once, in their order; without triggers of the user's
    own."""
    allowed = CHOICES[name]
    value = given.get(name, list(allowed))
    if not isinstance(value, list) or not value:
        raise errors.refuse(f"search.{name}", value, f"a list of some of {', '.join(allowed)}")
    for n, word in enumerate(value, 1):
        if name != "triggers" or not _is_own(word):
            Word(allowed).of(f"search.{name}[{n}]", word)
    return tuple(word for word in allowed if word in value)


def _is_own(trigger: object) -> bool:
    """Is it a trigger of the user's own: its name, or a table with its options?"""
    kind = trigger.get("kind") if isinstance(trigger, Mapping) else trigger
    return isinstance(kind, str) and ":" in kind


def _own_triggers(value: list[Any], folder: Path) -> dict[str, Candidate]:
    """By name, those of the user's own."""
    found: dict[str, Candidate] = {}
    for n, entry in enumerate(value, 1):
        if _is_own(entry):
            place = f"search.triggers[{n}]"
            table = TRIGGERS.table(entry, place)
            TRIGGERS.find(table, place, folder).check(table, place)
            one = Candidate(table["kind"], _options(table, place))
            found[str(one)] = one
    return found


def _options(table: Mapping[str, Any], place: str) -> Options:
    """The fixed options of a mechanism or trigger."""
    options = {key: option for key, option in table.items() if key != "kind"}
    for key, option in options.items():
        if not isinstance(option, bool | int | float | str):
            raise errors.refuse(f"{place}.{key}", option, "a number, a text, true or false")
    return tuple(options.items())


def lie_proof(dearest: float) -> list[Any]:
    """The mechanisms that are tried if clients may lie: those under which that gains little, at
    prices that the dearest client accepts."""
    price, reserve = _rounded_up(dearest), float(f"{NEAR * dearest:.4g}")
    return [
        FREE,
        {"kind": "PostedPrice", "price": price},
        *({"kind": "Truthful", "cover": c, "reserve": reserve} for c in COVERS),
    ]


def _rounded_up(price: float) -> float:
    """In four digits, but not below: the dearest client must accept it."""
    short = float(f"{price:.4g}")
    return short if short >= price else float(f"{short + 10.0 ** (math.log10(price) // 1 - 3):.4g}")


def _candidates(value: object, folder: Path, dearest: float | None) -> dict[str, Candidate]:
    """By name. `dearest`: if clients may lie, the highest cost of one; then each needs a bound on
    what that gains."""
    if not isinstance(value, list) or not value:
        allowed = f"a list of some of {', '.join(BUILT_IN)}, or of your own: 'my_file.py:Mine'"
        raise errors.refuse("search.mechanisms", value, allowed)
    found: dict[str, Candidate] = {}
    for n, entry in enumerate(value, 1):
        place = f"search.mechanisms[{n}]"
        table = MECHANISMS.table(entry, place)
        maker = MECHANISMS.find(table, place, folder)
        whole = {"beta": 1.0, **table} if "beta" in maker.keys else table
        maker.check(whole, place)
        bound = None
        if dearest is not None:
            bound = maker(whole, place, folder).value.lie_bound(dearest)
            if bound is None:
                allowed = (
                    f"a mechanism with a bound on lying at costs of up to {dearest:.4g}, as "
                    "clients_may_lie is set: PaymentFree, PostedPrice, or Truthful with a cover of "
                    f"at least {LEAST_COVER} and a reserve of at most {NEAR * dearest:.4g}"
                )
                raise errors.refuse(place, entry, allowed)
        searched = "beta" in maker.keys and "beta" not in table
        candidate = Candidate(table["kind"], _options(table, place), searched, bound)
        found[str(candidate)] = candidate
    return found


def _range(place: str, value: object, low: float, high: float) -> Range:
    if not isinstance(value, list):
        fixed = float(Number(low, high).of(place, value))
        return Range(fixed, fixed)
    if len(value) != 2:
        raise errors.refuse(place, value, "a number, or a range: [lowest, highest]")
    ends = [float(Number(low, high).of(f"{place}[{n}]", x)) for n, x in enumerate(value, 1)]
    if ends[0] > ends[1] or not all(map(math.isfinite, ends)):
        raise errors.refuse(place, value, "[lowest, highest], in this order")
    return Range(*ends)
