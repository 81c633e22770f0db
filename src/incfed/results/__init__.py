"""What a run leaves behind: records, summaries, tables, plots, reports, saved folders.

Nothing here loads polars, pandas or matplotlib until it is needed.
"""

from .comparison import Comparison
from .gains import Gains
from .numbers import human
from .palette import Pen, pens_for
from .plots import METRICS, overview, plot
from .records import Clients, Result, RoundRecord, Rounds
from .report import Section, write_report
from .settings import plain
from .storage import load, save
from .tables import ComparisonRow, Runs, Spread, compare, to_markdown
from .utilities import Utilities, utilities

Row = ComparisonRow  # its former name

__all__ = [
    "METRICS",
    "Clients",
    "Comparison",
    "ComparisonRow",
    "Gains",
    "Pen",
    "Result",
    "RoundRecord",
    "Rounds",
    "Row",
    "Runs",
    "Section",
    "Spread",
    "Utilities",
    "compare",
    "human",
    "load",
    "overview",
    "pens_for",
    "plain",
    "plot",
    "save",
    "to_markdown",
    "utilities",
    "write_report",
]
