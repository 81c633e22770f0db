"""The look of a report: one style sheet, no script, nothing from elsewhere."""

from __future__ import annotations

from html import escape

from .svg import page_colours

# The policy tells the browser to load nothing at all: a report opens the same without a network.
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""

_STYLE = (
    """
:root { color-scheme: light; --paper: #ffffff; --panel: #f6f8fa; --ink: #24292f; --muted: #57606a;
  --grid: #d8dee4; --link: #0a5a94; """
    + page_colours(dark=False)
    + """ }
@media screen and (prefers-color-scheme: dark) {
  :root { color-scheme: dark; --paper: #14181d; --panel: #1c2128; --ink: #e3e8ee; --muted: #9aa5b1;
    --grid: #333b45; --link: #7cc0f0; """
    + page_colours(dark=True)
    + """ }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
main { max-width: 1020px; margin: 0 auto; padding: 48px 24px 64px; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 16px; letter-spacing: -0.01em; }
h2 { font-size: 1.35rem; margin: 0 0 8px; letter-spacing: -0.005em; }
h3 { font-size: 0.88rem; margin: 10px 0 3px; }
p { margin: 0 0 12px; max-width: 46em; }
a { color: var(--link); }
nav { margin: 20px 0 0; }
nav a { margin-right: 18px; display: inline-block; }
section { margin-top: 44px; padding-top: 28px; border-top: 1px solid var(--grid); }
.scroll { overflow-x: auto; margin: 18px 0 4px; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: 7px 0 7px 20px; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--grid); }
th:first-child, td:first-child { padding-left: 2px; text-align: left; }
thead th { color: var(--muted); font-weight: 600; font-size: 0.8rem; border-color: var(--muted); }
tbody th { font-weight: 500; }
.swatch { display: inline-block; width: 18px; height: 4px; border-radius: 2px; margin-right: 10px;
  vertical-align: middle; }
.sd, .note, footer { color: var(--muted); }
.sd { font-size: 0.82em; }
.note { font-size: 0.82rem; margin-bottom: 0; }
figure { margin: 22px 0 0; }
figure .scroll { margin: 0; }
figcaption { color: var(--muted); font-size: 0.85rem; margin-top: 6px; }
svg.figure { display: block; width: 100%; min-width: 600px; height: auto; }
svg.figure * { stroke-linejoin: round; stroke-linecap: butt; }
svg.figure text { font-family: inherit !important; }
details { margin-top: 18px; background: var(--panel); border-radius: 8px; padding: 10px 16px;
  font-size: 0.88rem; }
summary { cursor: pointer; font-weight: 600; }
.groups { columns: 3 250px; column-gap: 32px; }
.group { break-inside: avoid; padding-bottom: 4px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 1px 16px; margin: 0; }
dt { color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
footer { margin-top: 44px; font-size: 0.82rem; }
@media (max-width: 640px) { main { padding: 28px 16px 40px; } h1 { font-size: 1.6rem; } }
@media print {
  @page { margin: 14mm; }
  body { font-size: 10.5pt; line-height: 1.4; }
  h1 { font-size: 18pt; margin-bottom: 8px; }
  h2 { font-size: 14pt; }
  p { max-width: none; margin-bottom: 6px; }
  main { max-width: none; padding: 0; }
  nav { display: none; }
  section { margin-top: 14px; padding-top: 12px; }
  section + section { break-before: page; border-top: none; }
  .scroll, figure { margin-top: 8px; }
  h2, h3 { break-after: avoid; }
  figure, table, tr { break-inside: avoid; }
  .scroll { overflow: visible; }
  svg.figure { min-width: 0; }
  table { font-size: 8.5pt; }
  th, td { padding: 3px 0 3px 10px; }
  details:not([open]) { display: none; }
  details { background: none; border: 1px solid var(--grid); }
}
"""
)


def page(title: str, body: str, style: str = "") -> str:
    """A whole document around `body`, which is HTML; `title` is text, `style` more of CSS."""
    return _PAGE.format(title=escape(title), style=_STYLE + style, body=body)


def paragraphs(text: str) -> str:
    """Text as HTML; an empty line starts a new paragraph."""
    blocks = (" ".join(block.split()) for block in text.replace("\r\n", "\n").split("\n\n"))
    return "\n".join(f"<p>{escape(block)}</p>" for block in blocks if block)
