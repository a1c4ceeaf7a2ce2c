"""Are a classifier's probabilities right when experts disagree? Before and after calibration.

The question here is "what would experts say": class probabilities are judged by the histogram of a sample's
labels, which is right where the label itself is uncertain and labelers are interchangeable. The twin
question, "what is true", has one class for each sample and labelers who err; there the histogram is not the
class probability, and `jtruth.evaluate` answers on the same labels. Which of the two is meant no computation
can say.

Calibration is cross-fitted: no sample is calibrated by its own labels. The laws are those of `histograms`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import jax
import numpy as np

from jtruth import histograms as hist
from jtruth._one_line import one_line
from jtruth._page import Page, write_page
from jtruth._pictures import as_printed, picture
from jtruth._random import Key, Stated, as_key, host_rng, stated, stream
from jtruth._validation import align_table, samples_of, with_tasks
from jtruth._version import __version__
from jtruth.evaluation.as_json import estimate_dict
from jtruth.evaluation.calibration_page import QUESTION, TITLES, calibration_page
from jtruth.evaluation.checks.exchangeability import exchangeability_check
from jtruth.evaluation.classifier import evaluate
from jtruth.evaluation.parts import Check
from jtruth.evaluation.result import Evaluation
from jtruth.evaluation.scores import ScoreEvaluation, evaluate_scores
from jtruth.histograms.calibrator import CALIBRATIONS, Calibrated, epistemic_after_one_label, fit_calibrator
from jtruth.histograms.estimates import law_of_mean
from jtruth.io import Predictions
from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices
from jtruth.posterior import class_posterior
from jtruth.stats.estimates import Estimate
from jtruth.stats.regions import check_level


@dataclass(frozen=True)
class CalibrationReport:
    """What `evaluate_calibration` found. `print` it; `to_dict` for JSON."""

    method: str
    level: float
    before: Mapping[str, Estimate]
    after: Mapping[str, Estimate]
    plugin: Mapping[str, float]  # before, with the bias of few labels
    law: Calibrated  # of every sample
    judged: np.ndarray  # samples behind `before` and `after`
    gain: np.ndarray  # (samples,) bits that another label is expected to bring
    classes: tuple[str, ...]
    tasks: tuple
    tables: tuple[hist.LossTable, hist.LossTable]  # before and after, with bins for pictures
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]
    key: Stated

    def predictions(self) -> Predictions:
        """Calibrated probabilities in the form of `read_predictions`."""
        p = np.asarray(self.law.probabilities, np.float64)
        p = p / p.sum(axis=1, keepdims=True)
        return Predictions(np.arange(len(p)), None, p, (), p.argmax(axis=1))

    def to_dict(self, level: float | None = None) -> dict[str, Any]:
        """Everything that is printed, as plain numbers, lists and strings."""
        level = self.level if level is None else check_level(level)
        return {
            "jtruth": __version__,
            "method": self.method,
            "level": level,
            "key": self.key,
            "num_samples": len(self.gain),
            "num_judged": int(self.judged.size),
            "classes": list(self.classes),
            "before": {name: estimate_dict(e, level) for name, e in self.before.items()},
            "after": {name: estimate_dict(e, level) for name, e in self.after.items()},
            "plugin": {k: (float(v) if np.isfinite(v) else None) for k, v in self.plugin.items()},
            "checks": [check._asdict() for check in self.checks],
            "warnings": list(self.warnings),
        }

    def rows(self) -> tuple[list[str], list[list[Any]]]:
        """Header and rows of the table of calibrated samples; `read_predictions` reads it."""
        p = self.predictions()
        header = ["task", "label", *(f"p_{name}" for name in self.classes)]
        header += ["disagreement", "alpha0", "gain_bits"]
        extra = (np.asarray(self.law.disagreement), np.asarray(self.law.concentration), self.gain)
        columns = zip(self.tasks, p.y_pred, np.asarray(p.probabilities), *extra, strict=True)
        rows = [[t, self.classes[c], *map(float, q), *map(float, rest)] for t, c, q, *rest in columns]
        return header, rows

    plot = picture
    _repr_html_ = as_printed
    __repr__ = one_line

    def page(self) -> Page:
        """The report as a page."""
        return calibration_page(self.to_dict(), self.tables)

    def report(self, path: str | PathLike) -> None:
        """Write a page to forward: one HTML file with pictures, that loads nothing from anywhere."""
        write_page(path, self.page())

    def __str__(self) -> str:
        return summary(self)


def _loss(law: Estimate) -> str:
    return "undefined" if np.isnan(law.mean) else f"{law.mean:.4f} +- {law.sd:.4f}"


def summary(report: CalibrationReport) -> str:
    """The report as text."""
    e, f = report.before["epistemic_loss"], report.after["epistemic_loss"]
    lines = [
        f"Epistemic loss {_loss(e)} before, {_loss(f)} after "
        f"method={report.method}; {report.judged.size} samples, none calibrated by its own labels.",
        "",
        f"{'':34}{'before':>20}{'after':>20}{'plugin, before':>16}",
    ]
    for name in (n for n in TITLES if n in report.before or n in report.after):
        cells = [
            "" if law is None else _loss(law) for law in (report.before.get(name), report.after.get(name))
        ]
        plain = f"{report.plugin[name]:.4f}" if name in report.plugin else ""
        lines.append(f"{TITLES[name]:34}{cells[0]:>20}{cells[1]:>20}{plain:>16}")
    lines += ["", *(f"{c.name}: {c.verdict}. {c.message}." for c in report.checks)]
    lines += [f"Warning: {text}" for text in report.warnings]
    return "\n".join([*lines, "", QUESTION])


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
        probabilities: (samples, classes) of the classifier; rows of a frame are matched by task id, its
            columns by class.
        labels: `Labels` of the same samples, or `Histograms` (then exchangeability cannot be checked).
        method: "alpha", "temperature", "vector", "matrix" or "dirichlet"; all add a concentration.
        split: number of parts, 2 or more: each is calibrated by a fit on the rest, and all are judged. Or a
            (samples,) mask of the samples to fit on; the others are judged.
        bins: as `loss_estimates`.
        level: of intervals.
        drop: leave out samples with one label from losses that need two.
        key: a whole number or a JAX key; 0 if None.

    Raises:
        ValueError: input that does not fit, see `histograms`.
    """
    check_level(level)
    given, key = stated(key), as_key(key)
    found = labels if isinstance(labels, hist.Histograms) else hist.from_labels(labels)
    raters = labels if isinstance(labels, Labels) else None
    p, notes = _by_task(probabilities, raters)
    options: dict[str, Any] = {"bins": bins, "drop": drop}
    with jax.enable_x64(True):
        law, judged = _calibrated(key, found, p, method, split)
        if raters is not None and raters.tasks is not None:
            options["tasks"] = tuple(raters.tasks[i] for i in judged)
        mine, own = found.take(judged), Calibrated(law.probabilities[judged], law.concentration[judged])
        before = hist.loss_estimates(mine, p[judged], **options)
        after = hist.loss_estimates(mine, own.probabilities, concentration=own.concentration, **options)
        posterior = np.asarray(epistemic_after_one_label(mine, own))
        total = law.concentration + np.asarray(found.n, np.float64)
        gain = hist.opinion_gain(hist.posterior_probabilities(found, *law), total, unit="bits")
    later = dict(after.estimates)
    if np.isfinite(posterior).sum() > 1:
        later["epistemic_loss_after_one_label"] = law_of_mean(posterior[np.isfinite(posterior)])
    return CalibrationReport(
        method, level, before.estimates, later, before.plugin, law, judged, np.asarray(gain),
        tuple(map(str, raters.class_names if raters else range(p.shape[1]))),
        (raters.tasks if raters else None) or tuple(range(len(p))), (before, after),
        _checks(raters, p, key), tuple(dict.fromkeys((*notes, *before.notes, *after.notes))), given,
    )  # fmt: skip


def judged_by_truth(probabilities: Any, labels: Labels, **options: Any) -> ScoreEvaluation | Evaluation:
    """The twin question on the same input, "what is true": one true class, and labelers who err about it.

    Args:
        probabilities: (samples, classes) of the classifier.
        labels: `Labels` of the same samples.
        options: `evaluate_scores`' of two classes (noise and prior, or assume="independent"), which judges
            how well the probability of the second ranks; `evaluate`'s of more, which judges the most
            probable class.

    Raises:
        ValueError: probabilities that do not fit the labels, and what these two refuse.
    """
    p, _ = _by_task(probabilities, labels)
    if p.shape != (labels.num_samples, labels.num_classes):
        raise ValueError(
            f"probabilities have shape {p.shape}; give one row for each of {labels.num_samples} samples and "
            f"one column for each of {labels.num_classes} classes"
        )
    if labels.num_classes == 2:
        return evaluate_scores(with_tasks(p[:, 1], labels.tasks), labels, **options)
    return evaluate(with_tasks(p.argmax(axis=1), labels.tasks), labels, **options)


def _by_task(probabilities: Any, labels: Labels | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Probabilities as an array, and notes; rows and columns of a frame by the labels' ids and classes."""
    notes = ()
    if labels is not None:
        names = tuple(map(str, labels.class_names))
        probabilities, notes = align_table(probabilities, samples_of(labels), names, "probabilities")
    return np.asarray(probabilities, np.float64), notes


def _checks(labels: Labels | None, p: np.ndarray, key: Key) -> tuple[Check, ...]:
    if labels is None:
        text = "histograms do not say who gave a label; give Labels to check that it does not matter"
        return (Check("exchangeable labelers", None, None, "cannot be seen", text),)
    return (exchangeability_check(labels, key=key, groups=p.argmax(axis=1)),)


def _calibrated(
    key: Key, found: hist.Histograms, p: np.ndarray, method: str, split: Any
) -> tuple[Calibrated, np.ndarray]:
    """Calibrated laws of all samples, and those that may be judged by their labels."""
    if method not in CALIBRATIONS:
        raise ValueError(f"method must be one of {', '.join(CALIBRATIONS)}; got {method!r}")
    hist.check_probabilities(found, p)
    samples = found.num_samples
    options: dict[str, Any] = {"method": method}
    if np.ndim(split):
        mask = np.asarray(split, bool)
        if mask.shape != (samples,) or not mask.any() or mask.all():
            raise ValueError(
                f"the mask must choose some of the {samples} samples to fit on, and leave some to judge"
            )
        fitted = fit_calibrator(stream(key, "calibrate"), found.take(mask), p[mask], **options)
        return Calibrated(*map(np.asarray, fitted(p))), np.flatnonzero(~mask)
    if not 2 <= split <= samples:
        raise ValueError(f"`split` must be 2 to {samples}, the number of samples, or a mask; got {split}")
    part = host_rng(key, "folds").permutation(samples) % split
    f, alpha = np.empty_like(p), np.empty(samples)
    for fold in range(split):
        own = part == fold
        fitted = fit_calibrator(stream(key, "calibrate a fold", fold), found.take(~own), p[~own], **options)
        f[own], alpha[own] = map(np.asarray, fitted(p[own]))
    return Calibrated(f, alpha), np.arange(samples)


def panel_probabilities(labels: Labels, noise: ConfusionMatrices, prior: Any) -> np.ndarray:
    """What a labeler drawn from the panel would say of each sample, for labelers who are not exchangeable.

    sum_c p(y_i = c | labels, noise) mean_t psi_t[c, k]: labels weighted by what the noise model makes of who
    gave them. It stands in for the histogram where the check of exchangeability fails; being no counts, it
    has plugin losses only.

    Args:
        labels: the labels.
        noise: confusion matrices of all labelers, learned or known.
        prior: (classes,).

    Returns:
        (samples, classes).
    """
    rho = np.asarray(class_posterior(noise.log_likelihood(labels), np.asarray(prior)), np.float64)
    return rho @ np.asarray(noise.matrices, np.float64).mean(axis=0)
