"""Alternatives to the posterior, for comparison (Su 2.6 and Table 4).

- `labeler_metrics`: each labeler's labels taken as the truth on the samples that the labeler labelled, then
  merged by mean or by the geometric median (the second suboptimal method).
- `prior_marginal_table`: the formula of 2.6.2, which averages over the PRIOR of the operating point instead
  of applying Bayes' rule (Table 10).
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from jtruth._one_line import one_line
from jtruth._validation.in_range import check_codes
from jtruth.stats.poisson_binomial import pmf
from jtruth.tables.binary import CountTable
from jtruth.tables.metrics import METRICS, binary_counts, default_metrics, ratio
from jtruth.testing.binary.operating_point import LogOdds, shifted

_MOST_STEPS = 10_000  # of the geometric median
_NODES = 32  # of Gauss and Legendre, for each rate


class LabelerMetrics(NamedTuple):
    """Metrics against each labeler; columns in the order of `names`, NaN where undefined."""

    names: tuple[str, ...]
    each: Float[np.ndarray, "labelers metrics"]
    mean: Float[np.ndarray, " metrics"]  # over the labelers for whom the metric is defined
    median: Float[np.ndarray, " metrics"]  # geometric median over labelers with every metric defined

    __repr__ = one_line


def labeler_metrics(y_pred: Int[np.ndarray, " samples"], labels: Any) -> LabelerMetrics:
    """Compute metrics against every labeler's own labels, their mean and geometric median.

    Raises:
        ValueError: labels of more than two classes, or predictions that are not 0 or 1 for each sample.
    """
    if labels.num_classes != 2:
        raise ValueError(f"these metrics are for two classes; the labels have {labels.num_classes}")
    y_pred = np.asarray(y_pred)
    check_codes(y_pred, 2, "y_pred", size=labels.num_samples)
    sample, labeler, label = labels.entries()
    rows, names = [], default_metrics("01")
    for t in range(labels.num_labelers):
        by_labeler = labeler == t
        counts = binary_counts(y_pred[sample[by_labeler]], label[by_labeler])
        rows.append([float(METRICS[name](*counts)) for name in names])
    values = np.array(rows)
    defined = ~np.isnan(values)
    complete, mean = values[defined.all(axis=1)], ratio(np.where(defined, values, 0.0).sum(0), defined.sum(0))
    median = geometric_median(complete) if len(complete) else np.full(values.shape[1], np.nan)
    return LabelerMetrics(names, values, mean, median)


def geometric_median(points: Float[np.ndarray, "points axes"]) -> Float[np.ndarray, " axes"]:
    """Point with the least sum of distances to `points` (Vardi and Zhang 2000).

    Raises:
        RuntimeError: not converged to 1e-14 of the spread in 10 000 steps.
    """
    centre = points.mean(axis=0)
    scale = float(np.abs(points - centre[None, :]).max())
    if scale == 0:
        return centre
    for _ in range(_MOST_STEPS):
        distance = np.linalg.norm(points - centre[None, :], axis=1)
        away = distance > 1e-13 * scale
        if not away.any():
            return centre
        weight = 1.0 / distance[away]
        target = weight @ points[away] / weight.sum()
        pull = float(np.linalg.norm(weight @ (points[away] - centre[None, :])))
        stay = min(1.0, (~away).sum() / pull) if pull > 0 else 1.0
        new = (1 - stay) * target + stay * centre
        if np.abs(new - centre).max() < 1e-14 * scale:
            return new
        centre = new
    raise RuntimeError(f"the median of {len(points)} points did not converge in {_MOST_STEPS} steps")


def prior_marginal_table(data: LogOdds) -> CountTable:
    """Su 2.6.2 as printed: tables given (p_D, p_FA), averaged over a uniform prior.

    `log_evidence` is NaN: the formula has none.
    """
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    rates = list(zip(0.5 * (node + 1), 0.5 * weight, strict=True))
    table = np.zeros([side.total + 1 for side in data])
    for d, wd in rates:
        for f, wf in rates:
            (p_a, a), (p_b, b) = (pmf(expit(side.x), side.counts) for side in shifted(data, d, f))
            a, b = a + data[0].sure, b + data[1].sure
            table[a : a + p_a.size, b : b + p_b.size] += wd * wf * p_a[:, None] * p_b[None, :]
    a, b = (np.arange(size) for size in table.shape)
    return CountTable(a, b, table / table.sum(), data[0].total, data[1].total, float("nan"))
