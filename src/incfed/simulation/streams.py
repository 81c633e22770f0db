"""What the server of a `Federation` hears between rounds, where clients stream after every step.

It says whether a round may be worth opening. Of rows, the server can then tell for sure; of growth,
the uploads do.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..kernels.factor import add_outer
from ..kernels.signals import LOOSE, Signals, know, worthwhile_of
from ..protocol.global_statistics import GlobalStatistics
from ..protocol.packing import gather
from ..protocol.triggers import GROWTH, ROWS, BuiltIn
from ..types import Floats
from .members import Member, MemberList


class SignalStream(ABC):
    """The sums over all that is streamed."""

    @abstractmethod
    def begin(self, members: MemberList) -> None:
        """Before the first step."""

    @abstractmethod
    def hear(self, member: Member, x: Floats, growth: float) -> None:
        """A step: its arm, and by how much it made the member's own log det grow."""

    @abstractmethod
    def promising(self, members: MemberList, shared: GlobalStatistics) -> bool:
        """May a round be worth it now?"""

    @abstractmethod
    def closed(self, members: MemberList, shared: GlobalStatistics) -> None:
        """After a round, in which all members uploaded."""

    @abstractmethod
    def joined(self, member: Member, shared: GlobalStatistics) -> None:
        """It is the last of the members from now on, and has streamed nothing."""

    @abstractmethod
    def left(self, member: Member, members: MemberList, shared: GlobalStatistics) -> None:
        """What it has not shared is gone. `members`: the others."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Its arrays, from which `restore` goes on."""

    @abstractmethod
    def restore(self, state: Mapping[str, Any], members: MemberList) -> None: ...


def stream_of(trigger: BuiltIn, dim: int, ridge: float) -> SignalStream | None:
    """None: clients call for rounds themselves."""
    kinds = {ROWS: RowStream, GROWTH: GrowthStream}
    return None if trigger.streams is None else kinds[trigger.streams](trigger, dim, ridge)


class RowStream(SignalStream):
    """The rows x of all steps: the server knows V_g + all pending data."""

    def __init__(self, trigger: BuiltIn, dim: int, ridge: float) -> None:
        wanted = trigger.signals(1, dim, ridge, np.zeros(1))
        assert wanted is not None
        self._least, self._patient = wanted.least, wanted.patient
        self._prior = ridge * np.eye(dim)
        self._V = np.zeros((dim, dim))

    def begin(self, members: MemberList) -> None:
        """Nothing is streamed yet."""

    def hear(self, member: Member, x: Floats, growth: float) -> None:
        add_outer(self._V, x)

    def promising(self, members: MemberList, shared: GlobalStatistics) -> bool:
        """A quick check: is there enough news, and somebody who needs no more?"""
        most = float(np.linalg.slogdet(self._V + self._prior)[1]) + LOOSE  # no set brings more
        if most - shared.logdet < self._least:
            return False
        waiting = [member for member in members if member.pending_steps]
        needed = (member._logdet + math.log1p(member.cost) for member in waiting)
        return not self._patient or any(logdet <= most for logdet in needed)

    def closed(self, members: MemberList, shared: GlobalStatistics) -> None:
        """Data moves from pending to V_g: the sum stays."""

    def joined(self, member: Member, shared: GlobalStatistics) -> None:
        """It adds nothing yet."""

    def left(self, member: Member, members: MemberList, shared: GlobalStatistics) -> None:
        self._V = sum((one._pending().matrix() for one in members), shared.V.copy())

    def state(self) -> dict[str, Any]:
        return {"V": self._V}

    def restore(self, state: Mapping[str, Any], members: MemberList) -> None:
        self._V = state["V"]


class GrowthStream(SignalStream):
    """The growth of each client's log det: the server knows an upper bound of what there is."""

    def __init__(self, trigger: BuiltIn, dim: int, ridge: float) -> None:
        self._trigger, self._dim, self._ridge = trigger, dim, ridge
        self.begin(MemberList())

    def _set(
        self, costs: Floats, exact: Floats | None = None, grown: Floats | None = None,
        figure: float | None = None,
    ) -> None:  # fmt: skip
        """The figures for clients with these costs, as the server knows them. `exact` is by order
        of cost, `grown` by place; see kernels/signals.py."""
        made = self._trigger.signals(len(costs), self._dim, self._ridge, costs)
        assert made is not None
        self._costs = costs
        self._signals: Signals = made._replace(
            exact=made.exact if exact is None else exact,
            grown=made.grown if grown is None else grown,
            figure=made.figure if figure is None else np.array([figure]),
        )

    def begin(self, members: MemberList) -> None:
        self._set(np.array([member.cost for member in members]))
        self._places = {one.number: n for n, one in enumerate(members)}

    def hear(self, member: Member, x: Floats, growth: float) -> None:
        self._signals.grown[self._places[member.number]] += growth
        self._signals.figure[0] += growth

    def promising(self, members: MemberList, shared: GlobalStatistics) -> bool:
        logdets = np.array([member._logdet for member in members])
        pending = np.array([member.pending_steps for member in members])
        return worthwhile_of(self._signals, logdets, pending, shared.logdet)

    def closed(self, members: MemberList, shared: GlobalStatistics) -> None:
        """All uploaded: the figures are exact."""
        self._set(np.array([member.cost for member in members]))
        waiting = [place for place, member in enumerate(members) if member.pending_steps]
        places = np.full(len(members), -1)
        places[waiting] = np.arange(len(waiting))
        pending = gather([one._pending() for one in members if one.pending_steps], self._dim)
        know(
            self._signals, places[self._signals.order], shared.V.copy(), shared.factor.copy(),
            shared.logdet, self._ridge, pending,
        )  # fmt: skip

    def joined(self, member: Member, shared: GlobalStatistics) -> None:
        known = self._signals
        at = int(np.count_nonzero(self._costs <= member.cost))  # in order of cost
        before = known.exact[at - 1] if at else shared.logdet  # it has nothing to add
        self._places[member.number] = len(self._places)
        self._set(
            np.append(self._costs, member.cost), np.insert(known.exact, at, before),
            np.append(known.grown, 0.0), float(known.figure[0]),
        )  # fmt: skip

    def left(self, member: Member, members: MemberList, shared: GlobalStatistics) -> None:
        """What the server knew with the data that is gone is still an upper bound."""
        known, place = self._signals, self._places[member.number]
        exact = np.delete(known.exact, np.flatnonzero(known.order == place))
        grown = np.delete(known.grown, place)
        most = (exact[-1] if len(exact) else shared.logdet) + grown.sum()
        self._set(np.delete(self._costs, place), exact, grown, float(most))
        self._places = {one.number: n for n, one in enumerate(members)}

    def state(self) -> dict[str, Any]:
        known = self._signals
        return {
            "costs": self._costs, "exact": known.exact, "grown": known.grown, "figure": known.figure
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any], members: MemberList) -> None:
        figure = float(state["figure"][0])
        self._set(state["costs"], state["exact"], state["grown"], figure)
        self._places = {one.number: n for n, one in enumerate(members)}
