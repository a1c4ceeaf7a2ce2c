"""Every notebook runs from top to bottom without a warning, and is stored without outputs."""

import os
import re
from pathlib import Path

import nbclient
import nbformat
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
COMPILES_MUCH = ("02_comparing_models",)  # a dozen programs of NUTS, which then run for seconds

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="this copy of jtruth has no notebooks/ folder")


def problems(notebook: nbformat.NotebookNode) -> list[str]:
    """What would make this notebook's differences unreadable or its text untrue elsewhere."""
    found = []
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None):
            found.append(
                f"cell {index} holds outputs: strip them (jupyter nbconvert --clear-output --inplace)"
            )
        if "shared/" in cell.source:
            found.append(f"cell {index} reads shared/, which a plain clone does not have")
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_clean_and_ends_with_what_would_change_its_answer(path):
    notebook = nbformat.read(path, as_version=4)
    assert problems(notebook) == []
    last = notebook.cells[-1].source
    assert last.startswith("## What would change this answer\n")
    pages = re.findall(r"\]\(([^)\s]+)\)", last)
    assert pages and all((FOLDER / page).is_file() for page in pages)


def test_stored_outputs_are_found():
    cell = nbformat.v4.new_code_cell("1 + 1", execution_count=1)
    assert len(problems(nbformat.v4.new_notebook(cells=[cell]))) == 1


def warnings_printed(notebook: nbformat.NotebookNode) -> list[str]:
    """Every text on stderr that names a warning."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.text for output in outputs if output.get("name") == "stderr" and "Warning" in output.text]


def run(notebook: nbformat.NotebookNode, quickly: bool = False) -> nbformat.NotebookNode:
    """Execute in a fresh kernel of this interpreter, in the notebooks folder; the first error is raised.

    Compiled as for a user: what `conftest.py` sets for tests is left out, unless `quickly`.
    """
    ours = () if quickly else ("XLA_FLAGS", "JAX_DISABLE_MOST_OPTIMIZATIONS")
    users = {name: value for name, value in os.environ.items() if name not in ours}
    client = nbclient.NotebookClient(
        notebook, timeout=900, kernel_name="python3", resources={"metadata": {"path": FOLDER}}
    )
    return client.execute(env=users | {"PYTHONPATH": str(FOLDER.parent)})


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path):
    done = run(nbformat.read(path, as_version=4), quickly=path.stem in COMPILES_MUCH)
    assert warnings_printed(done) == []
