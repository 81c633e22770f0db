"""A conformance test for mechanisms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..support import inputs
from ..values import Number, Whole
from .base import Decision, Mechanism, MechanismError, Round, malformed
from .rehearsal import rehearse

ROUNDING = 1e-10  # of log det, below the tolerance of 1e-9 that promises allow for
SLACK = 1e-6  # relative: far above rounding, far below any payment that matters


def check_mechanism(mechanism: Mechanism, *, rounds: int = 200, seed: int = 0) -> int:
    """Try `mechanism` on many generated rounds; raise MechanismError with the rules it breaks.

    Every participant must gain at least its cost from data and money together. No payment is
    negative or infinite, or goes to a client that does not take part. If the mechanism sets `beta`,
    every decision meets it; if it overrides `promised`, every decision reaches that. The same round
    always gets the same decision, and is not modified. Returns the number of rounds tried.

    >>> incfed.check_mechanism(incfed.PaymentEfficient(beta=0.7), rounds=50)
    56
    """
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(
            f"{mechanism!r} is not a Mechanism: derive your class from incfed.Mechanism, "
            "and pass an instance, not the class"
        )
    Whole(0).of("rounds", rounds)
    Whole(0).of("seed", seed)
    if mechanism.beta is not None:
        Number(0.0, 1.0).of("beta", mechanism.beta)
    faults: dict[str, list[str]] = {}
    tried = 0
    for title, round in rehearse(rounds, seed):
        tried += 1
        for fault in _faults(mechanism, round):
            faults.setdefault(fault.split(":")[0], []).append(f"{fault} ({title})")
    if faults:
        lines = []
        for first, *rest in faults.values():
            more = f"; and {inputs.counted(len(rest), 'more round')}" if rest else ""
            lines.append(f"- {first}{more}")
        broken = f"{type(mechanism).__name__} broke {inputs.counted(len(faults), 'rule')}"
        raise MechanismError("\n".join([f"{broken}:", *lines]))
    return tried


def _faults(mechanism: Mechanism, round: Round) -> list[str]:
    before = _everything(round)
    try:
        decision = mechanism.decide(round)
        if not _same(before, _everything(round)):  # a decision on a modified round means nothing
            return ["it changed the round it was given: work on copies"]
        again = mechanism.decide(round)
    except Exception as error:  # show the author whatever the plug-in raises
        return [f"it raised an error: {type(error).__name__}: {error}"]
    faults = []
    form = malformed(decision, round.clients)
    if form:
        return [form]
    members, payments = decision.participants, decision.payments
    if not (
        isinstance(again, Decision)
        and np.array_equal(members, again.participants)
        and np.array_equal(payments, again.payments)
    ):
        faults.append("it is not deterministic: the same round was decided differently twice")
    gained = round.incentives(members) + payments
    short = members & (gained < round.costs - SLACK * (1.0 + round.costs))
    if short.any():
        j = int(np.flatnonzero(short)[0])
        faults.append(
            "a participant loses by sharing (not individually rational): "
            f"client {round.clients[j]} has cost {round.costs[j]:g} "
            f"and gets {max(0.0, gained[j] - 1e-12):g} in data and money"
        )
    if mechanism.beta is not None and not round.meets(members, mechanism.beta):
        ratio = float(np.exp(round.value(members) - round.full_value))
        faults.append(f"the promised beta is not met: {ratio:.4g} is below {mechanism.beta:g}")
    elif (value := round.value(members)) < (floor := mechanism.promised(round)) - ROUNDING:
        faults.append(
            f"the promised value is not reached: log det V_g(S) is {value:.6g}, below {floor:.6g}"
        )
    return faults


def _everything(round: Round) -> list[Any]:
    pending = round.pending
    uploads = (pending.rows, pending.start, pending.grams, pending.dense)  # the rest is scratch
    return [
        np.copy(value)
        for name, value in sorted(vars(round).items())
        if isinstance(value, np.ndarray | int | float) and not name.startswith("_")
    ] + [np.copy(part) for part in (*uploads, *round._shared)]


def _same(before: list[Any], after: list[Any]) -> bool:
    pairs = zip(before, after, strict=False)
    return len(before) == len(after) and all(np.array_equal(a, b) for a, b in pairs)
