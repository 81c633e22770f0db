"""`incfed.plan`: from a case and a goal to advice with held-out figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import errors
from .._version import __version__
from ..algorithms import IncFedUCB
from ..experiments.checkpoint import NAME, CellsFile, Checkpoint
from ..experiments.config import build_algorithm
from ..experiments.engine import Session, executor_for
from ..experiments.show import PLAN
from ..results import interactive, markdown
from ..results.document import Document
from ..results.intervals import Interval
from ..results.notebook import Shown
from ..results.settings import plain
from ..support import inputs
from ..support.files import fingerprint
from ..support.inputs import counted
from ..values import Flag, Whole
from .advice import advice
from .answer import verdict
from .by_client import ByClient, ClientWorth, each_client, judge_by_client
from .case import MANY, Case, read_case
from .config_files import config_text, federation_text
from .cross_check import CrossCheck, cross_check
from .goals import Figures, Goal, read_goal
from .judging import Judged, Judgement, LimitCheck, judge
from .leaving import Leaving, judge_leaving
from .page import plan_document
from .report import PAGE, as_data, check_free, publish
from .search import RunsFailed, Search, Watch
from .selection import RUNGS
from .space import Setting
from .study import BATCH, check_optuna
from .ties import PLAY_OFF
from .worth import net

if TYPE_CHECKING:
    import plotly.graph_objects as go

TRIALS, HELD_OUT = 160, 20


@dataclass(frozen=True)
class Plan(Shown):
    """Advice. All figures come from the `held_out` seeds (and, of MovieLens, from other events),
    which the search did not use. `str()` is the whole plan as text.

    >>> plan  # of the example of `incfed.plan`
    <Plan: ...>
    """

    case: Case
    goal: Goal
    setting: Setting
    within: bool  # False: the search found no setting that keeps all limits; this is the nearest
    judgement: Judgement
    tried: Sequence[tuple[Setting, Figures]]  # the search's own means: for the figure only
    runs: int
    search_seeds: tuple[int, ...]
    held_out: tuple[int, ...]
    by_client: ByClient
    leaving: Leaving | None  # what is left of the gain if clients leave
    leaving_fault: str = ""  # why that cannot be told
    cross_check: CrossCheck | None = None  # of a log: what one pass of replay says

    @property
    def figures(self) -> dict[str, Interval]:
        """Regret, reward, payment, communication, ...: held-out means with 95 % intervals.

        >>> sorted(plan.figures)
        ['communication', 'matched', 'participation', 'payment', 'regret', 'reward', 'rounds']
        """
        return self.judgement.chosen.figures()

    @property
    def verdict(self) -> str:
        """The answer in two to four words: share, do not share, or that this cannot be told.

        >>> plan.verdict in ("Share", "Do not share", "These runs cannot tell")
        True
        """
        return verdict(self)

    @property
    def regret(self) -> Interval:
        """The regret of the advice.

        >>> plan.regret.low < plan.regret.mean < plan.regret.high
        True
        """
        return self.judgement.chosen["regret"]

    @property
    def reward(self) -> Interval:
        """The reward of the advice.

        >>> plan.reward.n
        2
        """
        return self.judgement.chosen["reward"]

    @property
    def payment(self) -> Interval:
        """The money that the advice pays in all.

        >>> plan.payment.mean <= 100
        True
        """
        return self.judgement.chosen["payment"]

    @property
    def communication(self) -> Interval:
        """The scalars that the advice sends, counted as in the paper.

        >>> plan.communication.mean > 0
        True
        """
        return self.judgement.chosen["communication"]

    @property
    def gain(self) -> Interval:
        """How much better than alone clients do, seed by seed: regret less, or reward more if that
        is what is asked about. Sharing pays if all of it is above 0.

        >>> plan.gain.low < plan.gain.high
        True
        """
        return self.judgement.gain(self.goal)

    @property
    def net(self) -> Interval | None:
        """What sharing is worth after payments, in money: the gain at the case's
        `value_per_reward`, less the payments. None if the case does not have it.

        >>> print(plan.net)
        None
        """
        value = self.case.value_per_reward
        return None if value is None else net(self.judgement, self.goal.performance, value)

    @cached_property
    def shops(self) -> list[ClientWorth]:
        """What sharing is worth to each client: `name`, `gain` and `payment`. Those that lose for
        sure come first. Empty if each run has other clients of a log.

        >>> gains = [shop.gain.mean for shop in plan.shops]
        >>> len(gains), abs(sum(gains) - plan.gain.mean) < 1e-9
        (5, True)
        """
        return each_client(self.case.client_names, self.by_client, self.judgement)

    @property
    def limits(self) -> list[LimitCheck]:
        """Each limit, and whether the held-out figures keep it.

        >>> [(check.limit.metric, check.kept) for check in plan.limits]
        [('payment', True)]
        """
        return self.judgement.limits(self.goal, self.judgement.chosen)

    @property
    def frontier(self) -> tuple[Judged, ...]:
        """The frontier of what money buys, by rising payment.

        >>> paid = [point["payment"].mean for point in plan.frontier]
        >>> paid == sorted(paid)
        True
        """
        return self.judgement.frontier

    @property
    def advice(self) -> str:
        """The plan in a few sentences.

        >>> "expect" in plan.advice
        True
        """
        return advice(self)

    @property
    def config(self) -> str:
        """A TOML file for `incfed run`.

        >>> print(plan.config.splitlines()[0])
        # What `incfed plan` advises. incfed run run.toml runs it.
        """
        return config_text(self)

    @cached_property
    def federation(self) -> str | None:
        """A TOML file for `incfed serve`; None if the advice cannot be served: too many features,
        or a mechanism of your own that breaks a rule.

        >>> "[federation]" in plan.federation
        True
        """
        return federation_text(self)

    def algorithm(self, costs: float | Sequence[float] | None = None) -> IncFedUCB:
        """The advice as an algorithm; with other `costs`, if you know them better by now.

        >>> plan.algorithm(costs=5.0).costs
        5.0
        """
        case = self.case
        used = case.costs.of(self.held_out[0]) if costs is None else costs
        table = self.setting.table(case.fixed, used)
        made: IncFedUCB
        made = build_algorithm(table, "algorithm", case.world, case.steps, case.folder).value
        return made

    def figure(self) -> go.Figure:
        """A Plotly figure of what money buys: the frontier, with 95 % intervals.

        >>> len(plan.figure().data) > 0
        True
        """
        points = as_data(self)["frontier"]
        return interactive.figure(interactive.frontier(points, "payment", self.goal.bought))

    def save(self, folder: str | Path) -> Path:
        """Write plan.html, plan.json and the configs to a folder; the path of the page.

        >>> page = plan.save("plan")
        >>> page.name, sorted(file.name for file in page.parent.iterdir())
        ('plan.html', ['federation.toml', 'plan.html', 'plan.json', 'run.toml'])
        """
        return publish(self, inputs.path("folder", folder))

    def document(self) -> Document:
        """The whole plan, as text, tables and figures.

        >>> len(plan.document().blocks) > 0
        True
        """
        return plan_document(self)

    def __str__(self) -> str:
        return markdown.render(self.document()).rstrip("\n")

    def __repr__(self) -> str:
        return f"<Plan: {self.setting}: {self.goal.aim} {self.judgement.chosen[self.goal.aim]}>"


def plan(
    world: str | Path | Mapping[str, Any],
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    budget: float | str | None = None,
    max_communication: float | str | None = None,
    max_regret: float | str | None = None,
    min_reward: float | str | None = None,
    clients_may_lie: bool = False,
    trials: int = TRIALS,
    held_out: int = HELD_OUT,
    seed: int = 0,
    jobs: int | None = None,
    dask: str | None = None,
    output: str | Path | None = None,
    fresh: bool = False,
    progress: Watch | None = None,
    slow: Callable[[], None] | None = None,
    begin: Callable[[Case, Goal], None] | None = None,
) -> Plan:
    """Search for settings of Inc-FedUCB, and say what they will cost.

    `world` is the path of a TOML file, or its tables: [world], [run], costs, and if need be
    [algorithm] and [search]. One of `minimize` ("regret", "payment", "communication") and
    `maximize` ("reward") is the aim; the others may be limited, by a number or by a share of what
    paying everyone at the paper's threshold gives ("10%"); `budget` limits the payment. With
    `clients_may_lie`, only mechanisms are tried with a bound on what lying about costs gains.

    `trials` settings are tried (rounded up to whole batches of 16) and the advice is judged with
    `held_out` seeds that were not used for choosing (of a log, in as many worlds that it allows,
    each run four times). The same `seed` gives the same plan on any number of processes (`jobs`) or
    on a Dask cluster (`dask`). With `output`, the plan is written to that folder, and a search that
    was stopped there is continued. `progress` is told how far it is. With several processes, a
    script must call this under `if __name__ == "__main__":`.

    >>> case = {
    ...     "run": {"steps": 200},
    ...     "world": {"kind": "Synthetic", "clients": 5, "dim": 3, "arms": 4, "pool": 50},
    ...     "costs": 10.0,
    ... }
    >>> plan = incfed.plan(case, budget=100, trials=16, held_out=2, jobs=1)
    >>> plan.within, plan.payment.mean <= 100
    (True, True)
    """
    case = read_case(world, clients_may_lie=Flag().of("clients_may_lie", clients_may_lie))
    limits = {
        "payment": budget,
        "communication": max_communication,
        "regret": max_regret,
        "reward": min_reward,
    }
    goal = read_goal(
        minimize, maximize, limits, regret_known=case.regret_known, rewarded=case.rewarded
    )
    check_telling(case)
    batches = -(-Whole(1, 100_000).of("--trials", trials) // BATCH)
    judges = Whole(2, MANY).of("--held-out", held_out)
    start = Whole(0, 10**9).of("--seed", seed)
    search_seeds, held = seeds_of(start, judges, 1 if case.fitted is None else case.fitted.runs)
    executor = executor_for(jobs, dask)
    check_optuna()
    folder = None if output is None else inputs.path("output", output).absolute()
    checkpoint, file = Checkpoint(), None
    if folder is not None:
        checkpoint = CellsFile(folder / NAME, ours=(PAGE, PLAN))
        check_free(folder)
        file = folder / f"study-{_identity(case, goal, seed)}.log"
    with Session(
        checkpoint=checkpoint, executor=executor, fresh=fresh, source=case.name
    ) as session:
        if fresh and file is not None:
            file.unlink(missing_ok=True)
        if begin is not None:
            begin(case, goal)
        search = Search(case, session, search_seeds, progress or (lambda update: None), slow)
        try:
            found = search.run(goal, batches=batches, file=file, seed=seed)
            judgement = judge(case, session, found, goal, held, search.report)
            judged = (case, session, judgement, goal.performance)
            by_client = judge_by_client(*judged, held, search.report)
            leaving, fault = judge_leaving(*judged, by_client, held, search.report)
            checked = cross_check(case, session, judgement, held, search.report)
        except RunsFailed as error:
            raise errors.InputError(f"no plan: the runs failed: {error}") from None
        evidence, setting = found.evidence, judgement.chosen.setting
        assert setting is not None  # an advice shares
        made = Plan(
            case=case,
            # A limit given as a share is stated by what paying everyone gives in the held-out runs.
            goal=goal.settle(judgement.everyone.means()),
            setting=setting,
            within=found.within,
            judgement=judgement,
            tried=[(setting, evidence.means(setting)) for setting in evidence.settings],
            runs=evidence.runs + search.play_off.runs,
            search_seeds=search_seeds,
            held_out=held,
            by_client=by_client,
            leaving=leaving,
            leaving_fault=fault,
            cross_check=checked,
        )
        if folder is not None:
            made.save(folder)
    return made


class CannotTell(errors.InputError):
    """A log from which nothing can be predicted, so that no plan of it would mean anything."""


def check_telling(case: Case) -> None:
    """Refuse a log whose model predicts events that it was not fitted to no better than a constant
    does."""
    if case.fitted is None or case.fitted.held_out.predicts:
        return
    log, found = case.fitted.log, case.fitted.held_out
    how = f"R² {found.r2:.4f}"
    if found.log_loss is not None:
        how = "log loss {:.4g}, of a constant {:.4g}".format(*found.log_loss)
    raise CannotTell(
        f"this log cannot tell whether sharing pays: a model of its {counted(log.length, 'event')} "
        f"predicts events that it was not fitted to no better than a constant does ({how}). No "
        "plan is made. A longer log may tell, or one with features that matter for the reward"
    )


def seeds_of(seed: int, judges: int, runs: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The seeds to choose with, and the held-out ones. No seed is in both, or comes from two values
    of `seed`. Of worlds that have several runs, as those that a log leaves open, those to choose
    with are run once, and `judges` others as often as may be."""
    start, width = 2 * MANY * runs * seed, MANY * runs
    searched = runs * (RUNGS[-1] + PLAY_OFF[-1])
    return (
        tuple(range(start, start + searched, runs)),
        tuple(range(start + width, start + width + runs * judges)),
    )


def _identity(case: Case, goal: Goal, seed: int) -> str:
    """A hash of all that a search depends on."""
    limits = [[limit.metric, limit.value, limit.share] for limit in goal.limits]
    asked = [goal.aim, goal.performance, limits]
    return fingerprint([__version__, plain([case.identity(), asked, seed])])[:10]
