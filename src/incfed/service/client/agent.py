"""Which request comes next: the client's side of a round as a state machine without a network.

Safety does not rest on the coordinator's state being new. What this client shares is fixed by what
it froze, on disk, for one round; it is frozen until a download that was asked for after that round
was over says whether it was shared. All else can be late, lost or said twice.
"""

from __future__ import annotations

import logging
from typing import Any

from ...protocol.messages import Answer
from ...support import inputs
from .. import wire
from ..wire import OFFERED, OPEN, OfferView, Request, RoundView, StateView
from .keeper import Keeper
from .patience import Patience
from .policies import Accept, Proposal, decide
from .refusals import refusal
from .terms import Terms
from .traffic import Meter
from .wishes import Wish

WAIT = 25.0  # seconds of a long poll
CALM = 0.5  # before the next, where a poll came back at once with nothing new
_LATER = (404, 408, 409, 425, 429)  # ask again, with the state of then
_log = logging.getLogger("incfed.client")


class Agent:
    def __init__(self, keeper: Keeper, price: Any, accept: Accept, patience: Patience) -> None:
        self.keeper = keeper
        self.state: StateView | None = None  # None: to be asked for
        self.patience = patience
        self.problem: Exception | None = None  # the last thing that went wrong, until one goes well
        self.halted = False  # for good: this state and that coordinator do not belong together
        self.meter = Meter(keeper.terms.dim)
        self._price, self._accept = price, accept
        self._met = False
        self._skip: int | None = None  # the round in which something of ours was refused
        self._received: set[tuple[str, int, int]] = set()  # what the coordinator surely has
        self._wishes: list[Wish] = []
        self._calm = 0.0  # until then no poll
        self._asked = 0  # how often for the state
        self._called: int | None = None  # the epoch in which this client last called for a round

    # ------------------------------------------------------------- what the driver asks

    def errand(self, now: float) -> Request | None:
        """What to send now; None: nothing before `patience.until`, or before something happens."""
        if self.halted or now < self.patience.until:
            return None
        try:
            return self._next(now)
        except Exception as error:  # a full disk, or a policy of the owner's that raised
            self._trouble(f"preparing {self._task()}", error, now)
            return None

    def poll(self, now: float) -> Request | None:
        """The long poll to keep going meanwhile."""
        if self.halted or now < max(self.patience.until, self._calm) or self.state is None:
            return None
        return wire.get_state(self.state.version, WAIT)._replace(asked=now)

    def rest(self, now: float) -> float | None:
        """Seconds after which to ask again, if nothing happens before; None: no need to."""
        later = [time for time in (self.patience.until, self._calm) if time > now]
        return min(later) - now if later else None

    def wish(self, wish: Wish) -> None:
        """Something to be told when it is so (see Wish)."""
        if self.halted and self.problem is not None:
            wish.fail(self.problem)
            return
        wish.after = self._asked
        self._wishes.append(wish)
        self.state = None
        self.patience.until = 0.0  # somebody waits

    def abandon(self, error: Exception) -> None:
        """Nobody will do any more errands."""
        self.problem, self.halted = self.problem if self.halted else error, True
        self._tell(error)

    # ------------------------------------------------------------ what comes of a request

    def replied(self, request: Request, status: int, said: Any, now: float) -> None:
        if self.halted:
            return
        if 200 <= status < 300:
            try:
                self._take(request, said)
            except wire.BadReply as error:
                self.failed(request, error, now)
                return
            except inputs.InputError as error:
                self._trouble(_answer_to(request), error, now, fatal=True)
                return
            except Exception as error:  # the disk
                self._trouble(_answer_to(request), error, now)
                return
            if request.kind == "poll" and now < request.asked + WAIT / 2:
                self._calm = now + CALM if self._nothing_new(request) else 0.0
            self.patience.succeed()
            self.problem = None
            self._grant()
        elif status >= 500 or status in _LATER:
            self.failed(request, refusal(status, said), now)
        else:
            refused = refusal(status, said)
            self._log(logging.ERROR, f"request {request.kind!r}", refused)
            self.problem, self.state = refused, None
            if request.method == "PUT" and status not in (401, 403):
                self._skip = request.number  # the next round may go better
                self._met = False  # perhaps with other terms
            else:
                self.patience.refuse(now)
            self._tell(refused)

    def failed(self, request: Request, error: Exception, now: float) -> None:
        """No answer, one that cannot be read, or one that says: not now."""
        self._log(logging.INFO, f"request {request.kind!r}", error)
        self.problem, self.state = error, None
        self.patience.fail(now)

    # ------------------------------------------------------------------------ the rules

    def _next(self, time: float) -> Request | None:
        self.keeper.tidy()
        if not self._met:
            return wire.get_federation()
        state, learner = self.state, self.keeper.learner
        if state is None:
            self._asked += 1
            return wire.get_state()._replace(number=self._asked)
        told = learner.frozen
        closed = told is None or state.over(told[0])
        if state.epoch > learner.epoch or (told is not None and closed):
            return wire.get_download(learner.epoch, closed)._replace(number=state.epoch)
        now = state.active
        if now is None:
            return self._call(time) if learner.triggered else None
        if now.number == self._skip:
            return None
        if now.stage == OPEN and not self._has("upload", now, now.uploaded):
            return wire.put_upload(self.keeper.freeze(now.number, self._price))
        if now.stage == OFFERED and now.offer is not None:
            return self._offered(now, now.offer)
        return None

    def _call(self, time: float) -> Request | None:
        """For a round; if the last came to nothing, not even to an epoch, not at once again."""
        epoch = self.keeper.learner.epoch
        if self._called == epoch:
            self._called = None
            self.patience.fail(time)
            return None
        return wire.open_round(epoch)

    def _offered(self, now: RoundView, offer: OfferView) -> Request | None:
        told, keeper, attempt = self.keeper.learner.frozen, self.keeper, offer.attempt
        answered = self._has("answer", now, now.answered)
        if told is None:  # what an earlier life of this client uploaded is gone: no db of it
            return None if answered else wire.put_answer(Answer(now.number, attempt, False))
        if not answered:
            cost, steps = keeper.cost or 0.0, told[1].steps
            proposal = Proposal(now.number, attempt, offer.payment, cost, steps)
            accepted = keeper.answer(now.number, attempt, lambda: decide(self._accept, proposal))
            return wire.put_answer(Answer(now.number, attempt, accepted))
        if keeper.answers.get(attempt) and not self._has("delivery", now, now.delivered):
            return wire.put_delivery(now.number, keeper.deliver(now.number))
        return None

    def _has(self, kind: str, now: RoundView, said: bool) -> bool:
        attempt = now.offer.attempt if kind == "answer" and now.offer is not None else 0
        return said or (kind, now.number, attempt) in self._received

    def _take(self, request: Request, said: Any) -> None:
        """An answer; BadReply if it makes no sense, InputError if it does not fit this client."""
        keeper = self.keeper
        if request.kind == "federation":
            terms, epoch = wire.reply(lambda: (Terms.read(said), said.get("epoch")))
            keeper.adopt(terms)
            self._same_past(wire.reply(lambda: inputs.integer("epoch", epoch, low=0)))
            self._met = True
        elif request.kind in ("state", "poll"):
            self._look(request, wire.reply(lambda: wire.read(wire.StateView, said)))
        elif request.kind == "open":
            number = wire.reply(lambda: wire.read(wire.OpenedView, said).round)
            for wish in self._wishes:
                wish.opened(number)
            self.state, self._called = None, keeper.learner.epoch
        elif request.kind == "download":
            news = wire.reply(lambda: wire.read_download(said, keeper.terms.dim))
            if news.since not in (None, keeper.learner.epoch) or news.epoch < request.number:
                raise wire.BadReply(f"a download from {news.since} to {news.epoch}")
            told = keeper.learner.frozen
            keeper.take_in(news, request.closed)
            idle = told is not None and told[1].steps == 0 and request.closed
            self.meter.downloaded(told[0] if told and idle else None)
            self._received.clear()
        else:
            self._received.add((request.kind, request.number, request.attempt))
            self.meter.sent(request.kind, request.number)

    def _look(self, request: Request, state: StateView) -> None:
        """A new state. One that was asked for just now counts; a poll's only if it is newer."""
        learner = self.keeper.learner
        if request.kind == "state":
            self._same_past(state.epoch)
            self.state = state
            self._received.clear()
            for wish in self._wishes:
                wish.look(request.number, state, learner)
            if any(wish.blind for wish in self._wishes):
                self.state = None  # made while this state was on its way: it asks for a newer one
        elif state.version < request.number or state.epoch < learner.epoch:
            self.state = None  # the coordinator counts anew, or the answer was long on its way
        elif self.state is not None and state.version > self.state.version:
            self.state = state

    def _nothing_new(self, poll: Request) -> bool:
        return self.state is not None and self.state.version == poll.number

    def _same_past(self, epoch: int) -> None:
        known = self.keeper.learner.epoch
        if epoch < known:
            allowed = f"of this coordinator: it knows epoch {known}, the coordinator only {epoch}"
            raise inputs.refuse("state", str(self.keeper.folder), allowed)

    def _grant(self) -> None:
        if self.state is not None:
            for wish in self._wishes:
                if wish.check(self.state, self.keeper.learner):
                    wish.grant()
            self._wishes = [wish for wish in self._wishes if not wish.granted.done()]

    def _task(self) -> str:
        """What an errand is about just now."""
        now = self.state.active if self.state is not None else None
        if now is None or self.keeper.problem is not None:
            return "a request"
        what = "upload of" if now.stage == OPEN else "answer to the offer of"
        return f"the {what} round {now.number}"

    def _log(self, level: int, doing: str, error: Exception, trace: bool = False) -> None:
        """With who says it: it may end up among the lines of the owner's application."""
        name = self.keeper.terms.name
        _log.log(level, "incfed client %s: %s: %s", name, doing, error, exc_info=trace)

    def _trouble(self, doing: str, error: Exception, now: float, *, fatal: bool = False) -> None:
        expected = isinstance(error, inputs.InputError | OSError)
        self._log(logging.ERROR, doing, error, trace=not expected)
        fatal = fatal or self.keeper.problem is not None
        self.problem, self.halted = error, self.halted or fatal
        self.patience.fail(now)
        if fatal or not isinstance(error, OSError):  # a full disk may have room again
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        wishes, self._wishes = self._wishes, []
        for wish in wishes:
            wish.fail(error)


def _answer_to(request: Request) -> str:
    return f"taking in the answer to {request.kind!r}"
