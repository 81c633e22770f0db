"""Check what `make release` built, as a user will meet it: install the wheel in a fresh environment
outside the tree, and run the README's commands with it.

    python release/check.py dist              # the wheel in this folder
    python release/check.py --tag v0.2.0      # is this the tag of the version and changelog?
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What makes a command of the README quick: it should run, its figures are another test's.
QUICKER = {"plan": "--trials 16 --held-out 2", "up": "--seconds 10"}
# What the README names without arguments, as a first visitor would type it.
SESSION = (
    "incfed --version",
    "incfed init",
    "incfed run incfed.toml --dry-run",
    "incfed run incfed.toml",
    "incfed show results",
    "incfed init --federation",
    "incfed client enrol shop-1",
    "incfed ledger audit",
)


def version() -> str:
    """Of the tree, read without importing it."""
    text = (ROOT / "src/incfed/_version.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found is not None
    return found[1]


def tag_faults(tag: str, version: str, changelog: str) -> list[str]:
    """Why a release must not have this tag; empty if it may."""
    faults = []
    if tag != f"v{version}":
        faults.append(f"the tag is {tag}, but src/incfed/_version.py says {version}")
    if not re.search(rf"^## \[{re.escape(version)}\]", changelog, re.MULTILINE):
        faults.append(f"CHANGELOG.md has no section [{version}]")
    return faults


def readme_commands(readme: str) -> Iterator[str]:
    """The incfed commands of its shell blocks, made quicker."""
    for block in re.findall(r"^```(?:sh|console)\n(.*?)^```", readme, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            command = line.partition("#")[0].removeprefix("$ ").strip()
            if command.startswith("incfed "):
                yield f"{command} {QUICKER.get(command.split()[1], '')}".strip()


def readme_python(readme: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)


def check_wheel(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="incfed-release-") as name:
        place = Path(name)
        home, work = place / "environment", place / "work"
        venv.create(home, with_pip=True)
        tools = home / ("Scripts" if os.name == "nt" else "bin")
        # Without what could lead to the tree: the installed package alone is tested.
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        clean |= {"PATH": f"{tools}{os.pathsep}{clean['PATH']}", "VIRTUAL_ENV": str(home)}

        def run(*command: str) -> str:
            print(f"$ {shlex.join(command)}", flush=True)
            done = subprocess.run(command, cwd=work, env=clean, text=True, stdout=subprocess.PIPE)
            if done.returncode:
                sys.exit(
                    f"{done.stdout}\nerror: exit code {done.returncode}: {shlex.join(command)}"
                )
            return done.stdout

        # The README's paths are those of a clone.
        shutil.copytree(ROOT / "docs" / "images", work / "docs" / "images")
        run("pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[all]")
        origin = run("python", "-c", "import incfed; print(incfed.__file__)").strip()
        if not Path(origin).is_relative_to(home):
            sys.exit(f"error: incfed is imported from {origin}, not from the wheel")
        for command in (*SESSION, *readme_commands(readme)):
            print(run(*shlex.split(command)).rstrip()[-400:])
        for code in readme_python(readme):
            print(run("python", "-c", code).rstrip()[-400:])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("dist", nargs="?", type=Path, help="folder with the wheel")
    parser.add_argument("--tag", help="check that this is the tag of the version")
    given = parser.parse_args()
    if given.tag is not None:
        changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        if faults := tag_faults(given.tag, version(), changelog):
            sys.exit("\n".join(f"error: {one}" for one in faults))
        print(f"{given.tag} is the tag of this version")
    if given.dist is not None:
        check_wheel(given.dist.resolve())
        print(f"incfed {version()} is ready: {given.dist}")


if __name__ == "__main__":
    main()
