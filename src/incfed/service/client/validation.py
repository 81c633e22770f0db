"""Checks of what the application passes in, before anything is changed."""

from __future__ import annotations

import math
import os
import re

import numpy as np
from numpy.typing import ArrayLike

from ... import errors
from ...protocol.money import next_unit
from ...support import inputs
from ...types import Floats
from ...values import Number
from ..wire import FederationView

_LABEL = r"[\w-]{1,63}"
_URL = re.compile(
    rf"https?://(?:{_LABEL}(?:\.{_LABEL})*\.?|\[[0-9A-Fa-f:.]+\])(?::(\d{{1,5}}))?(?:/[^\s?#\\]*)?"
)
URL_ALLOWED = "https:// (or http://), a host, and perhaps a port and a path: https://host:8443/path"
SLACK = 1.0 + 1e-12  # of a squared length: scaling a vector to the limit may round it up


def check_url(url: object) -> str:
    """A typing mistake must not look like a coordinator that is away. Uses no network."""
    found = _URL.fullmatch(url) if isinstance(url, str) else None
    if not isinstance(url, str) or not found or not 1 <= int(found[1] or 80) <= 65535:
        raise errors.refuse("url", url, URL_ALLOWED)
    return url


def check_token(token: object) -> str:
    if not isinstance(token, str) or not token or not (token.isascii() and token.isprintable()):
        raise errors.refuse("token", "a token that is not shown here", "printable ASCII")
    return token


def check_ca(ca: str | os.PathLike[str] | None) -> str | None:
    path = None if ca is None else os.fspath(ca)
    if path is not None and not os.path.isfile(path):
        raise errors.refuse("ca", path, "an existing file of certificates")
    return path


def check_cost(cost: object, limit: float = math.inf, digits: int | None = None) -> float:
    number = float(Number(0.0).of("cost", cost))
    if number > limit or (number := next_unit(number, digits)) > limit:
        raise errors.refuse("cost", cost, f"at most {limit:,.10g}, the federation's cost_limit")
    return number


# `choose` and `learn` run in microseconds. Good input passes two comparisons (NaN fails them);
# anything else takes the slow path, which converts it or names what is wrong.


def check_arms(arms: ArrayLike, settings: FederationView) -> Floats:
    """A copy, [K, d]."""
    allowed = f"finite numbers [K, {settings.dim}], at least one arm"
    rows = _copy("arms", arms, 2, settings.dim, allowed)
    squares = np.einsum("kd,kd->k", rows, rows)
    if not squares.max() <= settings.arm_norm**2 * SLACK:
        k = int(squares.argmax())
        rows = inputs.array("arms", rows, ndim=2, allowed=allowed)
        raise _too_long(f"arms[{k}]", rows[k], settings)
    return rows


def check_step(arm: ArrayLike, reward: float, settings: FederationView) -> tuple[Floats, float]:
    """A copy of the arm, [d], and the reward."""
    x = _copy("arm", arm, 1, settings.dim, inputs.counted(settings.dim, "finite number"))
    if not np.einsum("d,d->", x, x) <= settings.arm_norm**2 * SLACK:
        raise _too_long("arm", inputs.array("arm", x, ndim=1), settings)
    bound = settings.reward_bound
    if not (type(reward) is float and -bound <= reward <= bound):
        reward = float(Number(-bound, bound, booleans=True).of("reward", reward))
    return x, reward


def _copy(name: str, value: ArrayLike, ndim: int, dim: int, allowed: str) -> Floats:
    if not (isinstance(value, np.ndarray) and value.dtype.char == "d" and value.ndim == ndim):
        value = inputs.array(name, value, ndim=ndim, allowed=allowed)
    if not len(value) or value.shape[-1] != dim:
        raise errors.refuse(name, f"an array of shape {value.shape}", allowed)
    return np.array(value, np.float64, order="C")


def _too_long(name: str, x: Floats, settings: FederationView) -> errors.InputError:
    length = f"a vector of length {math.hypot(*x.tolist())!r}"
    return errors.refuse(name, length, f"at most {settings.arm_norm!r} long")
