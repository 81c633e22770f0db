"""The command line. Thin: each command puts rooms together; the rest is in experiments/.

Nothing heavy is imported before a command needs it, so that --help answers at once.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from . import cli_service
from ._version import __version__

if TYPE_CHECKING:
    from .experiments import Experiment, Outcome
    from .experiments.screen import Screen

REFUSED, STOPPED, FAILED = 2, 130, 1  # exit codes

Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", min=1, metavar="N", help="Processes; as many as cores if not given."
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Run on the workers of this Dask scheduler (tcp://host:8786)."
    ),
]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Redo all runs, also those that are already there.")
]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with [bold]incfed demo[/bold]. "
    "For an experiment of your own: [bold]incfed init[/bold], edit the file, then "
    "[bold]incfed run incfed.toml[/bold].",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"incfed {__version__}")
        raise typer.Exit


@app.callback()
def _incfed(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Say which this is."),
    ] = False,
) -> None:
    """Simulate incentivized federated bandits: many learn together, each shares when it pays."""


@app.command(
    epilog="[bold]incfed demo[/bold]   the whole of it\n\n"
    "[bold]incfed demo --quick --output /tmp/try[/bold]   a smaller world, in seconds"
)
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")] = Path(
        "demo"
    ),
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Runs of each algorithm.")] = 5,
    jobs: Jobs = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smaller world, fewer steps.")] = False,
    fresh: Fresh = False,
) -> None:
    """The paper in small: what sharing costs, and how little money makes clients share.

    Fifty clients, three costs of sharing, five algorithms.
    Prints a table for each cost and writes report.html, which works offline.
    """
    with _plainly() as screen:
        from .experiments import demo as paper
        from .experiments.outputs import publish
        from .results import compare

        experiment = paper.demo(output, seeds=seeds, quick=quick)
        outcome = _carry_out(screen, experiment, jobs, fresh)
        chapters = paper.chapters(outcome.runs)
        words = paper.intro(experiment)
        with screen.busy("writing the report"):
            report = publish(experiment.output, paper.TITLE, words, chapters)
        for chapter in chapters:
            screen.table(chapter.heading, compare(chapter.runs), chapter.text)
        _close(screen, outcome, {"report": report, "runs": experiment.output / "runs"})
        if outcome.complete:
            screen.hint("Next: open the report in a browser; `incfed init` starts one of your own.")


@app.command(
    epilog="[bold]incfed run incfed.toml[/bold]   on all cores\n\n"
    "[bold]incfed run incfed.toml --seeds 20 --output more[/bold]   more seeds, elsewhere\n\n"
    "[bold]incfed run incfed.toml > table.md[/bold]   the table as Markdown"
)
def run(
    config: Annotated[Path, typer.Argument(help="A TOML file; `incfed init` writes one.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder, instead of the config's.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number, instead of the config's.")
    ] = None,
    jobs: Jobs = None,
    fresh: Fresh = False,
) -> None:
    """Run every algorithm of a config with every seed, and compare them.

    Each run is saved as it finishes: after Ctrl-C, the same command goes on.
    Writes report.html, plots, a summary and all runs to the output folder.
    """
    with _plainly() as screen:
        from .experiments import read
        from .experiments.outputs import Chapter, draw, intro, matching, publish
        from .results import compare

        experiment = read(config, seeds=seeds, output=output)
        for line in experiment.world.notes:
            screen.note(line)
        outcome = _carry_out(screen, experiment, jobs, fresh)
        where = {"runs": experiment.output / "runs"}
        if outcome.runs:
            words, text = intro(experiment, outcome), matching(outcome.runs)
            chapter = Chapter("Comparison", outcome.runs, text)
            with screen.busy("drawing plots, writing the report"):
                report = publish(experiment.output, config.stem, words, [chapter])
                plots = draw(experiment.output, outcome.runs)
            screen.table(config.stem, compare(outcome.runs), text)
            where = {"report": report, **({"plots": plots} if plots else {}), **where}
        _close(screen, outcome, where)
        if outcome.complete:
            screen.hint("Next: open the report in a browser; change the config and run it again.")


@app.command(
    epilog="[bold]incfed sweep study.toml[/bold]   on all cores\n\n"
    "[bold]incfed sweep study.toml --dask tcp://host:8786[/bold]   on a cluster\n\n"
    "In the config, a table like this one is added to those of [bold]incfed run[/bold]:\n\n"
    r"\[sweep]" + "\n\n"
    r'"world.noise" = \[0.1, 0.3]' + "\n\n"
    r'"algorithm.costs" = \[1, 10, 100]   of every algorithm that takes it' + "\n\n"
    r'"algorithm\[paid].mechanism.beta" = \[1.0, 0.7]   of the one labelled so' + "\n\n"
    r'"run.steps" = \[1000, 5000]'
)
def sweep(
    config: Annotated[Path, typer.Argument(help=r"A TOML file with a \[sweep] table.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder, instead of the config's.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number, instead of the config's.")
    ] = None,
    jobs: Jobs = None,
    dask: Dask = None,
    fresh: Fresh = False,
) -> None:
    """Run every combination of some parameters with every seed, here or on a cluster.

    An algorithm that does not take a parameter is left as it is, and runs once.
    Each run is kept as it finishes: after Ctrl-C, the same command goes on.
    The numbers do not depend on who ran them.
    """
    with _plainly() as screen:
        from .experiments.sweeping import carry_out

        swept, where = carry_out(
            screen, config, output=output, seeds=seeds, jobs=jobs, dask=dask, fresh=fresh
        )
        if swept.interrupted:
            _stopped(screen, len(swept.records), swept.total, where)
        if swept.failures:
            raise typer.Exit(FAILED)


@app.command(
    epilog="[bold]incfed reproduce table1 table5 figure1 --as-published[/bold]   needs no data\n\n"
    "[bold]incfed reproduce all --movielens ml-20m[/bold]   everything\n\n"
    "[bold]incfed reproduce all --quick[/bold]   a first look, in a minute"
)
def reproduce(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="TARGET...", help="table1 to table6, figure1 to figure4, or all."),
    ],
    movielens: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="MovieLens as unpacked, for table2-4, 6, figure3-4."),
    ] = None,
    min_events: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Users of MovieLens with more events are clients "
            r"\[default: 3000 for ml-20m, as in the paper, else 1000].",
        ),
    ] = None,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="Stale reads: matches the published figures."),
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="How many.")] = 10,
    quick: Annotated[
        bool, typer.Option("--quick", help="One seed, and the beginning of MovieLens.")
    ] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for all of it.")] = Path(
        "reproduction"
    ),
    jobs: Jobs = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep finished runs in the folder, and go on.")
    ] = False,
    fresh: Fresh = False,
) -> None:
    """Run the paper's tables and figures again, and set them beside the published ones.

    Writes reproduction.html, tables as Markdown and LaTeX, figures as PNG and SVG.
    Each run is kept as it finishes: after Ctrl-C, --resume goes on.
    """
    with _plainly() as screen:
        from .experiments.paper.reproduce import carry_out, request
        from .experiments.paper.settings import Mode

        mode = Mode(as_published, quick, movielens, min_events)
        asked = request(targets, seeds=seeds, mode=mode)
        done = carry_out(screen, asked, output, jobs=jobs, resume=resume, fresh=fresh)
        if done.interrupted:
            _stopped(screen, len(done.records), done.total, output, "--resume")
        if done.failures:
            raise typer.Exit(FAILED)


@app.command(
    epilog="[bold]incfed plan world.toml --budget 10000 --max-communication 5e6 --minimize regret"
    "[/bold]\n\n"
    "[bold]incfed plan world.toml --min-reward 99% --minimize payment[/bold]   99 % of what "
    "paying everyone gives\n\n"
    "The file has your world, and what sharing costs in it:\n\n"
    r'costs = 100   or \[10, 25, ...], or { kind = "lognormal", median = 100, spread = 2 }'
    "\n\n"
    r"\[run]" + "\n\n"
    "steps = 5000\n\n"
    r"\[world]" + "\n\n"
    'kind = "Synthetic"   or a log: Trace, ReplayLog, MovieLens\n\n'
    "clients = 50"
)
def plan(
    world: Annotated[Path, typer.Argument(help="A TOML file that describes your case.")],
    minimize: Annotated[
        str | None, typer.Option(metavar="AIM", help="regret, payment or communication.")
    ] = None,
    maximize: Annotated[str | None, typer.Option(metavar="AIM", help="reward.")] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="X", help="The most to be paid; or 10%: see --min-reward.")
    ] = None,
    max_communication: Annotated[
        str | None, typer.Option(metavar="X", help="The most scalars to be sent.")
    ] = None,
    max_regret: Annotated[str | None, typer.Option(metavar="X", help="The most regret.")] = None,
    min_reward: Annotated[
        str | None,
        typer.Option(metavar="X", help="The least reward; 99%: of what paying everyone gives."),
    ] = None,
    trials: Annotated[
        int, typer.Option(min=1, metavar="N", help="Settings to try; whole batches of 16.")
    ] = 160,
    held_out: Annotated[
        int, typer.Option("--held-out", min=2, metavar="N", help="Fresh seeds to judge with.")
    ] = 20,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Another one: another search.")] = 0,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the plan.")] = Path(
        "plan"
    ),
    jobs: Jobs = None,
    dask: Dask = None,
    fresh: Fresh = False,
) -> None:
    """Search for settings that fit your limits, and say what they will cost.

    Tries mechanisms, beta, D_c and lambda; hopeless ones are given up early.
    States figures of runs that nothing was chosen on. Writes plan.html, run.toml to simulate
    the advice, and federation.toml to serve it.
    Each run is kept as it finishes: after Ctrl-C, the same command goes on.
    """
    with _plainly() as screen:
        from .planning import plan as make_plan
        from .planning.terminal import introduce, show, show_files, watching

        try:
            with watching(screen) as live:
                made = make_plan(
                    world, minimize=minimize, maximize=maximize, budget=budget,
                    max_communication=max_communication, max_regret=max_regret,
                    min_reward=min_reward, trials=trials, held_out=held_out, seed=seed,
                    jobs=jobs, dask=dask, output=output, fresh=fresh,
                    progress=live.update, slow=live.compiling,
                    begin=lambda case, goal: introduce(screen, case, goal),
                )  # fmt: skip
        except KeyboardInterrupt:
            again = shlex.join(["incfed", *(arg for arg in sys.argv[1:] if arg != "--fresh")])
            screen.error(f"stopped: finished runs are kept in {output}; go on with: {again}")
            raise typer.Exit(STOPPED) from None
        show(screen, made)
        show_files(screen, made, output)


@app.command(
    epilog="[bold]incfed estimate --clients 200 --steps 20000 --dim 10 --beta 0.7 --cost 5[/bold]"
)
def estimate(
    clients: Annotated[int, typer.Option(min=1, metavar="N", help="How many there are.")] = 50,
    steps: Annotated[
        int, typer.Option(min=2, metavar="T", help="How many they make in all.")
    ] = 5000,
    dim: Annotated[int, typer.Option(min=1, metavar="D", help="Features of an arm.")] = 25,
    beta: Annotated[
        float, typer.Option(metavar="BETA", help="The promise of PaymentEfficient, 0 to 1.")
    ] = 1.0,
    cost: Annotated[
        float, typer.Option(metavar="COST", help="What sharing costs a client.")
    ] = 10.0,
    threshold: Annotated[
        float | None, typer.Option(metavar="D_C", help="D_c; the theorem's own if not given.")
    ] = None,
    ridge: Annotated[float, typer.Option(metavar="LAMBDA", help="lambda.")] = 0.1,
) -> None:
    """Bounds from the theorems beside one quick simulation, before any search.

    Rounds, communication and payment are bounded with the constants of the proof;
    of regret only the shape is known.
    """
    with _plainly() as screen:
        from .planning import estimate as make_estimate

        made = make_estimate(
            clients=clients, steps=steps, dim=dim, beta=beta, cost=cost, threshold=threshold,
            ridge=ridge,
        )  # fmt: skip
        screen.say(str(made))


@app.command(
    epilog="[bold]incfed init study.toml && incfed run study.toml[/bold]\n\n"
    "[bold]incfed init --plan && incfed plan world.toml[/bold]"
)
def init(
    path: Annotated[Path | None, typer.Argument(help="Where to write it.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="A case for [bold]incfed plan[/bold] instead.")
    ] = False,
) -> None:
    """Write a config with comments: a small experiment that runs as it is."""
    with _plainly() as screen:
        from .experiments.template import NAME, write_template

        if plan:
            place = Path("world.toml") if path is None else path
            written = write_template(place, force=force, room="incfed.planning", name="world.toml")
        else:
            written = write_template(Path(NAME) if path is None else path, force=force)
        then = "plan" if plan else "run"
        screen.say(f"Wrote {written}. Edit it, then: incfed {then} {shlex.quote(str(written))}")


@app.command(
    epilog="[bold]incfed show results[/bold]   the table of an experiment\n\n"
    "[bold]incfed show results/runs/payment-free/seed-0[/bold]   one run"
)
def show(
    folder: Annotated[Path, typer.Argument(help="A run's folder, or that of an experiment.")],
) -> None:
    """Show a saved run, or the table of an experiment, finished or not."""
    with _plainly() as screen:
        from .experiments.show import show_folder

        show_folder(screen, folder)


data = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.add_typer(data, name="data", help="Fetch data sets to run on.")


@data.callback()
def _data() -> None:
    """Fetch data sets to run on."""


@data.command(
    epilog="[bold]incfed data movielens ml-latest-small[/bold]   1 MB, to try it out\n\n"
    "[bold]incfed data movielens ml-20m --folder data[/bold]   the paper's, 190 MB\n\n"
    "Licence: for research, not for commercial use; acknowledge GroupLens, and see the README "
    "in the folder before you pass any of it on."
)
def movielens(
    release: Annotated[
        str,
        typer.Argument(
            help="ml-20m, ml-25m, ml-32m, ml-latest, ml-latest-small, ml-1m or ml-100k."
        ),
    ],
    folder: Annotated[
        Path, typer.Option("--folder", "-f", help="Where the release's own folder is made.")
    ] = Path("."),
    address: Annotated[
        str | None,
        typer.Option("--from", metavar="URL", help="A mirror, instead of GroupLens."),
    ] = None,
) -> None:
    """Download a release of MovieLens from GroupLens, check it, and unpack it.

    It is there whole or not at all. An archive that lies in the folder already is used instead
    of the network. In a config: kind = "MovieLens", folder = "ml-20m".
    """
    with _plainly() as screen:
        from .experiments.movielens_data import GROUPLENS, LICENCE, obtain

        with screen.loading(release) as bar:
            where = obtain(
                release,
                folder,
                address=GROUPLENS if address is None else address,
                progress=bar,
                say=screen.note,
            )
        screen.note(LICENCE)
        screen.say(f"{where} is ready: incfed.MovieLens({str(where)!r})")


def main() -> None:
    """The console entry."""
    # Before numpy is loaded. The kernels use one thread, and so do all processes of a sweep.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a batch system's Ctrl-C
    app()


@contextmanager
def _plainly() -> Iterator[Screen]:
    """Errors of the user's are said in a line, without a traceback."""
    from .experiments.screen import Screen
    from .inputs import InputError

    screen = Screen()
    try:
        yield screen
    except InputError as error:
        screen.error(str(error))
        raise typer.Exit(REFUSED) from None
    except KeyboardInterrupt:
        screen.error("stopped")
        raise typer.Exit(STOPPED) from None


def _carry_out(screen: Screen, experiment: Experiment, jobs: int | None, fresh: bool) -> Outcome:
    """Run an experiment under a progress bar; say so and leave if it is interrupted."""
    from .experiments.files import alone_in, claim
    from .experiments.runner import plan, run

    claim(experiment.output)
    with alone_in(experiment.output):
        todo = plan(experiment, jobs=jobs, fresh=fresh)
        screen.plan(todo)
        with screen.progress(len(todo.todo)) as bar:
            outcome = run(todo, progress=bar.update, slow=bar.compiling)
    if outcome.interrupted:
        _stopped(screen, outcome.finished, outcome.total, experiment.output)
    screen.failures(outcome.failures)
    return outcome


def _stopped(screen: Screen, finished: int, total: int, folder: Path, *more: str) -> NoReturn:
    """Say how to go on: the same command, with `more`."""
    again = [arg for arg in sys.argv[1:] if arg not in ("--fresh", *more)] + list(more)
    screen.error(
        f"stopped: {finished} of {total} runs are finished and kept in {folder}; "
        f"go on with: {shlex.join(['incfed', *again])}"
    )
    raise typer.Exit(STOPPED)


def _close(screen: Screen, outcome: Outcome, where: dict[str, Path]) -> None:
    """Say where things are, and what went wrong."""
    screen.places(where)
    if outcome.failures:
        screen.error(f"{len(outcome.failures)} of {outcome.total} runs failed; the others are kept")
        raise typer.Exit(FAILED)


cli_service.mount(app, _plainly)

if __name__ == "__main__":
    main()
