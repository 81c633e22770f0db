"""Conduct: clients that are silent, call for rounds too often, or call without reason.

None of it is evidence: it only decides who is awaited, and whose call opens a round.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from sqlalchemy import Connection, bindparam, insert, select, update

from ...kernels.coalition import log_gains
from ...ledger import tables
from ...ledger.records import Pruned
from ...ledger.settings import Settings
from ...protocol.global_statistics import GlobalStatistics
from ...protocol.messages import Signal, Upload
from ...protocol.packing import gather
from ...protocol.triggers import ROWS
from ...types import Floats
from .batching import CLIENTS
from .errors import TooMany

ROUNDING = 1e-6  # relative, of what both ends compute
MOST = 2**31 - 1

# Statements are built once: building one takes longer than running it.
_conduct = tables.conduct
OWN = select(_conduct).where(_conduct.c.client == bindparam("of_client"))
NOT_AWAITED = select(_conduct.c.client).where(_conduct.c.silent >= bindparam("silent_rounds"))
SPOKEN = (
    update(_conduct).where(_conduct.c.client.in_(CLIENTS), _conduct.c.silent > 0).values(silent=0)
)


def silent_rounds(settings: Settings) -> dict[str, int]:
    """For `NOT_AWAITED`."""
    return {"silent_rounds": settings.silent_rounds or MOST}


def spoke(connection: Connection, clients: Collection[int]) -> None:
    """These clients have said something."""
    if clients:
        connection.execute(SPOKEN, {"clients": sorted(clients)})


def missed(connection: Connection, clients: Collection[int]) -> None:
    """These were awaited, and said nothing until the deadline."""
    for client in sorted(clients):
        _write(connection, client, silent=_read(connection, client).get("silent", 0) + 1)


def check_call(
    connection: Connection, client: int, settings: Settings, now: float, opened: float | None
) -> None:
    """TooMany if this client may not open a round now. `opened`: when the last one was."""
    waits = _waits(_read(connection, client), settings, now, opened)
    _, interval, ignored = waits
    longest = max(waits)
    if not longest:
        return
    if longest == ignored:
        allowed = f"called for by others: the data of your last {settings.false_calls} calls did "
        allowed += f"not fulfil the trigger; wait {ignored:.0f} s"
    elif longest == interval:
        allowed = f"{settings.round_interval:g} s after the last round that you called for"
    else:
        allowed = f"{settings.round_gap:g} s after the last round was opened"
    raise TooMany("round", allowed, longest)


def wait(
    connection: Connection, client: int, settings: Settings, now: float, opened: float | None
) -> float:
    """How long the calls of this client open nothing. `opened`: when the last round was."""
    return max(_waits(_read(connection, client), settings, now, opened))


def _waits(
    known: dict[str, Any], settings: Settings, now: float, opened: float | None
) -> tuple[float, float, float]:
    """How long until a call of anybody may open a round, until one of this client may, and until
    its calls are no longer ignored."""
    gap, interval = settings.round_gap, settings.round_interval
    called, ignored = known.get("called"), known.get("ignored")
    ends = (
        (None if opened is None else opened + gap, gap),
        (None if called is None else called + interval, interval),
        (ignored, settings.ignored_time),
    )
    left = [(0.0 if end is None else end - now, most) for end, most in ends]
    # longer than it can be: the clock was set back since
    first, second, third = (wait if 0.0 < wait <= most else 0.0 for wait, most in left)
    return first, second, third


def ignored(connection: Connection, settings: Settings, now: float) -> set[int]:
    """The clients whose calls are ignored now; what they claim counts for nobody's call either."""
    until = _conduct.c.ignored
    soon = until.between(now, now + settings.ignored_time)
    return set(connection.scalars(select(_conduct.c.client).where(soon, until > now)))


def called(connection: Connection, client: int, now: float, noisy: bool) -> None:
    """This client has opened a round, with data that is noisy or not."""
    _write(connection, client, called=now, noisy=noisy)


def was_noisy(connection: Connection, client: int) -> bool:
    """Did the client say of its last call that it adds noise?"""
    return bool(_read(connection, client).get("noisy"))


def had_reason(
    upload: Upload | None, shared: Callable[[int], GlobalStatistics], settings: Settings,
    claim: Signal | None, noisy: bool,
) -> bool:  # fmt: skip
    """Had the caller of a round a reason? `upload`: what it uploaded; `shared`: the statistics of
    an epoch; `claim`: what it said before, if that called for it; `noisy`: it adds noise to what it
    shares."""
    if settings.rule.streams == ROWS:
        return True  # the server saw the rows
    on = upload if claim is None else claim
    try:
        base = None if on is None else shared(on.epoch)
    except Pruned:  # the epoch of a claim is whatever the caller said
        base = None
    fulfils = possible if noisy else justified
    return fulfils(upload, settings, base, None if claim is None else claim.growth)


def justified(
    upload: Upload | None,
    settings: Settings,
    base: GlobalStatistics | None,
    claimed: float | None = None,
) -> bool:
    """Does what the caller uploaded, on top of its epoch, fulfil the trigger? Its clock is not
    known here, but it shows no more than the steps of the upload. `claimed`: the growth that it
    reported, if the server called for the round because of that."""
    if upload is None or not upload.steps or base is None:
        return False
    gain, own = np.zeros(1), np.ones(1, np.bool_)
    pending = gather([upload.dV], settings.dim)
    log_gains(base.V, base.factor, base.logdet, settings.ridge, pending, own, gain)
    return _suffices(float(gain[0]), upload.steps, settings, claimed)


def possible(
    upload: Upload | None,
    settings: Settings,
    base: GlobalStatistics | None,
    claimed: float | None = None,
) -> bool:
    """Could as many steps as the caller uploaded fulfil the trigger? For a caller that adds noise,
    which may hide all of the growth that it saw, while the number of steps is exact."""
    if upload is None or not upload.steps or base is None:
        return False
    eigenvalues: Floats = (np.linalg.eigvalsh(base.V) + settings.ridge).astype(np.float64)
    most = most_growth(eigenvalues, upload.steps, settings.arm_norm)
    return _suffices(most, upload.steps, settings, claimed)


def most_growth(eigenvalues: Floats, steps: int, arm_norm: float) -> float:
    """The most that so many steps can add to log det V, given the eigenvalues of V, ascending.

    Their dV has at most that rank, and trace at most n L^2. By Fiedler's inequality, the
    determinant is largest if the eigenvalues of dV add to the smallest ones of V; and the more
    equal the sums are, the larger: as many of the smallest as the trace suffices for rise to one
    level.
    """
    smallest, trace = eigenvalues[:steps], steps * arm_norm**2
    levels = (np.cumsum(smallest) + trace) / np.arange(1, len(smallest) + 1)
    raised = int(np.flatnonzero(levels >= smallest)[-1]) + 1
    return float(np.log(levels[raised - 1] / smallest[:raised]).sum())


def _suffices(growth: float, steps: int, settings: Settings, claimed: float | None) -> bool:
    """Is this growth what was claimed, or else fulfils it the trigger, at a clock that shows so
    many steps?"""
    if claimed is not None:
        return growth >= claimed * (1.0 - ROUNDING) - ROUNDING
    rule = settings.rule
    return growth * (steps if rule.clocked else 1) > rule.threshold * (1.0 - ROUNDING)


def judged(connection: Connection, client: int, settings: Settings, now: float, just: bool) -> None:
    """Count a call that had no reason; one that had puts an end to the count."""
    count = 0 if just else _read(connection, client).get("false_calls", 0) + 1
    ignored = None
    if count >= settings.false_calls:
        count, ignored = 0, now + settings.ignored_time
    _write(connection, client, false_calls=count, ignored=ignored)


def _read(connection: Connection, client: int) -> dict[str, Any]:
    row = connection.execute(OWN, {"of_client": client}).first()
    return {} if row is None else dict(row._mapping)


def _write(connection: Connection, client: int, **values: Any) -> None:
    own = update(_conduct).where(_conduct.c.client == client)
    if not connection.execute(own.values(values)).rowcount:
        blank = {"silent": 0, "called": None, "false_calls": 0, "ignored": None, "noisy": False}
        connection.execute(insert(_conduct).values(client=client, **blank | values))
