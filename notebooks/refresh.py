"""Run the notebooks and store them with their pictures, small and without noise.

    python notebooks/refresh.py             those whose code is not the code that made their pictures
    python notebooks/refresh.py 01 04       these, by the beginning of their names
    python notebooks/refresh.py --all

Kept are pictures (PNG of few colors, as large as the size of the notebook allows) and short text. Execution
counts, metadata, stderr and HTML are left out. The notebook's metadata hold a hash of its code cells, by
which `tests/test_notebooks.py` sees that pictures are old. Text between the cells may change without a run.
"""

import base64
import copy
import hashlib
import io
import os
import re
import sys
from pathlib import Path

import nbclient
import nbformat
from PIL import Image

FOLDER = Path(__file__).resolve().parent
DPI, COLORS, SCALES = 72, 64, (1.0, 0.9, 0.8, 0.7, 0.6)
MOST_BYTES, MOST_LINES = 150_000, 40  # of a stored notebook, and of the text of one output
PICTURES = f'%config InlineBackend.print_figure_kwargs = {{"bbox_inches": "tight", "dpi": {DPI}}}'
NOISE = re.compile(r"<[\w.]+( object)? at 0x|^\[?<?(matplotlib|Figure|Axes)|^Text\(")


def code_hash(notebook: nbformat.NotebookNode) -> str:
    """Changes with any code cell, and with nothing else."""
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256("\n\n".join(code).encode()).hexdigest()[:16]


def is_fresh(notebook: nbformat.NotebookNode) -> bool:
    """Whether the stored outputs are of this code."""
    return notebook.metadata.get("jtruth", {}).get("code") == code_hash(notebook)


def run(notebook: nbformat.NotebookNode, env: dict[str, str], seconds: int = 900) -> nbformat.NotebookNode:
    """Execute in a fresh kernel of this interpreter, in this folder; the first error is raised."""
    done = copy.deepcopy(notebook)
    done.cells.insert(0, nbformat.v4.new_code_cell(PICTURES))
    where = {"metadata": {"path": FOLDER}}
    nbclient.NotebookClient(done, timeout=seconds, kernel_name="python3", resources=where).execute(
        env=env | {"PYTHONPATH": str(FOLDER.parent)}
    )
    del done.cells[0]
    return done


def smaller(png: str, scale: float) -> str:
    """The same picture in few colors, both in base64."""
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    if scale < 1:
        picture = picture.resize([round(scale * side) for side in picture.size], Image.Resampling.LANCZOS)
    written = io.BytesIO()
    picture.quantize(COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        written, "PNG", optimize=True
    )
    return base64.b64encode(written.getvalue()).decode()


def kept(output: nbformat.NotebookNode, scale: float) -> nbformat.NotebookNode | None:
    """What is stored of an output, if anything."""
    if output.output_type == "stream":
        return None if output.name == "stderr" else nbformat.v4.new_output("stream", text=short(output.text))
    data = output.get("data", {})
    if "image/png" in data:
        return nbformat.v4.new_output("display_data", {"image/png": smaller(data["image/png"], scale)})
    text = data.get("text/plain", "")
    if not text or NOISE.search(text):
        return None
    return nbformat.v4.new_output("display_data", {"text/plain": short(text)})


def short(text: str) -> str:
    """Its first lines."""
    lines = text.splitlines(keepends=True)
    return "".join(lines[:MOST_LINES]) + ("[further lines left out]\n" if len(lines) > MOST_LINES else "")


def stored(executed: nbformat.NotebookNode, scale: float = 1.0) -> nbformat.NotebookNode:
    """An executed notebook as it is kept."""
    done = copy.deepcopy(executed)
    for cell in done.cells:
        cell.metadata = nbformat.NotebookNode()
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [small for one in cell.outputs if (small := kept(one, scale)) is not None]
    done.metadata = nbformat.from_dict({
        "jtruth": {"code": code_hash(done)},
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    })  # fmt: skip
    return done


def main(asked: list[str]) -> None:
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        named = any(path.stem.startswith(name) for name in asked)
        if not (named or "--all" in asked or (not asked and not is_fresh(notebook))):
            continue
        done = run(notebook, dict(os.environ))
        texts = (nbformat.writes(stored(done, scale)) for scale in SCALES)
        text = next((text for text in texts if len(text) < MOST_BYTES), None)
        if text is None:
            sys.exit(f"{path.name} would have more than {MOST_BYTES} bytes: draw less")
        path.write_text(text + "\n")
        print(f"{path.name}: {len(text)} bytes", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
