"""A commented federation.toml: every setting with its default and meaning, read from the code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ...ledger.settings import Settings
from ...rules.commented import commented
from ...rules.limits import NONE, Limits, safe_limits
from ...rules.rule import served
from .config import ServerConfig

HEAD = """\
# A federation to serve. Set what is not commented out; the other lines show the defaults. Times are
# in seconds, money is in the unit of the clients' costs.
#     incfed client enrol NAME --config federation.toml    # once for each client: prints its token
#     incfed serve --config federation.toml
"""
# What everybody has to choose; the values are those of a small example.
CHOSEN: Mapping[str, Any] = {
    "name": "federation",
    "dim": 25,
    "mechanism": {"kind": "PaymentEfficient", "beta": 0.7},
    "threshold": 0.5,
    "budget": 10_000.0,
    "arm_norm": 1.0,
    "reward_bound": 1.0,
}


def federation_template() -> str:
    """The text of the file."""
    settings = {**_defaults(Settings), **CHOSEN}
    limits = {**_defaults(Limits), **safe_limits(CHOSEN["budget"]).settings()}
    ordered = {name: settings[name] for name in [*CHOSEN, *settings] if name != "limits"}
    return "\n".join(
        [
            HEAD,
            "[federation]",
            *commented(Settings, ordered, CHOSEN),
            "",
            f'[federation.limits]  # "{NONE}": no limit. Money: shares of the budget above',
            *commented(Limits, limits),
            "",
            "[server]",
            *commented(ServerConfig, _defaults(ServerConfig)),
            "",
        ]
    )


def _defaults(kind: type) -> dict[str, Any]:
    return {field.name: field.default for field in fields(kind) if field.name in served(kind)}
