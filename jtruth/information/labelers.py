"""Information of each labeler, alone and beside the others, and the best labelers to pay.

For labelers who err independently given the class information is submodular: the greedy choice of k labelers
has at least 1 - 1/e = 63 % of the information of the best k (Nemhauser, Wolsey and Fisher 1978).

Su (4.1-4.3) compares teams by the error eps' in [0, (C-1)/C] of the one symmetric labeler with the same
information, whose errors are spread evenly over the wrong classes.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy
from jaxtyping import Bool, Float, Int

from jtruth._arrays import AnyArray
from jtruth._one_line import one_line, picture
from jtruth._validation.in_range import check_positive, check_probabilities
from jtruth._validation.words import number_of
from jtruth.information import dist as exact
from jtruth.information.mutual import Information, Prior, average_over_strata, mutual_information
from jtruth.noise import NoiseModel, Symmetric
from jtruth.noise.base import Strata
from jtruth.stats.poisson_binomial import binomial_pmf


class LabelerInformation(NamedTuple):
    """Information of labelers, in bits per sample."""

    alone: Float[np.ndarray, " labelers"]  # I(Z_t; Y)
    last: Float[np.ndarray, " labelers"]  # I(all) - I(all but t)
    total: float  # I of all labelers

    plot = picture
    __repr__ = one_line


class LabelerOrder(NamedTuple):
    """Labelers in greedy order."""

    order: Int[np.ndarray, " chosen"]
    bits: Float[np.ndarray, " chosen"]  # information of the first 1, 2, ... of them
    cost: Float[np.ndarray, " chosen"]  # their cost together

    plot = picture
    __repr__ = one_line


def labeler_information(noise, prior: Prior) -> LabelerInformation:
    """Information of each labeler alone, and its contribution beyond all the others.

    Args and errors are those of `mutual_information`.

    >>> worth = labeler_information(Symmetric([.05, .3, .5], 2), [.5, .5])
    >>> print(worth.alone.round(3), worth.last.round(3), round(worth.total, 3))
    [0.714 0.119 0.   ] [0.618 0.023 0.   ] 0.737
    """
    dist = exact.label_distribution(noise)
    checked = exact.checked_prior(prior, dist.num_classes)
    single = np.eye(dist.num_labelers, dtype=bool)
    teams = np.concatenate([single, ~single, np.ones((1, dist.num_labelers), bool)])
    bits = _teams(dist, checked, teams)
    alone, others, total = np.split(bits, [dist.num_labelers, 2 * dist.num_labelers])
    return LabelerInformation(alone, total - others, float(total[0]))


def best_labelers(
    noise, prior: Prior, *, budget: float | None = None, costs: Sequence[float] | np.ndarray | None = None
) -> LabelerOrder:
    """Labelers in greedy order: at each step the one who adds most bits, or most bits for its cost.

    The rule that ends with more information is used. For independent labelers that team has at least
    (1 - 1/e)/2 = 31 % of the information of the best one within the budget (Leskovec et al. 2007).

    Args:
        noise, prior: see `mutual_information`.
        budget: labelers that exceed it are skipped; all are taken if None.
        costs: (labelers,), positive; 1 each if None.

    Returns:
        The order, the information of the first 1, 2, ... of them, and their cost.

    Raises:
        ValueError: as `mutual_information`, or costs that are not positive.

    >>> team = best_labelers(Symmetric([.3, .05, .25], 2), [.5, .5], costs=[1, 8, 1], budget=9)
    >>> print(team.order, team.bits.round(3), team.cost)
    [1 2] [0.714 0.751] [8. 9.]
    """
    dist = exact.label_distribution(noise)
    checked = exact.checked_prior(prior, dist.num_classes)
    price = np.ones(dist.num_labelers) if costs is None else np.asarray(costs, np.float64)
    check_positive(price, "costs", f"prices of {dist.num_labelers} labelers", size=dist.num_labelers)
    left = np.inf if budget is None else float(budget)

    def of_teams(teams: np.ndarray) -> np.ndarray:
        return _teams(dist, checked, teams)

    per_cost = _greedy(of_teams, price, left, price)
    if np.ptp(price) == 0:
        return per_cost
    plain = _greedy(of_teams, price, left, np.ones_like(price))
    return max((per_cost, plain), key=lambda order: order.bits[-1] if order.bits.size else 0.0)


def _greedy(
    of_teams: Callable[[np.ndarray], np.ndarray], price: np.ndarray, left: float, divisor: np.ndarray
) -> LabelerOrder:
    """Add the labeler of most new bits per `divisor` as long as the budget allows."""
    team, order, bits = np.zeros(price.size, bool), [], [0.0]
    while (free := np.flatnonzero(~team & (price <= left))).size:
        teams = np.repeat(team[None], free.size, axis=0)
        teams[np.arange(free.size), free] = True
        reached = of_teams(teams)
        best = int(np.argmax((reached - bits[-1]) / divisor[free]))
        team, left = teams[best], left - float(price[free[best]])
        order.append(int(free[best]))
        bits.append(float(reached[best]))
    chosen = np.array(order, int)
    return LabelerOrder(chosen, np.array(bits[1:]), np.cumsum(price[chosen]))


def _teams(
    dist: Strata, prior: np.ndarray, teams: Bool[np.ndarray, "teams labelers"]
) -> Float[np.ndarray, " teams"]:
    """Information of each team; simulations share a key, so that differences have little noise."""
    if len(dist.rows) == 1 and np.count_nonzero(prior) <= exact.MOST_CLASSES:
        return exact.independent_information(dist, prior, teams.astype(int))
    dists = [dist._replace(rows=dist.rows[:, team]) for team in teams]
    return np.array([average_over_strata(team_dist, prior, None).bits for team_dist in dists])


_SLACK = 1e-12  # of rounding

Numbers = Float[AnyArray, "..."] | Int[AnyArray, "..."] | float | int | list


def bsbc_information(num_labelers: Numbers, error: Numbers, prior_positive: Numbers) -> np.ndarray:
    """Information of T equal symmetric labelers of a binary class, in bits: the closed form of Su 4.1.

    The printed formula has a factor pi(0) too much on its first sum.

    Args:
        num_labelers: T >= 0; the three arguments broadcast.
        error: eps in [0, 1].
        prior_positive: pi(1) in [0, 1].

    Raises:
        ValueError: T negative or not whole, or a probability outside [0, 1].

    >>> bsbc_information([1, 9, 1, 399], [.05, .25, .01, .45], 126 / 351).round(5)
    array([0.66661, 0.7578 , 0.86337, 0.85919])
    """
    teams, errors, shares = np.broadcast_arrays(*map(np.asarray, (num_labelers, error, prior_positive)))
    check_probabilities(errors, "error")
    check_probabilities(shares, "prior_positive")
    if (wrong := teams[~((teams >= 0) & (teams == np.floor(teams)))]).size:
        raise ValueError(f"num_labelers must be a whole number from 0; got {wrong[0]}")
    bits = []
    for size, rate, share in zip(teams.flat, errors.flat, shares.flat, strict=True):
        wrong = binomial_pmf(float(rate), int(size)) if size else np.ones(1)  # of the number of errors
        prior = np.array([1 - share, share])
        joint = prior[:, None] * np.stack([wrong, wrong[::-1]]) / wrong.sum()
        bits.append(exact.table_information(joint, prior))
    return np.array(bits).reshape(teams.shape)


def equivalent_labeler(noise, prior: Prior, *, num_labelers: int | None = None) -> Information:
    """The single symmetric labeler with the information of any labelers, dependent ones included (Su 4.2).

    Args and errors are those of `mutual_information`; `error` of the result is that of the labeler. Simulated
    bits outside 0..H(Y) count as the nearer end.

    >>> one = equivalent_labeler(Symmetric(.25, 2), [225 / 351, 126 / 351], num_labelers=9)
    >>> print(f"{one.error:.5f}")
    0.02927
    """
    team = mutual_information(noise, prior, num_labelers=num_labelers)
    ceiling = float(exact.entropy(exact.checked_prior(prior, len(prior))))
    bits = float(np.clip(team.bits, 0.0, ceiling)) if team.standard_error else team.bits
    return team._replace(error=equivalent_error(bits, prior))


def equivalent_error(bits: float, prior: Prior, *, num_labelers: int = 1) -> float:
    """The error with which `num_labelers` equal symmetric labelers convey `bits` (Su 4.2, Figure 8).

    Args:
        bits: between 0 and the entropy of the prior.
        prior: (classes,).
        num_labelers: T; 1 is the equivalent single labeler.

    Returns:
        eps' in [0, (C-1)/C].

    Raises:
        ValueError: bits below 0 or above the entropy of the prior.

    >>> print(f"{equivalent_error(.7578037507, [225 / 351, 126 / 351]):.5f}")
    0.02927
    """
    prior = exact.checked_prior(prior, len(prior))
    ceiling = float(exact.entropy(prior))
    if not -_SLACK <= bits <= ceiling + _SLACK:
        raise ValueError(
            f"bits is {bits!r}; labels with this class prior convey between 0 and {ceiling:.6g} bits"
        )
    largest = 1.0 - 1.0 / prior.size

    def gap(error: float) -> float:
        dist = exact.label_distribution(Symmetric(error, prior.size), num_labelers=num_labelers)
        return average_over_strata(dist, prior, None).bits - bits

    if gap(0.0) <= 0:
        return 0.0
    if gap(largest) >= 0:
        return largest
    return float(scipy.optimize.brentq(gap, 0.0, largest, xtol=1e-15, rtol=1e-14))


def smallest_team(labeler, prior: Prior, bits: float, *, most: int = 1_000_000) -> int:
    """Number of equal labelers that convey at least `bits` (Su 4.3).

    Args:
        labeler: an error probability (symmetric labeler), or (classes, symbols), rows = true class; or a
            noise model of one labeler. Where it makes labels dependent (strata), the team shares its strata.
        prior: (classes,).
        bits: the target; `mutual_information` or `bsbc_information` of the labelers to be matched.
        most: largest team tried.

    Raises:
        ValueError: the target is above the entropy of the prior, or out of reach of `most` such labelers.

    >>> expert = float(bsbc_information(1, .05, 126 / 351))
    >>> smallest_team(.25, [225 / 351, 126 / 351], expert)
    7
    """
    prior = exact.checked_prior(prior, len(prior))
    kind = labeler
    if not isinstance(labeler, NoiseModel):
        kind = Symmetric(float(labeler), prior.size) if np.ndim(labeler) == 0 else np.asarray(labeler)[None]
    dist = exact.label_distribution(kind, num_labelers=1)

    def reached(size: int) -> bool:
        team = dist._replace(rows=np.repeat(dist.rows, size, axis=1))
        return average_over_strata(team, prior, None).bits >= bits - _SLACK

    high = 1
    while not reached(high):
        if high == most:
            raise ValueError(
                f"{number_of(most, 'such labeler does', 'such labelers do')} not convey {bits!r} bits "
                f"(of {float(exact.entropy(prior)):.6g}); lower the target, or use better labelers"
            )
        high = min(2 * high, most)
    return bisect_left(range(high), True, high // 2 + 1, key=reached)
