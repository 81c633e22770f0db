"""The members of a `Federation`: learners that share, each with a name and a number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import errors, ranges
from ..algorithms.lin_ucb import LinUCB
from ..kernels.step import ROUNDING
from ..protocol.messages import Download, Upload
from ..protocol.money import round_up
from ..protocol.packing import Packed
from ..protocol.policies import Policy
from ..protocol.triggers import ActingClient
from ..rules.privacy import noise_stream
from ..support import inputs
from ..types import Arrays, Floats
from ..values import String, Whole

if TYPE_CHECKING:
    from .federation import Federation

LONGEST_NAME = 100  # characters


class UnknownMember(errors.InputError, KeyError, IndexError):
    """No member has this name, or this number. It is the error of a dict and of a list too."""

    __str__ = Exception.__str__  # KeyError would show the repr


@dataclass
class BatchNoise:
    """The noise of a client's batches, one after another, as a simulation draws it."""

    seed: int
    client: int
    batches: int = 0  # that have noise

    def __call__(self, count: int) -> Floats:
        drawn = noise_stream(self.seed, self.client, self.batches).standard_normal(count)
        self.batches += 1
        return drawn


class Member(LinUCB):
    """A client of a `Federation`: a `LinUCB` that shares.

    >>> algorithm = incfed.IncFedUCB(incfed.PayEveryone(), threshold=1.0, costs=3.0)
    >>> member = incfed.Federation(2, dim=1, algorithm=algorithm)[0]
    >>> member.name, member.number, member.cost, member.paid
    ('client 0', 0, 3.0, 0.0)
    """

    def __init__(
        self, federation: Federation, name: str, number: int, cost: float, trust: float | str
    ) -> None:
        algorithm, rules = federation.algorithm, federation._rules
        super().__init__(
            federation.dim, ridge=algorithm.ridge, noise=algorithm.noise, delta=algorithm.delta,
            exploration=algorithm.exploration, width=algorithm.width,
            width_scale=algorithm.width_scale,
        )  # fmt: skip
        self._left = False  # the federation
        self.name, self.number, self.cost = name, number, cost
        self.paid = 0.0
        self._federation = federation
        self._entitled = True  # to a download, if they are one for one
        self._behind = False  # it has downloaded as it joined, and that is not counted yet
        self._seen = 0  # observations that it has had, of all that were shared
        self._noise = BatchNoise(federation._seed, number)
        learner = self._learner
        learner.rules, learner.trust = algorithm.rules(federation.dim), trust
        learner.share_from, learner.privacy = rules.share_from, rules.privacy
        learner.normals = self._noise
        if federation._policies is not None:
            learner.policy = federation._policies.of(number)

    @property
    def cost(self) -> float:
        """The cost of sharing for this member. You may change it from round to round.

        >>> member.cost = 4.0
        """
        return self._cost

    @cost.setter
    def cost(self, cost: float) -> None:
        self._check_there()
        self._cost = float(ranges.COST.of("cost", cost))

    def _check_there(self) -> None:
        if self._left:
            allowed = "a member: it has left, and can only predict, and be saved"
            raise errors.refuse("member", self.name, allowed)

    @property
    def pending_steps(self) -> int:
        """How many steps it has learned and not shared.

        >>> member.pending_steps
        0
        """
        return self._learner.pending_steps

    def choose(self, arms: ArrayLike) -> int:
        self._federation._before_step(self)
        return super().choose(arms)

    @classmethod
    def load(  # type: ignore[override]  # it shares no more
        cls, path: str | PathLike[str], *, policy: Policy | None = None
    ) -> LinUCB:
        """What `save` wrote, as a learner of its own, without the federation: that has a `save` and
        a `load` too.

        >>> incfed.simulation.Member.load(member.save("member"))
        <LinUCB: 1 feature, 0 steps learned>
        """
        return LinUCB.load(path, policy=policy)

    def _learn(self, x: Floats, y: float) -> None:
        federation, learner = self._federation, self._learner
        if federation._rules.privacy is not None:
            federation._rules.privacy.check(x[None], np.array([y]))
        federation._before_step(self)
        before = learner.logdet
        row, response = learner.observed(x, y)
        triggered = learner.learn(row, response)
        federation._after_step(self, row, y, learner.logdet - before, triggered)

    # ------------------------------------------------------- what the server hears, and sends

    @property
    def _epoch(self) -> int:
        return self._learner.epoch

    @property
    def _logdet(self) -> float:
        return self._learner.logdet

    def _pending(self) -> Packed:
        return self._learner.pending.packed()

    @property
    def _ready(self) -> bool:
        return self._learner.ready

    def _acting(self, step: int) -> ActingClient:
        """What a trigger of the user's own sees."""
        learner, digits = self._learner, self._federation._rules.money_digits
        grown = learner.logdet - learner.logdet_shared
        return ActingClient(
            index=self.number,
            dim=self.dim,
            step=step,
            steps=learner.clock,
            pending=learner.pending_steps,
            growth=grown if grown > ROUNDING else 0.0,
            logdet=learner.logdet,
            cost=float(round_up(np.array([self.cost]), digits)[0]),
            epoch=learner.epoch,
        )

    def _upload(self, round: int, price: float) -> Upload:
        return self._learner.freeze(round, price)

    def _deliver(self, round: int) -> tuple[Floats, Floats | None]:
        """db, and the scores that go with it."""
        return self._learner.deliver(round), self._learner.scores(round)

    def _thaw(self) -> None:
        """What it uploaded is pending again."""
        self._learner.thaw()

    def _take_in(self, news: Download, total: int | None = None) -> None:
        """`total`: the observations in it, also its own; None: there is nothing new in it."""
        learner = self._learner
        learner.take_in(news)
        if total is not None:
            learner.others = total - (learner.own.steps - learner.pending_steps)

    # --------------------------------------------------------------------------- when saved

    def _saved(self) -> tuple[dict[str, Any], Arrays]:
        """What JSON has of it, and its arrays."""
        about = {
            "name": self.name, "number": self.number, "cost": self.cost, "paid": self.paid,
            "trust": str(self._learner.trust), "entitled": self._entitled, "behind": self._behind,
            "seen": self._seen, "batches": self._noise.batches, "others": self._learner.others,
        }  # fmt: skip
        if self._learner.policy is not None:
            about["policy"] = self._learner.policy.state()
        return about, self._learner.state()

    @classmethod
    def _restored(cls, federation: Federation, about: dict[str, Any], arrays: Arrays) -> Member:
        trust = about["trust"] if about["trust"] == "auto" else float(about["trust"])
        made = cls(federation, about["name"], about["number"], about["cost"], trust)
        made.paid, made._entitled, made._behind, made._seen = (
            about["paid"], about["entitled"], about["behind"], about["seen"]
        )  # fmt: skip
        made._noise.batches = about["batches"]
        made._learner.restore(arrays)
        made._learner.others = about.get("others", 0)
        if made._learner.policy is not None:
            made._learner.policy.restore(about["policy"])
        return made

    def _facts(self) -> dict[str, Any]:
        own = {"name": self.name, "not shared": self.pending_steps}
        own |= {"cost": self.cost, "paid": self.paid}
        return {"steps learned": self.steps, **own, **super()._facts()}

    def _title(self) -> str:
        return f"Member {self.number}"

    def __repr__(self) -> str:
        if self._left:
            return f"<Member {self.number}: {self.name}, which has left>"
        return (
            f"<Member {self.number}: {self.name}, {inputs.counted(self.steps, 'step')} learned, "
            f"{self.pending_steps:,} not shared, paid {self.paid:g}>"
        )


class MemberList:
    """Those that are there, in order of their numbers; and the names of all that ever were."""

    def __init__(self) -> None:
        self._by_number: dict[int, Member] = {}
        self._numbers: dict[str, int] = {}  # of those that are there, by name
        self.names: list[str] = []  # by number: a number is never used again

    def __len__(self) -> int:
        return len(self._by_number)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._by_number.values())

    def __contains__(self, client: object) -> bool:
        """A name, a number or a member."""
        if isinstance(client, Member):
            return self._by_number.get(client.number) is client
        if isinstance(client, str):
            return client in self._numbers
        number = isinstance(client, int | np.integer) and not isinstance(client, bool)
        return number and client in self._by_number

    def __getitem__(self, number: int) -> Member:
        return self._by_number[number]

    def add(self, member: Member) -> None:
        self._by_number[member.number] = member
        self._numbers[member.name] = member.number
        self.names.append(member.name)

    def remove(self, member: Member) -> None:
        del self._by_number[member.number], self._numbers[member.name]

    def restore(self, members: Sequence[Member], names: Sequence[str]) -> None:
        """These members, after all of these names were given."""
        for member in members:
            self.add(member)
        self.names = list(names)

    def new_name(self, place: str, name: object) -> str:
        """A name that no member has."""
        given = String(LONGEST_NAME).of(place, name)
        if given in self._numbers:
            raise errors.refuse(place, given, "another: a member has this name")
        return given

    def find(self, place: str, client: object) -> Member:
        """The member of this name or number."""
        if isinstance(client, str):
            number = self._numbers.get(client, -1)
        else:
            number = Whole(0, len(self.names) - 1).of(place, client)
        if number not in self._by_number:
            raise self._unknown(place, client)
        return self._by_number[number]

    def at(self, index: int) -> Member:
        """The member of this number; below 0, as in a list, counted from the end."""
        if isinstance(index, bool) or not isinstance(index, int | np.integer):
            raise self._unknown("client", index)
        if index < 0 and -index <= len(self):
            return list(self)[index]
        if index not in self._by_number:
            raise self._unknown("client", index)
        return self._by_number[index]

    def _unknown(self, place: str, client: object) -> UnknownMember:
        once = self.names if isinstance(client, str) else range(len(self.names))
        if isinstance(client, int | str) and not isinstance(client, bool) and client in once:
            return UnknownMember(f"got {client!r}, must be a member: it has left", place)
        close = errors.hint(client, self._numbers) if isinstance(client, str) else ""
        some = next((f", such as {one.number} or {one.name!r}" for one in self), "; there is none")
        allowed = f"the number or the name of a member{some}"
        return UnknownMember(f"got {client!r:.60}{close}, must be {allowed}", place)


def list_of_names(names: object, count: int) -> list[str]:
    """The names of so many members that begin."""
    if names is None:
        return [f"client {number}" for number in range(count)]
    if isinstance(names, str) or not isinstance(names, Sequence) or len(names) != count:
        allowed = f"a list of {inputs.counted(count, 'name')}, one for each member"
        raise errors.refuse("names", names, allowed)
    return list(names)
