"""The mechanisms that configs and ledgers name: for `incfed run`, `plan` and `serve`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import mechanisms
from ..errors import InputError
from ..rules.plugins import HASH, Kinds, public
from ..types import Floats, Mask
from .base import Decision, Mechanism, MechanismError, Round
from .checks import check_mechanism


@dataclass(frozen=True)
class Pinned(Mechanism):
    """A mechanism of the user's own, bound to the code that it was loaded from."""

    kind: str  # as in the config
    options: Mapping[str, Any]
    sha256: str
    mechanism: Mechanism = field(compare=False)

    @property
    def beta(self) -> float | None:  # type: ignore[override]  # theirs
        return self.mechanism.beta

    def decide(self, round: Round) -> Decision:
        return self.mechanism.decide(round)

    def promised(self, round: Round) -> float:
        return self.mechanism.promised(round)

    def amend(
        self, round: Round, decision: Decision, S: Mask, offered: Floats | None = None
    ) -> Floats:
        return self.mechanism.amend(round, decision, S, offered)

    def lie_bound(self, highest: float) -> str | None:
        return self.mechanism.lie_bound(highest)

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.options, HASH: self.sha256}

    def check(self) -> None:
        """Refuse it if it breaks a rule of mechanisms."""
        try:
            check_mechanism(self.mechanism)
        except MechanismError as error:
            raise InputError(f"mechanism: {self.kind} cannot be served: {error}") from None


MECHANISMS = Kinds(
    Mechanism,
    public(mechanisms, Mechanism),
    example='{ kind = "PaymentEfficient", beta = 0.7 }',
    pin=Pinned,
    restore=", or name it with --mechanism-file (incfed ledger audit) or mechanism_files in "
    "[server] (incfed serve)",
)
BUILT_IN = MECHANISMS.makers
