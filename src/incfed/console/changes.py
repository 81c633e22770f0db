"""Changes by operators. Each stands in the ledger with the operator's name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter

from ..errors import InputError
from ..ledger import clients
from ..ledger.federation import change_settings, set_paused, settings_in_force, too_small
from ..ledger.overview import isolated
from ..ledger.payouts import mark_paid_out
from ..ledger.withdrawal import withdraw
from ..support.inputs import counted
from ..values import Word
from .access import At, Changer, Viewer
from .federation import Done, Id, Store

changing = APIRouter(prefix="/api/changes", tags=["changes"])
CAPS = ("per_round", "per_payment", "per_client", "reserve")
CHANGEABLE = ("beta", "threshold", "budget", *CAPS)


@dataclass(frozen=True)
class SettingsView:
    """The settings that can be changed here. A cap that is null is no limit."""

    beta: float | None  # null: the mechanism has none
    threshold: float | None
    trigger: str | None  # that opens rounds instead of a threshold
    budget: float | None
    per_round: float | None
    per_payment: float | None
    per_client: float | None
    reserve: float | None
    paused: bool = False


@dataclass(frozen=True)
class PaidOut:
    """Payments to a client that were made outside: all that are not marked yet, through a round
    (null: the last one)."""

    through: int | None = None


@changing.get("/settings")
def settings(store: Store, who: Viewer) -> SettingsView:
    """The settings as they are in force, and whether rounds are paused."""
    with store.read() as connection:
        found, paused = settings_in_force(connection)
    caps = {name: getattr(found.limits, name) for name in CAPS}
    beta = getattr(found.mechanism, "beta", None)
    trigger = None if found.trigger is None else type(found.trigger).__name__
    return SettingsView(beta, found.threshold, trigger, found.budget, **caps, paused=paused)


@changing.post("/settings")
def set_settings(store: Store, at: At, who: Changer, new: dict[str, float | None]) -> Done:
    """Change those that are named, from the next round on. They stay in force until the config is
    changed."""
    for name in new:
        Word(CHANGEABLE).of("setting", name)
    if new.get("threshold", 0.0) is None:
        raise InputError("threshold: must be a number. To stop rounds, pause them")
    with store.change() as connection:
        found, _ = settings_in_force(connection)
        changes: dict[str, Any] = {
            name: new[name] for name in ("threshold", "budget") if name in new
        }
        if "beta" in new:
            changes["mechanism"] = _with_beta(found.mechanism, new["beta"])
        caps = {name: new[name] for name in CAPS if name in new}
        if caps:
            changes["limits"] = replace(found.limits, **caps)  # type: ignore[arg-type]
        change_settings(connection, changes, who.name, at)
    return Done("The new settings are in force from the next round on.")


@changing.post("/pause")
def pause(store: Store, at: At, who: Changer) -> Done:
    """No new round is opened; one in progress goes on."""
    with store.change() as connection:
        set_paused(connection, True, who.name, at)
    return Done("Rounds are paused. Clients go on learning by themselves.")


@changing.post("/resume")
def resume(store: Store, at: At, who: Changer) -> Done:
    """Clients may open rounds again."""
    with store.change() as connection:
        set_paused(connection, False, who.name, at)
    return Done("Rounds go on.")


@changing.post("/clients/{client}/revoke")
def revoke(store: Store, at: At, who: Changer, client: Id) -> Done:
    """Its token is no longer valid. What it shared and was paid stays."""
    with store.change() as connection:
        member = clients.revoke(connection, client, at, who.name)
        small = too_small(connection)
    return Done(f"{isolated(member.name)} is revoked." + (f" Warning: {small}." if small else ""))


@changing.post("/clients/{client}/withdraw")
def take_out(store: Store, at: At, who: Changer, client: Id) -> Done:
    """All that it shared is taken out of the model. What it was paid stays."""
    with store.change() as connection:
        member = clients.find(connection, client)
        done = withdraw(connection, client, at, by=who.name)
    steps, rounds = counted(done.steps, "observation"), counted(len(done.rounds), "round")
    return Done(
        f"{steps} of {isolated(member.name)}, of {rounds}, were taken out. "
        f"Epoch {done.epoch} has the corrected model."
    )


@changing.post("/clients/{client}/paid-out")
def paid_out(store: Store, at: At, who: Changer, client: Id, what: PaidOut) -> Done:
    """Mark payments to a client as paid out; who said so and when stays on record."""
    with store.change() as connection:
        done = mark_paid_out(connection, client, who.name, at, through=what.through)
    return Done(f"{done.amount:,} to {isolated(done.name)} are marked as paid out.")


def _with_beta(mechanism: Any, beta: float | None) -> Any:
    if not hasattr(mechanism, "beta"):
        raise InputError(f"beta: {type(mechanism).__name__} has none")
    if beta is None:
        raise InputError("beta: must be a number from 0 to 1")
    return replace(mechanism, beta=beta)
