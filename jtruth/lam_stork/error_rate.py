"""Grade a classifier on noisy labels with a known error rate: Lam & Stork (2003).

Somebody gave one label to each test sample and was wrong in a share m of them. If classifier and labeler err
independently, the share a of samples on which they differ gives the classifier's error rate in closed form,
e = (a - m)/(1 - 2m) (2), and with the labeler's confusion matrix the classifier's own and the class shares
(5), (6). It is the ancestor of everything else in this package: no iterations, no prior, one line of algebra,
and three weak spots that the functions here name rather than hide:

- m is known or it is not. `estimate_error_rate` takes a number or the counts of an audit and carries their
  uncertainty into the interval; `error_rate_posterior` does so by Bayes (section 7 leaves it open).
- Estimates leave [0, 1]; nothing is clipped, `warnings` says so. For matrices of small samples it happens in
  most samples: `fit_confusion` is the maximum of the likelihood over probabilities.
- Errors may not be independent. `error_bounds` and `estimate_bounds` need no such assumption, for any number
  of classes: |a - m| <= e <= a + m.

The target is the error rate in the population of which the test samples are a random sample. Rates, bounds
and breakeven points of (1) to (4) are in `rates`, tests of both tables of the paper in
`tests/lam_stork/test_lam_stork.py`, its Table 3 in `benchmarks/lam_stork_table3.py`. For shares instead of
error rates (the pass rate according to a judge) see `shares`.
"""

from typing import Any, NamedTuple

import numpy as np

from jtruth._one_line import one_line
from jtruth.lam_stork.intervals import (
    Corrected,
    HowMany,
    Known,
    RateEstimate,
    rate_estimate,
    share,
)
from jtruth.lam_stork.rates import (
    ErrorBounds,
    error_bounds,
    nonnegative_lower_bound,
    true_error_rate,
)
from jtruth.stats.regions import check_level

_WHY = (
    "chance, a mislabeling rate that is not that of these labels, or predictions that share the labels' "
    "errors; `estimate_bounds` needs no independence"
)


def estimate_error_rate(
    differ: HowMany,
    *,
    mislabeling: Known,
    method: str = "delta",
    level: float = 0.95,
    key: Any = None,
    num_draws: int = 10_000,
) -> RateEstimate:
    """Error rate of a two-class classifier from labels that are wrong at a known or audited rate.

    Args:
        differ: (predictions that differ from their label, test samples).
        mislabeling: the rate if known, or (labels found wrong, labels audited). The audited labels are a
            random sample of their own; "delta" and "bootstrap" take it for independent of the test samples.
        method: "delta", "bootstrap" or "exact" (Clopper-Pearson; never too short).
        level: of the interval.
        key: JAX random key, for the bootstrap.
        num_draws: of the bootstrap.

    Returns:
        `RateEstimate`: (2) and its interval, as computed also where they leave [0, 1].

    Raises:
        ValueError: impossible counts or rates, an unknown method, no key for the bootstrap, or a mislabeling
            rate of exactly 1/2.

    Source: Lam & Stork (2) and the variance of its section 4; an audit of n labels adds
    (1 - 2e)^2 m (1 - m)/(1 - 2m)^2/n to it.

    >>> found = estimate_error_rate((68, 1000), mislabeling=0.01)
    >>> print(f"{found.value:.4f} [{found.low:.4f}, {found.high:.4f}]")
    0.0592 [0.0433, 0.0751]
    >>> found = estimate_error_rate((68, 1000), mislabeling=(2, 200))
    >>> print(f"{found.value:.4f} [{found.low:.4f}, {found.high:.4f}]")
    0.0592 [0.0390, 0.0794]
    """
    if not isinstance(differ, tuple):
        raise ValueError(f"differ is {differ}; give the pair (predictions that differ, test samples)")
    seen, wrong = share(differ, "differ"), share(mislabeling, "mislabeling")
    error = float(true_error_rate(seen.value, wrong.value))
    slope = 1 - 2 * wrong.value
    found = rate_estimate(
        Corrected(
            lambda a, m: (a - m) / (1 - 2 * m), lambda a, m: 1 - 2 * m + 0 * a,
            (1 / slope, -(1 - 2 * error) / slope), _WHY,
        ),
        (seen, wrong), method=method, level=level, key=key, num_draws=num_draws,
    )  # fmt: skip
    if slope < 0:
        text = f"mislabeling is {wrong.value:.3g}: labels are mostly wrong; are the classes swapped?"
        found = found._replace(warnings=(text, *found.warnings))
    return found


class BoundsEstimate(NamedTuple):
    """Bounds of the error rate from counts, without the assumption of independent errors."""

    at_estimates: ErrorBounds  # as if the two shares were exact
    low: float  # covers with at least the level, whatever the dependence
    high: float
    low_nonnegative: float  # the same if dependence is non-negative
    level: float
    warnings: tuple[str, ...]

    __repr__ = one_line


def estimate_bounds(
    differ: HowMany, *, mislabeling: Known, num_classes: int = 2, level: float = 0.95
) -> BoundsEstimate:
    """Bounds of the error rate that hold with probability `level`, whatever the dependence of the errors.

    Clopper-Pearson intervals of the apparent and the mislabeling rate, each with half of the risk, and the
    bounds of `error_bounds` at their worst. It makes no difference whether the audited labels are among the
    tested ones.

    Args:
        differ: (predictions that differ from their label, test samples).
        mislabeling: the rate if known, or (labels found wrong, labels audited).
        num_classes: how many.
        level: probability that [low, high] holds the error rate, at least.

    Raises:
        ValueError: impossible counts, rates or level.

    >>> found = estimate_bounds((68, 1000), mislabeling=(2, 200))
    >>> print(f"[{found.low:.3f}, {found.high:.3f}]", found.at_estimates[:2])
    [0.011, 0.128] (0.058, 0.078)
    """
    check_level(level)
    if not isinstance(differ, tuple):
        raise ValueError(f"differ is {differ}; give the pair (predictions that differ, test samples)")
    seen, wrong = share(differ, "differ"), share(mislabeling, "mislabeling")
    plug_in = error_bounds(seen.value, wrong.value, num_classes=num_classes)
    risk = (1 - level) / (1 + np.isfinite(wrong.size))
    (a_low, a_high), (m_low, m_high) = seen.ends(risk), wrong.ends(risk)
    low = max(0.0, a_low - m_high, m_low - a_high)
    totals = a_low + m_low, a_high + m_high
    high = min(1.0, totals[1])
    if num_classes == 2 and totals[0] > 1:
        high = 2 - totals[0]
    least, warnings = low, plug_in.warnings
    if m_high < (0.5 if num_classes == 2 else 1.0):
        ends = [nonnegative_lower_bound(a_low, m, num_classes=num_classes) for m in (m_low, m_high)]
        least = max(low, min(ends))
    elif not warnings:
        warnings = (f"mislabeling may be as high as {m_high:.3g}: non-negative dependence adds no bound",)
    return BoundsEstimate(plug_in, float(low), float(high), float(least), level, warnings)
