"""The pictures of pages and terminal views in docs/images/views: `make pictures`.

Each command is run in a small world. What it writes to a terminal becomes an SVG, and the page that
it writes is photographed with Chromium, if there is one. `docs/pictures.py run serve` makes these.
"""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

Process = subprocess.Popen[bytes]

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
    rows: int = 60  # of the terminal, the first ones
    after: str = ""  # the view whose command it needs


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
    View("show", "show results", after="run"),
    View("demo", "demo --quick", "demo/report.html"),
    View("sweep", "sweep sweep.toml", "swept/report.html"),
    View("estimate", "estimate --clients 20 --steps 1000 --dim 10 --beta 0.7 --cost 5"),
    View(
        "plan",
        "plan world.toml --budget 500 --trials 32 --held-out 5",
        "plan/plan.html",
        after="init",
    ),
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
    View("clients", "client list --config tour/federation.toml", after="up"),
    View("audit", "ledger audit --config tour/federation.toml", after="up"),
    View("refused", "run wrong.toml"),
]

# Of a coordinator at work: what it writes to a terminal, and its pages.
SERVE = View("serve", "serve")
SERVED = ("front_page", "openapi")
LIVE = """[federation]
dim = 3
mechanism = "PayEveryone"
threshold = 2.0
budget = 100.0
[server]
port = {port}
operator_port = {operators}
"""


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
    with on_terminal(command, folder) as (process, sent):
        process.wait()
    return sent()


@contextlib.contextmanager
def on_terminal(command: str, folder: Path) -> Iterator[tuple[Process, Callable[[], str]]]:
    """The process of `incfed command`, which is ended at last, and what it sends to a terminal."""
    ours, theirs = pty.openpty()
    size = {"TERM": "xterm-256color", "COLUMNS": str(WIDTH), "LINES": "60"}
    process = subprocess.Popen(
        [sys.executable, "-c", START, *command.split()],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env={**os.environ, **size},
    )  # fmt: skip
    os.close(theirs)
    pieces: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # the end, on Linux
            while piece := os.read(ours, 65536):
                pieces.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield process, lambda: b"".join(pieces).decode().replace(str(folder), "~")
    finally:
        process.terminate()
        process.wait()
        reader.join()
        os.close(ours)


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
    """The page as a PNG of few colours."""
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        size = [f"--window-size={SCREEN}", f"--screenshot={shot}", f"--user-data-dir={folder}/own"]
        subprocess.run([browser, *options, *size, page.as_uri()], capture_output=True, check=True)
        with Image.open(shot) as picture:
            picture.convert("RGB").quantize(64).save(to, optimize=True)


def show_service(browser: str | None, folder: Path) -> None:
    """A coordinator with three clients: its log on a terminal, and its pages."""
    import numpy as np

    import incfed

    port, operators = free_ports(2)
    home = folder / "live"
    home.mkdir()
    (home / "federation.toml").write_text(LIVE.format(port=port, operators=operators))
    url, names = f"http://127.0.0.1:{port}", ("ann", "bob", "cem")
    tokens = [
        subprocess.run(
            [sys.executable, "-c", START, "client", "enrol", name],
            cwd=home, capture_output=True, text=True, check=True,
        ).stdout.strip()
        for name in names
    ]  # fmt: skip
    with on_terminal(SERVE.command, home) as (process, sent), contextlib.ExitStack() as stack:
        while process.poll() is None and f"127.0.0.1:{port}" not in sent():
            time.sleep(0.1)
        clients = [
            stack.enter_context(incfed.Client(url, token, state=home / name, cost=9.0))
            for name, token in zip(names, tokens, strict=True)
        ]
        chance, taste = np.random.default_rng(0), np.array([0.6, 0.0, 0.8])
        for client in clients * 20:
            arms = chance.standard_normal((4, 3)) / 4
            picked = client.choose(arms)
            client.learn(arms[picked], float(arms[picked] @ taste))
        for client in clients:
            client.sync(timeout=60)
        if browser:
            with visiting(browser) as visit:
                visit("front_page", f"{url}/", 1000, height=400)
                visit("openapi", f"http://127.0.0.1:{operators}/docs", 1000)
        stack.close()
        process.terminate()
        process.wait()
    draw(SERVE, sent())
    print(SERVE.name)


def free_ports(number: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        found = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
        return [stack.enter_context(one).getsockname()[1] for one in found]


def photograph_console(browser: str, folder: Path) -> None:
    """The console of a federation in progress, and over the results."""
    from playwright.sync_api import Page, expect

    with (
        started(WATCHED, folder) as link,
        started("console . --no-open", folder) as saved,
        visiting(browser) as visit,
    ):
        many = re.compile(r"\b(1[6-9]|[2-9]\d|\d{3,}) rounds")

        def log_in(page: Page) -> None:
            """By the link, and wait until there is something to show."""
            page.goto(link)
            expect(page.get_by_role("heading", level=1)).to_contain_text(many, timeout=6e5)

        def prepare(page: Page, name: str) -> None:
            if name == "console_now":
                page.locator('[aria-current="step"]').wait_for(timeout=6e4)  # a round in progress
            if name == "console_lost":
                page.context.set_offline(True)
                expect(page.get_by_role("alert")).to_be_visible()

        for name, (where, path, width, scheme) in CONSOLE.items():
            live = where == "federation"
            visit(
                name, f"{(link if live else saved).split('#')[0]}{path}", width, height=HEIGHT,
                scheme=scheme, before=log_in if live else None, after=prepare,
            )  # fmt: skip


@contextlib.contextmanager
def visiting(browser: str) -> Iterator[Callable[..., None]]:
    """A function that photographs pages which are served, and may draw themselves; `before` and
    `after` do something with the page before it goes there, and once it is there."""
    from playwright.sync_api import Page, sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])

        def visit(
            name: str, url: str, width: int, *, height: int = 800, scheme: str = "light",
            before: Callable[[Page], None] | None = None,
            after: Callable[[Page, str], None] | None = None,
        ) -> None:  # fmt: skip
            view: Any = {"viewport": {"width": width, "height": height}, "color_scheme": scheme}
            page = chromium.new_page(**view)
            if before:
                before(page)
            page.goto(url)
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(1500)  # until charts are drawn
            if after:
                after(page, name)
            shot = page.screenshot(clip={"x": 0, "y": 0, "width": width, "height": height})
            with Image.open(io.BytesIO(shot)) as picture:
                made = picture.convert("RGB").quantize(256)
                made.save(TARGET / f"{name}.png", optimize=True)
            page.close()
            print(name)

        yield visit
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
        console = not names or "console" in names
        wanted = {view.name for view in VIEWS} if console else {*names}
        wanted |= {view.after for view in VIEWS if view.name in wanted}
        for view in VIEWS:
            if view.name not in wanted:
                continue
            sent = run(view.command, folder)
            if names and view.name not in names:
                continue
            draw(view, sent)
            if view.page and browser:
                photograph(browser, folder / view.page, TARGET / f"{view.name}.png")
            print(view.name)
        if not names or SERVE.name in names:
            show_service(browser, folder)
        if browser and console:
            photograph_console(browser, folder)
    if not browser:
        print("no Chromium here: the pages are as they were")


if __name__ == "__main__":
    main(sys.argv[1:])
