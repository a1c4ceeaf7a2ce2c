"""What people do instead: rivals of the posterior, kept for comparison (Su 2.6).

- `majority_metrics`: majority vote taken as the truth (ties shared between the classes).
- `labeler_metrics`: each labeler's labels taken as the truth on the samples that the labeler labelled, then
  merged by mean or by the geometric median (the second suboptimal method).
- `carlotto_accuracy`: accuracy against the truth from accuracy against labels of a known accuracy, any number
  of classes.
- `prior_marginal_table`: the paper's "fully Bayesian" formula of 2.6.2. It averages the posterior given the
  operating point over the PRIOR of the operating point, which is not Bayes' rule; kept to reproduce Table 10.

What Holodnak, Matterer and Streilein (2018), the last row of Su's Table 4, compare is in
`agreement_accuracy`, with what is known of their report and what is not.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from jtruth._host import majority
from jtruth._one_line import one_line
from jtruth._validation.in_range import check_codes
from jtruth.lam_stork.rates import check_rate
from jtruth.stats.poisson_binomial import pmf
from jtruth.tables.metrics import METRICS, binary_counts, shown
from jtruth.testing.binary.exact import CountTable
from jtruth.testing.binary.operating_point import LogOdds


class LabelerMetrics(NamedTuple):
    """Metrics against each labeler; columns in the order of `names`, NaN where undefined."""

    names: tuple[str, ...]
    each: Float[np.ndarray, "labelers metrics"]
    mean: Float[np.ndarray, " metrics"]  # over the labelers for whom the metric is defined
    median: Float[np.ndarray, " metrics"]  # geometric median over labelers with every metric defined

    __repr__ = one_line


def soft_metrics(
    y_pred: Int[np.ndarray, " samples"], positive: Float[np.ndarray, " samples"]
) -> dict[str, float]:
    """Metrics when sample i counts as positive with weight positive[i], in [0, 1]."""
    y_pred, positive = np.asarray(y_pred), np.asarray(positive, np.float64)
    check_codes(y_pred, 2, "y_pred", size=len(positive))
    one = y_pred == 1
    counts = (
        positive[one].sum(),
        (1 - positive[one]).sum(),
        positive[~one].sum(),
        (1 - positive[~one]).sum(),
    )
    return {name: float(METRICS[name](*counts)) for name in shown("01")}


def majority_metrics(
    y_pred: Int[np.ndarray, " samples"], votes: Float[np.ndarray, "samples classes"]
) -> dict[str, float]:
    """Metrics with the majority vote as truth; a tie counts as a share of each class."""
    return soft_metrics(y_pred, majority(votes)[:, 1])


def labeler_metrics(y_pred: Int[np.ndarray, " samples"], labels: Any) -> LabelerMetrics:
    """Metrics against every labeler's own labels (binary `Labels`), their mean and geometric median.

    Raises:
        ValueError: labels of more than two classes, or predictions that are not 0 or 1 for each sample.
    """
    if labels.num_classes != 2:
        raise ValueError(f"these metrics are for two classes; the labels have {labels.num_classes}")
    y_pred = np.asarray(y_pred)
    check_codes(y_pred, 2, "y_pred", size=labels.num_samples)
    sample, labeler, label = labels.arrays
    rows, names = [], shown("01")
    for t in range(labels.num_labelers):
        mine = (labeler == t) & (label >= 0)
        counts = binary_counts(y_pred[sample[mine]], label[mine])
        rows.append([float(METRICS[name](*counts)) for name in names])
    each = np.array(rows)
    complete = each[~np.isnan(each).any(axis=1)]
    defined = ~np.isnan(each)
    mean = np.where(
        defined.any(0), np.where(defined, each, 0.0).sum(0) / np.maximum(defined.sum(0), 1), np.nan
    )
    median = geometric_median(complete) if len(complete) else np.full(each.shape[1], np.nan)
    return LabelerMetrics(names, each, mean, median)


def apparent_accuracy(accuracy: float, label_accuracy: float, num_classes: int) -> float:
    """Carlotto (2009): how often predictions agree with labels, a b + (1 - a)(1 - b)/(C - 1).

    Classifier (a) and labels (b) err independently, each with its errors spread evenly over the wrong
    classes.
    """
    check_rate(accuracy, "accuracy")
    check_rate(label_accuracy, "label_accuracy")
    _check_number(num_classes)
    return accuracy * label_accuracy + (1 - accuracy) * (1 - label_accuracy) / (num_classes - 1)


def carlotto_accuracy(apparent: float, label_accuracy: float, num_classes: int) -> float:
    """Carlotto's (2009) rough estimate of accuracy: Lam & Stork (2) for two classes.

    The inverse of `apparent_accuracy`.

    Args:
        apparent: share of predictions that agree with their label.
        label_accuracy: share of labels that are right.
        num_classes: C.

    Returns:
        The accuracy; outside [0, 1] where no accuracy explains the two shares.

    Raises:
        ValueError: rates outside [0, 1], or labels at chance, which say nothing.

    >>> round(carlotto_accuracy(0.77, 0.9, 4), 4)
    0.85
    """
    check_rate(apparent, "apparent")
    check_rate(label_accuracy, "label_accuracy")
    _check_number(num_classes)
    wrong = (1 - label_accuracy) / (num_classes - 1)
    if abs(label_accuracy - wrong) < 1e-12:
        raise ValueError(
            f"label_accuracy is {label_accuracy}, chance for {num_classes} classes: such labels say nothing"
        )
    return (apparent - wrong) / (label_accuracy - wrong)


def _check_number(num_classes: int) -> None:
    if num_classes < 2:
        raise ValueError(f"num_classes is {num_classes}; accuracy needs at least 2 classes")


def geometric_median(
    points: Float[np.ndarray, "points axes"], *, max_steps: int = 10_000
) -> Float[np.ndarray, " axes"]:
    """Point with the least sum of distances to `points` (Vardi and Zhang 2000, who treat visited points).

    Raises:
        RuntimeError: not converged to 1e-14 of the spread within `max_steps`.
    """
    centre = points.mean(axis=0)
    scale = float(np.abs(points - centre[None, :]).max())
    if scale == 0:
        return centre
    for _ in range(max_steps):
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
    raise RuntimeError(f"the geometric median of {len(points)} points did not settle in {max_steps} steps")


def prior_marginal_table(data: LogOdds, *, nodes: int = 32) -> CountTable:
    """Su 2.6.2 as printed: tables given (p_D, p_FA), averaged over a uniform prior, unweighted by the data.

    `nodes` Gauss-Legendre nodes an axis. `log_evidence` is NaN: the formula has none.
    """
    node, weight = np.polynomial.legendre.leggauss(nodes)
    node, weight = 0.5 * (node + 1), 0.5 * weight
    table = np.zeros((data.n1 + 1, data.n0 + 1))
    for d, wd in zip(node, weight, strict=True):
        for f, wf in zip(node, weight, strict=True):
            p_a, a = pmf(expit(data.x1 + np.log(d / f)), data.counts1)
            p_b, b = pmf(expit(data.x0 + np.log((1 - d) / (1 - f))), data.counts0)
            a, b = a + data.sure1, b + data.sure0
            table[a : a + p_a.size, b : b + p_b.size] += wd * wf * p_a[:, None] * p_b[None, :]
    return CountTable(
        np.arange(data.n1 + 1), np.arange(data.n0 + 1), table / table.sum(), data.n1, data.n0, float("nan")
    )
