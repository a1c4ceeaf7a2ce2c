"""Where a curve lies: the average over thresholds of the joint posteriors of its points (Su 5.4.3).

At one threshold the exact posterior of the count table gives the joint law of (P_FA, P_D), or of recall and
precision. The average of these laws over thresholds is a density in the plane, dark where the curve is, as
in Figures 22 to 25 (whose laws are the normal ones of empirical Bayes: too narrow, see `exact`). Points of
different thresholds are not judged together here; `jtruth.tables.curves` draws whole curves.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from jtruth._one_line import one_line
from jtruth.testing.binary.methods import exact_posterior
from jtruth.testing.binary.operating_point import collapse

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
