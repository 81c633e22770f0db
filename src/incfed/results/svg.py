"""A figure as an SVG element inside a page: small, and in the page's colours.

matplotlib writes complete files. Inside a page, figures share ids and styles, need no metadata, and
should follow the page's font and dark mode.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, NamedTuple

from ..support.extras import needs
from .palette import DARK, GRID, INK, LIGHT, MUTED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The colours of our figures, as variables that the page defines for light and dark mode.
VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    **{shade: f"--line-{n}" for n, shade in enumerate(LIGHT)},
}


class Svg(NamedTuple):
    """The inside of an <svg> element, and its view box."""

    body: str
    box: str

    @property
    def width(self) -> float:
        """In points, of which the letters are about 9 high."""
        return float(self.box.split()[2])


def inline_svg(figure: Figure, prefix: str) -> Svg:
    """The figure as SVG; `prefix` must differ between the figures of a page."""
    with needs("matplotlib", "plotting", "plot"):
        import matplotlib
    target = io.StringIO()
    # These three can only be set globally; rc_context restores them.
    with matplotlib.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": prefix, "svg.image_inline": True}
    ):
        figure.savefig(target, format="svg", transparent=True, metadata={"Date": None})
    text = target.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"(?s)<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", text)
    names = {one or two for one, two in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text)}
    # Tag by tag, so that nothing a label says is taken for an attribute.
    text = re.sub(r"<[^>]+>", lambda match: _tag(match[0], names, prefix), text)
    text = re.sub(r">\s+<", "><", text)
    box = re.search(r'viewBox="([^"]*)"', text)
    assert box is not None  # matplotlib always writes one
    inside = text[text.index(">") + 1 : text.rindex("</svg>")].strip()
    return Svg(inside, box[1])


def colour(code: str) -> str:
    """The page's variable for a colour of our figures; any other colour as it is."""
    return f"var({VARIABLES[code]})" if code in VARIABLES else code


def page_colours(dark: bool) -> str:
    """CSS definitions of the line colours."""
    shades = DARK if dark else LIGHT
    return " ".join(f"--line-{n}: {shade};" for n, shade in enumerate(shades))


def _tag(tag: str, names: set[str], prefix: str) -> str:
    """Keep only ids that something refers to, make them this figure's own, and save digits."""
    tag = re.sub(r'(?:xlink:)?href="#', f'href="#{prefix}-', tag)
    tag = re.sub(r"url\(#", f"url(#{prefix}-", tag)
    tag = re.sub(r' id="([^"]*)"', lambda m: f' id="{prefix}-{m[1]}"' if m[1] in names else "", tag)
    tag = re.sub(r'( d| transform)="([^"]*)"', _shorten, tag)
    return re.sub(r"#[0-9a-f]{6}\b", lambda m: colour(m[0]), tag)


def _shorten(match: re.Match[str]) -> str:
    """Two decimals are a hundredth of a point; matplotlib writes six."""
    numbers = re.sub(r"-?\d+\.\d+", lambda m: f"{round(float(m[0]), 2):g}", match[2])
    return f'{match[1]}="{" ".join(numbers.split())}"'
