"""Lam & Stork (2003) (1) to (4), breakeven points and bounds: functions of rates, without estimation.

Three rates: `error`, P(prediction wrong), which is wanted; `mislabeling`, P(label wrong), which is known; and
`apparent`, P(prediction and label differ), which is observed. `Rates` are numbers or arrays of rates in [0,
1], of NumPy or JAX (under jit, vmap and grad too), that broadcast against each other.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._arrays import AnyArray, is_concrete, namespace
from jtruth._one_line import one_line
from jtruth._validation.in_range import check_probabilities

Rates = float | Float[AnyArray, "..."]


def check_rate(value: Rates, name: str) -> None:
    """Raise ValueError unless every rate lies in [0, 1]; traced ones pass."""
    if is_concrete(value):
        check_probabilities(np.asarray(value, np.float64), name)


def _check_informative(mislabeling: Rates) -> None:
    check_rate(mislabeling, "mislabeling")
    if is_concrete(mislabeling) and (np.asarray(mislabeling) == 0.5).any():
        raise ValueError("mislabeling is 0.5, so these labels are uninformative; use other labels")


def apparent_error_rate(error: Rates, mislabeling: Rates) -> Rates:
    """How often prediction and label of two classes differ, independent errors: e + m (1 - 2e).

    Raises:
        ValueError: a rate outside [0, 1].

    Source: Lam & Stork (1); Table 1.

    >>> print(f"{apparent_error_rate(0.02, 0.05):.4f}")
    0.0680
    """
    check_rate(error, "error")
    check_rate(mislabeling, "mislabeling")
    return error + mislabeling * (1 - 2 * error)


def true_error_rate(apparent: Rates, mislabeling: Rates) -> Rates:
    """The inverse: (a - m)/(1 - 2m). Lam & Stork (2); outside [0, 1] where no error rate explains a and m.

    Raises:
        ValueError: a rate outside [0, 1], or mislabeling = 1/2.

    >>> print(f"{true_error_rate(0.0688, 0.01):.4f}")
    0.0600
    """
    check_rate(apparent, "apparent")
    _check_informative(mislabeling)
    return (apparent - mislabeling) / (1 - 2 * mislabeling)


def true_error_variance(error: Rates, mislabeling: Rates, num_samples: float) -> Rates:
    """Variance of (2), a (1 - a)/(1 - 2m)^2/num_samples, when m is known. Lam & Stork 4."""
    check_rate(error, "error")
    _check_informative(mislabeling)
    if is_concrete(num_samples) and not num_samples > 0:
        raise ValueError(f"num_samples is {num_samples}; give the number of test samples, above 0")
    return (_label_noise(mislabeling) + error * (1 - error)) / num_samples


def _label_noise(mislabeling: Rates) -> Rates:
    """m (1 - m)/(1 - 2m)^2, the variance that wrong labels add."""
    return mislabeling * (1 - mislabeling) / (1 - 2 * mislabeling) ** 2


def labels_per_perfect_label(error: Rates, mislabeling: Rates) -> Rates:
    """Number of noisy labels worth one perfect label: the ratio of the variances of (2).

    It is 1 or more, and infinite where error is 0 or 1 and labels are noisy.

    Raises:
        ValueError: a rate outside [0, 1], or mislabeling = 1/2.

    Source: Lam & Stork (3); Figure 1.

    >>> print(f"{labels_per_perfect_label(0.05, 0.10):.2f}")
    3.96
    """
    check_rate(error, "error")
    _check_informative(mislabeling)
    xp, noise, perfect = namespace(error, mislabeling), _label_noise(mislabeling), error * (1 - error)
    ratio = xp.where(perfect > 0, noise / xp.where(perfect > 0, perfect, 1.0), xp.inf)
    return 1 + xp.where(noise > 0, ratio, 0.0)[()]


def policy_boundary(mislabeling: Rates) -> Rates:
    """Error rate above which two labelers should label different samples rather than the same ones.

    One label on each of 2l samples leaves m of them wrong, two on each of l samples m^2 (the paper's
    optimistic figure). Where boundary < error < 1 - boundary different samples give (2) the smaller variance,
    which is (4); the inequality above it is misprinted. NaN above m = .1659: the same samples are always
    better there.

    Raises:
        ValueError: a rate outside [0, 1/2).

    Source: Lam & Stork (4); Figure 2.

    >>> print(f"{policy_boundary(0.025):.4f}", policy_boundary(0.2))
    0.0265 nan
    """
    check_rate(mislabeling, "mislabeling")
    if is_concrete(mislabeling) and not (np.asarray(mislabeling) < 0.5).all():
        raise ValueError(f"mislabeling is {mislabeling}; give rates below 0.5")
    xp, fall = namespace(mislabeling), _label_noise(mislabeling) - 2 * _label_noise(mislabeling**2)
    margin = 0.25 - fall  # the left side of (4); 1/2 - sqrt(margin) would cancel
    root = xp.where(margin > 0, xp.sqrt(xp.where(margin > 0, margin, 1.0)), 0.0)
    return xp.where(margin >= 0, fall / (0.5 + root), xp.nan)[()]


def apparent_breakeven(classifier: Rates, labeler: Rates, share: Rates) -> Rates:
    """Apparent precision = recall of predictions whose true ones are r, against labels whose own are s.

    r s + (1 - r)(1 - s) share/(1 - share) for r = `classifier`, s = `labeler` and a share of positives;
    errors are independent given the class.

    Raises:
        ValueError: a rate outside [0, 1], or a share of 0 or 1.

    Source: Lam & Stork 5.1; Table 2.

    >>> print(f"{apparent_breakeven(0.9, 0.95, 0.1):.3f}")
    0.856
    """
    for name, value in (("classifier", classifier), ("labeler", labeler), ("share", share)):
        check_rate(value, name)
    if is_concrete(share) and not ((np.asarray(share) > 0) & (np.asarray(share) < 1)).all():
        raise ValueError(f"share is {share}; precision and recall need positives and negatives")
    return classifier * labeler + share / (1 - share) * (1 - classifier) * (1 - labeler)


class ErrorBounds(NamedTuple):
    """Bounds of the error rate, without independent errors."""

    lower: float  # for any dependence
    upper: float  # for any dependence
    lower_nonnegative: float  # if P(both wrong) >= P(prediction wrong) P(label wrong)
    warnings: tuple[str, ...]

    __repr__ = one_line


def error_bounds(apparent: float, mislabeling: float, *, num_classes: int = 2) -> ErrorBounds:
    """Bounds of the error rate from rates that are known exactly.

    |a - m| <= error <= a + m for any number of classes (disagreement is a distance). With two classes also
    error <= 2 - a - m, and both ends are attained; with more, error <= 1. Source: Lam & Stork 6.

    >>> found = error_bounds(0.0864, 0.0056)  # their Table 3, digits 1 and 2
    >>> print(f"{found.lower:.4f} {found.lower_nonnegative:.4f} {found.upper:.4f}")
    0.0808 0.0817 0.0920
    """
    check_rate(apparent, "apparent")
    check_rate(mislabeling, "mislabeling")
    if num_classes < 2:
        raise ValueError(f"num_classes is {num_classes}; there must be two or more")
    bounds = bounds_over((apparent, apparent), (mislabeling, mislabeling), num_classes)
    warnings, total = [], apparent + mislabeling
    if mislabeling >= (0.5 if num_classes == 2 else 1.0):
        warnings.append("Labels are mostly wrong, so non-negative dependence adds no bound.")
    if total > 1:
        warnings.append(f"The sum a + m is {total:.3g}, above 1; the upper bound is {bounds.upper:.3g}.")
    return bounds._replace(warnings=tuple(warnings))


def bounds_over(
    apparent: tuple[float, float], mislabeling: tuple[float, float], num_classes: int
) -> ErrorBounds:
    """The widest bounds for rates between these ends.

    Under non-negative dependence the lower one is (2), or of more than two classes (a - m)/(1 - m), where
    labels are more often right than wrong.
    """
    (a_low, a_high), (m_low, m_high) = apparent, mislabeling
    low = dependent = max(0.0, a_low - m_high, m_low - a_high)
    wrong = 2 if num_classes == 2 else 1  # effect of a wrong label on the agreement
    high = min(1.0, a_high + m_high)
    if num_classes == 2 and a_low + m_low > 1:
        high = 2 - (a_low + m_low)
    if wrong * m_high < 1:
        dependent = max(low, min((a_low - m) / (1 - wrong * m) for m in mislabeling))
    return ErrorBounds(float(low), float(high), float(dependent), ())
