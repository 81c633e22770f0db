"""Rounds of this tree against those of another one, by turns:

    python benchmarks/against.py ../older [--clients 100] [--rounds 20] [--turns 3] [--http]

For each database the SQL statements of a round, and what a round takes of CPU and of time: of all
that a coordinator does without HTTP, or of a coordinator process (--http). On a busy machine,
compare statements and CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="the folder of another checkout")
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--http", action="store_true")
    asked = parser.parse_args()
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for _ in range(asked.turns):
        for name, tree in (("other", asked.other.resolve()), ("here", HERE)):
            for database, figures in _measure_in(tree, asked).items():
                found.setdefault((database, name), []).append(figures)
    for (database, name), all_figures in sorted(found.items()):
        for figure in all_figures[0]:
            now = statistics.median(one[figure] for one in all_figures)
            base = statistics.median(one[figure] for one in found[database, "other"])
            print(f"{database:12}{name:7}{figure:13}{now:10.1f}   {now / base - 1.0:+.1%}")


def _measure_in(tree: Path, asked: argparse.Namespace) -> dict[str, dict[str, float]]:
    """By a process of that tree, with its own benchmark."""
    paths = [str(tree / part) for part in ("src", "tests", "benchmarks")]
    arguments = [str(asked.clients), str(asked.rounds), str(int(asked.http))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, __file__, "--measure", *arguments],
        env=environment, cwd=tree, stdout=subprocess.PIPE, check=True, text=True,
    )  # fmt: skip
    found: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _measure(clients: int, rounds: int, http: bool) -> dict[str, dict[str, float]]:
    from support.postgres import running

    with tempfile.TemporaryDirectory() as folder, running() as server:
        urls = {"sqlite": f"sqlite:///{folder}/ledger.db", "postgresql": server.database("ledger")}
        measure = _served if http else _direct
        return {kind: measure(url, clients, rounds) for kind, url in urls.items()}


def _direct(url: str, clients: int, rounds: int) -> dict[str, float]:
    """Medians over the rounds, of what the calls of a coordinator take; and its statements."""
    from sqlalchemy import Engine, event

    import service  # of the tree that is measured
    from incfed.service.coordinator.coordinator import Coordinator

    statements, calls = 0, list[tuple[float, int]]()

    def note(*executed: Any) -> None:
        nonlocal statements
        statements += 1

    def watched(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            began, before = time.process_time(), statements
            result = method(*arguments)
            calls.append((time.process_time() - began, statements - before))
            return result

        return call

    event.listen(Engine, "before_cursor_execute", note)
    for name in ("handle", "states", "downloads"):
        setattr(Coordinator, name, watched(getattr(Coordinator, name)))
    with service._federation(url, clients) as (config, _):
        whole, _ = service._without_http(config, clients, rounds)
    parts = (len(calls) - 1) // (rounds + 1)  # after the first call, which is no part of a round
    each = [calls[1 + parts * n :][:parts] for n in range(1, rounds + 1)]
    return {
        "statements": statistics.median(sum(count for _, count in one) for one in each),
        "CPU, ms": 1e3 * statistics.median(sum(taken for taken, _ in one) for one in each),
        "p50, ms": 1e3 * statistics.median(whole),
    }


def _served(url: str, clients: int, rounds: int) -> dict[str, float]:
    import service

    began = 0.0

    def noted(numbers: range, *more: object, **options: object) -> Iterator[int]:
        """In place of a progress bar: the first round warms up."""
        nonlocal began
        for n in numbers:
            began = cpu() if n == 1 else began
            yield n

    setattr(service, "_peak", _cpu)  # noqa: B010
    setattr(service, "track", noted)  # noqa: B010
    with service._federation(url, clients) as (config, tokens), service._process(config) as one:
        port, cpu = one[:2]
        whole = asyncio.run(service._rounds(port, tokens, rounds, "rounds"))
        taken = cpu() - began
    return {"CPU, ms": 1e3 * taken / rounds, "p50, ms": 1e3 * statistics.median(whole)}


def _cpu(pid: int) -> float:
    """Seconds that a process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        sys.path.pop(0)  # the folder of this file
        clients, rounds, http = map(int, sys.argv[2:])
        print(json.dumps(_measure(clients, rounds, bool(http))))
    else:
        main()
