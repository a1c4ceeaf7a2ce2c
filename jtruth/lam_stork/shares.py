"""Correct a share for a test, a labeler or a judge that errs: Rogan and Gladen (1978).

A judge calls some of N answers good. With sensitivity P(called good | good) and specificity P(called bad |
bad), and errors that are the same everywhere,

    called = share * sensitivity + (1 - share) (1 - specificity),
    share = (called + specificity - 1)/(sensitivity + specificity - 1).

It is Lam & Stork (6) for two classes, and with sensitivity = specificity = 1 - m, read for "prediction and
label differ", their (2). In practice sensitivity and specificity come from gold answers; then they are as
uncertain as a few dozen answers are, and the correction is worth only as much.

The share is that of the population the N were drawn from. Gold must come from the same population as the
answers that are corrected: a judge that is good on easy answers is not as good on hard ones. Where gold is a
random part of the N, other rules use it better (`jtruth.stats.ppi`, `jtruth.evaluation.gold.shares`).

Intervals: delta, bootstrap and exact as in `intervals`, and "adjusted", Lang and Reiczigel (2014):
one right and one wrong answer added to the gold of each class, z^2/2 of each kind to the N, and a shift for
the skewness. Measured coverage of all four is in `tests/lam_stork/test_rogan_gladen.py`.
"""

from typing import Any

import numpy as np
from scipy.special import ndtri

from jtruth import _validation as check
from jtruth.lam_stork.intervals import (
    INTERVALS,
    Corrected,
    HowMany,
    Known,
    RateEstimate,
    Share,
    Spread,
    finish,
    rate_estimate,
    share,
)
from jtruth.stats.regions import check_level

OF_SHARES = (*INTERVALS, "adjusted")
_WHY = (
    "chance, or a judge that errs otherwise here than where its sensitivity and specificity come from; "
    "read it as the nearest of 0 and 1 only with that in mind"
)


def corrected_share(called: Any, sensitivity: Any, specificity: Any) -> Any:
    """(called + specificity - 1)/(sensitivity + specificity - 1). Rogan & Gladen (1978).

    >>> print(f"{corrected_share(0.55, 0.9, 0.8):.3f}")
    0.500
    """
    return (called + specificity - 1) / _youden(called, sensitivity, specificity)


def _youden(called: Any, sensitivity: Any, specificity: Any) -> Any:
    """sensitivity + specificity - 1: how far the judge is from guessing (does not depend on `called`)."""
    return sensitivity + specificity - 1 + 0 * called


def rogan_gladen(
    called: HowMany,
    *,
    sensitivity: Known,
    specificity: Known,
    method: str = "adjusted",
    level: float = 0.95,
    key: Any = None,
    num_draws: int = 10_000,
) -> RateEstimate:
    """Share of positives in the population, from what an erring judge calls positive.

    Args:
        called: (how many were called positive, how many were judged).
        sensitivity: P(called positive | positive): a number if known, or (called positive, gold positives).
        specificity: P(called negative | negative): a number, or (called negative, gold negatives).
        method: "adjusted" (Lang and Reiczigel; good with little gold), "delta" (covers 78 to 92 % of shares
            near 0 and 1), "bootstrap" or "exact" (never too short, wide).
        level: of the interval.
        key: JAX random key, for the bootstrap.
        num_draws: of the bootstrap.

    Returns:
        `RateEstimate`. The value and the ends are as computed, also where they leave [0, 1].

    Raises:
        ValueError: impossible counts or rates, an unknown method, no key for the bootstrap, or sensitivity +
            specificity = 1, where the judge says nothing.

    >>> found = rogan_gladen((680, 1000), sensitivity=(45, 50), specificity=(40, 50))
    >>> print(f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]")
    0.686 [0.587, 0.809]
    >>> found = rogan_gladen((50, 1000), sensitivity=0.9, specificity=0.9)
    >>> print(f"{found.value:.4f}", found.warnings[0][:47])
    -0.0625 the estimate is -0.0625, outside [0, 1]: chance
    """
    check.choose("method", method, OF_SHARES)
    judged = _shares(called, sensitivity, specificity)
    youden = _youden(*(x.value for x in judged))
    if abs(youden) < 1e-12:
        raise ValueError(
            f"sensitivity {judged[1].value:.4g} and specificity {judged[2].value:.4g} add up to 1: this "
            "judge says nothing of the truth, and nothing can be corrected; use another judge or more gold"
        )
    value = corrected_share(*(x.value for x in judged))
    slopes = (1 / youden, -value / youden, (1 - value) / youden)
    if method == "adjusted":
        check_level(level)
        found = finish(value, _adjusted(judged, level), level, method, _WHY)
    else:
        found = rate_estimate(
            Corrected(corrected_share, _youden, slopes, _WHY), judged,
            method=method, level=level, key=key, num_draws=num_draws,
        )  # fmt: skip
    if youden < 0:
        text = "the judge is worse than a guess (sensitivity + specificity < 1): are the classes swapped?"
        found = found._replace(warnings=(text, *found.warnings))
    return found


def _shares(called: HowMany, sensitivity: Known, specificity: Known) -> tuple[Share, Share, Share]:
    if not isinstance(called, tuple):
        raise ValueError(f"called is {called}; give the pair (called positive, judged)")
    return (
        share(called, "called"),
        share(sensitivity, "sensitivity"),
        share(specificity, "specificity"),
    )


def _adjusted(shares: tuple[Share, Share, Share], level: float) -> Spread:
    """Lang and Reiczigel (2014) (16), (17); a rate that is known exactly needs no added answers."""
    z = float(ndtri(0.5 + level / 2))
    size = shares[0].size + z**2
    called = (shares[0].value * shares[0].size + z**2 / 2) / size
    (sens, sens_var), (spec, spec_var) = (_one_more_of_each(x) for x in shares[1:])
    youden = sens + spec - 1
    if abs(youden) < 1e-12:
        return Spread(np.inf, -np.inf, np.inf, ("with one more answer of each kind the judge says nothing",))
    centre = corrected_share(called, sens, spec)
    shift = 2 * z**2 * (centre * sens_var - (1 - centre) * spec_var)
    variance = called * (1 - called) / size + centre**2 * sens_var + (1 - centre) ** 2 * spec_var
    error = float(np.sqrt(variance)) / abs(youden)
    return Spread(error, float(centre + shift - z * error), float(centre + shift + z * error))


def _one_more_of_each(x: Share) -> tuple[float, float]:
    """Share and its variance after one more answer of either kind."""
    if np.isinf(x.size):
        return x.value, 0.0
    p = (x.value * x.size + 1) / (x.size + 2)
    return p, p * (1 - p) / (x.size + 2)
