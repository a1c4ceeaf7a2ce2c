"""What the pages of all papers share: cells, figures, results that are kept, and the pages made of them.

A part is a table or a figure of a paper. Its cells hold the paper's number, ours, and the combined Monte
Carlo error of the two; where a paper shows one simulated data set, its error is the spread over data sets. A
cell is within 2 errors if the two differ by no more than twice that and half a unit of the last printed
digit. Results are kept as JSON, a file for each paper, so that pages are made again without computing; beside
the numbers of a part stands the mark of the code that made them (`source.py`).
"""

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from benchmarks._papers.source import mark

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"


class Cell(NamedTuple):
    """One number: the paper's (None: it prints none), ours (None: not attempted), the combined error."""

    row: str
    column: str
    paper: float | None
    ours: float | None
    error: float = 0.0
    digits: int = 3  # printed decimals
    reason: str = ""  # why not attempted, or why not reproduced


class Panel(NamedTuple):
    """Axes of a picture: series (name, kind, x, y), kind "line", "dashed", "points", "cross" or "error"."""

    x: str
    y: str
    series: list
    title: str = ""
    limits: tuple = ()  # x low, x high, y low, y high
    heat: Any = None  # {"z": rows from below, "extent": as limits, "levels": of contours}


class Part(NamedTuple):
    """A table or a figure of a paper."""

    title: str
    cells: list = []  # noqa: RUF012
    panels: list = []  # noqa: RUF012
    shows: str = ""  # what the paper's figure shows, in a sentence
    says: str = ""  # how ours was made, what was done instead, why cells differ
    reason: str = ""  # of all cells beyond 2 errors that give none of their own


class Paper(NamedTuple):
    """A paper: its parts in its order, each a function of `quick` or the reason why there is none."""

    name: str
    title: str
    head: str
    parts: dict[str, Callable[[bool], Part] | Part]


def status(cell: dict) -> str:
    """ "within", "beyond", "not attempted" or "ours only"."""
    if cell["ours"] is None:
        return "not attempted"
    if cell["paper"] is None:
        return "ours only"
    allowed = 2 * cell["error"] + 0.5 * 10.0 ** -cell["digits"] + 1e-9
    return "within" if abs(cell["ours"] - cell["paper"]) <= allowed else "beyond"


def over_sets(row: str, column: str, paper: float | None, values: Any, digits: int = 3) -> Cell:
    """A cell of the paper's one set beside the mean of ours: its error is that of one more set.

    From 100 sets on, two errors reach from the mean to the point that 2.3 % of the sets exceed on the paper's
    side, however skewed their law is; with fewer they are the standard deviation with the factor of t.
    """
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    mean, spread = values.mean(), values.std(ddof=1)
    if paper is not None and values.size >= 100:
        far = np.quantile(values, stats.norm.cdf(2.0 if paper > mean else -2.0))
        error = math.hypot((far - mean) / 2, spread / math.sqrt(values.size))
    else:
        error = spread * _few(values.size) * math.sqrt(1 + 1 / values.size)
    return Cell(row, column, paper, float(mean), float(error), digits)


def average(row: str, column: str, values: Any, digits: int = 3, paper: float | None = None) -> Cell:
    """A mean over sets and its standard error; the paper's number is an expectation, if it has one."""
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    error = values.std(ddof=1) / math.sqrt(values.size) * (1 if paper is None else _few(values.size))
    return Cell(row, column, paper, float(values.mean()), float(error), digits)


def _few(size: int) -> float:
    """A spread of few sets is itself uncertain: the factor of t over the normal law at 95 %."""
    return float(stats.t.ppf(0.975, size - 1) / stats.norm.ppf(0.975))


def _rounded(value: Any, digits: int = 4) -> Any:
    """So many significant digits, so that files are small and stay the same."""
    if isinstance(value, float | np.floating):
        return None if not math.isfinite(value) else float(f"{value:.{digits}g}")
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.ndarray):
        return _rounded(value.tolist(), digits)
    if isinstance(value, dict):
        return {key: _rounded(one, digits) for key, one in value.items()}
    return [_rounded(one, digits) for one in value] if isinstance(value, list | tuple) else value


def as_dict(part: Part, seconds: float, code: str) -> dict:
    """A part as it is kept."""
    found = part._asdict() | {"seconds": round(seconds, 1), "code": code}
    found["cells"] = [_rounded(cell._asdict(), 12 if not cell.error else 6) for cell in part.cells]
    found["panels"] = [_rounded(panel._asdict()) for panel in part.panels]
    return found


def load(paper: Paper, folder: Path) -> dict:
    """What is kept of a paper, in its order."""
    path = folder / f"{paper.name}.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    return {number: kept[number] for number in [*paper.parts, *kept] if number in kept}


def compute(
    paper: Paper, folder: Path, quick: bool, again: bool = False, only: str = "", code: Any = mark
) -> None:
    """All parts, those that this code has made already left as they are; the file is written after each."""
    path, kept = folder / f"{paper.name}.json", load(paper, folder)
    for number, make in paper.parts.items():
        made_by = code(paper.name, number)
        done = number in kept and kept[number].get("code") == made_by
        if (done and not again) or (only and number not in only.split(",")):
            continue
        start = time.process_time()
        part = make if isinstance(make, Part) else make(quick)
        made = as_dict(part, time.process_time() - start, made_by)
        kept = load(paper, folder) | {number: made}  # others may have written
        print(f"{paper.name} {number}: {kept[number]['seconds']} s", flush=True)
        kept = {one: kept[one] for one in [*paper.parts, *kept] if one in kept}
        folder.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(f"{json.dumps(one)}: {json.dumps(part, separators=(',', ':'), ensure_ascii=False)}"
                           for one, part in kept.items())  # fmt: skip
        path.write_text(f"{{\n{lines}\n}}\n")


def counts(found: dict) -> dict[str, int]:
    """Cells by status, and how many were compared."""
    each = [status(cell) for part in found.values() for cell in part["cells"]]
    by = {name: each.count(name) for name in ("within", "beyond", "not attempted", "ours only")}
    return {"compared": by["within"] + by["beyond"]} | by


def difference(cell: dict) -> str:
    """In combined errors, or in units of the last printed digit where nothing is random."""
    gap = cell["ours"] - cell["paper"]
    if cell["error"] > 0:
        return f"{gap / cell['error']:+.1f}"
    unit = 10.0 ** -cell["digits"]
    return "=" if abs(gap) <= 0.5 * unit + 1e-9 else f"{gap / unit:+.1f} of the last digit"


def shown(cell: dict) -> str:
    """A cell as text: paper → ours (difference)."""
    if cell["ours"] is None:
        return "–" if cell["paper"] is None else f"{cell['paper']:.{cell['digits']}f} → –"
    ours = f"{cell['ours']:.{cell['digits']}f}"
    if cell["paper"] is None:
        return f"{ours} ± {cell['error']:.{cell['digits'] + 1}f}" if cell["error"] else ours
    paper = f"{cell['paper']:.{cell['digits']}f}"
    text = f"{paper} =" if difference(cell) == "=" else f"{paper} → {ours} ({difference(cell)})"
    return f"**{text}**" if status(cell) == "beyond" else text


def grid(cells: list[dict]) -> list[str]:
    """A Markdown table of cells by row and column."""
    rows, columns = (list(dict.fromkeys(cell[way] for cell in cells)) for way in ("row", "column"))
    at = {(cell["row"], cell["column"]): shown(cell) for cell in cells}
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    return lines + [f"| {r} | " + " | ".join(at.get((r, c), "") for c in columns) + " |" for r in rows]


def reasons(part: dict) -> list[str]:
    """Why cells are missing or differ, each reason once."""
    found: dict[str, list[str]] = {}
    for cell in part["cells"]:
        kind = status(cell)
        if kind in ("beyond", "not attempted"):
            why = cell["reason"] or part["reason"]
            found.setdefault(f"{'Not attempted' if kind[0] == 'n' else 'Not reproduced'}: {why}", []).append(
                f"{cell['row']}, {cell['column']}" if cell["column"] else cell["row"]
            )
    return [f"- {why} ({'; '.join(where) if len(where) < 7 else f'{len(where)} cells'})"
            for why, where in found.items()]  # fmt: skip


LEGEND = (
    "A cell reads *paper → ours (difference)*. The difference is in combined Monte Carlo errors. "
    "Where the paper shows one simulated data set, its error is the spread over data sets that we "
    "simulate. (From 100 sets on, two errors are the distance that 2.3 % of the sets exceed.) "
    "Where nothing is random, = means equal to the printed digit. Cells that differ by more than "
    "2 errors and half a printed unit are **bold**, with a reason. One cell in twenty does so at "
    "random, and cells of one data set tend to do so together."
)


def page(paper: Paper, found: dict, pictures: str) -> str:
    """The page of one paper."""
    n, spent = counts(found), sum(part["seconds"] for part in found.values())
    lines = [f"# {paper.title}", "", paper.head, ""]
    lines += [
        f"**{n['compared']} cells compared; {n['within']} within 2 errors; {n['beyond']} not reproduced; "
        f"{n['not attempted']} not attempted** (and {n['ours only']} numbers that the paper has not). "
        f"{spent:.0f} CPU seconds. Made by `python -m benchmarks papers {paper.name}`.",
        "", LEGEND, "",
    ]  # fmt: skip
    for number, part in found.items():
        lines += [f"## {number}. {part['title']}", ""]
        if part["shows"]:
            lines += [f"*The paper's:* {part['shows']}", ""]
        if part["says"]:
            lines += [part["says"], ""]
        if part["panels"]:
            lines += [f"![{number}]({pictures}/{file_name(number)})", ""]
        if part["cells"]:
            lines += [*grid(part["cells"]), ""]
        if why := reasons(part):
            lines += [*why, ""]
        if part["seconds"] >= 0.1:
            lines += [f"{part['seconds']:.1f} s.", ""]
    return "\n".join(lines)


def file_name(number: str) -> str:
    """Of a picture: "figure_9.svg"."""
    return number.lower().replace(" ", "_").replace(",", "") + ".svg"


COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
LEGEND_INSIDE = 5  # names; more stand below the panels, once


def draw(panels: list[dict], path: Path) -> None:
    """Panels side by side, four a row at most; the same numbers make the same file."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": "papers", "svg.fonttype": "none", "font.size": 7})
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(series[0] for panel in panels for series in panel["series"] if series[0]))
    wide = min(len(panels), 4)
    high = -(-len(panels) // wide)
    below = 0.13 * -(-len(names) // (2 * wide)) if len(names) > LEGEND_INSIDE else 0.0
    figure, axes = plt.subplots(
        high, wide, figsize=(3.0 * wide, 2.4 * high + below), layout="constrained", squeeze=False
    )
    for ax, panel in zip(axes.ravel(), panels, strict=False):
        _panel(ax, panel, names)
        if not below and any(series[0] for series in panel["series"]):
            ax.legend(fontsize=5, frameon=False)
    for ax in axes.ravel()[len(panels) :]:
        ax.axis("off")
    if below:
        found = [zip(*ax.get_legend_handles_labels(), strict=True) for ax in axes.ravel()]
        marks = {name: mark for pairs in found for mark, name in pairs}
        style = {"ncols": 2 * wide, "fontsize": 6, "frameon": False}
        figure.legend(marks.values(), marks.keys(), loc="outside lower center", **style)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None, "Creator": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def _panel(ax: Any, panel: dict, names: list[str]) -> None:
    """One of them; what stands before a colon has one colour in all panels, and dots where colours end."""
    from matplotlib.category import StrCategoryLocator
    from matplotlib.ticker import MaxNLocator

    first = list(dict.fromkeys(name.partition(": ")[0] for name in names))
    if panel["heat"]:
        z, extent = np.array(panel["heat"]["z"], float), panel["heat"]["extent"]
        ax.imshow(z, origin="lower", extent=extent, aspect="auto", cmap="Greys")
        if levels := panel["heat"].get("levels"):
            lines = ax.contour(z, levels, origin="lower", extent=extent, colors="#0072B2", linewidths=0.7)
            ax.clabel(lines, fontsize=5) if len(levels) > 1 else None
    for k, (name, kind, x, y, *spread) in enumerate(panel["series"]):
        k = first.index(name.partition(": ")[0]) if name else k
        style = {"label": name or None, "color": COLORS[k % len(COLORS)]}
        x, y = (list(v) if isinstance(v[0], str) else np.array(v, float) for v in (x, y))
        if kind == "error":  # spread: half widths to the left, right, below and above
            left, right, down, up = np.array(spread[0], float)
            ax.errorbar(x, y, xerr=([left], [right]), yerr=([down], [up]), fmt="o", ms=2.5, lw=0.8, **style)
        elif kind in ("points", "cross"):
            ax.plot(x, y, "o" if kind == "points" else "x", ms=2.5 if kind == "points" else 4, **style)
        else:
            line = "--" if kind == "dashed" else "-" if k < len(COLORS) else ":"
            ax.plot(x, y, line, lw=1, **style)
    ax.set(xlabel=panel["x"], ylabel=panel["y"], title=panel["title"])
    for axis, ticks in ((ax.xaxis, ax.get_xticks()), (ax.yaxis, ax.get_yticks())):
        if len(ticks) > 7 and not isinstance(axis.get_major_locator(), StrCategoryLocator):
            axis.set_major_locator(MaxNLocator(5))
    if panel["limits"]:
        ax.set(xlim=panel["limits"][:2], ylim=panel["limits"][2:])


def write(paper: Paper, found: dict, folder: Path) -> None:
    """The page and its pictures."""
    for number, part in found.items():
        if part["panels"]:
            draw(part["panels"], folder / paper.name / file_name(number))
    (folder / f"{paper.name}.md").write_text(page(paper, found, paper.name))
