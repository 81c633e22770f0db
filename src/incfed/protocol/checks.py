"""Checks of uploads and deliveries. Each error names the field.

The coordinator cannot see what its clients saw, but it can detect data that no client could have
seen: n steps with arms of length at most L have a trace of at most n L^2 and a rank of at most n;
and rewards of size at most Y give a db with db' dV^-1 db <= n Y^2 (db = X'y lies in the span of
dV = X'X, and projecting y onto the columns of X does not lengthen it). What clients have downloaded
they cannot simply sell back: see `resale`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import InputError
from ..support.inputs import counted
from ..types import Floats
from .messages import Signal, Upload
from .packing import FACTOR, TRIANGLE, Packed

MOST_STEPS = 10**9  # in one upload
# The smallest eigenvalue may be this far below 0: PSD times the trace, but at most that of a step,
# and what rounding makes of sums over many steps.
PSD, SUMMED = 1e-9, 1e-12
RANK = 1e-9  # times the trace: smaller eigenvalues are rounding
INVERTIBLE = 1e-9  # times the trace: added to dV, to solve with it
ROUNDING = 1e-9  # relative, of sums of squares
ROUNDING_SOLVED = 1e-6  # relative, of a solution with condition 1 / INVERTIBLE


class Refusal(InputError):
    """A refused message: the field, its value (if short), and what is allowed."""

    def __init__(self, field: str, value: object, allowed: str) -> None:
        self.field, self.allowed = field, allowed
        self.value = value if isinstance(value, int | float | str | None) else None
        got = "" if self.value is None else f"got {self.value!r:.60}, "
        super().__init__(f"{field}: {got}must be {allowed}")


class MessageBounds(NamedTuple):
    """How large what clients send can be."""

    dim: int
    arm_norm: float  # L
    reward_bound: float  # Y
    cost_limit: float
    most_steps: int = MOST_STEPS  # in one upload


def check_upload(upload: Upload, bounds: MessageBounds) -> None:
    """Raise Refusal if the upload is impossible. The coordinator checks round and epoch."""
    steps = upload.steps
    if not 0 <= steps <= bounds.most_steps:
        raise Refusal("steps", steps, f"a whole number from 0 to {_most(bounds)}")
    cost = upload.cost
    check_cost(cost, bounds)
    if steps == 0:
        if cost != 0.0:
            raise Refusal("cost", float(cost), "0 if there are no steps to share")
        if len(upload.dV.numbers):
            raise Refusal("dV", None, "empty if there are no steps to share")
        return
    check_matrix(upload.dV, steps, bounds)


def check_signal(signal: Signal, bounds: MessageBounds) -> None:
    """Raise Refusal if the signal is impossible."""
    steps = signal.steps
    if not 0 <= steps <= signal.learned:
        allowed = f"a whole number from 0 to {signal.learned:,}, all that it learned"
        raise Refusal("steps", steps, allowed)
    if steps > bounds.most_steps:
        raise Refusal("steps", steps, f"a whole number from 0 to {_most(bounds)}")
    if not (np.isfinite(signal.growth) and signal.growth >= 0.0):
        raise Refusal("growth", float(signal.growth), "a number of at least 0")
    check_cost(signal.cost, bounds)
    if signal.dV is not None:
        check_matrix(signal.dV, steps, bounds)
    if signal.rows is not None:
        longest = np.sqrt(np.einsum("kd,kd->k", signal.rows, signal.rows)).max(initial=0.0)
        if not longest <= bounds.arm_norm * (1.0 + ROUNDING):
            allowed = f"of a length of at most {bounds.arm_norm:g}"
            raise Refusal("rows", f"length {longest:.10g}", allowed)


def _most(bounds: MessageBounds) -> str:
    named = " (limits.steps_per_upload)" if bounds.most_steps < MOST_STEPS else ""
    return f"{bounds.most_steps:,}{named}"


def check_cost(cost: float, bounds: MessageBounds) -> None:
    """Refusal if no client may state this cost."""
    if not (np.isfinite(cost) and 0.0 <= cost <= bounds.cost_limit):
        raise Refusal("cost", float(cost), f"a number from 0 to {bounds.cost_limit:,.10g}")


def check_matrix(dV: Packed, steps: int, bounds: MessageBounds) -> None:
    _check_form(dV, steps, bounds.dim)
    if not np.isfinite(dV.numbers).all():
        raise Refusal("dV", "NaN or infinite", "finite numbers")
    with np.errstate(over="ignore", invalid="ignore"):
        V = dV.matrix()
        trace = float(np.trace(V))
    most = steps * bounds.arm_norm**2
    if not trace <= most * (1.0 + ROUNDING):
        allowed = f"of a trace of at most {most:.10g}: {counted(steps, 'step')}, arms of at most "
        raise Refusal("dV", f"trace {trace:.10g}", f"{allowed}{bounds.arm_norm:g}")
    # Entries of such a matrix are no larger than its trace, so computing eigenvalues is safe.
    if dV.form == TRIANGLE:
        safe = np.abs(V).max() <= max(trace, 0.0)
        values = np.linalg.eigvalsh(V) if safe else np.full(len(V), -np.inf)
        if values[0] < -PSD * min(trace, bounds.arm_norm**2) - SUMMED * trace:
            raise Refusal("dV", f"eigenvalue {values[0]:.3g}", "positive semi-definite")
        rank = int(np.count_nonzero(values > RANK * trace))
        if rank > steps:
            raise Refusal("dV", f"rank {rank}", f"of a rank of at most {steps}, the steps")


def _check_form(dV: Packed, steps: int, dim: int) -> None:
    count = len(dV.numbers)
    if dV.form == TRIANGLE:
        if dV.dim != dim or count != dim * (dim + 1) // 2:
            numbers = counted(dim * (dim + 1) // 2, "number")
            allowed = f"{numbers}, the upper triangle of {dim} x {dim}"
            raise Refusal("dV", counted(count, "number"), allowed)
    elif dV.form == FACTOR:
        most = min(steps, dim - 1)
        if dV.dim != dim or count % dim or count // dim > most:
            allowed = f"at most {counted(most, 'row')} of {counted(dim, 'number')}"
            raise Refusal("dV", counted(count, "number"), allowed)
        if np.tril(dV.rows(), -1).any():
            raise Refusal("dV", "a factor that is not triangular", "the R of a QR factorization")
    else:
        raise Refusal("dV.form", dV.form, f"one of {TRIANGLE!r}, {FACTOR!r}")


def check_scores(scores: Floats, steps: int) -> None:
    """Raise Refusal if they cannot be sums of squared errors of so many predictions."""
    sums, events = scores[:-1], scores[-1]
    possible = np.isfinite(scores).all() and (sums >= 0.0).all()
    if not (possible and 0.0 <= events <= steps and events == round(events)):
        allowed = f"numbers of at least 0, the last, how many events they are of, at most {steps:,}"
        raise Refusal("scores", None, allowed)


def check_delivery(db: Floats, dV: Packed, steps: int, bounds: MessageBounds) -> None:
    """Raise Refusal if no rewards of size at most Y give this db with that dV."""
    if db.shape != (bounds.dim,):
        raise Refusal("db", counted(db.size, "number"), counted(bounds.dim, "number"))
    if not np.isfinite(db).all():
        raise Refusal("db", "NaN or infinite", "finite numbers")
    V = dV.matrix()
    trace = float(np.trace(V))
    if trace <= 0.0:
        if db.any():
            raise Refusal("db", None, "zero if dV is zero")
        return
    values, vectors = np.linalg.eigh(V)
    with np.errstate(over="ignore", invalid="ignore"):
        square = float(
            ((vectors.T @ db) ** 2 / (np.maximum(values, 0.0) + INVERTIBLE * trace)).sum()
        )
    most = steps * bounds.reward_bound**2
    if not square <= most * (1.0 + ROUNDING_SOLVED):
        allowed = f"of at most {most:.10g}: {counted(steps, 'reward')} of at most "
        raise Refusal("db", f"db' dV^-1 db = {square:.10g}", f"{allowed}{bounds.reward_bound:g}")
