"""What the paper ran: worlds, mechanisms, thresholds, costs; each combination is a setting."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..cells import Cell

SYNTHETIC, MOVIELENS = "synthetic", "movielens"
ALTRUISTIC, FREE, PAID = "DisLinUCB", "payment-free", "payment-efficient"
FULL = "full"

# Sec. 5.2: what is left out of the heuristic search.
VARIANTS: dict[str, dict[str, bool]] = {
    FULL: {},
    "w/o PF": {"payment_free": False},
    "w/o IS": {"iterative": False},
    "w/o PF + IS": {"payment_free": False, "iterative": False},
}

STEPS = 5000  # of the synthetic world; MovieLens is run to its end
QUICK_STEPS = 10_000  # of MovieLens with --quick
RULES: dict[str, dict[str, Any]] = {
    SYNTHETIC: {"ridge": 0.1, "noise": 0.1, "delta": 0.1},
    MOVIELENS: {"ridge": 0.2, "exploration": 0.3},
}


@dataclass(frozen=True)
class PaperSetting:
    """One combination, everything but the seed."""

    world: str
    threshold: str  # a formula of incfed.thresholds
    method: str = PAID
    cost: float = 0.0
    beta: float = 1.0
    variant: str = FULL

    def __post_init__(self) -> None:
        if self.threshold == "theory" and self.beta == 1.0:  # the same number: log 1 = 0
            object.__setattr__(self, "threshold", "low")


@dataclass(frozen=True)
class Data:
    """The MovieLens data at hand."""

    clients: int
    events: int


@dataclass(frozen=True)
class Mode:
    """How the settings are run.

    fresh_reads: choose with all that was downloaded, as Algorithm 1 says; otherwise with stale
        reads, as the published figures do.
    quick: a look at everything, with less of MovieLens.
    min_events: users of MovieLens with more events than this; None: the paper's 3,000 for ml-20m,
        1,000 for other data.
    """

    fresh_reads: bool = False
    quick: bool = False
    movielens: Path | None = None
    min_events: int | None = None
    data: Data | None = None  # of MovieLens, once it was looked at

    @property
    def active(self) -> int:
        """How many events make a user of MovieLens a client."""
        if self.min_events is not None:
            return self.min_events
        named = "" if self.movielens is None else self.movielens.resolve().name
        return 3000 if named == "ml-20m" else 1000

    @property
    def reads(self) -> str:
        return "fresh" if self.fresh_reads else "stale"


def cell(setting: PaperSetting, seed: int, mode: Mode) -> Cell:
    """The run of a setting with one seed."""
    if setting.world == MOVIELENS:
        assert mode.movielens is not None  # asked for where targets are chosen
        world: dict[str, Any] = {
            "kind": "MovieLens",
            "folder": str(mode.movielens.resolve()),
            "min_events": mode.active,
        }
        few = mode.quick and (mode.data is None or mode.data.events > QUICK_STEPS)
        steps = QUICK_STEPS if few else None
    else:
        world, steps = {"kind": "Synthetic"}, STEPS
    return Cell(
        world=world,
        algorithm=_algorithm(setting, mode),
        seed=seed,
        steps=steps,
        point={**asdict(setting), "reads": mode.reads},
    )


def _algorithm(setting: PaperSetting, mode: Mode) -> dict[str, Any]:
    rules = {**RULES[setting.world], "reads": mode.reads, "threshold": setting.threshold}
    if setting.method == ALTRUISTIC:
        return {"kind": "DisLinUCB", **rules}
    mechanism: dict[str, Any] = {"kind": "PaymentFree"}
    if setting.method == PAID:
        mechanism = {"kind": "PaymentEfficient", "beta": setting.beta, **VARIANTS[setting.variant]}
    return {"kind": "IncFedUCB", "mechanism": mechanism, "costs": setting.cost, **rules}
