"""ROC and precision-recall curves of two classes, one threshold at a time (Su 5.4.2, 5.4.3).

**Means** (Figures 19 to 21). Every distinct score is a threshold: samples at or above it are predicted
positive. The curve's point is the conditional mean of (P_FA, P_D) and of precision, E[A] / N1, at the
operating point of that threshold. All thresholds are iterated side by side; samples enter by the distinct
values of their log-odds. The ends (0, 0) and (1, 1) are exact. Points need not be monotone, so there are two
areas: of trapezoids in the order of the thresholds, and of the monotone envelope, which is never smaller.

**Density of curves**: the average over thresholds of the exact joint posteriors of the points, as in Figures
22 to 25 (those are of empirical Bayes: too narrow). Whole curves: `jtruth.tables.curves`.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.special import expit

from jtruth._arrays import AnyArray
from jtruth._one_line import one_line
from jtruth._validation import choose
from jtruth._validation.in_range import check_finite, check_no_nan, check_shape
from jtruth.testing.binary.empirical_bayes import moments, ratio_step
from jtruth.testing.binary.exact import exact_posterior
from jtruth.testing.binary.operating_point import collapse
from jtruth.testing.steps import iterate

CURVES = {"roc": ("false_alarm_rate", "recall"), "precision_recall": ("recall", "precision")}
Numbers = Float[AnyArray, " samples"]
_AT_ONCE = 4_000_000  # numbers in one array


class ThresholdCurves(NamedTuple):
    """Points from the highest threshold (nothing positive) to the lowest (everything).

    `false_alarm`, `detection` and `threshold` are what scikit-learn's `roc_curve` gives where classes are
    known; `precision` and `detection`, without the first, are its `precision_recall_curve` read backwards.
    """

    threshold: Float[np.ndarray, " thresholds"]  # the first is infinite
    false_alarm: Float[np.ndarray, " thresholds"]  # conditional means
    detection: Float[np.ndarray, " thresholds"]
    precision: Float[np.ndarray, " thresholds"]  # NaN at the first
    converged: Bool[np.ndarray, " thresholds"]

    __repr__ = one_line

    @property
    def area_in_order(self) -> float:
        """Area under the ROC curve, trapezoids in the order of the thresholds."""
        return float(np.trapezoid(self.detection, self.false_alarm))

    @property
    def area_of_envelope(self) -> float:
        """Area under the largest detection so far, by increasing false-alarm rate."""
        order = np.lexsort((self.detection, self.false_alarm))
        return float(np.trapezoid(np.maximum.accumulate(self.detection[order]), self.false_alarm[order]))


class CurveDensity(NamedTuple):
    """Mean density over thresholds on a grid; it integrates to 1."""

    curve: str  # "roc" or "precision_recall"
    x_edges: Float[np.ndarray, " x_and_one"]
    y_edges: Float[np.ndarray, " y_and_one"]
    density: Float[np.ndarray, "x y"]
    threshold: Float[np.ndarray, " thresholds"]

    __repr__ = one_line


def _checked(log_odds: Any, scores: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both as arrays, or ValueError."""
    x, s = np.asarray(log_odds, np.float64), np.asarray(scores, np.float64)
    check_shape(s, "scores", "samples")
    check_shape(x, "log_odds", "samples", samples=s.size)
    check_no_nan(x, "log_odds")
    check_finite(s, "scores", "scores are finite numbers")
    return x, s


def curves_at_thresholds(log_odds: Numbers, scores: Numbers) -> ThresholdCurves:
    """Conditional means by Algorithm 1 at every distinct threshold.

    Args:
        log_odds: (samples,) logit p(y_i = 1 | z_i), (21); +-inf where certain.
        scores: (samples,) finite, larger for class 1.

    Raises:
        ValueError: sizes that differ, or scores that are not finite.

    >>> found = curves_at_thresholds(np.array([3.0, 2.0, -2.0, -3.0]), np.array([0.9, 0.6, 0.7, 0.1]))
    >>> found.threshold.tolist(), [round(float(v), 2) for v in found.detection]
    ([inf, 0.9, 0.7, 0.6, 0.1], [0.0, 0.56, 0.55, 1.0, 1.0])
    """
    x, s = _checked(log_odds, scores)
    thresholds = np.unique(s)[::-1]
    inner = _iterated(x, s, thresholds)
    share = float(expit(x).sum() / x.size)
    ends = ((0.0, 1.0), (0.0, 1.0), (np.nan, share), (1.0, 1.0))
    parts = (np.concatenate([[a], part, [b]]) for part, (a, b) in zip(inner, ends, strict=True))
    alarm, detection, precision, done = parts
    threshold = np.concatenate([[np.inf], thresholds])
    return ThresholdCurves(threshold, alarm, detection, precision, done.astype(bool))


def _iterated(x: np.ndarray, s: np.ndarray, thresholds: np.ndarray) -> list[np.ndarray]:
    """False-alarm rates, detection, precision and convergence at all thresholds but the last."""
    distinct, which = np.unique(x, return_inverse=True)
    place = np.searchsorted(-thresholds, -s)
    rows = thresholds.size - 1  # the last threshold is an exact end
    # Padded shapes share compiled programs.
    padding = (0, _rounded(distinct.size) - distinct.size)
    padded, of_all = np.pad(distinct, padding), np.pad(np.bincount(which).astype(np.float64), padding)
    size, parts = min(max(_AT_ONCE // padded.size, 1), _rounded(rows)), []
    for first in range(0, rows, size):  # with all log-odds and scores distinct the whole is samples^2 numbers
        so_far, above = place < first + size, np.zeros((size, distinct.size))
        np.add.at(above, (np.maximum(place[so_far] - first, 0), which[so_far]), 1.0)
        np.cumsum(above, axis=0, out=above)  # numbers of each value at or above these thresholds
        means = _means(padded, np.pad(above, ((0, 0), padding)), of_all)
        parts.append([np.asarray(v)[: rows - first] for v in means])
    return [np.concatenate(v) for v in zip(*parts, strict=True)] if parts else [np.zeros(0)] * 4


def _rounded(number: int) -> int:
    """The next power of two, at least 8."""
    return max(8, 1 << (number - 1).bit_length())


@jax.jit
@partial(jax.vmap, in_axes=(None, 0, None))
def _means(distinct: Array, above: Array, of_all: Array) -> tuple[Array, Array, Array, Array]:
    """Means, given distinct log-odds and the numbers of each above a threshold and in all."""
    x, weight = jnp.concatenate([distinct, distinct]), jnp.concatenate([above, of_all - above])
    y_pred = jnp.repeat(jnp.array([1, 0], jnp.int32), distinct.size)
    fit = iterate(ratio_step(x, y_pred, weight=weight), dtype=distinct.dtype)
    m = moments(x, y_pred, fit.value, weight)
    return fit.value[1], fit.value[0], m.mean_u / m.n1, fit.converged


def curve_density(
    log_odds: Numbers, scores: Numbers, *, curve: str = "roc", thresholds: int = 50, cells: int = 60
) -> CurveDensity:
    """Average of the exact joint posteriors over thresholds.

    Args:
        log_odds: (samples,) logit p(y_i = 1 | z_i); +-inf where certain.
        scores: (samples,) finite, larger for class 1.
        curve: "roc" or "precision_recall".
        thresholds: at most so many distinct scores, at equal steps of their order, without the exact ends.
        cells: of the grid in each direction.

    Raises:
        ValueError: an unknown curve, scores that are not finite or all equal, or sizes that differ.

    >>> found = curve_density(np.array([3.0, 2.0, -2.0, -3.0]), np.array([0.9, 0.6, 0.7, 0.1]), cells=10)
    >>> found.threshold.tolist(), found.density.shape, round(float(found.density.mean()), 6)
    ([0.6, 0.7, 0.9], (10, 10), 1.0)
    """
    choose("curve", curve, tuple(CURVES))
    x, s = _checked(log_odds, scores)
    distinct = np.unique(s)[1:]
    if not distinct.size or thresholds < 1:
        raise ValueError("all scores are equal, or no threshold is wanted: no curve between the ends")
    chosen = distinct[np.unique(np.linspace(0, distinct.size - 1, thresholds).round().astype(int))]
    edges, total = np.linspace(0, 1, cells + 1), np.zeros((cells, cells))
    for threshold in chosen:
        table = exact_posterior(collapse(x, (s >= threshold).astype(np.int32)))
        total += table.joint(*CURVES[curve]).on_grid(edges, edges)
    return CurveDensity(curve, edges, edges, total / chosen.size, chosen)
