"""The config that `incfed init --federation` writes: nothing is missing, all is valid."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from incfed.ledger.settings import Settings
from incfed.rules.limits import Limits, safe_limits
from incfed.rules.rule import served
from incfed.service.coordinator.config import Config, ServerConfig, read_config
from incfed.service.coordinator.template import CHOSEN, federation_template
from support.cli import invoke

TEXT = federation_template()
SETTING = re.compile(r"^#(?=\w+ = )", re.MULTILINE)


def written(folder: Path, text: str) -> Config:
    (folder / "federation.toml").write_text(text, encoding="utf-8")
    return read_config(folder / "federation.toml")


def test_it_can_be_served_as_it_is(tmp_path: Path) -> None:
    found = written(tmp_path, TEXT)
    assert found.server == written(tmp_path, TEXT.partition("[server]")[0]).server
    settings = found.settings
    assert settings.dim == CHOSEN["dim"]
    assert settings.limits == safe_limits(CHOSEN["budget"])
    settings.check()


def test_every_setting_is_in_it_with_its_default() -> None:
    whole = tomllib.loads(SETTING.sub("", TEXT))
    limits = whole["federation"].pop("limits")
    for kind, table in ((Settings, whole["federation"]), (Limits, limits),
                        (ServerConfig, whole["server"])):  # fmt: skip
        assert set(table) == set(served(kind)) - {"limits"}
    assert whole["federation"]["silent_rounds"] == 2
    assert whole["server"]["port"] == ServerConfig.port


@pytest.mark.parametrize("line", [match.start() for match in SETTING.finditer(TEXT)])
def test_every_line_is_valid_without_its_mark(tmp_path: Path, line: int) -> None:
    for name in ("certificate.pem", "key.pem"):
        (tmp_path / name).touch()
    text = TEXT[:line] + TEXT[line + 1 :]
    if text[line:].startswith("trigger"):  # instead of it
        text = text.replace("\nthreshold", "\n#threshold")
    if text[line:].startswith("certificate"):  # both or neither
        text = text.replace("\n#key", "\nkey")
    elif text[line:].startswith("key"):
        text = text.replace("\n#certificate", "\ncertificate")
    written(tmp_path, text).settings.check()


def test_the_command(tmp_path: Path) -> None:
    missing = invoke(tmp_path, "serve")
    assert missing.returncode == 2
    assert "config file not found: federation.toml. Write one with: incfed init" in missing.stderr
    assert "--federation federation.toml" in " ".join(missing.stderr.split())
    done = invoke(tmp_path, "init", "--federation")
    assert (done.returncode, done.stdout) == (
        0,
        "Wrote federation.toml. Edit it, then: incfed serve --config federation.toml\n",
    )
    assert (tmp_path / "federation.toml").read_text(encoding="utf-8") == TEXT
    again = invoke(tmp_path, "init", "--federation")
    assert (again.returncode, again.stderr) == (
        2,
        "error: federation.toml: exists already; --force overwrites it\n",
    )
    both = invoke(tmp_path, "init", "--federation", "--plan")
    assert both.returncode == 2
    other = invoke(tmp_path, "init", "--federation", "shops.toml")
    assert other.stdout.endswith("incfed serve --config shops.toml\n")
    assert "--config shops.toml\n" in (tmp_path / "shops.toml").read_text(encoding="utf-8")
