"""Lam & Stork (2003) (1), (2) and bounds: rates in, rates out, nothing estimated.

Three rates: `error`, P(prediction wrong), which is asked for; `mislabeling`, P(label wrong), which is known;
and `apparent`, P(prediction and label differ), which is seen. Functions annotated `Rates` take numbers or
arrays of rates in [0, 1] that broadcast against each other.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth._validation.in_range import check_probabilities

Rates = float | Float[np.ndarray, "..."]


def check_rate(value: Rates, name: str) -> None:
    """Raise ValueError unless every rate lies in [0, 1]."""
    check_probabilities(np.asarray(value, np.float64), name)


def _check_informative(mislabeling: Rates) -> None:
    check_rate(mislabeling, "mislabeling")
    if (np.asarray(mislabeling) == 0.5).any():
        raise ValueError(
            "mislabeling is 0.5: such labels say nothing about the truth of two classes; use other labels"
        )


def apparent_error_rate(error: Rates, mislabeling: Rates) -> Rates:
    """How often prediction and label of two classes differ, independent errors: e + m (1 - 2e), (1)."""
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
    if not num_samples > 0:
        raise ValueError(f"num_samples is {num_samples}; give the number of test samples, above 0")
    noise = mislabeling * (1 - mislabeling) / (1 - 2 * mislabeling) ** 2
    return (noise + error * (1 - error)) / num_samples


class ErrorBounds(NamedTuple):
    """Bounds of the error rate, without the assumption that prediction and label err independently."""

    lower: float  # whatever the dependence
    upper: float  # whatever the dependence
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
        warnings.append("labels are wrong at least as often as right: non-negative dependence adds no bound")
    if total > 1:
        warnings.append(f"a + m is {total:.3g}, above 1: the upper bound is the sharper {bounds.upper:.3g}")
    return bounds._replace(warnings=tuple(warnings))


def bounds_over(
    apparent: tuple[float, float], mislabeling: tuple[float, float], num_classes: int
) -> ErrorBounds:
    """The widest of the bounds for rates between these ends.

    Under non-negative dependence (2), or of more than two classes (a - m)/(1 - m), where labels are rather
    right than wrong.
    """
    (a_low, a_high), (m_low, m_high) = apparent, mislabeling
    low = dependent = max(0.0, a_low - m_high, m_low - a_high)
    wrong = 2 if num_classes == 2 else 1  # how a label that is wrong moves the agreement
    high = min(1.0, a_high + m_high)
    if num_classes == 2 and a_low + m_low > 1:
        high = 2 - (a_low + m_low)
    if wrong * m_high < 1:
        dependent = max(low, min((a_low - m) / (1 - wrong * m) for m in mislabeling))
    return ErrorBounds(float(low), float(high), float(dependent), ())
