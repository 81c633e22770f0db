"""What a run leaves behind: records, summaries, tables, plots, reports, saved folders.

Nothing here loads polars, pandas or matplotlib until it is needed.
"""

from incfed.results.numbers import human
from incfed.results.palette import Pen, pens_for
from incfed.results.plots import METRICS, overview, plot
from incfed.results.records import Result, RoundRecord, Rounds
from incfed.results.report import Section, write_report
from incfed.results.settings import plain
from incfed.results.storage import load, save
from incfed.results.tables import Row, Runs, Spread, compare, to_markdown

__all__ = [
    "METRICS",
    "Pen",
    "Result",
    "RoundRecord",
    "Rounds",
    "Row",
    "Runs",
    "Section",
    "Spread",
    "compare",
    "human",
    "load",
    "overview",
    "pens_for",
    "plain",
    "plot",
    "save",
    "to_markdown",
    "write_report",
]
