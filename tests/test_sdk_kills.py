"""kill -9, for real: before and after each send, and in the middle of writing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import incfed
import mortal_client
from fake_coordinator import Fake
from fake_server import serving
from mortal_client import DIM, observation
from soaking import some

SENDS = ("state", "open", "upload", "answer", "delivery", "download")
PLACES = [
    *((f"{kind}.{moment}", 1) for kind in SENDS for moment in ("before", "after")),
    ("upload.before", 3),
    ("delivery.after", 3),
    ("learn.written", 7),
    ("freeze.written", 2),
    ("download.taken-in", 2),
    ("rotate.begun", 2),
    ("snapshot.before-rename", 3),
    ("snapshot.after-rename", 3),
]


@pytest.mark.parametrize(("place", "times"), some(PLACES, 6))
def test_kill(place: str, times: int, tmp_path: Path) -> None:
    fake = Fake(1, DIM, threshold=2.0, reward_bound=100.0)
    with serving(fake) as (url, _):
        child = [sys.executable, mortal_client.__file__, url, str(tmp_path), place, str(times)]
        died = subprocess.run(child, capture_output=True, timeout=120)
        assert died.returncode == -9, died.stderr.decode()
        acknowledged = died.stdout.count(b"\n")
        with incfed.Client(url, "token-0", tmp_path, cost=1.0) as client:
            assert client.steps in (acknowledged, acknowledged + 1)
            for k in range(client.steps, mortal_client.STEPS):
                client.learn(*observation(k))
            client.sync(30.0)
            pending = client._keeper.learner.pending
            assert fake.steps_given[0] + pending.steps == mortal_client.STEPS
            V, b = fake.given[0]
            every = [observation(k) for k in range(mortal_client.STEPS)]
            np.testing.assert_allclose(V + pending.V, sum(np.outer(x, x) for x, _ in every))
            np.testing.assert_allclose(b + pending.b, sum(y * x for x, y in every))
            np.testing.assert_allclose(fake.hub.server.shared.V, V)
            assert client.earned == pytest.approx(sum(sum(one.payments) for one in fake.closed))
    assert not fake.violations
    assert fake.closed


def test_without_a_kill_the_child_comes_to_its_end(tmp_path: Path) -> None:
    """So that dying is the doing of the place that was named."""
    fake = Fake(1, DIM, threshold=2.0, reward_bound=100.0)
    with serving(fake) as (url, _):
        child = [sys.executable, mortal_client.__file__, url, str(tmp_path), "nowhere", "1"]
        subprocess.run(child, check=True, timeout=120)
    assert fake.steps_given[0] > 0
