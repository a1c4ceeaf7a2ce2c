"""Lam & Stork (2003) (1) to (4), breakeven points and bounds: rates in, rates out, nothing estimated.

Three rates: `error`, P(prediction wrong), which is asked for; `mislabeling`, P(label wrong), which is known;
and `apparent`, P(prediction and label differ), which is seen. Functions annotated `Rates` take numbers or
arrays of rates in [0, 1] that broadcast against each other.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy
from jaxtyping import Bool, Float

from jtruth._one_line import one_line
from jtruth._validation.in_range import check_probabilities

Rates = float | Float[np.ndarray, "..."]


def check_rate(value: Rates, name: str, *, below: float | None = None) -> None:
    """Raise ValueError unless every rate lies in [0, 1], and under `below` if that is given."""
    rates = np.asarray(value, np.float64)
    check_probabilities(rates, name)
    if below is not None and (high := rates[rates >= below]).size:
        raise ValueError(f"{name} is {high[0]}; this needs a rate below {below}")


def _check_informative(mislabeling: Rates) -> None:
    check_rate(mislabeling, "mislabeling")
    if (np.asarray(mislabeling) == 0.5).any():
        raise ValueError(
            "mislabeling is 0.5: such labels say nothing about the truth of two classes; use other labels"
        )


def apparent_error_rate(error: Rates, mislabeling: Rates) -> Rates:
    """How often prediction and label differ if they err independently: e + m (1 - 2e). Lam & Stork (1).

    Two classes: where both are wrong they agree.

    >>> print(f"{apparent_error_rate(0.06, 0.01):.4f}")
    0.0688
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


def _label_noise(mislabeling: Rates) -> Rates:
    """m (1 - m)/(1 - 2m)^2, the variance that wrong labels add to that of one perfect label."""
    return mislabeling * (1 - mislabeling) / (1 - 2 * mislabeling) ** 2


def true_error_variance(error: Rates, mislabeling: Rates, num_samples: float) -> Rates:
    """Variance of (2) when the apparent rate is a share of `num_samples` and m is known. Lam & Stork 4.

    It equals a (1 - a)/(1 - 2m)^2/num_samples; the root of it is in units of the rate.
    """
    check_rate(error, "error")
    _check_informative(mislabeling)
    if not num_samples > 0:
        raise ValueError(f"num_samples is {num_samples}; give the number of test samples, above 0")
    return (_label_noise(mislabeling) + error * (1 - error)) / num_samples


def labels_per_perfect_label(error: Rates, mislabeling: Rates) -> Rates:
    """How many noisy labels say as much of the error rate as one perfect label. Lam & Stork (3).

    Infinite where error is 0 or 1 and labels are noisy: one perfect label has no variance there.

    >>> print(f"{labels_per_perfect_label(0.05, 0.10):.2f}")
    3.96
    """
    check_rate(error, "error")
    _check_informative(mislabeling)
    noise = np.asarray(_label_noise(mislabeling) + 0 * error)
    perfect = np.asarray(error * (1 - error) + 0 * noise)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(noise == 0, 0.0, noise / perfect) + 1
    return ratio if ratio.ndim else float(ratio)


def policy_margin(mislabeling: Rates) -> Rates:
    """Left side of Lam & Stork (4), for labelers with this mislabeling rate, below 1/2."""
    check_rate(mislabeling, "mislabeling", below=0.5)
    return 2 * _label_noise(mislabeling**2) - _label_noise(mislabeling) + 0.25


def more_samples_better(error: Rates, mislabeling: Rates) -> bool | np.bool_ | Bool[np.ndarray, "..."]:
    """Should two labelers label different samples rather than the same ones? Lam & Stork (4) holds.

    Twice as many samples with one label each, against samples whose two labels leave m^2 wrong (the paper's
    optimistic figure). The inequality printed above (4) in the paper is the one under which the same samples
    are better.

    >>> print(more_samples_better(0.10, 0.02), more_samples_better(0.02, 0.05))
    True False
    """
    check_rate(error, "error")
    return policy_margin(mislabeling) > (error - 0.5) ** 2


def policy_boundary(mislabeling: Rates) -> Rates:
    """Error rate above which (and below 1 minus it) different samples are better. Lam & Stork, Figure 2.

    NaN where they never are: mislabeling above `policy_threshold()`.
    """
    margin = np.asarray(policy_margin(mislabeling))
    boundary = 0.5 - np.sqrt(np.where(margin >= 0, margin, np.nan))
    return boundary if boundary.ndim else float(boundary)


def policy_threshold() -> float:
    """Mislabeling rate from which on both labelers should always label the same samples: the root of (4).

    >>> print(f"{policy_threshold():.6f}")
    0.165911
    """
    root: Any = scipy.optimize.brentq(policy_margin, 0.1, 0.2, xtol=1e-15)
    return float(root)


def _odds(share: float) -> float:
    check_rate(share, "share", below=1.0)
    if share == 0:
        raise ValueError("share is 0; precision and recall need some positives")
    return share / (1 - share)


def apparent_breakeven(classifier: Rates, labeler: Rates, share: float) -> Rates:
    """Precision = recall of the predictions against labels that have theirs at `labeler`. LS Table 2.

    rs + (1 - r)(1 - s) share/(1 - share) for r = `classifier`, s = `labeler`; independent errors.

    >>> print(f"{apparent_breakeven(0.9, 0.95, 0.1):.3f}")
    0.856
    """
    check_rate(classifier, "classifier")
    check_rate(labeler, "labeler")
    return classifier * labeler + _odds(share) * (1 - classifier) * (1 - labeler)


class ErrorBounds(NamedTuple):
    """What an apparent error rate and a mislabeling rate say of the error rate, both known exactly."""

    lower: float  # whatever the dependence
    upper: float  # whatever the dependence
    lower_nonnegative: float  # if P(both wrong) >= P(prediction wrong) P(label wrong)
    warnings: tuple[str, ...]

    __repr__ = one_line


def nonnegative_lower_bound(apparent: float, mislabeling: float, *, num_classes: int = 2) -> float:
    """Least error rate under non-negative dependence. Lam & Stork 6 for two classes: (2), at least 0.

    For more classes both may be wrong and differ, hence a <= e + m - P(both wrong) <= e + m - e m and the
    bound is (a - m)/(1 - m).
    """
    check_rate(apparent, "apparent")
    check_rate(mislabeling, "mislabeling", below=0.5 if num_classes == 2 else 1.0)
    slope = 1 - 2 * mislabeling if num_classes == 2 else 1 - mislabeling
    return max(0.0, (apparent - mislabeling) / slope)


def error_bounds(apparent: float, mislabeling: float, *, num_classes: int = 2) -> ErrorBounds:
    """Bounds of the error rate without the assumption that prediction and label err independently.

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
    total, warnings = apparent + mislabeling, []
    lower = least = abs(apparent - mislabeling)
    upper = min(total, 2 - total) if num_classes == 2 else min(total, 1.0)
    if mislabeling < (0.5 if num_classes == 2 else 1.0):
        least = max(lower, nonnegative_lower_bound(apparent, mislabeling, num_classes=num_classes))
    else:
        warnings.append("labels are wrong at least as often as right: non-negative dependence adds no bound")
    if total > 1:
        warnings.append(f"a + m is {total:.3g}, above 1: the upper bound is the sharper {upper:.3g}")
    return ErrorBounds(float(lower), float(upper), float(least), tuple(warnings))
