"""Every notebook runs without a warning, and is stored with current pictures and without noise."""

import os
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
COMPILES_MUCH = ("02_comparing_models",)  # a dozen programs of NUTS, which then run for seconds

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="this copy of jtruth has no notebooks/ folder")


@pytest.fixture(scope="module")
def refresh():
    """The script that stores notebooks."""
    return SimpleNamespace(**runpy.run_path(str(FOLDER / "refresh.py")))


def problems(notebook: nbformat.NotebookNode, refresh: SimpleNamespace) -> list[str]:
    """What would make this notebook's differences unreadable, or its pictures and text untrue."""
    found = [] if refresh.is_fresh(notebook) else ["pictures of other code: run python notebooks/refresh.py"]
    if len(nbformat.writes(notebook)) > refresh.MOST_BYTES:
        found.append(f"more than {refresh.MOST_BYTES} bytes")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for index, cell in enumerate(code):
        kinds = {kind for output in cell.outputs for kind in output.get("data", {"stdout": 0})}
        if (
            cell.execution_count is not None
            or cell.metadata
            or not kinds <= {"image/png", "text/plain", "stdout"}
        ):
            found.append(f"code cell {index} holds noise: run python notebooks/refresh.py")
        if any(output.get("name") == "stderr" for output in cell.outputs):
            found.append(f"code cell {index} holds stderr")
        draws = re.search(r"^(plot_\w+\(|.*\.plot\(\)|.*plt\.subplots\()", cell.source, re.MULTILINE)
        if draws and "image/png" not in kinds:
            found.append(f"code cell {index} draws and holds no picture")
    found += [f"cell {cell.id} reads shared/" for cell in notebook.cells if "shared/" in cell.source]
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_with_its_pictures_and_ends_with_what_would_change_its_answer(path, refresh):
    notebook = nbformat.read(path, as_version=4)
    assert problems(notebook, refresh) == []
    last = notebook.cells[-1].source
    assert last.startswith("## What would change this answer\n")
    pages = re.findall(r"\]\(([^)\s]+)\)", last)
    assert pages and all((FOLDER / page).is_file() for page in pages)


def test_what_is_stored_of_an_output(refresh):
    """Old code, noise and a missing picture are found; text is cut, objects and stderr are left out."""
    cell = nbformat.v4.new_code_cell("plt.subplots(1)", execution_count=1)
    cell.outputs = [
        nbformat.v4.new_output("stream", name="stderr", text="a warning"),
        nbformat.v4.new_output("stream", name="stdout", text="line\n" * 100),
        nbformat.v4.new_output("display_data", {"text/plain": "<Axes: >"}),
        nbformat.v4.new_output("display_data", {"text/html": "<b>1</b>", "text/plain": "1"}),
    ]
    notebook = nbformat.v4.new_notebook(cells=[cell])
    assert len(problems(notebook, refresh)) == 4
    kept = refresh.stored(notebook)
    assert [list(output.get("data", {"stdout": 0})) for output in kept.cells[0].outputs] == [
        ["stdout"],
        ["text/plain"],
    ]
    assert kept.cells[0].outputs[0].text.count("\n") == refresh.MOST_LINES + 1
    assert problems(kept, refresh) == ["code cell 0 draws and holds no picture"]
    kept.cells[0].source += "  # changed"
    assert not refresh.is_fresh(kept) and cell.outputs[0].text == "a warning"


def warnings_printed(notebook: nbformat.NotebookNode) -> list[str]:
    """Every text on stderr that names a warning."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.text for output in outputs if output.get("name") == "stderr" and "Warning" in output.text]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, refresh):
    """Compiled as for a user: what `conftest.py` sets for tests is left out, but for the longest."""
    ours = () if path.stem in COMPILES_MUCH else ("XLA_FLAGS", "JAX_DISABLE_MOST_OPTIMIZATIONS")
    users = {name: value for name, value in os.environ.items() if name not in ours}
    assert warnings_printed(refresh.run(nbformat.read(path, as_version=4), users)) == []
