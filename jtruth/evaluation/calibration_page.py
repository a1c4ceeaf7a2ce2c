"""A calibration report as a page to forward: losses before and after, reliability, checks."""

from typing import Any

import numpy as np

from jtruth._page import Chart, Facts, Note, Notes, Page, Part, Series, Table, number
from jtruth._validation.terminal import plain
from jtruth.evaluation.page import checks_notes, warnings_notes
from jtruth.evaluation.text import loudest
from jtruth.histograms import LossTable
from jtruth.histograms.calibration import Calibration

QUESTION = (
    "These numbers say what labelers would say, not what is true: for that use judged_by_truth or "
    "evaluate (jtruth evaluate) on the same labels, which take labelers to err about one true class."
)
TITLES = {
    "squared_loss": "squared loss",
    "epistemic_loss": "epistemic loss",
    "calibration_loss": "calibration loss",
    "dispersion_loss": "dispersion loss",
    "log_loss": "log loss",
    "disagreement_loss": "disagreement loss",
    "disagreement_calibration_loss": "disagreement calibration loss",
    "epistemic_loss_after_one_label": "epistemic loss after one label",
}
_MOST_CHARTS = 4

Row = dict[str, Any]


def calibration_page(d: Row, tables: tuple[LossTable, LossTable]) -> Page:
    """What `CalibrationReport.to_dict` returns, and its tables before and after, as a page."""
    e, f = d["before"]["epistemic_loss"], d["after"]["epistemic_loss"]
    about = (
        f"{d['num_judged']} samples judged, none calibrated by its own labels; {len(d['classes'])} classes"
    )
    answer = f"Epistemic loss {_loss(e)} before and {_loss(f)} after method={d['method']}."
    parts: list[Part | None] = [_losses(d), *_charts(d, tables), checks_notes(d["checks"])]
    parts += [warnings_notes(d["warnings"]), Notes("Which question this answers", [Note("say", QUESTION)])]
    how = Facts(
        "How it was computed", [("method", d["method"]), ("losses", "debiased; +- one standard error")]
    )
    kept = tuple(part for part in (*parts, how) if part is not None)
    title = "Are class probabilities right where experts disagree?"
    return Page(title, about, answer, loudest(d["checks"]), kept)


def _loss(row: Row | None) -> str:
    if row is None or row["mean"] is None:
        return "-" if row is None else "undefined"
    return f"{number(row['mean'], 4)} +- {number(row['sd'], 4)}"


def _losses(d: Row) -> Table:
    before, after = d["before"], d["after"]
    names = [n for n in TITLES if n in before or n in after]
    rows = [
        (TITLES[n], _loss(before.get(n)), _loss(after.get(n)), number(d["plugin"].get(n), 4)) for n in names
    ]
    note = "Plugin losses are those of the histograms as they are: few labels bias them, mostly upwards."
    return Table("Losses", ("", "before", "after", "plugin, before"), rows, note)


def _charts(d: Row, tables: tuple[LossTable, LossTable]) -> list[Part]:
    """Reliability of disagreement, and of the classes that are predicted most."""
    charts: list[Part] = [
        _chart("Do experts disagree as often as predicted?", "probability that two labels differ",
               [one.disagreement for one in tables], 0)
    ]  # fmt: skip
    after = tables[1].classes.table
    share = (np.asarray(after.predicted) * np.asarray(after.count)).sum(axis=1)
    most = np.argsort(-share, kind="stable")[:_MOST_CHARTS]
    for k in sorted(map(int, most)):
        name = f"probability of class {plain(d['classes'][k])!r}"
        charts.append(_chart(f"Is the {name} right?", name, [one.classes for one in tables], k))
    return charts


def _chart(title: str, what: str, found: list[Calibration], of: int) -> Chart:
    series = tuple(_reliability(name, one, of) for name, one in zip(("before", "after"), found, strict=True))
    note = "Bins of predictions; bars: two standard errors. On the slanted line they are right."
    return Chart(title, f"predicted {what}", "share observed", series, note, diagonal=True)


def _reliability(name: str, found: Calibration, of: int) -> Series:
    table = found.table
    count = np.asarray(table.count)[of]
    used = count > 0
    x, y, spread = (np.asarray(a)[of][used] for a in (table.predicted, table.target, table.gap_spread))
    error = 2 * np.sqrt(np.where(count[used] > 1, spread / np.maximum(count[used] - 1, 1), 0.0))
    return Series(name, x.tolist(), y.tolist(), (y - error).tolist(), (y + error).tolist(), line=False)
