"""Class counts of all samples from the true classes of a few: strata, and a guess whose worth is learned.

Samples lie in strata of known sizes N_s (say, by what a classifier predicts and what labels make most
probable). In each a guess m_s says which share belongs to each class. A few samples drawn at random have
known classes: k_s of each class. Given how much the guess is worth,

    p_s ~ Dirichlet(worth * m_s^sharpness + a little, spread evenly),   k_s ~ Multinomial(p_s),

and the classes of the N_s - n_s others are multinomial too (a finite population: with all classes known
nothing is open). Unknown are `worth`, in samples for each stratum, `sharpness`, and which of several guesses
it is (the classifier may know better than the labels, a score may say more than they do): the evidence of the
known classes weighs a small grid of them, so a guess that they bear out is believed, and one that they
contradict is worth a tenth of a sample. Draws of the counts answer every question: shares, ratios,
differences, areas.

Where samples had unequal chances to be known (pi_i), what they say of the others is weighted by 1/pi_i - 1,
the number of unknown samples that each stands for, and counts as Kish's effective number, (sum v)^2 /
sum v^2. Coverage on public sets beside PPI++: `benchmarks/kinds.py`. Classical post-stratification is that of
Holt and Smith (1979); Little (1993) is the Bayesian one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln, softmax

_WORTH = np.array([0.1, 0.5, 1.0, 2.0, 4.0, 8.0])  # samples, for each stratum
_SHARPNESS = {0.5: 0.25, 1.0: 0.5, 2.0: 0.25}  # and how probable each is beforehand
_EVEN, _EVEN_IN_ALL = 0.5, 2.0  # samples that are spread over the classes: of a stratum, and of all, at most


class Strata(NamedTuple):
    """What is known of each stratum."""

    size: Int[np.ndarray, " strata"]
    known: Int[np.ndarray, "strata classes"]  # samples of known class
    weighted: Float[np.ndarray, "strata classes"]  # the same as they speak for the others; random: `known`
    guess: Float[np.ndarray, "strata classes"]  # shares of the classes, made without the known ones


def strata_of(
    stratum: Int[np.ndarray, " samples"],
    guess: Float[np.ndarray, "samples classes"],
    classes: Int[np.ndarray, " samples"],
    inclusion: Float[np.ndarray, " samples"] | None = None,
) -> tuple[Strata, Int[np.ndarray, " strata"]]:
    """Summarise samples by stratum.

    Args:
        stratum: of each sample, any whole numbers.
        guess: of each sample's class.
        classes: known ones, -1 where unknown.
        inclusion: the chance of each sample to be known; None: all alike.

    Returns:
        The strata that occur, and their numbers.
    """
    names, place = np.unique(stratum, return_inverse=True)
    known, shape = classes >= 0, (names.size, guess.shape[1])
    where = place[known], classes[known]
    counts, weight = np.zeros(shape, np.int64), np.zeros(shape)
    np.add.at(counts, where, 1)
    size = np.bincount(place)
    share = np.zeros(shape)
    np.add.at(share, place, guess)
    share /= size[:, None]
    if inclusion is None:
        return Strata(size, counts, counts.astype(np.float64), share), names
    stands_for = 1.0 / inclusion[known] - 1.0
    np.add.at(weight, where, stands_for)
    total = weight.sum(axis=1)
    square = np.bincount(place[known], stands_for**2, minlength=names.size)
    effective = np.divide(total, square, out=np.zeros_like(total), where=square > 0)
    return Strata(size, counts, weight * effective[:, None], share), names


def class_counts(
    strata: Strata,
    rng: np.random.Generator,
    *,
    others: Sequence[tuple[float, Float[np.ndarray, "strata classes"]]] = (),
    num_draws: int = 4000,
) -> Int[np.ndarray, "draws strata classes"]:
    """Draws of how many samples of each stratum are of each class, known ones among them.

    Args:
        strata: what is known.
        rng: random numbers.
        others: how probable beforehand it is that another guess is the right one, and that guess.
        num_draws: how many.

    >>> strata, _ = strata_of(np.zeros(100, int), np.full((100, 2), 0.5), np.repeat([0, 1, -1], [3, 27, 70]))
    >>> draws = class_counts(strata, np.random.default_rng(0))
    >>> bool(abs(draws[:, 0, 1].mean() - 89) < 2), int(draws.sum(2).min())
    (True, 100)
    """
    priors, log_weight = _priors([(1.0 - sum(p for p, _ in others), strata.guess), *others])
    total, counts = priors.sum(axis=2), strata.weighted
    evidence = (
        (gammaln(total) - gammaln(total + counts.sum(axis=1))).sum(axis=1)
        + (gammaln(priors + counts) - gammaln(priors)).sum(axis=(1, 2))
        + log_weight
    )
    number = rng.multinomial(num_draws, softmax(evidence))
    rest, found = strata.size - strata.known.sum(axis=1), []
    for prior, draws in zip(priors, number, strict=True):
        mass = rng.standard_gamma(prior + counts, (draws, *counts.shape)) + 1e-300
        open_ = rng.multinomial(np.broadcast_to(rest, (draws, rest.size)), mass / mass.sum(2, keepdims=True))
        found.append(strata.known + open_)
    return np.concatenate(found)


def tilted(
    strata: Strata, bins: Int[np.ndarray, " strata"], by: float, rising: int
) -> Float[np.ndarray, "strata classes"]:
    """The guess, with log odds of one class raised by the rank of each stratum's bin: -`by` to `by`."""
    size = np.bincount(bins, strata.size)
    rank = 2 * (np.cumsum(size) - size / 2)[bins] / size.sum() - 1
    guess = strata.guess.copy()
    guess[:, rising] *= np.exp(by * rank)
    return guess / guess.sum(axis=1, keepdims=True)


def _priors(
    guesses: Sequence[tuple[float, np.ndarray]],
) -> tuple[Float[np.ndarray, "grid strata classes"], Float[np.ndarray, " grid"]]:
    """Concentrations for every guess, worth and sharpness, and the log prior of each."""
    strata, classes = guesses[0][1].shape
    even = min(_EVEN, _EVEN_IN_ALL / strata) / classes
    found, log_weight = [], []
    for probable, guess in guesses:
        for sharpness, likely in _SHARPNESS.items():
            share = guess**sharpness
            share = share / share.sum(axis=1, keepdims=True)
            found += [worth * share + even for worth in _WORTH]
            log_weight += [np.log(probable * likely)] * _WORTH.size
    return np.array(found), np.array(log_weight)
