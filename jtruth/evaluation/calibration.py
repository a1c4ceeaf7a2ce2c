"""Calibration of class probabilities against the disagreement of experts, before and after correction.

Probabilities are compared with the histogram of a sample's labels, which assumes interchangeable labelers.
This predicts what experts would say; for what is true (one class a sample, labelers who err) use
`jtruth.evaluate`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from jtruth import histograms as hist
from jtruth._random import Key, Stated, as_key, host_rng, stated, stream
from jtruth._validation import align_table
from jtruth._validation.words import number_of, plain
from jtruth.answers import Answer, Column, Curve, Document, Table
from jtruth.answers.blocks import check_notes, dist_column, facts, facts_of, sentence_notes, warning_notes
from jtruth.answers.data import dist_row
from jtruth.evaluation.checks.of_labels import exchangeability_check
from jtruth.evaluation.parts import Check, interval_text, loudest
from jtruth.histograms.calibration import Calibration, LossTable, dist_of_mean
from jtruth.histograms.concentration import (
    CALIBRATIONS,
    Calibrated,
    epistemic_after_one_label,
    fit_calibrator,
)
from jtruth.histograms.label_counts import check_probabilities_of
from jtruth.io.tables import Predictions
from jtruth.labels import Labels
from jtruth.stats.estimates import Estimate, check_level

QUESTION = (
    "These losses measure how well the probabilities predict labels, not the truth. If each sample has one "
    "true class, use evaluate or evaluate_scores (jtruth evaluate) on the same labels."
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
_MOST_CURVES = 4


@dataclass(frozen=True, repr=False)
class CalibrationReport(Answer):
    """The result of `evaluate_calibration`; `print` it, or `to_dict` for JSON."""

    method: str
    level: float
    before: Mapping[str, Estimate]
    after: Mapping[str, Estimate]
    plugin: Mapping[str, float]  # before, with the bias of few labels
    dist: Calibrated  # of every sample
    judged: np.ndarray  # samples behind `before` and `after`
    gain: np.ndarray  # (samples,) bits that another label is expected to bring
    classes: tuple[str, ...]
    tasks: tuple
    tables: tuple[LossTable, LossTable]  # before and after, with bins for pictures
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]
    key: Stated

    def predictions(self) -> Predictions:
        """Calibrated probabilities in the form of `read_predictions`."""
        p = np.asarray(self.dist.probabilities, np.float64)
        p = p / p.sum(axis=1, keepdims=True)
        return Predictions(np.arange(len(p)), None, p, (), p.argmax(axis=1))

    def at_level(self, level: float) -> "CalibrationReport":
        """The same result with intervals of another probability."""
        return replace(self, level=check_level(level))

    def blocks(self) -> Document:
        """Build the document of the result."""
        dists = {"before": self.before, "after": self.after}
        losses = {k: {n: dist_row(dist, self.level) for n, dist in each.items()} for k, each in dists.items()}
        rows = [
            {"loss": n, **{k: one.get(n) for k, one in losses.items()}, "plugin": self.plugin.get(n)}
            for n in TITLES if n in self.before or n in self.after
        ]  # fmt: skip
        columns = (*(dist_column(k, k) for k in dists), Column("plugin", "plug-in, before"))
        note = "Plug-in losses use the label histograms directly; few labels bias them, mostly upwards."
        blocks = (
            Table("losses", f"Losses, debiased, with {100 * self.level:g} % intervals", "loss", columns, rows,
                  note, unit=None, missing="undefined", by_name=True, say=lambda name: TITLES[name]),
            *self._curves(), check_notes(self.checks), warning_notes(self.warnings),
            sentence_notes("", "Which question this answers", (QUESTION,)),
            facts_of(self, "method", "level", "key", "classes", "plugin"),
            facts(num_samples=len(self.gain), num_judged=int(self.judged.size), **losses),
        )  # fmt: skip
        e, f = (interval_text(one["epistemic_loss"], self.level) for one in dists.values())
        sentence = f"Epistemic loss is {e} before calibration and {f} after method={self.method}."
        about = f"{number_of(self.judged.size, 'sample')}, cross-fitted; {len(self.classes)} classes"
        question = "Are class probabilities right where experts disagree?"
        return Document(question, about, sentence, blocks, **loudest(self.checks))

    def _curves(self) -> list[Curve]:
        """Reliability of disagreement, and of the classes that are predicted most."""
        before, after = self.tables
        what, pair = "probability that two labels differ", (before.disagreement, after.disagreement)
        curves = [_reliability("Do experts disagree as often as predicted?", what, pair, 0)]
        table = after.classes
        share = (np.asarray(table.predicted) * np.asarray(table.count)).sum(axis=1)
        for k in sorted(map(int, np.argsort(-share, kind="stable")[:_MOST_CURVES])):
            what = f"probability of class {plain(self.classes[k])!r}"
            curves.append(_reliability(f"Is the {what} right?", what, (before.classes, after.classes), k))
        return curves

    def rows(self) -> tuple[list[str], list[list[Any]]]:
        """Header and rows of the calibrated samples; `read_predictions` reads them."""
        p = self.predictions()
        header = ["task", "label", *(f"p_{name}" for name in self.classes)]
        header += ["disagreement", "alpha0", "gain_bits"]
        extra = (np.asarray(self.dist.disagreement), np.asarray(self.dist.concentration), self.gain)
        columns = zip(self.tasks, p.y_pred, np.asarray(p.probabilities), *extra, strict=True)
        rows = [[t, self.classes[c], *map(float, q), *map(float, rest)] for t, c, q, *rest in columns]
        return header, rows


def _reliability(title: str, what: str, pair: tuple[Calibration, Calibration], of: int) -> Curve:
    series = {}
    for name, one in zip(("before", "after"), pair, strict=True):
        count = np.asarray(one.count)[of]
        used = count > 0
        parts = one.predicted, one.target, one.gap_spread
        x, y, spread = (np.asarray(part)[of][used] for part in parts)
        error = 2 * np.sqrt(np.where(count[used] > 1, spread / np.maximum(count[used] - 1, 1), 0.0))
        points = {"x": x, "mean": y, "low": y - error, "high": y + error}
        series[name] = {k: values.tolist() for k, values in points.items()}
    note = "Points are bins of predictions, with two standard errors. On the diagonal they are calibrated."
    return Curve("", title, f"predicted {what}", "share observed", series, note, diagonal=True, line=False)


def evaluate_calibration(
    probabilities: Any,
    labels: Any,
    *,
    method: str = "alpha",
    split: Any = 5,
    bins: Any = 15,
    level: float = 0.95,
    drop: bool = False,
    key: Any = None,
) -> CalibrationReport:
    """Losses of class probabilities and of predicted disagreement, before and after calibration.

    Args:
        probabilities: (samples, classes); rows of a frame are matched by task id, its columns by class.
        labels: `Labels`, or `Histograms` (then exchangeability cannot be checked).
        method: "alpha", "temperature", "vector", "matrix" or "dirichlet"; all add a concentration.
        split: number of folds, each calibrated by a fit on the rest; or a (samples,) mask of the samples to
            fit on, with the others evaluated.
        bins, level, drop: as `loss_estimates`; `drop` leaves out samples with one label if two are needed.
        key: a whole number or a JAX key; 0 if None.

    Raises:
        ValueError: invalid input, see `histograms`.
    """
    check_level(level)
    reported_key, key = stated(key), as_key(key)
    histograms = labels if isinstance(labels, hist.Histograms) else hist.from_labels(labels)
    if isinstance(labels, Labels):  # rows and columns of a frame go by the labels' ids and classes
        classes, tasks = tuple(map(str, labels.class_names)), labels.tasks
        p, notes = align_table(probabilities, labels, classes, "probabilities")
        p = np.asarray(p, np.float64)
        check = exchangeability_check(labels, key=key, groups=p.argmax(axis=1))
    else:
        classes, tasks = tuple(map(str, range(histograms.num_classes))), None
        p, notes = np.asarray(probabilities, np.float64), ()
        text = "histograms do not show who gave a label; give Labels to check that labelers are exchangeable"
        check = Check("exchangeable labelers", None, None, "cannot be seen", text)
    options: dict[str, Any] = {"bins": bins, "drop": drop}
    with jax.enable_x64(True):
        dist, judged = _calibrated(key, histograms, p, method, split)
        if tasks is not None:
            options["tasks"] = tuple(tasks[i] for i in judged)
        mine = histograms.take(judged)
        new = Calibrated(dist.probabilities[judged], dist.concentration[judged])
        before = hist.loss_estimates(mine, p[judged], **options)
        after = hist.loss_estimates(mine, new.probabilities, concentration=new.concentration, **options)
        posterior = np.asarray(epistemic_after_one_label(mine, new))
        total = dist.concentration + np.asarray(histograms.n, np.float64)
        gain = hist.opinion_gain(hist.posterior_probabilities(histograms, *dist), total, unit="bits")
    later = dict(after.estimates)
    if np.isfinite(posterior).sum() > 1:
        later["epistemic_loss_after_one_label"] = dist_of_mean(posterior[np.isfinite(posterior)])
    return CalibrationReport(
        method, level, before.estimates, later, before.plugin, dist, judged, np.asarray(gain),
        classes, tasks or tuple(range(len(p))), (before, after),
        (check,), tuple(dict.fromkeys((*notes, *before.notes, *after.notes))), reported_key,
    )  # fmt: skip


def _calibrated(
    key: Key, histograms: hist.Histograms, p: np.ndarray, method: str, split: Any
) -> tuple[Calibrated, np.ndarray]:
    """Calibrated distributions of all samples, and the samples whose labels may evaluate them."""
    if method not in CALIBRATIONS:
        raise ValueError(f"method must be one of {', '.join(CALIBRATIONS)}; got {method!r}")
    check_probabilities_of(histograms, p)
    samples = histograms.num_samples
    if np.ndim(split):
        mask = np.asarray(split, bool)
        if mask.shape != (samples,) or not mask.any() or mask.all():
            raise ValueError(
                f"the mask must choose some of the {samples} samples to fit on, and leave others to test"
            )
        fitted = fit_calibrator(stream(key, "calibrate"), histograms.take(mask), p[mask], method=method)
        return Calibrated(*map(np.asarray, fitted(p))), np.flatnonzero(~mask)
    if not 2 <= split <= samples:
        raise ValueError(f"`split` must be 2 to {samples}, the number of samples, or a mask; got {split}")
    part = host_rng(key, "folds").permutation(samples) % split
    f, alpha = np.empty_like(p), np.empty(samples)
    for fold in range(split):
        out, of_fold = part == fold, stream(key, "calibrate a fold", fold)
        fitted = fit_calibrator(of_fold, histograms.take(~out), p[~out], method=method)
        f[out], alpha[out] = map(np.asarray, fitted(p[out]))
    return Calibrated(f, alpha), np.arange(samples)
