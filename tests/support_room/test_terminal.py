"""Two consoles: what was asked for, and notes beside it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from incfed.support.terminal import COMPILING, Terminal, short


def console(watched: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=watched, width=60, color_system=None)


def made(watched: bool) -> Terminal:
    terminal = Terminal()
    terminal.out, terminal.err = console(watched), console(watched)
    return terminal


def text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_output_and_notes_are_kept_apart(tmp_path: Path) -> None:
    terminal = made(watched=False)
    terminal.say("[b]table[/b] :smile:")
    terminal.note("note")
    terminal.error("fault")
    terminal.hint("next")
    terminal.places({"report": tmp_path / "r.html"})
    assert text(terminal.out) == "[b]table[/b] :smile:\n"
    assert text(terminal.err).splitlines()[:2] == ["note", "error: fault"]
    assert f"  report  {short(tmp_path / 'r.html')}" in text(terminal.err).splitlines()


def test_where_nobody_watches_there_is_no_bar_but_a_note() -> None:
    terminal = made(watched=False)
    with terminal.progress(3) as bar, terminal.busy("writing"):
        bar.compiling()
        bar.update(1, 3)
    assert text(terminal.err) == f"{COMPILING}\n"


def test_a_bar_says_what_is_done_and_the_line_below() -> None:
    terminal = made(watched=True)
    with terminal.counting("settings") as bar:
        bar.update(3, 16, "judging", "best so far: beta 0.7")
        bar._live.refresh()
    seen = text(terminal.err)
    assert "judging" in seen
    assert "3/16" in seen
    assert "best so far: beta 0.7" in seen


def test_paths_as_seen_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    assert short(tmp_path / "in" / "a.txt") == "a.txt"
    assert short(Path("/x")) == "/x"
