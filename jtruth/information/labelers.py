"""Whom do I pay? What each labeler is worth, alone and beside the others, and who to add next.

The information of a team is not the sum of its members': a labeler adds what the others have not said
already. For labelers who err independently given the class, a labeler adds the less the larger the team
is (the information is submodular), so that the greedy choice of k labelers has at least 1 - 1/e = 63 % of the
information of the best k (Nemhauser, Wolsey and Fisher 1978). Labelers who share errors may also need each
other, and then nothing is promised.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from jtruth._one_line import one_line
from jtruth._pictures import picture
from jtruth.information._entropy import checked_prior
from jtruth.information.independent import MOST_CLASSES, independent_information
from jtruth.information.law import LabelLaw, label_law
from jtruth.information.mutual import Prior, average_over_strata


class LabelerInformation(NamedTuple):
    """What labelers are worth, in bits per sample."""

    alone: Float[np.ndarray, " labelers"]  # I(Z_t; Y), if there were no other
    last: Float[np.ndarray, " labelers"]  # what is lost without labeler t: I(all) - I(all but t)
    total: float  # I of all labelers

    plot = picture
    __repr__ = one_line


class LabelerOrder(NamedTuple):
    """Labelers in the order in which the greedy rule takes them."""

    order: Int[np.ndarray, " chosen"]
    bits: Float[np.ndarray, " chosen"]  # information of the first 1, 2, ... of them
    cost: Float[np.ndarray, " chosen"]  # their cost together

    plot = picture
    __repr__ = one_line


def labeler_information(
    noise,
    prior: Prior,
    *,
    num_labelers: int | None = None,
    participation=None,
    key: Any = None,
) -> LabelerInformation:
    """Information of each labeler alone, and what each adds to all the others.

    Args and errors are those of `mutual_information`.

    Example:
        >>> import numpy as np
        >>> from jtruth.information import labeler_information
        >>> from jtruth.noise import Symmetric
        >>> worth = labeler_information(Symmetric([.05, .3, .5], 2), [.5, .5])
        >>> print(worth.alone.round(3), worth.last.round(3), round(worth.total, 3))
        [0.714 0.119 0.   ] [0.618 0.023 0.   ] 0.737
    """
    law = label_law(noise, num_labelers=num_labelers, participation=None)
    checked = checked_prior(prior, law.num_classes)
    one = np.eye(law.num_labelers, dtype=bool)
    teams = np.concatenate([one, ~one, np.ones((1, law.num_labelers), bool)])
    bits = _teams(law, checked, teams, participation, key)
    alone, others, total = np.split(bits, [law.num_labelers, 2 * law.num_labelers])
    return LabelerInformation(alone, total - others, float(total[0]))


def added_information(
    noise,
    prior: Prior,
    chosen: Sequence[int] | np.ndarray,
    *,
    num_labelers: int | None = None,
    participation=None,
    key: Any = None,
) -> Float[np.ndarray, " labelers"]:
    """What each labeler would add to the labelers `chosen` already, in bits; 0 for these themselves.

    Args:
        chosen: numbers of labelers who label every sample, possibly none.
        noise, prior, num_labelers, participation, key: see `mutual_information`.

    Raises:
        ValueError: as `mutual_information`, or a number that is no labeler's.

    Example:
        >>> from jtruth.information import added_information
        >>> from jtruth.noise import Symmetric
        >>> print(added_information(Symmetric([.05, .3, .4], 2), [.5, .5], [0]).round(3))
        [0.    0.023 0.006]
    """
    law = label_law(noise, num_labelers=num_labelers, participation=None)
    checked = checked_prior(prior, law.num_classes)
    team = _as_team(chosen, law.num_labelers)
    teams = np.concatenate([team[None], team | np.eye(law.num_labelers, dtype=bool)])
    bits = _teams(law, checked, teams, participation, key)
    return bits[1:] - bits[0]


def best_labelers(
    noise,
    prior: Prior,
    *,
    budget: float | None = None,
    costs: Sequence[float] | np.ndarray | None = None,
    num_labelers: int | None = None,
    participation=None,
    key: Any = None,
) -> LabelerOrder:
    """Labelers in greedy order: at each step the one who adds most bits, or most bits for its cost.

    Of these two rules the one that ends with more information is used. For independent labelers that team has
    at least (1 - 1/e)/2 = 31 % of the information of the best one within the budget, and 63 % if all cost
    the same (Leskovec et al. 2007); in practice nearly all of it.

    Args:
        noise, prior, num_labelers, participation, key: see `mutual_information`.
        budget: labelers that it does not pay for are passed over; all are taken if None.
        costs: (labelers,), positive; 1 each if None.

    Returns:
        The order, the information of the first 1, 2, ... of them, and what these cost.

    Raises:
        ValueError: as `mutual_information`, or costs that are not positive.

    Example:
        >>> from jtruth.information import best_labelers
        >>> from jtruth.noise import Symmetric
        >>> team = best_labelers(Symmetric([.3, .05, .25], 2), [.5, .5], costs=[1, 8, 1], budget=9)
        >>> print(team.order, team.bits.round(3), team.cost)
        [1 2] [0.714 0.751] [8. 9.]
    """
    law = label_law(noise, num_labelers=num_labelers, participation=None)
    checked = checked_prior(prior, law.num_classes)
    price = _costs(costs, law.num_labelers)
    left = np.inf if budget is None else float(budget)

    def of_teams(teams: np.ndarray) -> np.ndarray:
        return _teams(law, checked, teams, participation, key)

    per_cost = _greedy(of_teams, price, left, price)
    if np.ptp(price) == 0:
        return per_cost
    plain = _greedy(of_teams, price, left, np.ones_like(price))
    return max((per_cost, plain), key=lambda found: found.bits[-1] if found.bits.size else 0.0)


def _greedy(
    of_teams: Callable[[np.ndarray], np.ndarray], price: np.ndarray, left: float, divisor: np.ndarray
) -> LabelerOrder:
    """Add the labeler of most new bits per `divisor` as long as one can be paid for."""
    team, order, bits = np.zeros(price.size, bool), [], [0.0]
    while (free := np.flatnonzero(~team & (price <= left))).size:
        teams = np.repeat(team[None], free.size, axis=0)
        teams[np.arange(free.size), free] = True
        found = of_teams(teams)
        best = int(np.argmax((found - bits[-1]) / divisor[free]))
        team, left = teams[best], left - float(price[free[best]])
        order.append(int(free[best]))
        bits.append(float(found[best]))
    chosen = np.array(order, int)
    return LabelerOrder(chosen, np.array(bits[1:]), np.cumsum(price[chosen]))


def _teams(
    law: LabelLaw, prior: np.ndarray, teams: Bool[np.ndarray, "teams labelers"], participation, key
) -> Float[np.ndarray, " teams"]:
    """Information of each team; the same key for all, so that simulated differences keep little noise."""
    if len(law.rows) == 1 and np.count_nonzero(prior) <= MOST_CLASSES:
        law, kept = label_law(law, participation=participation), _taking_part(law, participation)
        return independent_information(law, prior, teams[:, kept].astype(int))
    eta = 1.0 if participation is None else np.asarray(participation, float)
    laws = [label_law(law, participation=np.where(team, eta, 0.0)) for team in teams]
    return np.array([average_over_strata(one, prior, "auto", key, 20_000).bits for one in laws])


def _taking_part(law: LabelLaw, participation) -> np.ndarray:
    """Which labelers `label_law` keeps."""
    eta = 1.0 if participation is None else np.asarray(participation, float)
    return np.broadcast_to(eta, (law.num_labelers,)) > 0


def _as_team(chosen, num_labelers: int) -> np.ndarray:
    """Numbers of labelers as a mask."""
    numbers = np.asarray(chosen, int).ravel()
    bad = numbers[(numbers < 0) | (numbers >= num_labelers)]
    if bad.size:
        raise ValueError(f"chosen names labeler {bad[0]}; there are labelers 0 to {num_labelers - 1}")
    return np.isin(np.arange(num_labelers), numbers)


def _costs(costs, num_labelers: int) -> np.ndarray:
    """(labelers,) positive costs."""
    price = np.ones(num_labelers) if costs is None else np.asarray(costs, np.float64)
    if price.shape != (num_labelers,) or not (price > 0).all() or not np.isfinite(price).all():
        raise ValueError(
            f"costs must be {num_labelers} positive numbers, one for each labeler; got {costs!r}"
        )
    return price
