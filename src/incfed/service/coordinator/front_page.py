"""`GET /`: what this is, for somebody who finds the address. Nothing about the federation."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from ..._version import __version__

DOCUMENTATION = "https://pypi.org/project/incfed/"
ABOUT = {
    "service": "incfed coordinator",
    "about": "Runs the rounds of a federation of bandits, in which clients share when it pays.",
    "version": __version__,
    "health": "/healthz",
    "for_clients": "/v1/, with a token: incfed.Client(address, token, folder) in Python",
    "documentation": DOCUMENTATION,
}
PAGE = f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>incfed coordinator</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ max-width: 38em; margin: 12vh auto; padding: 0 20px;
  font: 17px/1.55 system-ui, sans-serif; }}
</style>
</head>
<body>
<h1>incfed coordinator</h1>
<p>{ABOUT["about"]}</p>
<p>Clients connect with a token that the operator gave them:
<code>incfed.Client(address, token, folder)</code> in Python.</p>
<p>Version {__version__} · <a href="/healthz">health</a> ·
<a href="{DOCUMENTATION}" rel="noreferrer">documentation</a></p>
</body>
</html>
"""

front_page = APIRouter()


@front_page.get("/", include_in_schema=False)
async def about(request: Request) -> Response:
    """A page for browsers, JSON for anybody else."""
    if "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(PAGE)
    return JSONResponse(ABOUT)
