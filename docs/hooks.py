"""What mkdocs does for this site: adds the pages that are made from the code or from files beside
docs/, and sees to it that no page loads anything from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from generate.commands import commands_page
from generate.examples import examples_page
from generate.files import files_page
from generate.settings import settings_page

ROOT = Path(__file__).parents[1]
ELSEWHERE = re.compile(
    r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//"
)


def changelog_page() -> str:
    """CHANGELOG.md, whose links start in the folder above."""
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")


PAGES = {
    "changelog.md": changelog_page,
    "commands.md": commands_page,
    "examples.md": examples_page,
    "files.md": files_page,
    "settings.md": settings_page,
}


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    for name, make in PAGES.items():
        files.append(File.generated(config, name, content=make()))
    return files


def on_post_page(output: str, *, page: Page, **more: Any) -> str:
    if found := ELSEWHERE.search(output):
        raise PluginError(f"{page.file.src_uri} loads something from elsewhere: {found[0]}")
    return output
