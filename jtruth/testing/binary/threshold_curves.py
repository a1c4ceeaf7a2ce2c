"""ROC and precision-recall curves of two classes, one threshold after the other (Su 5.4.2, 5.4.3).

**Means** (Figures 19 to 21). Every distinct score is a threshold: samples at or above it are predicted
positive, and the curve's point is the conditional mean of (P_FA, P_D) and of precision, E[A] / N1, at an
operating point that is found there. All thresholds are iterated side by side; samples enter by the distinct
values of their log-odds. The ends (0, 0) and (1, 1) are exact. Points need not be monotone, so two areas are
given: of trapezoids in the order of the thresholds, and of the monotone envelope, which is never the smaller
one at the same false-alarm rates.

**Where a curve lies**: the average over thresholds of the exact joint posteriors of its points, as in Figures
22 to 25 (whose laws are the normal ones of empirical Bayes: too narrow). Whole curves:
`jtruth.tables.curves`.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.special import expit

from jtruth._one_line import one_line
from jtruth._validation.in_range import check_no_nan
from jtruth.testing.binary.empirical_bayes import exact_step, moments, plug_in_step, ratio_step
from jtruth.testing.binary.exact import exact_posterior
from jtruth.testing.binary.operating_point import collapse
from jtruth.testing.steps import iterate

STEPS = {"ratio": ratio_step, "exact": exact_step, "plug_in": plug_in_step}
POSTERIOR = "posterior"
CURVES = {"roc": ("false_alarm_rate", "recall"), "precision_recall": ("recall", "precision")}
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
    if x.ndim != 1 or x.shape != s.shape or not x.size:
        raise ValueError(f"log_odds and scores must be of one size; got shapes {x.shape} and {s.shape}")
    check_no_nan(x, "log_odds")
    bad = np.flatnonzero(~np.isfinite(s))
    if bad.size:
        raise ValueError(f"scores[{bad[0]}] is {s[bad[0]]}; scores are finite numbers")
    return x, s


def curves_at_thresholds(
    log_odds: Float[Array | np.ndarray, " samples"],
    scores: Float[Array | np.ndarray, " samples"],
    *,
    step: str = "ratio",
    alpha: float = 1e-3,
) -> ThresholdCurves:
    """Conditional means at every distinct threshold.

    Args:
        log_odds: (samples,) logit p(y_i = 1 | z_i), (21); +-inf where certain.
        scores: (samples,) finite, larger for class 1.
        step: "ratio" (Algorithm 1), "exact" (the conditional means without normality), "plug_in" (the EM
            map, by far the fastest), or "posterior": means of the exact posterior.
        alpha: of the iteration, see `iterate`.

    Raises:
        ValueError: sizes that differ, scores that are not finite, or an unknown step.

    >>> found = curves_at_thresholds(np.array([3.0, 2.0, -2.0, -3.0]), np.array([0.9, 0.6, 0.7, 0.1]))
    >>> found.threshold.tolist(), [round(float(v), 2) for v in found.detection]
    ([inf, 0.9, 0.7, 0.6, 0.1], [0.0, 0.56, 0.55, 1.0, 1.0])
    """
    x, s = _checked(log_odds, scores)
    if step not in (*STEPS, POSTERIOR):
        raise ValueError(f"step={step!r}; choose one of {', '.join((*STEPS, POSTERIOR))}")
    thresholds = np.unique(s)[::-1]
    if step == POSTERIOR:
        names = ("false_alarm_rate", "recall", "precision")
        tables = (exact_posterior(collapse(x, (s >= t).astype(np.int32))) for t in thresholds[:-1])
        means = np.array([[table.estimate(name).mean for name in names] for table in tables]).reshape(-1, 3)
        inner = [*means.T, np.ones(len(means))]
    else:
        inner = _iterated(x, s, thresholds, _compiled(step, alpha))
    share = float(expit(x).sum() / x.size)
    ends = ((0.0, 1.0), (0.0, 1.0), (np.nan, share), (1.0, 1.0))
    parts = (np.concatenate([[a], part, [b]]) for part, (a, b) in zip(inner, ends, strict=True))
    alarm, detection, precision, done = parts
    threshold = np.concatenate([[np.inf], thresholds])
    return ThresholdCurves(threshold, alarm, detection, precision, done.astype(bool))


def _iterated(
    x: np.ndarray, s: np.ndarray, thresholds: np.ndarray, run: Callable[..., tuple[Array, ...]]
) -> list[np.ndarray]:
    """False-alarm rates, detection, precision and convergence at all thresholds but the last."""
    distinct, which = np.unique(x, return_inverse=True)
    place = np.searchsorted(-thresholds, -s)
    rows = thresholds.size - 1  # the last threshold is an exact end
    # Values of which there are none and rows that are cut off again make shapes that come again.
    padding = (0, _rounded(distinct.size) - distinct.size)
    some, of_all = np.pad(distinct, padding), np.pad(np.bincount(which).astype(np.float64), padding)
    size, parts = min(max(_AT_ONCE // some.size, 1), _rounded(rows)), []
    for first, above in _blocks(place, which, (rows, distinct.size), size):
        found = run(some, np.pad(above, ((0, 0), padding)), of_all)
        parts.append([np.asarray(v)[: rows - first] for v in found])
    return [np.concatenate(v) for v in zip(*parts, strict=True)] if parts else [np.zeros(0)] * 4


def _blocks(
    place: Int[np.ndarray, " samples"], which: Int[np.ndarray, " samples"], shape: tuple[int, int], size: int
) -> Iterator[tuple[int, Float[np.ndarray, "rows distinct"]]]:
    """(first row, numbers of each value at or above the thresholds from there), `size` rows at once.

    The last rows repeat the last one where there are fewer left. Never more than one block is held: with all
    log-odds and scores distinct the whole array would have samples^2 numbers.
    """
    order = np.argsort(place, kind="stable")
    upto = np.searchsorted(place[order], np.arange(0, shape[0] + size, size))
    before = np.zeros(shape[1])
    for number, first in enumerate(range(0, shape[0], size)):
        rows = order[upto[number] : upto[number + 1]]
        rows = rows[place[rows] < shape[0]]
        block = np.zeros((size, shape[1]))
        np.add.at(block, (place[rows] - first, which[rows]), 1.0)
        block[0] += before
        np.cumsum(block, axis=0, out=block)
        before = block[-1].copy()
        yield first, block


def _rounded(number: int) -> int:
    """The next power of two, at least 8."""
    return max(8, 1 << (number - 1).bit_length())


@lru_cache
def _compiled(step: str, alpha: float) -> Callable[..., tuple[Array, ...]]:
    """(distinct log-odds, numbers of each above every threshold, numbers in all) -> means there."""

    def one(distinct: Array, above: Array, every: Array) -> tuple[Array, Array, Array, Array]:
        x, weight = jnp.concatenate([distinct, distinct]), jnp.concatenate([above, every - above])
        y_pred = jnp.repeat(jnp.array([1, 0], jnp.int32), distinct.size)
        once = STEPS[step](x, y_pred, weight=weight)
        fit = iterate(once, dtype=distinct.dtype, alpha=alpha)
        m = moments(x, y_pred, fit.value, weight)
        return fit.value[1], fit.value[0], m.mean_u / m.n1, fit.converged

    return jax.jit(jax.vmap(one, in_axes=(None, 0, None)))


def curve_density(
    log_odds: Float[Array | np.ndarray, " samples"],
    scores: Float[Array | np.ndarray, " samples"],
    *,
    curve: str = "roc",
    thresholds: int = 50,
    cells: int = 60,
) -> CurveDensity:
    """Average of the exact joint posteriors.

    Args:
        log_odds: (samples,) logit p(y_i = 1 | z_i); +-inf where certain.
        scores: (samples,) finite, larger for class 1.
        curve: "roc" or "precision_recall".
        thresholds: at most so many distinct scores, at equal steps of their order. The ends, at which
            everything or nothing is predicted positive, are exact points and left out.
        cells: of the grid in each direction.

    Raises:
        ValueError: an unknown curve, scores that are not finite or all equal, or sizes that differ.

    >>> found = curve_density(np.array([3.0, 2.0, -2.0, -3.0]), np.array([0.9, 0.6, 0.7, 0.1]), cells=10)
    >>> found.threshold.tolist(), found.density.shape, round(float(found.density.mean()), 6)
    ([0.6, 0.7, 0.9], (10, 10), 1.0)
    """
    if curve not in CURVES:
        raise ValueError(f"curve={curve!r}; choose one of {', '.join(CURVES)}")
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
