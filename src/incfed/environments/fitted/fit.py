"""A model of a log's rewards: linear, or logistic for rewards of 0 and 1; and how well it predicts
events that it was not fitted to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...types import Floats
from ..known_rewards import KnownRewards
from .model import Model, Sums

LINEAR, LOGISTIC = "linear", "logistic"
LEAST = 0.005  # a linear model's mean of 0/1 rewards is kept this far from 0 and 1, or closer
FOLDS = 5  # parts of a log, each predicted from the others
BINS = 10  # of predicted rewards, to compare with what was seen
STEPS = 25  # of Newton's method, at the most
SETTLED = 1e-6  # of a logistic model: how far its scores may still move
STEEPEST = 30.0  # score of a logistic model
CLEAR = 0.01  # of a constant's loss: a model that saves as much predicts something,
SURE = 3.0  # and so does one that saves as many standard errors


@dataclass(frozen=True)
class Fit:
    """A model, and how its scores x'theta_i become rewards."""

    model: Model
    link: str
    bounds: tuple[float, float] | None  # of mean rewards

    @classmethod
    def to(cls, seen: KnownRewards, count: int, link: str, *, weighted: bool = False) -> Fit:
        """The fit to what was seen of `count` clients."""
        seen = seen if weighted else seen.unweighted
        if link == LOGISTIC:
            return cls(_logistic(seen, count), link, None)
        sums = Sums.of(seen.clients, seen.x, seen.rewards, seen.weights, count)
        bounds = None
        if seen.binary:
            least = min(LEAST, seen.mean / 2, (1 - seen.mean) / 2)
            bounds = least, 1 - least
        return cls(Model.fit(sums), link, bounds)

    def reward(self, scores: Floats) -> Floats:
        """Mean rewards."""
        if self.link == LOGISTIC:
            return _sigmoid(scores)
        return scores if self.bounds is None else np.clip(scores, *self.bounds)

    def predict(self, seen: KnownRewards) -> Floats:
        """The mean reward of each observation, by posterior means."""
        return self.reward(self.model.predict(seen.clients, seen.x))


def _sigmoid(scores: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(scores, -STEEPEST, STEEPEST))))


def _logistic(seen: KnownRewards, count: int) -> Model:
    """Laplace's approximation: Newton's method for the mode, with the variances of maximum evidence
    at each step, and the curvature at the mode."""
    rate = seen.mean if 0.0 < seen.mean < 1.0 else 0.5
    scores = np.full(len(seen.rewards), np.log(rate / (1.0 - rate)))
    for _ in range(STEPS):
        means = _sigmoid(scores)
        curvature = np.maximum(means * (1.0 - means), 1e-9)
        response = scores + (seen.rewards - means) / curvature
        weights = seen.weights * curvature
        model = Model.fit(Sums.of(seen.clients, seen.x, response, weights, count), noise=1.0)
        before, scores = scores, np.clip(model.predict(seen.clients, seen.x), -STEEPEST, STEEPEST)
        if np.abs(scores - before).max() < SETTLED:
            break
    return model


class Bin(NamedTuple):
    """Events with about the same predicted reward."""

    predicted: float  # mean
    seen: float  # mean
    error: float  # standard error of `seen`
    events: int


@dataclass(frozen=True)
class HeldOut:
    """How well the model predicts events that it was not fitted to, against a constant."""

    link: str
    weighted: bool  # whether the model counts events by their weights
    gain: float  # the share of a constant's loss that it saves: log loss of 0/1, else squares
    error: float  # standard error of the gain
    r2: float
    log_loss: tuple[float, float] | None  # of the model and of a constant; None: rewards not 0/1
    bins: tuple[Bin, ...]
    losses: Floats = field(repr=False, compare=False)  # [n] of the model: log loss, else squares

    @property
    def predicts(self) -> bool:
        """Whether the model predicts anything, beyond chance."""
        return self.gain >= CLEAR or self.gain > SURE * self.error > 0.0

    @classmethod
    def of(cls, seen: KnownRewards, count: int, link: str, *, weighted: bool = False) -> HeldOut:
        """Each part of the events predicted from the others."""
        seen = seen if weighted else seen.unweighted
        events, place = np.unique(seen.events, return_inverse=True)
        if len(events) < 2 * FOLDS:  # too few to hold any out
            return cls(link, weighted, 0.0, 0.0, 0.0, None, (), np.zeros(len(place)))
        fold = np.random.default_rng(0).permutation(len(events))[place] % FOLDS
        predicted, constant = np.empty(len(place)), np.empty(len(place))
        for number in range(FOLDS):
            held = fold == number
            if held.any():
                rest = seen.of(~held)
                fit = Fit.to(rest, count, link, weighted=weighted)
                predicted[held] = fit.predict(seen.of(held))
                constant[held] = rest.mean
        squares = [(seen.rewards - guess) ** 2 for guess in (predicted, constant)]
        losses, logs = squares, None
        if seen.binary:
            losses = [_log_loss(seen.rewards, guess) for guess in (predicted, constant)]
            model, fixed = (float(np.average(loss, weights=seen.weights)) for loss in losses)
            logs = model, fixed
        saved, error = mean_of(losses[1] - losses[0], seen.weights)
        whole = float(np.average(losses[1], weights=seen.weights)) or 1.0
        model, fixed = (float(np.average(square, weights=seen.weights)) for square in squares)
        return cls(
            link=link,
            weighted=weighted,
            gain=saved / whole,
            error=error / whole,
            r2=1.0 - model / fixed if fixed else 0.0,
            log_loss=logs,
            bins=_bins(predicted, seen),
            losses=losses[0],
        )


def _log_loss(rewards: Floats, guess: Floats) -> Floats:
    guess = np.clip(guess, 1e-9, 1.0 - 1e-9)
    return np.asarray(-np.log(np.where(rewards == 1.0, guess, 1.0 - guess)))


def mean_of(values: Floats, weights: Floats) -> tuple[float, float]:
    """The weighted mean, and its standard error."""
    mean = float(np.average(values, weights=weights))
    spread = float(np.sqrt(np.square(weights * (values - mean)).sum())) / float(weights.sum())
    return mean, spread


def _bins(predicted: Floats, seen: KnownRewards) -> tuple[Bin, ...]:
    order = np.argsort(predicted, kind="stable")
    found = []
    for some in np.array_split(order, BINS):
        if len(some):
            mean, error = mean_of(seen.rewards[some], seen.weights[some])
            guess = float(np.average(predicted[some], weights=seen.weights[some]))
            found.append(Bin(guess, mean, error, len(some)))
    return tuple(found)
