"""Run the notebooks and keep their outputs: `python examples/notebooks/run.py`, or with some names
and `--into FOLDER`, to write them elsewhere."""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

HERE = Path(__file__).parent
RANDOM_ID = r"\bn[0-9a-f]{8}-\d+-\w+"  # of a part of a figure


def executed(path: Path, folder: str) -> Any:
    """The notebook, run in `folder`, without what differs from run to run."""
    notebook: Any = nbformat.read(path, as_version=4)
    kernel = {"name": "python3", "display_name": "Python 3"}
    notebook.metadata = {"kernelspec": kernel}
    with tempfile.TemporaryDirectory() as sockets:
        manager = AsyncKernelManager(transport="ipc", ip=f"{sockets}/kernel")
        where = {"metadata": {"path": folder}}
        NotebookClient(notebook, km=manager, timeout=300, resources=where).execute()
    notebook.metadata = {"kernelspec": kernel}
    for n, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{n}", {}
        if cell.cell_type == "code":
            cell.outputs = _kept(cell.outputs, cell.id)
    return notebook


def _kept(outputs: list[Any], cell: str) -> list[Any]:
    """Without what goes to stderr; what is printed in one piece; with the same ids each time."""
    kept: list[Any] = []
    ids: dict[str, str] = {}
    for one in outputs:
        if one.get("name") == "stderr":
            continue
        if "text/html" in one.get("data", {}):
            one.data["text/html"] = re.sub(
                RANDOM_ID,
                lambda match: ids.setdefault(match[0], f"{cell}-{len(ids)}"),
                one.data["text/html"],
            )
        if kept and one.output_type == kept[-1].output_type == "stream":
            kept[-1].text += one.text
        else:
            kept.append(one)
    return kept


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--into", type=Path, default=HERE, metavar="FOLDER")
    asked = parser.parse_args()
    for path in sorted(HERE.glob("*.ipynb")):
        if not asked.names or path.stem in asked.names:
            with tempfile.TemporaryDirectory() as folder:
                nbformat.write(executed(path, folder), asked.into / path.name)
            print(path.name)
