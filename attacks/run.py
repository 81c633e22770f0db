"""Attacks on a real federation, with what each cost the attacker and the federation: `make attack`.

Every attack meets a coordinator process with the default limits, and honest clients. `--lifted`
runs each without limits first, to show what the limits are for: if it does no harm then, it is
unclear what holds it off. Exit code 1 if that is so, or if an attack succeeds against the defaults
and docs/security.md does not say that it does.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

import door
import money
import privacy
from federation import Federation
from outcome import LIFTED, LIFTED_AT_THE_DOOR, Attack, Outcome

ATTACKS = {"Money": money.ATTACKS, "The door": door.ATTACKS, "Privacy": privacy.ATTACKS}
HOLDS, FAILS, KNOWN, UNCLEAR = "yes", "NO", "no, known", "unclear"


def attempt(attack: Attack, *, lifted: bool = False) -> Outcome:
    settings = attack.settings + (LIFTED if lifted else "")
    server = LIFTED_AT_THE_DOOR if lifted else attack.server
    size = attack.dim, attack.honest, attack.pause
    with (
        tempfile.TemporaryDirectory(prefix="incfed-attack-") as folder,
        Federation(Path(folder), settings, server, *size) as federation,
    ):
        return attack.attempt(federation)


def verdict(attack: Attack, without: Outcome | None, outcome: Outcome) -> str:
    if not outcome.held:
        return KNOWN if attack.known else FAILS
    return UNCLEAR if without is not None and without.held else HOLDS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lifted", action="store_true", help="without limits, too")
    parser.add_argument("--only", default="", help="attacks whose description contains this")
    options = parser.parse_args()
    chosen = [
        (section, attack)
        for section, attacks in ATTACKS.items()
        for attack in attacks
        if options.only in attack.what
    ]
    lifted = ["cost to the federation without limits"] if options.lifted else []
    table = Table("tried", "cost to the attacker", *lifted, "with the defaults", "holds")
    verdicts, begin, last = [], time.monotonic(), ""
    for section, attack in track(chosen, "attacks", console=Console(stderr=True)):
        if section != last:
            table.add_section()
            table.add_row(f"[bold]{section}[/bold]")
            last = section
        without = attempt(attack, lifted=True) if options.lifted and attack.lifted else None
        before = ["no setting lifts this" if without is None else without.cost]
        outcome = attempt(attack)
        verdicts.append(verdict(attack, without, outcome))
        shown = before if options.lifted else []
        table.add_row(attack.what, outcome.spent, *shown, outcome.cost, verdicts[-1])
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table)
    seconds, count = time.monotonic() - begin, verdicts.count
    console.print(
        f"{len(chosen)} attacks in {seconds:.0f} s: {count(HOLDS)} held off, {count(FAILS)} "
        f"succeeded, {count(KNOWN)} succeeded as docs/security.md says, {count(UNCLEAR)} unclear."
    )
    return 1 if count(FAILS) + count(UNCLEAR) else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which stops what was started
    sys.exit(main())
