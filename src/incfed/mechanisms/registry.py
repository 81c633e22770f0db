"""One registry of mechanisms, for `incfed run`, `plan` and `serve`.

A table such as {kind = "PaymentEfficient", beta = 0.7} or {kind = "my_file.py:Mine", ...} becomes a
mechanism. One that is served is pinned: recorded with the SHA-256 of its source file, so that
nothing but the same code can take its place later.

Loading a mechanism runs its code. Only `load_mechanism` and `load_code` do that, with what the
user's own config or command names. `recorded_mechanism` takes what a database says, and finds its
code among what was loaded, or refuses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import errors, mechanisms
from ..errors import InputError, refuse
from ..rules.plugins import Kinds, public
from ..support.plugins import classes, load
from ..types import Floats, Mask
from .base import Decision, Mechanism, MechanismError, Round
from .checks import check_mechanism

MECHANISMS = Kinds(
    Mechanism,
    public(mechanisms, Mechanism),
    example='{ kind = "PaymentEfficient", beta = 0.7 }',
)
BUILT_IN = MECHANISMS.makers
HASH = "sha256"  # a key of what is recorded, so no option may have this name

_loaded: dict[tuple[str, str], type[Mechanism]] = {}  # by name and SHA-256 of the source file


class MissingCode(InputError):
    """The code of a mechanism that a ledger has recorded is not loaded."""


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


def load_mechanism(value: object, place: str, folder: Path) -> Mechanism:
    """The mechanism that a federation's config names: a built-in one, or a pinned one."""
    table = MECHANISMS.table(value, place)
    maker = MECHANISMS.find(table, place, folder)
    if table["kind"] in BUILT_IN:
        made: Mechanism = maker(table, place, folder).value
        return made
    options = {key: option for key, option in table.items() if key != "kind"}
    if HASH in options or HASH in maker.keys:
        raise refuse(f"{place}.{HASH}", options.get(HASH), "left out: the ledger keeps it itself")
    if not maker.sources:
        raise refuse(f"{place}.kind", table["kind"], "a class with a source file, to be recorded")
    try:
        plain = json.loads(json.dumps(options, allow_nan=False)) == options
    except (TypeError, ValueError):
        plain = False
    if not plain:
        raise refuse(place, options, "options that JSON can record: finite numbers, texts, lists")
    built = maker(table, place, folder)
    [sha256] = maker.sources.values()
    if len(built.sources) > 1:
        others = sorted(built.sources.keys() - maker.sources.keys())
        raise refuse(
            place, others, "without files to read: what is served may depend on code and options"
        )
    _loaded[_name(table["kind"]), sha256] = type(built.value)
    return Pinned(table["kind"], options, sha256, built.value)


def load_code(where: str, place: str, folder: Path) -> None:
    """Load all mechanisms of a file or module, so that what was decided by them can be recomputed.
    `place`: the setting or option that names it."""
    with errors.at(place):
        found = classes(load(where, folder), Mechanism)
        if not found:
            raise InputError(f"{where} has no class derived from incfed.Mechanism")
    for name, plugin in found.items():
        _loaded[name, plugin.sha256] = plugin.made


def recorded_mechanism(table: Mapping[str, Any]) -> Mechanism:
    """The mechanism that `Mechanism.settings` described. Never loads code: MissingCode if that of a
    user's own mechanism is not loaded."""
    kind = table.get("kind")
    options = {key: value for key, value in table.items() if key not in ("kind", HASH)}
    if HASH not in table:
        built_in: Mechanism = MECHANISMS.recorded(table)
        return built_in
    sha256 = str(table[HASH])
    name = _name(str(kind))
    if (name, sha256) not in _loaded:
        others = [known for other, known in _loaded if other == name]
        hint = f"; the {name} at hand has {', '.join(others)}" if others else ""
        raise MissingCode(
            f"mechanism: {kind} was recorded with SHA-256 {sha256}{hint}. Only the file as it was "
            "then will do: put it back, or name it with --mechanism-file (incfed ledger audit) or "
            "mechanism_files in [server] (incfed serve)"
        )
    return Pinned(str(kind), options, sha256, _loaded[name, sha256](**options))


def _name(kind: str) -> str:
    """The name of the class in "my_file.py:Mine": where the file stands may differ."""
    return kind.rpartition(":")[2]
