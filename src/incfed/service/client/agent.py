"""Which request to send next: the client's side of a round as a state machine without I/O.

Safety does not depend on the coordinator's state being up to date. What this client shares is fixed
by what it froze, on disk, for one round, and stays frozen until a download requested after the end
of that round says whether it was shared. Everything else may be late, lost or repeated.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import errors
from ...kernels.trust import SCORES
from ...protocol.messages import Answer, Download
from ...protocol.triggers import ROWS
from ...rules.learning import AUTO
from .. import binary, codec, requests, wire
from ..requests import Request
from ..wire import OFFERED, OPEN, FederationView, OfferView, RoundView, StateView
from . import state_folder
from .durable_learner import DurableLearner
from .policies import Accept, CostFunction, Proposal, decide
from .sync import PendingSync
from .traffic import ScalarCounter, Traffic
from .transport import ServiceError

WAIT = 25.0  # seconds that a long poll may take
POLL_PAUSE = 0.5  # seconds until the next poll, if one came back at once with nothing new
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 30.0  # seconds after something that failed
AWAY_PAUSE = 5.0  # at most, if the coordinator was away: it waits for answers when it is back
REFUSED_PAUSE = 60.0  # seconds after a refusal: somebody has to fix a setting first
_RETRY = (404, 408, 409, 425, 429)  # ask for the state, then try again
NO_HEADERS: Mapping[str, str] = {}
_log = logging.getLogger("incfed.client")


class Backoff:
    """Exponential backoff with jitter: clients do not all come back at once after an outage."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._failures = 0
        self.until = 0.0  # nothing is sent before

    def fail(self, now: float, longest: float = LONGEST_PAUSE) -> None:
        self._failures += 1
        self._pause(now, min(longest, FIRST_PAUSE * 2.0 ** min(self._failures - 1, 20)))

    def refuse(self, now: float) -> None:
        self._pause(now, REFUSED_PAUSE)

    def reset(self) -> None:
        self._failures, self.until = 0, 0.0

    def heed(self, retry_after: str) -> float:
        """Seconds to wait by this header, which has whole ones, rounded up. Not all clients come
        back at the same moment."""
        known = re.fullmatch("[0-9]{1,9}", retry_after)
        return max(0.0, float(retry_after) - 0.5 * self._rng.random()) if known else 0.0

    def _pause(self, now: float, seconds: float) -> None:
        self.until = now + seconds * float(self._rng.uniform(0.5, 1.5))


class Agent:
    def __init__(
        self, durable: DurableLearner, cost: CostFunction, accept: Accept, traffic: Traffic
    ) -> None:
        self.durable = durable
        self.backoff = Backoff(np.random.default_rng())
        self.state: StateView | None = None  # the coordinator's; None: has to be requested
        self.problem: Exception | None = None  # the last error, until a request succeeds
        self.halted = False  # for good: this state and this coordinator do not fit
        shared = durable.steps - durable.learner.pending_steps
        self._scalars = ScalarCounter(durable.settings.dim, traffic, shared)
        self._cost, self._accept = cost, accept
        self._has_settings = False  # of this coordinator, as they are today
        self._skipped: int | None = None  # a round that refused something of this client
        self._received: set[tuple[str, int, int]] = set()  # what the coordinator has confirmed
        self._syncs: list[PendingSync] = []
        self._poll_after = 0.0
        self._signal_after = self._call_after = 0.0
        self._state_requests = 0  # sent so far
        self._said: tuple[int, int] | None = None  # what the last signal was about
        self._round_epoch: int | None = None  # in which this client last asked for a round
        self._last_round: int | None = None  # that is known to be over
        self._unknown_basis: int | None = None  # a round whose db has to be sent itself

    # ------------------------------------------------------------- for the background thread

    def next_request(self, now: float) -> Request | None:
        """The request to send now; None: nothing, until `pause` is over or something happens."""
        if self.halted or now < self.backoff.until:
            return None
        try:
            request = self._next(now)
            return request and request._replace(history=self.durable.history)
        except Exception as error:  # a full disk, or a policy that raised
            self._error(f"preparing {self._task()}", error, now)
            return None

    def poll(self, now: float) -> Request | None:
        """The long poll that runs beside the other requests."""
        if self.halted or now < max(self.backoff.until, self._poll_after) or self.state is None:
            return None
        known = self.durable.history
        return requests.get_state(self.state.version, WAIT)._replace(asked=now, history=known)

    def pause(self, now: float) -> float | None:
        """Seconds until there may be something to send; None: not before something happens."""
        times = self.backoff.until, self._poll_after, self._call_after
        later = [time for time in times if time > now]
        return min(later) - now if later else None

    def sync(self, sync: PendingSync) -> None:
        """Ask for the state at once, and finish `sync` when this client is up to date."""
        if self.halted and self.problem is not None:
            sync.fail(self.problem)
            return
        sync.after = self._state_requests
        self._syncs.append(sync)
        self.state = None
        self.backoff.until = self._signal_after = 0.0

    def halt(self, error: Exception) -> None:
        """For good: the coordinator is not the one that this client knew."""
        self._log(logging.ERROR, "halted", error)
        self.stop(error)

    def stop(self, error: Exception) -> None:
        """No more requests will be sent."""
        self.problem, self.halted = self.problem if self.halted else error, True
        self._fail_syncs(error)

    # ------------------------------------------------------------------ outcome of a request

    def replied(
        self, request: Request, status: int, reply: Any, now: float,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> None:  # fmt: skip
        """`headers`: of the reply, in lower case."""
        if self.halted:
            return
        if 200 <= status < 300:
            try:
                self._handle(request, reply, headers.get(requests.HISTORY.lower(), ""))
            except codec.BadReply as error:
                self.failed(request, error, now)
                return
            except Exception as error:  # it does not fit this client; or the disk is full
                fatal = isinstance(error, errors.InputError)
                self._error(f"handling the reply to {request.kind!r}", error, now, fatal=fatal)
                return
            if request.kind == "poll" and now < request.asked + WAIT / 2:
                nothing_new = self.state is not None and self.state.version == request.version
                self._poll_after = now + POLL_PAUSE if nothing_new else 0.0
            self.backoff.reset()
            self.problem = None
            self._finish_syncs()
        elif status == 409 and (halt := self._cannot_go_on(request, ServiceError(status, reply))):
            self._error(f"request {request.kind!r}", halt, now, fatal=True)
        elif status >= 500 or status in _RETRY:
            refused = ServiceError(status, reply)
            if status == 409 and refused.field in ("upload", "dV"):
                self._sit_out(request.number)
            if refused.field == "basis":
                self._unknown_basis = request.number
            if request.kind == "open" and status == 429:
                # it takes part in others' rounds meanwhile
                self._call_after = now + self.backoff.heed(headers.get("retry-after", ""))
            self.failed(request, refused, now)
        else:
            refused = ServiceError(status, reply)
            self._log(logging.ERROR, f"request {request.kind!r}", refused)
            self.problem, self.state = refused, None
            told = request.method == "PUT" and status not in (401, 403)
            if told:
                self._skipped = request.number  # the next round may go better,
                self._has_settings = False  # perhaps with new settings
            if request.kind == "signal":
                self._signal_after = now + REFUSED_PAUSE  # rounds go on meanwhile
            if not told:
                self.backoff.refuse(now)
            self._fail_syncs(refused)

    def _cannot_go_on(self, request: Request, refused: ServiceError) -> errors.InputError | None:
        """Why this process has to halt; None: it need not."""
        if refused.field == requests.START:
            return self.durable.refused(
                "used by one process: another one with a copy of this folder was started "
                f"(start {self.durable.start.number} here). This one has halted, and its folder "
                "keeps what it learned. To go on here, stop the other and start this one again; to "
                "run both, enrol a second client"
            )
        if refused.field == requests.HISTORY:
            return state_folder.other_history(self.durable.folder, request.history)
        if refused.field == "upload" and request.kind == "download":
            return self.durable.refused(
                "up to date: this client shared other data in the last round than this folder "
                "knows (was a copy of it used meanwhile?) and might share some again; start with a "
                "new folder"
            )
        return None

    def _sit_out(self, round: int) -> None:
        """This round has an upload of this client that another process sent."""
        frozen = self.durable.learner.frozen
        if frozen is not None and frozen.round == round:
            self.durable.thaw()
        self._skipped = round

    def failed(self, request: Request, error: Exception, now: float) -> None:
        """No reply, one that cannot be read, or one that says: try again."""
        self._log(logging.INFO, f"request {request.kind!r}", error)
        self.problem, self.state = error, None
        if request.kind == "signal":
            self._said = None  # perhaps the coordinator misses something: tell it all
        self.backoff.fail(now, self._longest_pause)

    # ------------------------------------------------------------------------------ requests

    def _next(self, now: float) -> Request | None:
        self.durable.rotate_if_large()
        if not self._has_settings:
            return requests.get_federation()
        state, learner = self.state, self.durable.learner
        if state is None:
            self._state_requests += 1
            return requests.get_state()._replace(sequence=self._state_requests)
        if state.revision != self.durable.settings.revision:
            return requests.get_federation()
        frozen = learner.frozen
        closed = frozen is None or state.over(frozen.round)
        self._note_round(state)
        if frozen is not None and closed and not self.durable.everyone:
            return self._get_download(closed, model=False)
        if self._behind(state):
            return self._get_download(closed)._replace(epoch=state.epoch)
        round = state.active
        if round is None:
            if self._has_news and now >= self._signal_after:
                return self._put_signal()
            may_call = learner.triggered and now >= self._call_after
            return self._open_round(now) if may_call else None
        if round.number == self._skipped:
            return None
        if round.stage == OPEN and not self._is_received("upload", round, round.uploaded):
            upload = self.durable.freeze(round.number, self._cost)
            return binary.put_upload(upload, self.durable.settings.money_digits)
        if round.stage == OFFERED and round.offer is not None:
            return self._handle_offer(round, round.offer)
        return None

    def _note_round(self, state: StateView) -> None:
        """One for one: a round that was over before this client saw it restarts its clock, too,
        although there is nothing to download."""
        if state.round is None or not state.over(state.round.number):
            return
        missed = self._last_round is not None and state.round.number > self._last_round
        if missed and self.durable.learner.frozen is None and not self.durable.everyone:
            self.durable.restart_clock()
        self._last_round = state.round.number

    @property
    def _has_news(self) -> bool:
        """Is there something to say that the coordinator has not heard?"""
        return self.durable.pending_signal not in (None, self._said)

    def _behind(self, state: StateView) -> bool:
        """Is there a download to ask for?"""
        learner = self.durable.learner
        if not self.durable.everyone:
            if state.epoch > learner.epoch:  # also if it is so for another reason than a share
                self.durable.entitle()
            return self.durable.due
        settled = learner.frozen is None or not state.over(learner.frozen.round)
        return state.epoch > learner.epoch or not settled

    def _open_round(self, now: float) -> Request | None:
        """Backs off first if the last round it asked for ended without a new epoch."""
        epoch = self.durable.learner.epoch
        if self._round_epoch == epoch:
            self._round_epoch = None
            self.backoff.fail(now)
            return None
        last = self.state.round if self.state is not None else None
        noisy = self.durable.learner.privacy is not None
        return requests.open_round(epoch, last.number if last is not None else 0, noisy)

    def _handle_offer(self, round: RoundView, offer: OfferView) -> Request | None:
        frozen, durable, attempt = self.durable.learner.frozen, self.durable, offer.attempt
        answered = self._is_received("answer", round, round.answered)
        delivered = self._is_received("delivery", round, round.delivered)
        mine = round.taken is not None and round.number != durable.lost_round
        if frozen is None and mine and not answered:
            durable.freeze_streamed(round.number, round.taken or 0, round.taken_by)
            frozen = durable.learner.frozen
        if frozen is None:  # it was uploaded from a folder that is gone: there is no db to deliver
            return None if answered else requests.put_answer(Answer(round.number, attempt, False))
        if delivered or (answered and not durable.answers.get(attempt)):
            return None
        cost, steps = durable.cost or 0.0, frozen.data.steps
        proposal = Proposal(round.number, attempt, offer.payment, cost, steps)
        if not durable.answer(round.number, attempt, lambda: decide(self._accept, proposal)):
            return requests.put_answer(Answer(round.number, attempt, False, durable.uploaded))
        delivery = durable.deliver(round.number)  # which says yes
        known = round.number != self._unknown_basis
        return binary.put_delivery(delivery, frozen.sent.packed() if known else None)

    @property
    def _longest_pause(self) -> float:
        """While the coordinator is away: so that this client is back before a round goes on without
        it, which waits for it anew."""
        within = self.durable.settings.answer_within
        return max(FIRST_PAUSE, min(AWAY_PAUSE, within / 2.0))

    @property
    def _score_scalars(self) -> int:
        """That go with every b, as the ledger counts them."""
        return SCORES if self.durable.settings.trust == AUTO else 0

    def _put_signal(self) -> Request:
        settled = self.durable.settled
        signal = self.durable.signal(self._cost, self._said)
        dim, digits = self.durable.settings.dim, self.durable.settings.money_digits
        return binary.put_signal(signal, dim, digits)._replace(number=settled)

    def _get_download(self, closed: bool, model: bool = True) -> Request:
        learner, digest = self.durable.learner, self.durable.uploaded
        uploaded = f"{learner.frozen.round}-{digest}" if learner.frozen and digest else ""
        held = learner.held(closed)
        return binary.get_download(learner.epoch, closed, model, held, uploaded)

    def _is_received(self, kind: str, round: RoundView, in_state: bool) -> bool:
        """Does the coordinator have this message, by its state or by its reply?"""
        attempt = round.offer.attempt if kind == "answer" and round.offer is not None else 0
        return in_state or (kind, round.number, attempt) in self._received

    # ------------------------------------------------------------------------------- replies

    def _handle(self, request: Request, reply: Any, history: str) -> None:
        """BadReply if the reply makes no sense, InputError if it does not fit this client.
        `history`: of the epoch that the reply has."""
        durable = self.durable
        if request.kind == "federation":
            settings = codec.reply(lambda: codec.read(FederationView, reply))
            durable.update_settings(settings)
            self._check_epoch(settings.epoch)
            self._has_settings, self._said = True, None
            self._call_after = 0.0  # they may have changed
            if self.state is not None and self.state.revision != settings.revision:
                self.state = None  # one of the two is older
        elif request.kind in ("state", "poll"):
            self._update_state(request, codec.reply(lambda: codec.read(StateView, reply)))
        elif request.kind == "signal":
            state = codec.reply(lambda: codec.read(StateView, reply))
            self._said = request.number, request.sequence
            self._scalars.signalled(request.sequence, durable.streams == ROWS)
            if state.active is None:
                durable.heard(request.sequence)
            if self.state is not None and state.version > self.state.version:
                self.state = state
            if state.active is not None:
                for sync in self._syncs:
                    sync.round_called(state.active.number)
        elif request.kind == "open":
            number = codec.reply(lambda: codec.read(wire.OpenedView, reply).round)
            for sync in self._syncs:
                sync.round_opened(number)
            self.state, self._round_epoch = None, durable.learner.epoch
        elif request.kind == "download":
            news = codec.reply(lambda: _read_download(reply, durable.settings.dim, request.own))
            if news.since not in (None, durable.learner.epoch) or news.epoch < request.epoch:
                raise codec.BadReply(
                    f"the coordinator's reply: a download from epoch {news.since} to {news.epoch}, "
                    f"but this client is at {durable.learner.epoch}"
                )
            frozen = durable.learner.frozen
            durable.take_in(news._replace(history=history), request.closed, request.model)
            empty = frozen is not None and frozen.data.steps == 0 and request.closed
            self._scalars.downloaded(
                frozen.round if frozen and empty else None, request.model, self._score_scalars
            )
            self._received.clear()
        else:
            self._received.add((request.kind, request.number, request.attempt))
            self._scalars.sent(request.kind, request.number, self._score_scalars)

    def _update_state(self, request: Request, state: StateView) -> None:
        """The reply to a state request always counts, that of a poll only if it is newer."""
        learner = self.durable.learner
        if request.kind == "state":
            self._check_epoch(state.epoch)
            self.state = state
            self._received.clear()
            for sync in self._syncs:
                sync.see_state(request.sequence, state, learner)
            if any(sync.needs_state for sync in self._syncs):
                self.state = None  # `sync` was called after this one was requested
        elif state.version < request.version or state.epoch < learner.epoch:
            self.state = None  # the coordinator was restarted, or the reply is old
        elif self.state is not None and state.version > self.state.version:
            self.state = state

    def _check_epoch(self, epoch: int) -> None:
        known = self.durable.learner.epoch
        if epoch < known:
            allowed = (
                f"a folder of this coordinator: it knows epoch {known}, the coordinator only "
                f"{epoch}"
            )
            raise errors.refuse("state", str(self.durable.folder), allowed)

    # ---------------------------------------------------------------------- syncs and errors

    def _finish_syncs(self) -> None:
        if self.state is not None:
            for sync in self._syncs:
                if self._behind(self.state) or (self._has_news and self.state.active is None):
                    break
                if sync.is_done(self.state, self.durable.learner):
                    sync.finish()
            self._syncs = [sync for sync in self._syncs if not sync.future.done()]

    def _fail_syncs(self, error: Exception) -> None:
        syncs, self._syncs = self._syncs, []
        for sync in syncs:
            sync.fail(error)

    def _task(self) -> str:
        """The subject of the next request, for the log."""
        round = self.state.active if self.state is not None else None
        if round is None or self.durable.problem is not None:
            return "a request"
        what = "upload to" if round.stage == OPEN else "answer to the offer of"
        return f"the {what} round {round.number}"

    def _error(self, doing: str, error: Exception, now: float, *, fatal: bool = False) -> None:
        """An error on this side, not the network's."""
        expected = isinstance(error, errors.InputError | OSError)
        self._log(logging.ERROR, doing, error, trace=not expected)
        fatal = fatal or self.durable.problem is not None
        self.problem, self.halted = error, self.halted or fatal
        self.backoff.fail(now)
        if fatal or not isinstance(error, OSError):  # a full disk may have room again
            self._fail_syncs(error)

    def _log(self, level: int, doing: str, error: Exception, trace: bool = False) -> None:
        """With the client's name: the log may be the application's."""
        name = self.durable.settings.client.name
        _log.log(level, "incfed client %s: %s: %s", name, doing, error, exc_info=trace)


def _read_download(reply: Any, dim: int, own: tuple[int, ...]) -> Download:
    if not isinstance(reply, bytes):
        raise errors.refuse("reply", None, "a packed download")
    return binary.read_download(reply, dim, own)
