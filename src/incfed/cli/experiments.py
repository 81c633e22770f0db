"""Experiments: demo, run, sweep, reproduce; init to begin with, show to look at results."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import FAILED, STOPPED
from .base import (
    Dask,
    Fresh,
    Jobs,
    OpenConsole,
    Output,
    Resume,
    Seeds,
    app,
    flag,
    group,
    option,
    path,
    report_errors,
    same_command,
    show_in_console,
)  # fmt: skip

if TYPE_CHECKING:
    from ..experiments.suite import Suite
    from ..support.terminal import Terminal

OwnOutput = Annotated[
    Path | None,
    option("PATH", "Output folder (default: the config's).", "--output", "-o", parser=path),
]
OwnSeeds = Annotated[int | None, option("N", "Number of seeds (default: the config's).", min=1)]
Bootstraps = Annotated[
    int | None,
    option(
        "N", "Number of bootstrapped logs, if the world is a log (default: the config's).", min=0
    ),
]
MIN_EVENTS = (
    "MovieLens users with more than N events are clients "
    r"\[default: 3000 for ml-20m, as in the paper, else 1000]."
)
DryRun = Annotated[
    bool, flag("--dry-run", "Check the config and say what would be run; write nothing.")
]
EXPERIMENT = "incfed.toml", "run"  # file, command
PLAN = "world.toml", "plan"
FEDERATION = "federation.toml", "serve --config"
TOO_EARLY = "stopped before the first run; nothing new was kept"


def _run(
    terminal: Terminal,
    suite: Suite,
    *again: str,
    jobs: int | None,
    dask: str | None = None,
    resume: bool = False,
    fresh: bool,
) -> None:
    """Run a suite, report on it, and exit with the code of how it ended. `again` are the options
    to continue it with, if it is interrupted."""
    from ..experiments.engine import executor_for
    from ..experiments.suite import run_and_report
    from ..support.inputs import counted

    executor = executor_for(jobs, dask)
    outcome = run_and_report(terminal, suite, executor, resume=resume, fresh=fresh)
    if outcome.interrupted and not outcome.records:
        total = counted(outcome.total, "run")
        terminal.error(f"stopped before the first of {total} was finished; nothing was kept")
    elif outcome.interrupted:
        terminal.error(
            f"stopped: {len(outcome.records)} of {counted(outcome.total, 'run')} finished and kept "
            f"in {suite.output}; continue with: {same_command(*again)}"
        )
    if outcome.interrupted or outcome.failures:
        raise typer.Exit(STOPPED if outcome.interrupted else FAILED)


def _describe(terminal: Terminal, suite: Suite, fresh: bool) -> None:
    """Say what would be run, and where it would go."""
    from ..experiments.engine import Session
    from ..support.terminal import short

    Session(source=suite.name).check(suite.cells)
    suite.checkpoint().check()
    terminal.say(f"{suite.describe()}\nto {short(suite.output)} ({suite.found(fresh)})")
    terminal.hint("Nothing was run. To run it, leave out --dry-run.")


@app.command(
    epilog="[bold]incfed demo[/bold]   the full demo\n\n"
    "[bold]incfed demo --quick --output /tmp/try[/bold]   a smaller world, in seconds"
)
def demo(
    output: Output = Path("demo"),
    seeds: Seeds = 5,
    jobs: Jobs = None,
    quick: Annotated[bool, flag("--quick", "A smaller world, fewer steps.")] = False,
    fresh: Fresh = False,
) -> None:
    """Run the paper in small: what sharing costs, and how little money makes clients share.

    Fifty clients, three costs of sharing, five algorithms.
    Prints a table for each cost and writes report.html, which works offline.
    """
    with report_errors(TOO_EARLY) as terminal:
        from ..experiments.demo import demo as read

        _run(terminal, read(output, seeds=seeds, quick=quick), jobs=jobs, fresh=fresh)


@app.command(
    epilog="[bold]incfed run incfed.toml[/bold]   on all cores\n\n"
    "[bold]incfed run incfed.toml --seeds 20 --output more[/bold]   more seeds, elsewhere\n\n"
    "[bold]incfed run incfed.toml --dask tcp://host:8786[/bold]   on a cluster\n\n"
    "[bold]incfed run incfed.toml > table.md[/bold]   the table as Markdown"
)
def run(
    config: Annotated[
        Path, typer.Argument(parser=path, help="A TOML file; `incfed init` writes one.")
    ],
    output: OwnOutput = None,
    seeds: OwnSeeds = None,
    bootstrap: Bootstraps = None,
    jobs: Jobs = None,
    dask: Dask = None,
    resume: Resume = False,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    open_console: OpenConsole = False,
) -> None:
    """Run every algorithm of a config with every seed, and compare them.
    A log, which seeds do not change, is run once and on bootstrapped logs.

    Each run is saved as it finishes. After Ctrl-C, the same command continues.
    Writes report.html, plots, a summary and all runs to the output folder.
    If the config has changed, the results of the one before are kept in earlier/.
    """
    with report_errors(TOO_EARLY) as terminal:
        from ..experiments.runs import read

        suite = read(config, seeds=seeds, output=output, bootstrap=bootstrap)
        if dry_run:
            _describe(terminal, suite, fresh)
            return
        _run(terminal, suite, jobs=jobs, dask=dask, resume=resume, fresh=fresh)
        if open_console:
            show_in_console(terminal, suite.output)


@app.command(
    epilog="[bold]incfed sweep study.toml[/bold]   on all cores\n\n"
    "[bold]incfed sweep study.toml --dask tcp://host:8786[/bold]   on a cluster\n\n"
    "In the config, a table like this one is added to those of [bold]incfed run[/bold]:\n\n"
    r"\[sweep]" + "\n\n"
    r'"world.noise" = \[0.1, 0.3]' + "\n\n"
    r'"algorithm.costs" = \[1, 10, 100]   of every algorithm that has it' + "\n\n"
    r'"algorithm\[paid].mechanism.beta" = \[1.0, 0.7]   of the one with this label' + "\n\n"
    r'"run.steps" = \[1000, 5000]'
)
def sweep(
    config: Annotated[
        Path, typer.Argument(parser=path, help=r"A TOML file with a \[sweep] table.")
    ],
    output: OwnOutput = None,
    seeds: OwnSeeds = None,
    jobs: Jobs = None,
    dask: Dask = None,
    resume: Resume = False,
    fresh: Fresh = False,
    dry_run: DryRun = False,
) -> None:
    """Run every combination of some parameters with every seed, here or on a cluster.

    An algorithm that does not have a swept parameter runs once, as it is.
    Each run is saved as it finishes. After Ctrl-C, the same command continues.
    The numbers do not depend on where they were computed.
    """
    with report_errors(TOO_EARLY) as terminal:
        from ..experiments.sweeps import read_sweep

        suite = read_sweep(config, seeds=seeds, output=output)
        if dry_run:
            _describe(terminal, suite, fresh)
            return
        _run(terminal, suite, jobs=jobs, dask=dask, resume=resume, fresh=fresh)


@app.command(
    epilog="[bold]incfed reproduce table1 table5 figure1[/bold]   needs no data\n\n"
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
        option("FOLDER", "Unpacked MovieLens data (table2-4, 6, figure3-4).", parser=path),
    ] = None,
    min_events: Annotated[int | None, option("N", MIN_EVENTS, min=1)] = None,
    fresh_reads: Annotated[
        bool,
        flag("--fresh-reads", "Choose with all that was downloaded; the published figures do not."),
    ] = False,
    as_published: Annotated[
        bool, flag("--as-published", "Choose as the published figures do: the default.")
    ] = False,
    seeds: Seeds = 10,
    quick: Annotated[bool, flag("--quick", "One seed, and the beginning of MovieLens.")] = False,
    output: Output = Path("reproduction"),
    jobs: Jobs = None,
    resume: Annotated[
        bool, flag("--resume", "Continue, and keep the finished runs in the folder.")
    ] = False,
    fresh: Fresh = False,
) -> None:
    """Reproduce the paper's tables and figures, and compare them with the published ones.

    Clients act as they did for the published figures: they choose with stale reads.
    Writes reproduction.html, tables as Markdown and LaTeX, figures as PNG and SVG.
    Each run is saved as it finishes. After Ctrl-C, continue with --resume.
    """
    with report_errors(TOO_EARLY) as terminal:
        from ..errors import InputError
        from ..experiments.paper.reproduce import paper_suite
        from ..experiments.paper.settings import Mode

        if as_published and fresh_reads:
            raise InputError("--as-published and --fresh-reads: got both, must be one of them")
        mode = Mode(fresh_reads, quick, movielens, min_events)
        suite = paper_suite(targets, seeds=seeds, mode=mode, output=output)
        _run(terminal, suite, "--resume", jobs=jobs, resume=resume, fresh=fresh)


compare = group("compare", "Compare what incfed has to offer, on one world.")


@compare.command(
    epilog="[bold]incfed compare mechanisms[/bold]   all of them, in the paper's world\n\n"
    "[bold]incfed compare mechanisms study.toml[/bold]   the algorithms of a config\n\n"
    "[bold]incfed compare mechanisms --reports '{ kind = \"BestResponse\" }'[/bold]   haggling"
)
def mechanisms(
    config: Annotated[
        Path | None,
        typer.Argument(parser=path, help="A TOML file as for [bold]incfed run[/bold]."),
    ] = None,
    output: Output = Path("mechanisms"),
    seeds: OwnSeeds = None,
    jobs: Jobs = None,
    reports: Annotated[
        str | None,
        typer.Option(
            "--reports",
            metavar="TOML",
            help="How clients act, as in a config: a list of behaviours.",
        ),
    ] = None,
    quick: Annotated[bool, flag("--quick", "A smaller world, fewer steps.")] = False,
    fresh: Fresh = False,
) -> None:
    """Compare what mechanisms cost, what is learned, and what a client gains by lying about its
    cost.

    Every mechanism runs with honest clients, and then with one liar at a time.
    With --reports, or reports in the config, clients act as you say instead.
    Writes a table, plots/mechanisms.png and report.html to the output folder.
    """
    with report_errors(TOO_EARLY) as terminal:
        from ..experiments.mechanism_comparison import compare_mechanisms

        suite = compare_mechanisms(output, config=config, seeds=seeds, quick=quick, reports=reports)
        _run(terminal, suite, jobs=jobs, fresh=fresh)


@app.command(
    epilog="[bold]incfed init study.toml && incfed run study.toml[/bold]\n\n"
    "[bold]incfed init --plan && incfed plan world.toml[/bold]"
)
def init(
    path: Annotated[Path | None, typer.Argument(parser=path, help="File to write.")] = None,
    force: Annotated[bool, flag("--force", "Overwrite an existing file.")] = False,
    plan: Annotated[
        bool, flag("--plan", "Write a case for [bold]incfed plan[/bold] instead.")
    ] = False,
    federation: Annotated[
        bool, flag("--federation", "Write a federation for [bold]incfed serve[/bold] instead.")
    ] = False,
) -> None:
    """Write a commented config: a small experiment, ready to run."""
    with report_errors() as terminal:
        from ..errors import InputError
        from ..support.toml import write_new

        if plan and federation:
            raise InputError("--plan and --federation: got both, must be one of them")
        if federation:
            from ..service.coordinator.template import federation_template as text

            name, then = FEDERATION
        elif plan:
            from ..planning.template import case_template as text

            name, then = PLAN
        else:
            from ..experiments.template import experiment_template as text

            name, then = EXPERIMENT
        written = write_new(path or Path(name), name, text(), force=force)
        terminal.say(f"Wrote {written}. Edit it, then: incfed {then} {shlex.quote(str(written))}")


@app.command(
    epilog="[bold]incfed show results[/bold]   the table of an experiment\n\n"
    "[bold]incfed show results/runs/payment-free/seed-0[/bold]   one run\n\n"
    "[bold]incfed show results results/earlier/1[/bold]   two experiments side by side\n\n"
    "[bold]incfed show[/bold]   what there is in the folders below this one"
)
def show(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            parser=path,
            metavar="FOLDER...",
            help="Output folders, or folders of single runs (default: this folder).",
        ),
    ] = None,
    as_json: Annotated[bool, flag("--json", "Print the figures of every run as JSON.")] = False,
    open_page: Annotated[bool, flag("--open", "Open the report in a browser.")] = False,
) -> None:
    """Show what is in folders: runs, experiments, sweeps or plans, finished or not.

    Several folders are compared in one table.
    """
    with report_errors() as terminal:
        from ..experiments import show as results

        folders = folders or [Path()]
        if open_page:
            for folder in folders:
                results.open_page(terminal, folder)
        elif as_json:
            terminal.say(results.as_json(folders))
        else:
            results.show_folders(terminal, folders)
