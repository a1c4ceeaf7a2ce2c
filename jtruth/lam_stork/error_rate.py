"""Error rate of a classifier from noisy labels with a known error rate: Lam & Stork (2003).

One label of each test sample is wrong in a share m of them. If classifier and labeler err independently, the
share a of samples on which they differ gives the error rate e = (a - m)/(1 - 2m) (2). `estimate_error_rate`
takes m, or the counts of an audit, whose uncertainty the interval includes; `error_rate_posterior` is
Bayesian. `recover_confusion` uses the labeler's confusion matrix (5), (6).

- Estimates may leave [0, 1]; they are not clipped, and `warnings` says so.
- `error_bounds` and `estimate_bounds` need no independence: |a - m| <= e <= a + m, any number of classes.

Intervals of functions of shares, each known or from a binomial sample, that are monotone in each of them:

- delta: value +- z standard errors. Too short near 0 and 1, empty if a sample was all of one kind.
- bootstrap: percentiles over samples redrawn from binomials with the observed shares. The same weakness.
- exact: Clopper-Pearson intervals of the shares with the risk divided among them (Bonferroni), and the least
  and greatest value on their product. It covers at its level even if the samples overlap; wide.
- adjusted (of shares only; Lang and Reiczigel 2014): one right and one wrong answer added to the gold of each
  class, z^2/2 of each kind to the N, and a shift for the skewness.

`rogan_gladen` corrects a share for a judge with constant error rates (Rogan and Gladen 1978; (6)),

    share = (called + specificity - 1)/(sensitivity + specificity - 1).

Gold must come from the population of the corrected answers. Where it is a random part of the N,
`jtruth.evaluation.gold.shares` uses it better.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri

from jtruth import _validation as check
from jtruth._random import Stated, host_rng, seeded, stated
from jtruth._validation.in_range import check_counts, check_probabilities
from jtruth.answers import Answer, Column, Document, Table, facts, warning_notes
from jtruth.answers.blocks import share_text
from jtruth.lam_stork.rates import ErrorBounds, bounds_over, error_bounds, true_error_rate
from jtruth.stats.estimates import check_level

INTERVALS = ("delta", "bootstrap", "exact")
_STEP = 1e-30j
_DRAWS = 10_000  # of the bootstrap

HowMany = tuple[Any, Any]  # whole numbers: how many, of how many
Known = float | HowMany


class Share(NamedTuple):
    """A share, and its number of observations (infinity: known)."""

    name: str
    value: float
    size: float

    @property
    def variance(self) -> float:
        """Of the share; 0 if it is known."""
        return self.value * (1 - self.value) / self.size

    def ends(self, risk: float) -> tuple[float, float]:
        """Clopper-Pearson interval that misses the share with a probability of at most `risk`."""
        if np.isinf(self.size):
            return self.value, self.value
        k = round(self.value * self.size)
        low = betaincinv(k, self.size - k + 1, risk / 2) if k > 0 else 0.0
        high = betaincinv(k + 1, self.size - k, 1 - risk / 2) if k < self.size else 1.0
        return float(low), float(high)


def share(value: Known, name: str, pair: str = "", bits: int = 53) -> Share:
    """Check a known rate, or a pair (how many, of how many); `pair` describes a pair that is required.

    `bits`: of the numbers that the caller can count with.
    """
    if isinstance(value, tuple):
        count, size = value if len(value) == 2 else (-1, 0)
        check_counts(np.atleast_1d(np.asarray(size, np.float64)), name, bits)
        if size < 1 or not 0 <= count <= size or count != int(count) or size != int(size):
            raise ValueError(
                f"{name} is {value}; give a rate, or a pair of whole numbers (how many, of how many)"
            )
        return Share(name, int(count) / int(size), float(size))
    if pair:
        raise ValueError(f"{name} is {value}; give the pair ({pair})")
    check_probabilities(np.asarray(value, np.float64), name)
    return Share(name, float(value), np.inf)


DIFFER = "predictions that differ, test samples"


@dataclass(frozen=True, repr=False)
class RateEstimate(Answer):
    """An estimated rate and its interval; may lie outside [0, 1], and `warnings` says so."""

    what: str  # is estimated
    value: float
    standard_error: float  # delta method, or sd of the bootstrap
    low: float
    high: float
    level: float
    method: str
    warnings: tuple[str, ...]
    key: Stated

    @property
    def inside(self) -> bool:
        """Does the estimate lie in [0, 1]?"""
        return 0 <= self.value <= 1

    def blocks(self) -> Document:
        """The question, the estimate and its details, for all outputs."""
        values = {"what": self.what, "value": self.value, "low": self.low, "high": self.high}
        column = Column(
            "value", "estimate [interval]", ("low", "high"), ".3f" if self.high - self.low > 0.02 else ".4f"
        )
        table = Table("", "The estimate", "what", (column,), (values,))
        kind = f"{100 * self.level:g} % interval"
        rate = share_text([self.value, self.low, self.high], kind)
        sentence = f"{self.what[0].upper()}{self.what[1:]}: {rate}."
        about_it = facts(**values, level=self.level, method=self.method)
        about = f"{100 * self.level:g} % interval, {self.method}; key {self.key}"
        blocks = (table, warning_notes(self.warnings), about_it)
        return Document(f"What is the {self.what}?", about, sentence, blocks)


Spread = tuple[float, float, float, tuple[str, ...]]  # standard error, ends, warnings
Formula = Callable[..., tuple[Any, Any]]  # of the shares: what is above and what is below the line


def _delta(formula: Formula, value: float, shares: Sequence[Share], level: float) -> Spread:
    """value +- z standard errors; derivatives by a complex step, exact to rounding."""
    at, variance = [x.value for x in shares], 0.0
    for k, x in enumerate(shares):
        top, bottom = formula(*(v + (j == k) * _STEP for j, v in enumerate(at)))
        variance += float((top / bottom).imag / _STEP.imag) ** 2 * x.variance
    error = float(np.sqrt(variance))
    half = float(ndtri(0.5 + level / 2)) * error
    return error, value - half, value + half, _one_sided(shares, "delta")


def _bootstrap(formula: Formula, shares: Sequence[Share], level: float, key: Any) -> Spread:
    """Percentiles of the quotient over redrawn shares; an undefined draw counts as beyond both ends."""
    rng = host_rng(key, "bootstrap")
    top, bottom = formula(*(
        np.full(_DRAWS, x.value) if np.isinf(x.size)
        else rng.binomial(int(x.size), x.value, _DRAWS) / x.size
        for x in shares
    ))  # fmt: skip
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.asarray(top / bottom)
    lost, warnings = ~np.isfinite(values), _one_sided(shares, "bootstrap")
    tail = (1 - level) / 2
    low, high = (
        float(np.quantile(np.where(lost, beyond, values), share, method="inverted_cdf"))
        for beyond, share in ((-np.inf, tail), (np.inf, 1 - tail))
    )
    if lost.any():
        warnings += (
            f"The rate is undefined in {lost.sum()} of {_DRAWS} bootstrap samples, which count as beyond "
            "both ends.",
        )
    return float(values[~lost].std()) if not lost.all() else float("nan"), low, high, warnings


def _exact(formula: Formula, value: float, shares: Sequence[Share], level: float) -> Spread:
    """Extremes over the product of Clopper-Pearson intervals; infinite where the divisor may be 0."""
    uncertain = max(1, sum(np.isfinite(x.size) for x in shares))
    corners = np.array(list(product(*(x.ends((1 - level) / uncertain) for x in shares)))).T
    error = _delta(formula, value, shares, level)[0]
    top, bottom = formula(*corners)
    signs = np.sign(bottom)
    if not (signs == signs[0]).all() or signs[0] == 0:
        text = "The interval is unbounded, because at this level the labels may be uninformative."
        return error, -np.inf, np.inf, (text,)
    values = top / bottom
    return error, float(np.min(values)), float(np.max(values)), ()


def _one_sided(shares: Sequence[Share], method: str) -> tuple[str, ...]:
    """Warnings for samples all of one kind, whose variance seems to be 0."""
    return tuple(
        f"The {method} interval is too narrow, because all {x.size:.0f} observations of {x.name} agree "
        f"({x.value:.0f}); use method='exact'."
        for x in shares
        if np.isfinite(x.size) and x.value in (0.0, 1.0)
    )


def rate_estimate(
    formula: Formula, shares: Sequence[Share], texts: tuple[str, ...], method: str, level: float, key: Any
) -> RateEstimate:
    """The quotient at the shares, and one of the intervals.

    `texts`: the name of the rate, why it may lie outside [0, 1], and the warning for a divisor below 0.
    """
    what, why, swapped = texts
    check_level(level)
    top, bottom = formula(*(x.value for x in shares))
    value = float(top / bottom)
    if method == "bootstrap":
        error, low, high, warnings = _bootstrap(formula, shares, level, key)
    else:
        way = {"delta": _delta, "exact": _exact, "adjusted": _adjusted}[method]
        error, low, high, warnings = way(formula, value, shares, level)
    if not 0 <= value <= 1:
        warnings = (f"The estimate {value:.3g} lies outside [0, 1]: {why}", *warnings)
    elif low < 0 or high > 1:
        warnings += (f"The interval [{low:.3g}, {high:.3g}] reaches beyond [0, 1].",)
    if bottom < 0:
        warnings = (swapped, *warnings)
    return RateEstimate(what, value, error, low, high, level, method, warnings, stated(key))


_WHY = (
    "by chance, because the mislabeling rate is wrong, or because predictions share the labels' errors. "
    "`estimate_bounds` needs no independence."
)


@seeded
def estimate_error_rate(
    differ: HowMany, *, mislabeling: Known, method: str = "delta", level: float = 0.95, key: Any = None
) -> RateEstimate:
    """Error rate of a two-class classifier from labels that are wrong at a known or audited rate.

    Args:
        differ: (predictions that differ from their label, test samples).
        mislabeling: the rate if known, or (labels found wrong, labels audited). "delta" and "bootstrap"
            assume that the audited labels are a random sample independent of the test samples.
        method: "delta", "bootstrap" or "exact" (Clopper-Pearson; never too short).
        level: of the interval.
        key: for the bootstrap: a whole number or a JAX key; 0 if None.

    Returns:
        `RateEstimate`: (2) and its interval, not clipped to [0, 1].

    Raises:
        ValueError: impossible counts or rates, or a mislabeling rate of exactly 1/2.

    Source: Lam & Stork (2) and the variance of its section 4; an audit of n labels adds (1 - 2e)^2 m
    (1 - m)/(1 - 2m)^2/n to it.

    >>> found = estimate_error_rate((68, 1000), mislabeling=0.01)
    >>> print(f"{found.value:.4f} [{found.low:.4f}, {found.high:.4f}]")
    0.0592 [0.0433, 0.0751]
    >>> found = estimate_error_rate((68, 1000), mislabeling=(2, 200))
    >>> print(f"{found.value:.4f} [{found.low:.4f}, {found.high:.4f}]")
    0.0592 [0.0390, 0.0794]
    """
    check.choose("method", method, INTERVALS)
    apparent, wrong = share(differ, "differ", DIFFER), share(mislabeling, "mislabeling")
    true_error_rate(apparent.value, wrong.value)  # refuses 1/2
    swapped = f"Labels are mostly wrong (mislabeling {wrong.value:.3g}). Are the classes swapped?"
    texts = ("error rate of the classifier", _WHY, swapped)

    def formula(a: Any, m: Any) -> tuple[Any, Any]:  # (2), above and below the line
        return a - m, 1 - 2 * m + 0 * a

    return rate_estimate(formula, (apparent, wrong), texts, method, level, key)


def estimate_bounds(
    differ: HowMany, *, mislabeling: Known, num_classes: int = 2, level: float = 0.95
) -> ErrorBounds:
    """Bounds of the error rate that hold with probability `level`, however dependent the errors are.

    Clopper-Pearson intervals of the apparent and the mislabeling rate, each with half of the risk, and
    `error_bounds` at their worst. Arguments and errors of `estimate_error_rate`; the audited labels may be
    among the tested ones.

    >>> found = estimate_bounds((68, 1000), mislabeling=(2, 200))
    >>> print(f"[{found.lower:.3f}, {found.upper:.3f}]")
    [0.011, 0.128]
    """
    check_level(level)
    apparent, wrong = share(differ, "differ", DIFFER), share(mislabeling, "mislabeling")
    warnings = error_bounds(apparent.value, wrong.value, num_classes=num_classes).warnings
    risk = (1 - level) / (1 + np.isfinite(wrong.size))
    bounds, most = bounds_over(apparent.ends(risk), wrong.ends(risk), num_classes), wrong.ends(risk)[1]
    if not warnings and most >= (0.5 if num_classes == 2 else 1.0):
        warnings = (f"Mislabeling may be as high as {most:.3g}, so non-negative dependence adds no bound.",)
    return bounds._replace(warnings=warnings)


OF_SHARES = (*INTERVALS, "adjusted")
_WHY_OF_SHARES = (
    "by chance, or because the judge's error rates differ from those where sensitivity and specificity were "
    "measured."
)


def corrected_share(called: Any, sensitivity: Any, specificity: Any) -> tuple[Any, Any]:
    """Numerator and denominator: (called + specificity - 1)/(sensitivity + specificity - 1)."""
    return called + specificity - 1, sensitivity + specificity - 1 + 0 * called


@seeded
def rogan_gladen(
    called: HowMany,
    *,
    sensitivity: Known,
    specificity: Known,
    method: str = "adjusted",
    level: float = 0.95,
    key: Any = None,
) -> RateEstimate:
    """Share of positives in the population, from the labels of an erring judge.

    Args:
        called: (how many were called positive, how many were judged).
        sensitivity: P(called positive | positive): a number if known, or (called positive, gold positives).
        specificity: P(called negative | negative): a number, or (called negative, gold negatives).
        method: "adjusted" (Lang and Reiczigel; good with little gold), "delta" (covers 78 to 92 % of shares
            near 0 and 1), "bootstrap" or "exact" (never too short, wide).
        level: of the interval.
        key: for the bootstrap: a whole number or a JAX key; 0 if None.

    Returns:
        `RateEstimate`, not clipped to [0, 1].

    Raises:
        ValueError: impossible counts or rates, or an uninformative judge: sensitivity + specificity = 1.

    >>> found = rogan_gladen((680, 1000), sensitivity=(45, 50), specificity=(40, 50))
    >>> print(f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]")
    0.686 [0.587, 0.809]
    >>> found = rogan_gladen((50, 1000), sensitivity=0.9, specificity=0.9)
    >>> print(f"{found.value:.4f}", found.warnings[0][:41])
    -0.0625 The estimate -0.0625 lies outside [0, 1]:
    """
    check.choose("method", method, OF_SHARES)
    judged = [share(called, "called", "called positive, judged"), share(sensitivity, "sensitivity"),
              share(specificity, "specificity")]  # fmt: skip
    youden = corrected_share(*(x.value for x in judged))[1]
    if abs(youden) < 1e-12:
        raise ValueError(
            f"sensitivity {judged[1].value:.4g} and specificity {judged[2].value:.4g} add up to 1, so this "
            "judge is uninformative; use another judge or more gold"
        )
    swapped = "The judge is worse than guessing (sensitivity + specificity < 1). Are the classes swapped?"
    texts = ("share of positives", _WHY_OF_SHARES, swapped)
    return rate_estimate(corrected_share, judged, texts, method, level, key)


def _adjusted(_: Formula, value: float, shares: Sequence[Share], level: float) -> Spread:
    """Lang and Reiczigel (2014) (16), (17) of `corrected_share`; known rates are not adjusted."""
    z = float(ndtri(0.5 + level / 2))
    size = shares[0].size + z**2
    called = (shares[0].value * shares[0].size + z**2 / 2) / size
    enlarged = [
        x if np.isinf(x.size) else Share(x.name, (x.value * x.size + 1) / (x.size + 2), x.size + 2)
        for x in shares[1:]
    ]
    (sens, sens_var), (spec, spec_var) = ((x.value, x.variance) for x in enlarged)
    youden = sens + spec - 1
    if abs(youden) < 1e-12:
        return np.inf, -np.inf, np.inf, ("With one more answer of each kind, the judge is uninformative.",)
    centre = (called + spec - 1) / youden
    shift = 2 * z**2 * (centre * sens_var - (1 - centre) * spec_var)
    variance = called * (1 - called) / size + centre**2 * sens_var + (1 - centre) ** 2 * spec_var
    error = float(np.sqrt(variance)) / abs(youden)
    return error, float(centre + shift - z * error), float(centre + shift + z * error), ()
