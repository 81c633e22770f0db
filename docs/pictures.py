"""The pictures of pages and terminal views in docs/images/views: `make pictures`.

Each command is run in a small world. What it writes to a terminal becomes an SVG, and the page that
it writes is photographed with Chromium, if there is one.
"""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

TARGET = Path(__file__).parent / "images/views"
WIDTH = 100  # columns of the terminal
SCREEN = "1000,1500"  # pixels of a page
START = "import sys; sys.argv[0] = 'incfed'; from incfed.cli import main; main()"
THEME = TerminalTheme(
    (24, 26, 31),
    (222, 225, 230),
    [
        (60, 64, 72),
        (232, 104, 104),
        (110, 190, 120),
        (222, 180, 90),
        (100, 150, 230),
        (190, 130, 210),
        (90, 185, 190),
        (200, 203, 210),
    ],
)
# Rich's own form would load a font from elsewhere.
SVG = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px;
line-height: {line_height}px; }}
{styles}</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}"
height="{terminal_height}"/></clipPath>{lines}</defs>
<rect fill="#181a1f" width="{width}" height="{height}" rx="8"/>
<g transform="translate(9, 24)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g></svg>
"""


class View(NamedTuple):
    """A command to run, and the page that it writes, if it writes one."""

    name: str
    command: str
    page: str = ""
    rows: int = 60  # of the terminal, the last ones


WORLD = """[run]
steps = 1000
seeds = 3
output = "results"
[world]
kind = "Synthetic"
clients = 20
dim = 10
arms = 10
"""
PAID = """[[algorithm]]
label = "pay everyone"
kind = "IncFedUCB"
mechanism = "PayEveryone"
threshold = "high"
costs = 10.0
"""
BETA = """[[algorithm]]
label = "beta 0.5"
kind = "IncFedUCB"
mechanism = { kind = "PaymentEfficient", beta = 0.5 }
threshold = "high"
costs = 10.0
"""
TRUTHFUL = """[[algorithm]]
label = "truthful"
kind = "IncFedUCB"
mechanism = { kind = "Truthful", cover = 0.7, reserve = 12.0 }
threshold = "high"
costs = 10.0
"""
ALONE = """[[algorithm]]
label = "alone"
kind = "Independent"
"""
SWEEP = """[sweep]
"world.spread" = [0.0, 0.3, 0.6]
"algorithm.costs" = [1.0, 10.0, 100.0]
"""
FILES = {
    "study.toml": WORLD + PAID + BETA + ALONE,
    "sweep.toml": WORLD.replace("results", "swept") + PAID + BETA + ALONE + SWEEP,
    "wrong.toml": WORLD + BETA.replace("0.5", "1.7"),
    "paid.toml": WORLD + PAID + BETA + TRUTHFUL,
}
VIEWS = [
    View("help", "--help"),
    View("init", "init --plan world.toml"),
    View("run", "run study.toml", "results/report.html"),
    View("show", "show results"),
    View("sweep", "sweep sweep.toml", "swept/report.html"),
    View("estimate", "estimate --clients 20 --steps 1000 --dim 10 --beta 0.7 --cost 5"),
    View("plan", "plan world.toml --budget 500 --trials 32 --held-out 5", "plan/plan.html"),
    View(
        "mechanisms",
        "compare mechanisms paid.toml --seeds 1 --output mechanisms",
        "mechanisms/report.html",
    ),
    View(
        "reproduce",
        "reproduce table1 --quick --output reproduction",
        "reproduction/reproduction.html",
    ),
    View("federation", "init --federation federation.toml"),
    View("up", "up --clients 3 --seconds 20 --pace 6 --output tour"),
    View("clients", "client list --config tour/federation.toml"),
    View("audit", "ledger audit --config tour/federation.toml"),
    View("refused", "run wrong.toml"),
]


# Of a federation in progress, or of the results: the address, the width, light or dark.
CONSOLE = {
    "console_now": ("federation", "now", 1100, "light"),
    "console_rounds": ("federation", "rounds", 1100, "light"),
    "console_round": ("federation", "rounds/12", 1100, "dark"),
    "console_clients": ("federation", "clients?sort=paid&descending=true", 1100, "light"),
    "console_client": ("federation", "clients/0", 1100, "light"),
    "console_ledger": ("federation", "ledger", 1100, "light"),
    "console_phone": ("federation", "rounds/12", 400, "dark"),
    "console_lost": ("federation", "now", 1100, "dark"),
    "console_runs": ("results", "runs?id=results", 1100, "light"),
    "console_sweep": ("results", "runs?id=swept", 1100, "light"),
    "console_tradeoff": ("results", "runs?id=results&chart=tradeoff", 1100, "dark"),
    "console_plan": ("results", "runs?id=plan", 1100, "light"),
}
HEIGHT = 900
WATCHED = "up --clients 6 --seconds 600 --pace 5 --budget 300 --output watched"


def screen(raw: str) -> str:
    """What is on a terminal after it was sent `raw`: its lines with colours, without movements."""
    lines, row = [""], 0
    for part in re.split(r"(\r?\n|\r|\x1b\[[?\d]*[A-HJKhl])", raw):
        if part in ("\r\n", "\n"):
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif move := re.fullmatch(r"\x1b\[(\d*)A", part):
            row = max(0, row - int(move[1] or 1))
        elif part == "\x1b[H":
            row = 0
        elif part == "\x1b[2K":
            lines[row] = ""
        elif part != "\r" and not re.fullmatch(r"\x1b\[[?\d]*[A-HJKhl]", part):
            lines[row] += part
    return "\n".join(lines).strip("\n")


def run(command: str, folder: Path) -> str:
    """What `incfed command` sends to a terminal."""
    ours, theirs = pty.openpty()
    size = {"TERM": "xterm-256color", "COLUMNS": str(WIDTH), "LINES": "60"}
    process = subprocess.Popen(
        [sys.executable, "-c", START, *command.split()],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env={**os.environ, **size},
    )  # fmt: skip
    os.close(theirs)
    sent = b""
    with contextlib.suppress(OSError):  # the end, on Linux
        while piece := os.read(ours, 65536):
            sent += piece
    process.wait()
    os.close(ours)
    return sent.decode().replace(str(folder), "~")


def draw(view: View, sent: str) -> None:
    """The terminal as an SVG, with the command on top."""
    text = Text.from_ansi(f"$ incfed {view.command}\n" + screen(sent))
    shown = text.split("\n")[: view.rows]
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for line in shown:
        console.print(line, overflow="fold")
    svg = console.export_svg(theme=THEME, code_format=SVG, unique_id=view.name)
    svg = re.sub(r"[ \t]+\n", "\n", svg)
    (TARGET / f"{view.name}.svg").write_text(svg, encoding="utf-8")


def photograph(browser: str, page: Path, to: Path) -> None:
    """The page as a PNG of few colours, without what is empty below."""
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        size = [f"--window-size={SCREEN}", f"--screenshot={shot}", f"--user-data-dir={folder}/own"]
        subprocess.run([browser, *options, *size, page.as_uri()], capture_output=True, check=True)
        with Image.open(shot) as picture:
            picture.convert("RGB").quantize(64).save(to, optimize=True)


def photograph_console(browser: str, folder: Path) -> None:
    """The console of a federation in progress, and over the results."""
    from playwright.sync_api import expect, sync_playwright

    with (
        started(WATCHED, folder) as link,
        started("console . --no-open", folder) as saved,
        sync_playwright() as playwright,
    ):
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for name, (where, path, width, scheme) in CONSOLE.items():
            view: Any = {"viewport": {"width": width, "height": HEIGHT}, "color_scheme": scheme}
            page = chromium.new_page(**view)
            page.goto(link if where == "federation" else saved)
            if where == "federation":  # it is logged in, and has something to show
                many = re.compile(r"\b(1[6-9]|[2-9]\d|\d{3,}) rounds")
                expect(page.get_by_role("heading", level=1)).to_contain_text(many, timeout=6e5)
            page.goto(f"{(link if where == 'federation' else saved).split('#')[0]}{path}")
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(1500)  # until charts are drawn
            if name == "console_now":
                page.locator('[aria-current="step"]').wait_for(timeout=6e4)  # a round in progress
            if name == "console_lost":
                page.context.set_offline(True)
                expect(page.get_by_role("alert")).to_be_visible()
            shot = page.screenshot(clip={"x": 0, "y": 0, "width": width, "height": HEIGHT})
            with Image.open(io.BytesIO(shot)) as picture:
                made = picture.convert("RGB").quantize(256)
                made.save(TARGET / f"{name}.png", optimize=True)
            page.close()
            print(name)
        chromium.close()


@contextlib.contextmanager
def started(command: str, folder: Path) -> Iterator[str]:
    """A command that serves the console, and the link that it prints. Ctrl-C ends it."""
    process = subprocess.Popen(
        [sys.executable, "-c", START, *command.split()],
        cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        said = ""
        while (found := re.search(r"http://\S+/console/[^\s.]*", said)) is None:
            said += process.stderr.readline()
        threading.Thread(target=process.stderr.read, daemon=True).start()  # nothing may wait for us
        yield found[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def main(names: list[str]) -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, text in FILES.items():
            (folder / name).write_text(text)
        for view in VIEWS:  # all are run: some need what those before have written
            sent = run(view.command, folder)
            if names and view.name not in names:
                continue
            draw(view, sent)
            if view.page and browser:
                photograph(browser, folder / view.page, TARGET / f"{view.name}.png")
            print(view.name)
        if browser and (not names or "console" in names):
            photograph_console(browser, folder)
    if not browser:
        print("no Chromium here: the pages are as they were")


if __name__ == "__main__":
    main(sys.argv[1:])
