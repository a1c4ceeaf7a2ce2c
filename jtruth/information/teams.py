"""Many mediocre labelers or one expert? Equal labelers, and the single labeler they amount to (Su 4.1-4.3).

Su compares teams by the error eps' of a single labeler with the same information. Here it is defined for
any number of classes by the symmetric labeler, who errs with probability eps' and then names each wrong
class equally often. A smaller error is always at least as informative, because the labels of the worse
labeler can be made from those of the better one by adding errors, so eps' in [0, (C-1)/C] is unique.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int
from scipy.optimize import root_scalar

from jtruth.information._entropy import checked_prior, entropy, table_information
from jtruth.information.law import label_law
from jtruth.information.mutual import Prior, average_over_strata, mutual_information
from jtruth.noise import NoiseModel, Symmetric
from jtruth.stats.poisson_binomial import binomial_pmf

_SLACK = 1e-12  # a team reaches a target that it misses by rounding only

Numbers = Float[Array | np.ndarray, "..."] | Int[Array | np.ndarray, "..."] | float | int | list


class EquivalentLabeler(NamedTuple):
    """The single symmetric labeler who is worth as much as a team."""

    error: float  # eps', probability of a wrong label
    bits: float  # information of the team
    standard_error: float  # of `bits`, where they were simulated


def bsbc_information(num_labelers: Numbers, error: Numbers, prior_positive: Numbers) -> np.ndarray:
    """Information of T equal symmetric labelers of a binary class, in bits: the closed form of Su 4.1.

        I = H(Z) - H(Z | Y),  H(Z | Y) = T h(eps)

    with H(Z) a sum over the number of errors m = 0..T. (The printed formula has a factor pi(0) too much on
    its first sum, and would give 3.38 bits for a binary class.) Written as a divergence of the joint
    table of class and count from the product of its margins, so that no large entropies are subtracted.

    Args:
        num_labelers: T >= 0; the three arguments broadcast: Figure 6 is a grid of T and error, Figure 7 one
            of error and prior.
        error: eps in [0, 1].
        prior_positive: pi(1) in [0, 1].

    Raises:
        ValueError: T negative or not whole, or a probability outside [0, 1].

    Example:
        >>> from jtruth.information import bsbc_information
        >>> bsbc_information([1, 9, 1, 399], [.05, .25, .01, .45], 126 / 351).round(5)
        array([0.66661, 0.7578 , 0.86337, 0.85919])
    """
    teams, errors, shares = np.broadcast_arrays(*map(np.asarray, (num_labelers, error, prior_positive)))
    _check(teams, (teams >= 0) & (teams == np.floor(teams)), "num_labelers", "a whole number from 0")
    _check(errors, (errors >= 0) & (errors <= 1), "error", "a probability")
    _check(shares, (shares >= 0) & (shares <= 1), "prior_positive", "a probability")
    bits = [
        _bsbc(int(t), float(e), float(p))
        for t, e, p in zip(teams.flat, errors.flat, shares.flat, strict=True)
    ]
    return np.array(bits).reshape(teams.shape)


def equivalent_labeler(
    noise,
    prior: Prior,
    *,
    num_labelers: int | None = None,
    participation=None,
    key: Any = None,
) -> EquivalentLabeler:
    """The single symmetric labeler with the information of any labelers, dependent ones included (Su 4.2).

    Where the information is simulated and noise takes it out of 0..H(Y), the nearer end gives the error;
    `bits` stays as it was found. Args and errors are those of `mutual_information`.

    Example:
        >>> from jtruth.information import equivalent_labeler
        >>> from jtruth.noise import Symmetric
        >>> one = equivalent_labeler(Symmetric(.25, 2), [225 / 351, 126 / 351], num_labelers=9)
        >>> print(f"{one.error:.5f}")
        0.02927
    """
    team = mutual_information(noise, prior, num_labelers=num_labelers, participation=participation, key=key)
    most = float(entropy(checked_prior(prior, np.size(prior))))
    bits = float(np.clip(team.bits, 0.0, most)) if team.standard_error else team.bits
    return EquivalentLabeler(equivalent_error(bits, prior), team.bits, team.standard_error)


def equivalent_error(bits: float, prior: Prior, *, num_labelers: int = 1) -> float:
    """The error with which `num_labelers` equal symmetric labelers convey `bits` (Su 4.2, Figure 8).

    Args:
        bits: between 0 and the entropy of the prior.
        prior: (classes,).
        num_labelers: T; 1 is the equivalent single labeler.

    Returns:
        eps' in [0, (C-1)/C].

    Raises:
        ValueError: bits below 0 or above the entropy of the prior, which no labels can exceed.

    Example:
        >>> from jtruth.information import equivalent_error
        >>> print(f"{equivalent_error(.7578037507, [225 / 351, 126 / 351]):.5f}")
        0.02927
    """
    prior = checked_prior(prior, np.size(prior))
    most = float(entropy(prior))
    if not -_SLACK <= bits <= most + _SLACK:
        raise ValueError(
            f"bits is {bits!r}; labels of a class with this prior convey between 0 and {most:.6g} bits"
        )
    chance = 1.0 - 1.0 / prior.size
    gap = lambda error: _symmetric(error, prior, num_labelers) - bits  # noqa: E731
    if gap(0.0) <= 0:
        return 0.0
    return chance if gap(chance) >= 0 else _root(gap, chance)


def smallest_team(labeler, prior: Prior, bits: float, *, most: int = 1_000_000) -> int:
    """How many equal labelers it takes to convey at least `bits` (Su 4.3).

    Args:
        labeler: an error probability (symmetric labeler), or (classes, symbols), rows = true class; or a
            noise model of one labeler. Where it makes labels dependent (strata), the team shares its strata.
        prior: (classes,).
        bits: the target; `mutual_information` or `bsbc_information` of those who are to be matched.
        most: largest team tried.

    Raises:
        ValueError: the target is above the entropy of the prior, or out of reach of `most` such labelers.

    Example:
        >>> from jtruth.information import bsbc_information, smallest_team
        >>> expert = float(bsbc_information(1, .05, 126 / 351))
        >>> smallest_team(.25, [225 / 351, 126 / 351], expert)
        7
    """
    prior = checked_prior(prior, np.size(prior))
    kind = labeler
    if not isinstance(labeler, NoiseModel):
        kind = Symmetric(float(labeler), prior.size) if np.ndim(labeler) == 0 else np.asarray(labeler)[None]
    law = label_law(kind, num_labelers=1)

    def reached(size: int) -> bool:
        team = law._replace(rows=np.repeat(law.rows, size, axis=1))
        return average_over_strata(team, prior, "auto", None, 0).bits >= bits - _SLACK

    high = 1
    while not reached(high):
        if high == most:
            raise ValueError(
                f"{most} such labelers do not convey {bits!r} bits (of {float(entropy(prior)):.6g}); "
                "lower the target, or take better labelers"
            )
        high = min(2 * high, most)
    low = high // 2  # not enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _bsbc(num_labelers: int, error: float, share: float) -> float:
    """One value of `bsbc_information`, from the binomial law of the number of errors."""
    wrong = binomial_pmf(error, num_labelers) if num_labelers else np.ones(1)
    prior = np.array([1 - share, share])
    return table_information(prior[:, None] * np.stack([wrong, wrong[::-1]]) / wrong.sum(), prior)


def _root(gap, high: float) -> float:
    """Where a decreasing function of [0, high] is 0."""
    return float(root_scalar(gap, bracket=(0.0, high), method="brentq", xtol=1e-15, rtol=1e-14).root)


def _symmetric(error: float, prior: np.ndarray, num_labelers: int) -> float:
    """Information of equal symmetric labelers, any number of classes."""
    law = label_law(Symmetric(error, prior.size), num_labelers=num_labelers)
    return average_over_strata(law, prior, "auto", None, 0).bits


def _check(values: np.ndarray, good, name: str, wanted: str) -> None:
    bad = np.flatnonzero(~np.asarray(good))
    if bad.size:
        raise ValueError(f"{name} must be {wanted}; got {values.flat[bad[0]]}")
