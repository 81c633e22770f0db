"""Listings: for people on a terminal, for machines in a pipe."""

from __future__ import annotations

import csv
import io
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from incfed.results.listing import Listing, show_listing
from incfed.support.terminal import Terminal

PAID = Listing.of(
    ("round", "name", "paid_out"),
    [(1, "shop, 1", Decimal("1234.50")), (2, 'the "best"', None)],
    spare=("round",),
)


def printed(listing: Listing, *, terminal: bool, width: int = 80) -> str:
    text, screen = io.StringIO(), Terminal()
    screen.out = Console(file=text, force_terminal=terminal, width=width, color_system=None)
    show_listing(screen, listing)
    return text.getvalue()


def test_a_table_on_a_terminal() -> None:
    lines = [line.split("  ") for line in printed(PAID, terminal=True).splitlines()]
    words = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert ["round", "name", "paid out"] in words
    assert ["1", "shop, 1", "1,234.50"] in words
    assert "round" not in printed(PAID, terminal=True, width=22)


def test_csv_in_a_pipe() -> None:
    assert printed(PAID, terminal=False, width=22) == (
        'round,name,paid_out\n1,"shop, 1",1234.50\n2,"the ""best""",\n'
    )


@given(st.lists(st.tuples(st.integers(), st.text("ab,\"'\n =€", max_size=5)), max_size=5))
def test_csv_is_read_back(rows: list[tuple[int, str]]) -> None:
    text = Listing.of(("number", "word"), rows).csv()
    found = list(csv.reader(io.StringIO(text, newline="")))
    assert found == [["number", "word"], *([str(n), word] for n, word in rows)]
