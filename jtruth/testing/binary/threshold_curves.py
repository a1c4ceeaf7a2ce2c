"""ROC and precision-recall curves by Algorithm 1 at every threshold (Su 5.4.2, Figures 19 to 21).

Every distinct score is a threshold: samples at or above it are predicted positive. At each one empirical
Bayes finds the operating point by itself, and the curve's point is the conditional mean of (P_FA, P_D) and
of precision, E[A] / N1. All thresholds are iterated side by side. Samples enter by the distinct values of
their log-odds alone, and labels of few labelers give few, so a step costs thresholds times kinds, not times
samples. The exact posterior of each threshold (`step="posterior"`), with flat priors of the operating point,
has no iteration and is computed on the host, one threshold after the other.

The ends (0, 0) and (1, 1) of the ROC curve are exact. Where nothing is predicted positive precision is not
defined and the precision-recall curve has no point. Points are estimated one by one and need not be monotone,
so two areas are given: of trapezoids in the order of the thresholds (parts of it may count backwards), and of
the monotone envelope, which takes the larger detection so far and is therefore never the smaller one at the
same false-alarm rates.

Where a curve lies: the average over thresholds of the joint posteriors of its points (Su 5.4.3).

At one threshold the exact posterior of the count table gives the joint law of (P_FA, P_D), or of recall and
precision. The average of these laws over thresholds is a density in the plane, dark where the curve is, as
in Figures 22 to 25 (whose laws are the normal ones of empirical Bayes: too narrow, see `exact`). Points of
different thresholds are not judged together here; `jtruth.tables.curves` draws whole curves.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jtruth._one_line import one_line
from jtruth.testing.binary.empirical_bayes import exact_step, moments, plug_in_step, ratio_step
from jtruth.testing.binary.exact import exact_posterior
from jtruth.testing.binary.operating_point import collapse
from jtruth.testing.steps import iterate

STEPS = {"ratio": ratio_step, "exact": exact_step, "plug_in": plug_in_step}
POSTERIOR = "posterior"
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

    @property
    def average_precision(self) -> float:
        """Sum of precision times the step of detection; steps may be negative."""
        return float((np.diff(self.detection) * self.precision[1:]).sum())


def curves_at_thresholds(
    log_odds: Float[Array | np.ndarray, " samples"],
    scores: Float[Array | np.ndarray, " samples"],
    *,
    step: str = "ratio",
    max_steps: int = 30,
    tol: float = 1e-3,
    alpha: float = 1e-3,
) -> ThresholdCurves:
    """Conditional means at every distinct threshold.

    Args:
        log_odds: (samples,) logit p(y_i = 1 | z_i), (21); +-inf where certain.
        scores: (samples,) finite, larger for class 1.
        step: "ratio" (Algorithm 1), "exact" (the conditional means without normality), "plug_in" (the EM
            map, by far the fastest), or "posterior": means of the exact posterior.
        max_steps, tol, alpha: of the iteration, see `iterate`.

    Raises:
        ValueError: sizes that differ, scores that are not finite, or an unknown step.

    >>> found = curves_at_thresholds(np.array([3.0, 2.0, -2.0, -3.0]), np.array([0.9, 0.6, 0.7, 0.1]))
    >>> found.threshold.tolist(), [round(float(v), 2) for v in found.detection]
    ([inf, 0.9, 0.7, 0.6, 0.1], [0.0, 0.56, 0.55, 1.0, 1.0])
    """
    x, s = np.asarray(log_odds, np.float64), np.asarray(scores, np.float64)
    if x.ndim != 1 or x.shape != s.shape or not x.size:
        raise ValueError(f"log_odds and scores must be of one size; got shapes {x.shape} and {s.shape}")
    bad = np.flatnonzero(~np.isfinite(s) | np.isnan(x))
    if bad.size:
        raise ValueError(f"sample {bad[0]} has score {s[bad[0]]} and log-odds {x[bad[0]]}; scores are finite")
    if step not in (*STEPS, POSTERIOR):
        raise ValueError(f"step={step!r}; choose one of {', '.join((*STEPS, POSTERIOR))}")
    thresholds = np.unique(s)[::-1]
    if step == POSTERIOR:
        inner = _posterior_means(x, s, thresholds[:-1])
    else:
        inner = _iterated(x, s, thresholds, _compiled(step, max_steps, tol, alpha))
    share = float((1 / (1 + np.exp(-np.clip(x, -700, 700)))).sum() / x.size)
    ends = (np.zeros(1), np.ones(1), np.array([np.nan]), np.array([share]), np.ones(1, bool))
    return ThresholdCurves(
        np.concatenate([[np.inf], thresholds]),
        np.concatenate([ends[0], inner[0], ends[1]]),
        np.concatenate([ends[0], inner[1], ends[1]]),
        np.concatenate([ends[2], inner[2], ends[3]]),
        np.concatenate([ends[4], inner[3].astype(bool), ends[4]]),
    )


def _posterior_means(x: np.ndarray, s: np.ndarray, thresholds: np.ndarray) -> list[np.ndarray]:
    """Means of the false-alarm rate, recall and precision, where they are defined."""
    names = ("false_alarm_rate", "recall", "precision")
    tables = (exact_posterior(collapse(x, (s >= t).astype(np.int32))) for t in thresholds)
    means = np.array([[table.estimate(name).mean for name in names] for table in tables]).reshape(-1, 3)
    return [*means.T, np.ones(thresholds.size)]


def _iterated(
    x: np.ndarray, s: np.ndarray, thresholds: np.ndarray, run: Callable[..., tuple[Array, ...]]
) -> list[np.ndarray]:
    """False-alarm rates, detection, precision and convergence at all thresholds but the last."""
    kinds, kind = np.unique(x, return_inverse=True)
    place = np.searchsorted(-thresholds, -s)
    inner_rows = thresholds.size - 1  # the last threshold is an exact end
    every = np.bincount(kind).astype(np.float64)
    # Kinds of which there are none and rows that are cut off again make shapes that come again.
    padding = (0, _rounded(kinds.size) - kinds.size)
    some, of_all = np.pad(kinds, padding), np.pad(every, padding)
    size, parts = min(max(_AT_ONCE // some.size, 1), _rounded(inner_rows)), []
    for first, above in _blocks(place, kind, (inner_rows, kinds.size), size):
        left = min(size, inner_rows - first)
        parts.append([np.asarray(v)[:left] for v in run(some, np.pad(above, ((0, 0), padding)), of_all)])
    return [np.concatenate(v) for v in zip(*parts, strict=True)] if parts else [np.zeros(0)] * 4


def _blocks(
    place: Int[np.ndarray, " samples"], kind: Int[np.ndarray, " samples"], shape: tuple[int, int], size: int
) -> Iterator[tuple[int, Float[np.ndarray, "rows kinds"]]]:
    """(first row, numbers of each kind at or above the thresholds from there), `size` rows at once.

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
        np.add.at(block, (place[rows] - first, kind[rows]), 1.0)
        block[0] += before
        np.cumsum(block, axis=0, out=block)
        before = block[-1].copy()
        yield first, block


def _rounded(number: int) -> int:
    """The next power of two, at least 8."""
    return max(8, 1 << (number - 1).bit_length())


@lru_cache
def _compiled(step: str, max_steps: int, tol: float, alpha: float) -> Callable[..., tuple[Array, ...]]:
    """(kinds of log-odds, numbers of each above every threshold, numbers in all) -> means there."""

    def one(kinds: Array, above: Array, every: Array) -> tuple[Array, Array, Array, Array]:
        x = jnp.concatenate([kinds, kinds])
        weight = jnp.concatenate([above, every - above])
        y_pred = jnp.concatenate([jnp.ones(kinds.shape, jnp.int32), jnp.zeros(kinds.shape, jnp.int32)])
        fit = iterate(STEPS[step](x, y_pred, weight=weight), dtype=kinds.dtype, max_steps=max_steps, tol=tol,
                      alpha=alpha)  # fmt: skip
        m = moments(x, y_pred, jnp.stack([fit.p_detection, fit.p_false_alarm]), weight)
        return fit.p_false_alarm, fit.p_detection, m.mean_u / m.n1, fit.converged

    return jax.jit(jax.vmap(one, in_axes=(None, 0, None)))


CURVES = {"roc": ("false_alarm_rate", "recall"), "precision_recall": ("recall", "precision")}


class CurveDensity(NamedTuple):
    """Mean density over thresholds on a grid; it integrates to 1."""

    curve: str  # "roc" or "precision_recall"
    x_edges: Float[np.ndarray, " x_and_one"]
    y_edges: Float[np.ndarray, " y_and_one"]
    density: Float[np.ndarray, "x y"]
    threshold: Float[np.ndarray, " thresholds"]

    __repr__ = one_line


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
    x, s = np.asarray(log_odds, np.float64), np.asarray(scores, np.float64)
    if curve not in CURVES:
        raise ValueError(f"curve={curve!r}; choose one of {', '.join(CURVES)}")
    if x.ndim != 1 or x.shape != s.shape:
        raise ValueError(f"log_odds and scores must be of one size; got shapes {x.shape} and {s.shape}")
    bad = np.flatnonzero(~np.isfinite(s))
    if bad.size:
        raise ValueError(f"scores[{bad[0]}] is {s[bad[0]]}; scores are finite numbers")
    distinct = np.unique(s)[1:]
    if not distinct.size or thresholds < 1:
        raise ValueError("all scores are equal, or no threshold is wanted: no curve between the ends")
    chosen = distinct[np.unique(np.linspace(0, distinct.size - 1, thresholds).round().astype(int))]
    edges = np.linspace(0, 1, cells + 1)
    total = np.zeros((cells, cells))
    for threshold in chosen:
        table = exact_posterior(collapse(x, (s >= threshold).astype(np.int32)))
        total += table.joint(*CURVES[curve]).on_grid(edges, edges)
    return CurveDensity(curve, edges, edges, total / chosen.size, chosen)
