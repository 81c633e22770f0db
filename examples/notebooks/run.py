"""Run the notebooks and keep their outputs: `python examples/notebooks/run.py`, or with some names
and `--into FOLDER`, to write them elsewhere."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

HERE = Path(__file__).parent


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
            cell.outputs = _kept(cell.outputs)
    return notebook


def _kept(outputs: list[Any]) -> list[Any]:
    """Without what goes to stderr; what is printed in one piece."""
    kept: list[Any] = []
    for one in outputs:
        if one.get("name") == "stderr":
            continue
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
