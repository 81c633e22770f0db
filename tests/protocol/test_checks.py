"""What nobody could have seen is refused, by the name of its field; what somebody saw never is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from incfed.mechanisms.pay_everyone import PayEveryone
from incfed.protocol.checks import MessageBounds, Refusal, check_delivery, check_upload
from incfed.protocol.client import Observations
from incfed.protocol.deciding import Offers, close
from incfed.protocol.global_statistics import GlobalStatistics
from incfed.protocol.messages import Upload
from incfed.protocol.packing import Packed, pack_matrix
from reference.mechanisms import FloatArray
from support.cases import Case
from support.federation import made
from support.worlds import SHAPES, features

BOUNDS = MessageBounds(dim=3, arm_norm=2.0, reward_bound=1.5, cost_limit=100.0)


@settings(max_examples=3000)
@given(
    st.integers(1, 12),
    st.integers(0, 60),
    st.sampled_from([*SHAPES, "alike", "axes", "nearly alike"]),
    st.sampled_from(["longest", "any length", "tiny", "of all sizes"]),
    st.sampled_from(["largest", "any", "one sign", "of all sizes"]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1e-3, 1.0, 1e4]),
)
def test_an_honest_upload_is_never_refused(
    d: int, n: int, shape: str, lengths: str, rewards: str, seed: int, scale: float
) -> None:
    chance = np.random.default_rng(seed)
    if shape in SHAPES:
        x = features(chance, shape, n, 1, d)[:, 0]
    elif shape == "axes":
        x = np.eye(d)[chance.integers(0, d, n)]
    else:
        x = np.tile(chance.standard_normal(d), (n, 1))
        x += (
            (shape == "nearly alike")
            * 10.0 ** chance.uniform(-9, -3)
            * chance.standard_normal((n, d))
        )
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    x = np.divide(x, norms, out=np.zeros_like(x), where=norms > 0)
    sizes = {
        "longest": np.ones((n, 1)),
        "any length": chance.random((n, 1)),
        "tiny": np.full((n, 1), 1e-8),
        "of all sizes": 10.0 ** chance.uniform(-8, 0, (n, 1)),
    }
    x *= scale * sizes[lengths]
    y = {
        "largest": chance.choice([-1.0, 1.0], n),
        "any": chance.uniform(-1, 1, n),
        "one sign": np.ones(n),
        "of all sizes": 10.0 ** chance.uniform(-8, 0, n),
    }[rewards] * 7.0
    bounds = MessageBounds(d, scale, 7.0, 1.0)
    data = Observations.empty(d)
    for row, reward in zip(x, y, strict=True):
        data = data.add(np.ascontiguousarray(row), float(reward))
    event("a factor" if n < d else "a triangle")
    upload = Upload(1, 0, n, 1.0 if n else 0.0, data.packed())
    check_upload(upload, bounds)
    check_delivery(data.b, upload.dV, n, bounds)


def triangle(*numbers: float) -> Packed:
    return Packed("triangle", 3, np.array(numbers))


def factor(*numbers: float) -> Packed:
    return Packed("factor", 3, np.array(numbers))


HONEST = Upload(1, 0, 4, 5.0, triangle(1, 0, 0, 1, 0, 1))
NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"steps": -1}, "steps"),
        ({"steps": 10**10}, "steps"),
        ({"cost": -1.0}, "cost"),
        ({"cost": 101.0}, "cost"),
        ({"cost": NAN}, "cost"),
        ({"cost": INF}, "cost"),
        ({"steps": 0}, "cost"),
        ({"steps": 0, "cost": 0.0}, "dV"),
        ({"dV": triangle(1, 0, 0, 1, 0)}, "dV"),
        ({"dV": Packed("triangle", 2, np.ones(3))}, "dV"),
        ({"dV": Packed("full", 3, np.ones(9))}, "dV.form"),
        ({"dV": triangle(1, 0, 0, 1, 0, NAN)}, "dV"),
        ({"dV": triangle(1, 0, 0, INF, 0, 1)}, "dV"),
        ({"dV": triangle(1, 0, 0, 1, 0, -1e-8)}, "dV"),
        ({"dV": triangle(1, 2, 0, 1, 0, 1)}, "dV"),
        ({"dV": triangle(0, 1, 0, 0, 0, 0)}, "dV"),
        ({"dV": triangle(-1, 0, 0, -1, 0, -1)}, "dV"),
        ({"dV": triangle(0, 1e300, 1e300, 0, 1e300, 0)}, "dV"),
        ({"dV": triangle(16.0001, 0, 0, 0, 0, 0)}, "dV"),  # 4 steps of length 2: 16 at most
        ({"steps": 2, "dV": triangle(1, 0, 0, 1, 0, 1)}, "dV"),  # of rank 3
        ({"steps": 10**9, "dV": triangle(1e9, 0, 0, 1e9, 0, -0.01)}, "dV"),  # 1e-9 of the trace: -2
        ({"dV": factor(1, 2)}, "dV"),
        ({"dV": factor(*[0.1] * 9)}, "dV"),
        ({"steps": 1, "dV": factor(1, 0, 0, 0, 1, 0)}, "dV"),
        ({"dV": factor(1, 1, 1, 0.5, 1, 1)}, "dV"),
        ({"dV": factor(1, NAN, 1)}, "dV"),
        ({"dV": factor(1e200, 0, 0)}, "dV"),
    ],
)
def test_what_is_impossible_is_refused(change: dict[str, Any], field: str) -> None:
    check_upload(HONEST, BOUNDS)
    with pytest.raises(Refusal) as refused:
        check_upload(HONEST._replace(**change), BOUNDS)
    assert refused.value.field == field
    assert str(refused.value).startswith(f"{field}: ")


def test_the_limits_themselves_are_allowed() -> None:
    check_upload(HONEST._replace(cost=100.0, dV=triangle(16, 0, 0, 0, 0, 0)), BOUNDS)
    check_upload(HONEST._replace(dV=triangle(1, 0, 0, 1, 0, -1e-9)), BOUNDS)  # rounding
    check_upload(HONEST._replace(dV=factor(1, 1, 1, 0, 1, 1)), BOUNDS)
    check_upload(made(1, 0, np.empty((0, 3)), 0.0), BOUNDS)


@pytest.mark.parametrize(
    "db",
    [
        np.zeros(2),
        np.array([NAN, 0, 0]),
        np.array([0, INF, 0]),
        np.array([3.001, 0, 0]),  # db'db <= 4 rewards of 1.5, squared: 9
        np.array([2, 2, 2.0]),
        np.array([1e200, 0, 0]),
    ],
)
def test_a_db_that_no_rewards_make(db: FloatArray) -> None:
    with pytest.raises(Refusal, match=r"^db: "):
        check_delivery(db, HONEST.dV, 4, BOUNDS)


def test_a_db_outside_what_was_seen() -> None:
    seen = triangle(1, 0, 0, 0, 0, 0)
    check_delivery(np.array([3.0, 0, 0]), seen, 4, BOUNDS)
    check: Callable[..., None] = check_delivery
    with pytest.raises(Refusal, match=r"^db: "):
        check(np.array([0, 0.01, 0]), seen, 4, BOUNDS)
    check(np.zeros(3), triangle(0, 0, 0, 0, 0, 0), 4, BOUNDS)
    with pytest.raises(Refusal, match=r"^db: "):
        check(np.array([0, 0, 1e-9]), triangle(0, 0, 0, 0, 0, 0), 4, BOUNDS)


def test_what_single_uploads_lack_to_be_positive_does_not_add_up() -> None:
    """Each is within what rounding may make of so many steps."""
    dV = pack_matrix(np.diag([1e6, 1e6, -1e-6]))
    check_upload(Upload(1, 0, 10**6, 0.0, dV), BOUNDS)
    inputs = three_of(dV)
    for _ in range(50):
        offers = Offers({0: 0.0, 1: 0.0, 2: 0.0}, False)
        shared = close(inputs.open(), offers, [np.zeros(3)] * 3)[0].shared
        inputs = inputs._replace(shared=[shared].__getitem__)
        assert np.linalg.eigvalsh(shared.V)[0] >= -1e-14 * np.trace(shared.V)  # not -3e-6 a round
    assert shared.V[0, 0] == pytest.approx(150e6)


def three_of(dV: Packed) -> Case:
    uploads = {k: Upload(1, 0, 10**6, 0.0, dV) for k in range(3)}
    nothing = GlobalStatistics.empty(3, 0.1)
    return Case(uploads, lambda epoch: nothing, PayEveryone(), 0.1, budget=9.0)
