"""kill -9 of a client's process, for real, against a coordinator's real process: before and after
each send, and in the middle of writing."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import incfed
from incfed.service.client.policies import Proposal
from support import processes
from support.client_processes import mortal
from support.failpoints import SENDS
from support.live_coordinator import SETTINGS, learned, live, observation, settle

PLACES = [
    *((f"{kind}.{moment}", 1) for kind in SENDS for moment in ("before", "after")),
    ("upload.before", 3),
    ("delivery.after", 3),
    ("learn.written", 7),
    ("freeze.written", 2),
    ("rotate.before", 2),
    ("rotate.begun", 3),
    ("snapshot.before-rename", 3),
    ("snapshot.after-rename", 3),
]


def test_a_client_dies_everywhere(memory: Path) -> None:
    """One after the other, in one folder: each life goes on where the one before it ended."""
    folder = memory / "shop"
    with live(memory, 1, SETTINGS) as site:
        site.start()
        for place, times in PLACES:
            child = processes.start(mortal, site.url, site.tokens[0], folder, place, times)
            assert processes.ended(child) == -9, place
            child.close()
            noted = (memory / "shop.noted").stat().st_size
            with incfed.Client(site.url, site.tokens[0], folder, cost=1.0) as client:
                assert client.steps - noted in (0, 1), place
                (memory / "shop.noted").write_bytes(b"." * client.steps)
                client.sync(60.0)
                pending = client._durable.learner.pending
                steps, earned = client.steps, client.earned
            V, b = learned(steps)
            books = site.books()
            np.testing.assert_allclose(books.V + pending.V, V, atol=1e-9, err_msg=place)
            np.testing.assert_allclose(books.b + pending.b, b, atol=1e-9, err_msg=place)
            assert earned == pytest.approx(books.paid(0)), place
            assert books.findings == [], place
        assert books.epoch > len(PLACES) / 2


def test_who_accepts_and_dies_is_not_paid_and_nobody_else_is_worse_off(memory: Path) -> None:
    """The round is decided once more, those who delivered get at least what they were offered; the
    dead client comes back with all it had, sits out, and shares it later."""
    settings = SETTINGS.replace("answer_time = 30.0", "answer_time = 3.0\nbarred_time = 15.0")
    settings = settings.replace("threshold = 0.5", "threshold = 4.0")  # the second step calls
    with live(memory, 3, settings) as site, ExitStack() as stack:
        site.start()
        promised: dict[tuple[int, int], float] = {}  # by client and round

        def shop(k: int) -> incfed.Client:
            def accept(offer: Proposal) -> bool:
                promised.setdefault((k, offer.round), offer.payment)
                return True

            client = incfed.Client(
                site.url, site.tokens[k], memory / f"{k}", cost=2.0, accept=accept
            )
            return stack.enter_context(client)

        shops = [shop(0), shop(1)]
        for client in shops:
            client.learn(*observation(0))
        token, folder = site.tokens[2], memory / "2"
        child = processes.start(mortal, site.url, token, folder, "delivery.before", 1)
        assert processes.ended(child) == -9
        child.close()
        for client in shops:
            client.sync(60.0)
        again = [one for one in site.entries("decided") if one["attempt"] > 1]
        assert [(one["round"], one["attempt"], one["failed"]) for one in again] == [(1, 2, [2])]
        [barred] = site.entries("barred")
        assert barred["client"] == 2
        books = site.books()
        assert [(round, who) for round, who, _ in books.payments] == [(1, 0), (1, 1)]
        for round, who, amount in books.payments:  # there is less data to be had for theirs
            assert amount > promised[who, round]

        shops.append(shop(2))
        shops[2].sync(60.0)
        assert (shops[2].epoch, shops[2].pending) == (1, 2)
        for begin in (0.0, barred["until_time"]):
            time.sleep(max(0.0, begin - time.time()))
            for client in shops:
                for k in range(client.steps, client.steps + 2):
                    client.learn(*observation(k))
            books = settle(site, shops)
        assert books.findings == []
        for round, who, amount in books.payments:
            assert amount >= promised[who, round]
        assert min(round for round, who, _ in books.payments if who == 2) > 2  # barred until then
        V, b = books.V.copy(), books.b.copy()
        for k, client in enumerate(shops):
            assert client.earned == pytest.approx(books.paid(k))
            V, b = V + client._durable.learner.pending.V, b + client._durable.learner.pending.b
        expected = [learned(client.steps) for client in shops]
        np.testing.assert_allclose(V, sum(one for one, _ in expected), atol=1e-9)
        np.testing.assert_allclose(b, sum(one for _, one in expected), atol=1e-9)
