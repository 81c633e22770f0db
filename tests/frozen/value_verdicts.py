"""Verdicts on values: each argument of each public class and function, with every kind of value."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import incfed
from frozen.verdicts import Begun, edges, simple, stored, verdict, words
from incfed.service.client.transport import ServiceError, Unreachable

# What is tried: expressions, of which the golden has the text.
VALUES = words("""
    0  1  2  3  -1  10**6  10**13  10**25  10**400  0.0  -0.0  0.5  1.0  1.5  3.0  -0.5  5e-324
    1e-13  1e13  1e101  1e308  nan  inf  -inf  1j  True  False  None
    Fraction(1, 2)  Fraction(3)  Decimal('0.5')  Decimal(3)
    np.int64(0)  np.int64(1)  np.int64(3)  np.int32(1)  np.int32(3)  np.int8(-1)  np.uint8(0)
    np.uint8(1)  np.uint8(3)  np.uint64(2**63)  np.float16(0.5)  np.float32(0.5)  np.float32(3)
    np.float64(0.5)  np.float64(3)  np.float64(nan)  np.float64(inf)  np.longdouble(0.5)
    np.complex128(1)  np.True_  np.False_  np.str_('1')  np.datetime64(1, 's')
    np.array(0)  np.array(3)  np.array(0.5)  np.array(True)
    ''  ' '  'abc'  '1'  '0.5'  '50%'  'nan'  'none'  'auto'  'high'  'theory'  'fresh'  'stale'
    'mixture'  'participants'  'one-for-one'  'ascending'  'growth'  'clients'  'zero'  'regret'
    'reward'  'payment'  'csv'  ';'  '|'  'Patient'  'trace.npz'  'log.csv'  b'1'
    'https://127.0.0.1:9'
    []  ()  {}  [1]  [0]  [0.5, 1.0]  [3.0, 2.0]  [1, 2, 3]  (1, 2, 3)  (0.5, 0.5, 0.5)  [0, 0, 0]
    [0, 1, 1]  [1.0, -1.0, 2.0]  [1.0, nan, 2.0]  [1.0, 1.0, inf]  [True, False, True]  ['a', 'b']
    ['1', '2', '3']  [None]  [[1, 2], [3]]  [[1.0, 0.5]]  [[1, 0], [0, 1], [1, 1]]  [10**400]
    [Fraction(1, 2)]  {'kind': 'PayEveryone'}  {'epsilon': 4}  {1, 2}  range(3)
    np.array([])  np.array([1, 2, 3])  np.array([0.5, 1.0, 1.0])  np.array([1, 2, 3], np.float32)
    np.array(['1', '2', '3'])  np.array([True, False, True])  np.array([1, None, 3], object)
    np.ones(2)  np.ones((1, 2))  np.ones((3, 2))  np.ones((3, 2), bool)  np.ones((3, 2, 2))
    int  object  len  Synthetic()  Trace([0], [[[1.0]]], [[1.0]])  Independent()
    IncFedUCB(PayEveryone(), threshold=1.0)  {'one': Independent()}  PayEveryone()  PayEveryone
    Threshold(1.0)  Patient()  Limits()  Privacy(4)  Shading(2)  [Shading(2), Refusing(clients=[0])]
    (Shading(2, clients=[0]), Colluding(clients=[1]))  Refusing()  DrawnCosts(1, 0.5)
    DrawnCosts([1, 2], 1)
""")


def value_of(expression: str) -> Any:
    known = {"np": np, "nan": math.nan, "inf": math.inf, "Decimal": Decimal, "Fraction": Fraction}
    return eval(expression, known | {name: getattr(incfed, name) for name in dir(incfed)})


@dataclass(frozen=True)
class Trial:
    """Something with arguments: each is tried with every value, the others stay as `given`."""

    make: Callable[..., Any]
    given: Mapping[str, Any] = field(default_factory=dict)
    arguments: Sequence[str] = ()  # all of them, if none is named
    slow: Sequence[str] = ()  # values that would take long, as others near limits might

    def verdict(self, argument: str, value: str) -> Any:
        return verdict(partial(self._kept, argument, value))

    def _kept(self, argument: str, value: str) -> Any:
        """What the value became."""
        made = self.make(**{**self.given, argument: value_of(value)})
        return simple(getattr(made, argument, made))

    def inputs(self) -> dict[str, list[str]]:
        """The values to try, by argument."""
        named = self.arguments or list(inspect.signature(self.make).parameters)
        usual = [value for value in VALUES if value not in self.slow]
        return {
            argument: usual + (edges(partial(self.verdict, argument)) if not self.slow else [])
            for argument in named
        }


def value_verdicts(case: str) -> dict[str, dict[str, Any]]:
    """By argument and value."""
    trial = TRIALS[case]
    return {
        argument: {value: trial.verdict(argument, value) for value in values}
        for argument, values in (stored(case) or trial.inputs()).items()
    }


class Unrun(incfed.Independent):
    """Stands in for an algorithm where runs would take long."""

    def for_run(self, *, steps: int, clients: int, dim: int) -> Any:
        raise Begun


def _trace(**changes: Any) -> incfed.Trace:
    rewards = [[1, 0], [0, 1], [1, 1]]
    given: dict[str, Any] = {"clients": [0, 1, 2], "arms": np.ones((3, 2, 2)), "rewards": rewards}
    return incfed.Trace(**{**given, **changes})


def _steps(n: Any) -> int:
    run = incfed.Simulation(RECORDED, incfed.Independent())
    run.advance(n)
    return run.steps


def _learner() -> incfed.LinUCB:
    learner = incfed.LinUCB(2)
    learner.learn([0.5, 0.0], 1.0)
    return learner


def _federation() -> incfed.Federation:
    rules = incfed.IncFedUCB(incfed.PayEveryone(), threshold=math.inf, costs=1.0)
    federation = incfed.Federation(2, dim=2, algorithm=rules)
    for member in federation:
        member.learn([0.5, 0.5], 0.5)
    return federation


def _paid(cost: Any) -> float:
    """A member with this cost shares."""
    federation = _federation()
    federation[0].cost = cost
    federation.communicate()
    return federation.spent


def _reward(arm: Any, reward: Any) -> float:
    """Of a member that learns this."""
    federation = _federation()
    federation[0].learn(arm, reward)
    return float(federation.result().reward[-1])


def _step(seed: Any, action: Any) -> Any:
    env = incfed.Env(RECORDED)
    env.reset(seed=seed)
    return env.step(action)[1]


def _client(**given: Any) -> None:
    try:
        incfed.Client(**given).close()
    except (Unreachable, ServiceError):
        raise Begun from None


def _plan(**given: Any) -> None:
    def begin(*unused: object) -> None:
        raise Begun

    incfed.plan(**given, begin=begin)


FREE = incfed.PayEveryone()
RECORDED = _trace()
SIZE = {"steps": 100, "clients": 3, "dim": 2}
BIG = ("10**6", "10**13")
SMALL_WORLD = {"kind": "Synthetic", "clients": 3, "dim": 2, "arms": 3, "pool": 9}
CASE = {"run": {"steps": 20}, "world": SMALL_WORLD, "costs": 3.0}
SWEPT = {
    "world": {"kind": "Trace", "file": "trace.npz"},
    "algorithm": [{"kind": "Independent"}],
    "sweep": {"algorithm.ridge": [0.1]},
}
FORMS: Mapping[str, Mapping[str, Any]] = {
    "a log": {"file": "log.csv", "delimiter": ";"},
    "a log with items": {"file": "choices.csv", "items": "items.csv"},
    "a log by rows": {"file": "long.csv", "event": "event", "features": ["first", "second"]},
}
TRIALS: Mapping[str, Trial] = {
    "IncFedUCB": Trial(incfed.IncFedUCB, {"mechanism": FREE, "threshold": 1.0}),
    "IncFedUCB with a trigger": Trial(
        incfed.IncFedUCB, {"mechanism": FREE, "trigger": incfed.Patient()}
    ),
    "IncFedUCB with privacy": Trial(
        incfed.IncFedUCB,
        {"mechanism": FREE, "threshold": 1.0, "privacy": incfed.Privacy(4)},
        ("trust", "share_from", "privacy", "trigger"),
    ),
    "DisLinUCB": Trial(incfed.DisLinUCB, {"threshold": 1.0}),
    "AsyncLinUCB": Trial(incfed.AsyncLinUCB),
    "FedLinUCB": Trial(incfed.FedLinUCB),
    "Independent": Trial(incfed.Independent),
    "Centralized": Trial(incfed.Centralized),
    "LinUCB": Trial(incfed.LinUCB, {"dim": 2}, slow=BIG),
    "LinUCB.choose": Trial(lambda arms: _learner().choose(arms)),
    "LinUCB.predict": Trial(lambda arm: _learner().predict(arm)),
    "LinUCB.learn": Trial(
        lambda arm, reward: _learner().learn(arm, reward), {"arm": [0.5, 0.0], "reward": 0.5}
    ),
    "LinUCB.learn, three steps": Trial(
        lambda arm, reward: _learner().learn(arm, reward),
        {"arm": np.ones((3, 2)), "reward": [0.1, 0.2, 0.3]},
    ),
    "Federation": Trial(
        incfed.Federation,
        {"clients": 3, "dim": 2, "algorithm": incfed.IncFedUCB(FREE, threshold=1.0)},
        slow=BIG,
    ),
    "Federation.communicate": Trial(lambda client: _federation().communicate(client).trigger),
    "Member.cost": Trial(_paid),
    "Member.learn": Trial(_reward, {"arm": [0.5, 0.0], "reward": 0.5}),
    "BudgetFeasible": Trial(incfed.BudgetFeasible, {"per_round": 5.0}),
    "CostAware": Trial(incfed.CostAware),
    "Exact": Trial(incfed.Exact),
    "PaymentEfficient": Trial(incfed.PaymentEfficient),
    "PostedPrice": Trial(incfed.PostedPrice),
    "ShapleySplit": Trial(incfed.ShapleySplit, {"pot": 5.0}),
    "Truthful": Trial(incfed.Truthful, {"cover": 0.7, "reserve": 3.0}),
    "Threshold": Trial(incfed.Threshold),
    "GrowthRatio": Trial(incfed.GrowthRatio),
    "News": Trial(incfed.News),
    "Patient": Trial(incfed.Patient),
    "Limits": Trial(incfed.Limits),
    "Privacy": Trial(incfed.Privacy, {"epsilon": 4.0}),
    "Privacy.epsilon_of": Trial(incfed.Privacy(4).epsilon_of),
    "BestResponse": Trial(incfed.BestResponse),
    "Colluding": Trial(incfed.Colluding),
    "Refusing": Trial(incfed.Refusing),
    "Shading": Trial(incfed.Shading, {"factor": 2.0}),
    "Withholding": Trial(incfed.Withholding, {"steps": 2}),
    "DrawnCosts": Trial(incfed.DrawnCosts, {"mean": 1.0, "spread": 0.5}),
    "DriftingCosts": Trial(incfed.DriftingCosts, {"mean": 1.0, "spread": 0.5}),
    "Synthetic": Trial(incfed.Synthetic, {"clients": 3}),
    "Trace": Trial(_trace, arguments=("clients", "arms", "rewards", "expected", "count", "items")),
    "Trace of items": Trial(
        _trace,
        {"arms": [[0, 1], [1, 2], [0, 2]], "items": np.ones((3, 2))},
        ("arms", "rewards", "items"),
    ),
    **{
        f"ReplayLog, {name}": Trial(incfed.ReplayLog, {"mode": "replay", **given})
        for name, given in FORMS.items()
    },
    "MovieLens": Trial(incfed.MovieLens, {"folder": "missing"}),
    "World.part": Trial(RECORDED.part, {"first": 0.0, "last": 0.7}),
    "World.bootstrap": Trial(RECORDED.bootstrap, {"steps": 5}),
    "Env.step": Trial(_step, {"seed": 0, "action": 0}),
    "thresholds.high": Trial(incfed.thresholds.high, SIZE),
    "thresholds.low": Trial(incfed.thresholds.low, SIZE),
    "thresholds.theory": Trial(incfed.thresholds.theory, {**SIZE, "beta": 0.5, "ridge": 0.1}),
    "simulate": Trial(
        incfed.simulate,
        {"world": RECORDED, "algorithm": incfed.Independent()},
        ("world", "algorithm", "steps", "seed"),
    ),
    "simulate without an end": Trial(
        incfed.simulate, {"world": incfed.Synthetic(3), "algorithm": Unrun()}, ("steps",)
    ),
    "Simulation": Trial(incfed.Simulation, {"world": RECORDED, "algorithm": incfed.Independent()}),
    "Simulation.advance": Trial(_steps),
    "compare": Trial(incfed.compare, {"world": RECORDED, "algorithms": {"none": Unrun()}}),
    "check_mechanism": Trial(
        incfed.check_mechanism,
        {"mechanism": FREE, "rounds": 1},
        ("rounds", "seed"),
        (*BIG, "10**25", "10**400", "np.uint64(2**63)"),
    ),
    "check_world": Trial(incfed.check_world, {"world": RECORDED, "steps": 4}),
    "estimate": Trial(incfed.estimate, {**SIZE, "steps": 20}, slow=BIG),
    "plan": Trial(
        _plan,
        {"world": CASE, "jobs": 1},
        words("""world  minimize  maximize  budget  max_communication  max_regret  min_reward
            clients_may_lie  trials  held_out  seed  jobs"""),
    ),
    "sweep": Trial(incfed.sweep, {"config": SWEPT, "jobs": 1}, ("config", "seeds")),
    "Client": Trial(
        _client,
        {"url": "http://127.0.0.1:9", "token": "abc", "state": "state"},
        words("url  token  state  cost  accept  timeout  ca  trust  share_from  privacy"),
    ),
    "load": Trial(incfed.load, arguments=("path",)),
}
CASES = {case: partial(value_verdicts, case) for case in TRIALS}
