"""Attacks on a real federation, with what each cost the attacker and the federation: `make attack`.

Every attack meets a coordinator process with default limits, and honest clients. `--lifted` runs
those on money and privacy without limits first, to show what the limits are for. Exit code 1 if
an attack succeeds.
"""

from __future__ import annotations

import argparse
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
from outcome import LIFTED, Attack, Outcome

ATTACKS = {"Money": money.ATTACKS, "The door": door.ATTACKS, "Privacy": privacy.ATTACKS}


def attempt(attack: Attack, lifted: bool) -> Outcome:
    settings, old = attack.settings, lifted and attack.old
    if lifted:
        settings = attack.lifted if old else attack.lifted + LIFTED
    size = attack.dim, attack.honest, attack.pause
    with (
        tempfile.TemporaryDirectory(prefix="incfed-attack-") as folder,
        Federation(Path(folder), settings, *size, old) as federation,
    ):
        outcome = attack.run(federation)
        findings = federation.findings()
    if findings:
        return Outcome(outcome.gained, f"the audit finds {findings[0]}", False)
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lifted", action="store_true", help="without limits, too")
    parser.add_argument("--only", default="", help="attacks whose description contains this")
    options = parser.parse_args()
    table = Table("attack", "limits", "attacker", "federation", "holds")
    chosen = [
        (section, attack, lifted)
        for section, attacks in ATTACKS.items()
        for attack in attacks
        for lifted in ([True, False] if options.lifted and attack.lifted else [False])
        if options.only in attack.what
    ]
    broken, begin, last = 0, time.monotonic(), ""
    for section, attack, lifted in track(chosen, "attacks", console=Console(stderr=True)):
        outcome = attempt(attack, lifted)
        broken += not (outcome.held or lifted)
        if section != last:
            table.add_section()
            last = section
        verdict = "yes" if outcome.held else "no" if lifted else "NO"
        limits = "lifted" if lifted else "default"
        table.add_row(attack.what, limits, outcome.gained, outcome.cost, verdict)
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(table)
    seconds = time.monotonic() - begin
    console.print(f"{len(chosen)} attacks in {seconds:.0f} s; {broken} succeeded.")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
