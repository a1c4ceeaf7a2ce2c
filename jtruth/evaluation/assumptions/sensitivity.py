"""Sensitivity analysis: posteriors as one assumption is varied.

- "shared_errors": the classifier repeats one of the sample's labels with some probability. The axis is the
  share of its errors that arise this way.
- "hard_samples": a share of the samples is hard for labelers and classifier.
- "labeler_dependence": a share of the samples is hard for the labelers only, who then err together.
- "prior": the share of the positive class (other classes keep their proportions).
- "error_rates": the labelers' error rates, learned or given, times a factor.

The bounds of Lam and Stork (2003), which only need the error rate of the vote, are given too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Num

from jtruth import _validation as check
from jtruth._host import known_classes, majority
from jtruth._random import Stated, as_key, stated, stream
from jtruth.answers import Answer, Column, Curve, Document, Table, dist_row, facts, warning_notes
from jtruth.evaluation.assumptions import registry
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS, INDEPENDENT, Entry
from jtruth.evaluation.inputs import Inputs, Model, Progress
from jtruth.evaluation.parts import ABOUT, IN_SAMPLE
from jtruth.lam_stork import error_bounds
from jtruth.latent import Effort
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.estimates import Estimate
from jtruth.tables.metrics import SYNONYMS
from jtruth.tables.posterior import estimates
from jtruth.testing.multiclass import count_posterior

EFFORT = Effort(max_rhat=1.03, min_ess=200, max_work=1.2e9, nuisance=False)
_FACTORS = (0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5)
_ODDS = np.array([0.25, 0.4, 0.65, 1.0, 1.5, 2.5, 4.0])
_ASKED = ("specificity", "npv", *SYNONYMS)  # metrics that are not printed, and may be asked for
_RATE_DRAWS = 16  # draws of the learned error rates that are scaled
_MISLABELED = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True, repr=False)
class Sensitivity(Answer):
    """Posteriors along one assumption. `print` it for a table; `plot` draws it."""

    what: str
    axis: str  # what `values` are, in words
    values: np.ndarray  # (settings,) increasing
    base: float  # the value of the result itself: nothing shared, the estimated prior, factor 1
    metrics: Mapping[str, tuple[Estimate, ...]]  # one distribution for each value
    level: float
    bounds: tuple[tuple[float, float, float], ...]  # share of wrong votes, accuracy at least, at most
    warnings: tuple[str, ...]
    printed: tuple[str, ...]  # metrics that are printed
    positive: str  # class of precision and recall
    key: Stated
    target: str = IN_SAMPLE  # what metrics are of, as of the answer

    def tipping_point(self, metric: str, threshold: float) -> float | None:
        """The value nearest to `base` at which the mean of a metric crosses a threshold, in either direction.

        By linear interpolation; None if it is not crossed.
        """
        check.choose("metric", metric, tuple(self.metrics))
        at, gap = self.values, np.array([dist.mean for dist in self.metrics[metric]]) - threshold
        change = np.flatnonzero(np.sign(gap[1:]) != np.sign(gap[:-1]))
        if change.size == 0:
            return None
        crossings = at[change] - gap[change] * (at[change + 1] - at[change]) / (gap[change + 1] - gap[change])
        return float(crossings[np.abs(crossings - self.base).argmin()])

    def sentence(self, metric: str, threshold: float) -> str:
        """The tipping point in words."""
        point = self.tipping_point(metric, threshold)
        means = [dist.mean for dist in self.metrics[metric]]
        side = "above" if np.interp(self.base, self.values, means) >= threshold else "below"
        holds = f"{metric[0].upper()}{metric[1:]} stays {side} {threshold:g}"
        if point is None:
            return f"{holds} for the {self.axis} from {self.values[0]:.2g} to {self.values[-1]:.2g}."
        beyond = "exceeds" if point >= self.base else "is less than"
        return f"{holds} unless the {self.axis} {beyond} {point:.2g}."

    def blocks(self) -> Document:
        """Build the document of the result."""
        dists = {name: [dist_row(dist, self.level) for dist in every] for name, every in self.metrics.items()}
        names = [name for name in self.printed if name in dists]
        rows = [
            {"value": f"{value:.3f}", **{name: dists[name][k] for name in names}}
            for k, value in enumerate(self.values.tolist())
        ]
        columns = tuple(Column((n, "mean"), n.replace("_", " "), ((n, "low"), (n, "high"))) for n in names)
        x, parts = self.values.tolist(), ("mean", "low", "high")
        curves = [
            Curve("", name.replace("_", " "), self.axis, name.replace("_", " "),
                  {"": {"x": x, **{k: [row[k] for row in dists[name]] for k in parts}}})
            for name in names
        ]  # fmt: skip
        ends = (Column("low", "at least"), Column("high", "at most"))
        title = "Bounds on accuracy under any dependence (Lam and Stork), by error rate of the majority vote"
        by_wrong = [{"wrong": f"{m:g}", "low": low, "high": high} for m, low, high in self.bounds]
        bounds = [Table("bounds", title, "wrong", ends, by_wrong)] if self.bounds else []
        of = f" (recall and precision are for class {self.positive!r})" if "recall" in names else ""
        blocks = (
            Table("by_value", self.axis + of, "value", columns, rows, missing="undefined", head=self.axis),
            *bounds, *curves, warning_notes(self.warnings),
            facts(what=self.what, axis=self.axis, values=self.values, base=self.base, level=self.level,
                  key=self.key, target=self.target, metrics=dists),
        )  # fmt: skip
        about = f"{100 * self.level:g} % intervals, {ABOUT[self.target]}; key {self.key}"
        means = np.array([dist.mean for dist in self.metrics[names[0]]])
        where = f"the {self.axis} goes from {self.values[0]:.2g} to {self.values[-1]:.2g}"
        name = f"{names[0][0].upper()}{names[0][1:]}".replace("_", " ")
        if np.isnan(means).all():
            sentence = f"{name} is not identified at any value of the {self.axis}."
        else:  # how far the first metric moves
            sentence = f"{name} lies between {np.nanmin(means):.2f} and {np.nanmax(means):.2f} as {where}."
        return Document("Which assumption would change the answer?", about, sentence, blocks)


Basis = tuple[Inputs, Model]  # the checked input, and what is known or was learned of the labels' noise
# Where an assumption at one value is on the axis, draws of the count table then, and doubts.
Moved = tuple[float, Num[np.ndarray, "draws classes symbols"], tuple[str, ...]]


PRIOR, ERROR_RATES = "prior", "error_rates"


def ways() -> dict[str, tuple[str, tuple[float, ...], Callable[[Basis, float, jax.Array], Moved]]]:
    """All options of `sensitivity`: title of the axis, default values, and function."""
    moved = [entry for entry in ASSUMPTIONS.values() if entry.moved]
    return {
        **{entry.moved: (entry.axis, entry.shares, partial(_share, entry)) for entry in moved},
        PRIOR: ("share of class {!r}", (), _prior),
        ERROR_RATES: ("factor on the labelers' error rates", _FACTORS, _scaled),
    }


def sensitivity(
    basis: Basis,
    what: str,
    *,
    level: float = 0.95,
    values: Sequence[float] | np.ndarray | None = None,
    key: Any = None,
    progress: Progress | None = None,
    printed: tuple[str, ...],
) -> Sensitivity:
    """Vary one assumption and keep the rest; see `Evaluation.sensitivity_analysis`."""
    known, (data, model) = ways(), basis
    check.choose("what", what, tuple(known))
    if model.refusal is not None:
        raise ValueError(model.refusal)
    (axis, usual, move), reported_key, key = known[what], stated(key), as_key(key)
    base = {PRIOR: float(model.prior[data.positive]), ERROR_RATES: 1.0}.get(what, 0.0)
    grid = _grid(what, usual, values, float(np.clip(base, 0.01, 0.99)))
    moved = []
    for k, value in enumerate(grid):
        moved.append(move(basis, value, stream(key, "sensitivity", k)))
        if progress is not None:
            progress(k + 1, len(grid))
    moved.sort(key=lambda move: move[0])
    doubts = tuple(f"at {place:.3f}: {text}" for place, _, texts in moved for text in texts)
    answers = [estimates(data.about(data.tables(n)), *data.answered, more=_ASKED) for _, n, _ in moved]
    metrics = {name: tuple(a[name] for a in answers) for name in answers[0]}
    places, of = np.array([place for place, _, _ in moved]), str(data.classes[data.positive])
    axis, votes = axis.format(of), vote_bounds(data)
    return Sensitivity(what, axis, places, base, metrics, level, votes, doubts, printed, of, reported_key,
                       data.target)  # fmt: skip


def _share(entry: Entry, basis: Basis, value: float, key: jax.Array) -> Moved:
    data = basis[0]
    if data.model is not None:
        raise ValueError(
            f"sensitivity to {entry.moved!r} needs learned error rates: leave noise out, or vary {PRIOR} or "
            f"{ERROR_RATES}"
        )
    if not entry.takes(len(data.classes), len(data.classes)):
        raise ValueError(f"sensitivity to {entry.moved!r} has no model of {len(data.classes)} classes")
    counts, fit = entry.fit(replace(data, progress=None), key, EFFORT, share=value)
    fit = check.present(fit, "the fit")
    return entry.place(fit, data, value), _usable(counts, fit), fit.warnings


def _prior(basis: Basis, share: float, key: jax.Array) -> Moved:
    """The share of the positive class; other classes keep their proportions."""
    data, model = basis
    rest = np.maximum(np.delete(model.prior, data.positive), 1e-9)
    prior = np.insert(rest / rest.sum() * (1 - share), data.positive, share)
    if data.model is not None:
        return share, _drawn(model.log_likelihood, prior, data, key), ()
    data = replace(data, prior=prior, progress=None)
    fit = registry.sampled(data, INDEPENDENT, stream(key, INDEPENDENT), EFFORT)
    return share, _usable(registry.tables_in(fit, data), fit), fit.warnings


def _usable(counts: np.ndarray | None, fit: JointPosterior) -> np.ndarray:
    counts = check.present(counts, "draws of the count table")
    return counts if fit.usable else np.full_like(counts, np.nan, dtype=np.float64)


def _drawn(
    log_likelihood: np.ndarray, prior: np.ndarray, data: Inputs, key: jax.Array, num: int = 4000
) -> np.ndarray:
    effort = Effort(burn_in=50, min_sweeps=num, min_ess=num / 10)
    return count_posterior(log_likelihood, prior, data.y_pred, key=key, effort=effort).counts


def _scaled(basis: Basis, factor: float, key: jax.Array) -> Moved:
    """Error rates times a factor: given ones, or draws of learned ones, each with its own prior."""
    (data, model), labels = basis, basis[0].own_labels()
    noise, fit = data.noise, model.fit
    if data.model is not None:
        if noise is None:
            raise ValueError("sensitivity to 'error_rates' needs a noise model or learned error rates")
        with jax.enable_x64(True):
            log_p = np.asarray(noise.scaled(factor).log_likelihood(labels), np.float64)
        return factor, _drawn(known_classes(log_p, data.gold), model.prior, data, key), ()
    if fit is None:
        raise ValueError("sensitivity to 'error_rates' needs the joint posterior: use method='bayes'")
    parts = [
        _drawn(log_p, shares, data, stream(key, "rates", k), num=400)
        for k, log_p, shares in registry.drawn_rates(fit, data, _RATE_DRAWS, factor)
    ]
    return factor, np.concatenate(parts), ()


def vote_bounds(data: Inputs) -> tuple[tuple[float, float, float], ...]:
    """Lam and Stork's bounds of the accuracy under any dependence; labels are the majority vote."""
    if data.labels is None:
        return ()
    right = majority(data.labels.counts())[np.arange(data.y_pred.size), data.y_pred]
    differ = float(1 - right[data.labels.labels_per_sample() > 0].mean())
    errors = [(m, error_bounds(differ, m, num_classes=len(data.classes))) for m in _MISLABELED]
    return tuple((m, 1 - bounds.upper, 1 - bounds.lower) for m, bounds in errors)


def _grid(
    what: str, usual: tuple[float, ...], values: Sequence[float] | np.ndarray | None, base: float
) -> list[float]:
    """Checked values in increasing order, or the default ones; those of the prior are even in their odds."""
    below, odds = (np.inf if what == ERROR_RATES else 1.0), base / (1 - base) * _ODDS
    if values is None:
        return (odds / (1 + odds)).tolist() if what == PRIOR else list(usual)
    grid = np.sort(np.asarray(values, np.float64).ravel())
    if grid.size < 2 or not np.isfinite(grid).all() or grid[0] < 0 or grid[-1] >= below:
        raise ValueError(
            f"values of {what!r} are {np.asarray(values).tolist()}; give two or more numbers from 0"
            + (" to below 1" if below == 1 else " up")
        )
    return grid.tolist()
