"""Prediction-powered estimates of means, ratios and class counts from few verified labels (gold).

N samples have a prediction f_i of a number u_i that is known for n of them only, the gold. Prediction-powered
inference (PPI++, Angelopoulos, Duchi and Zrnic 2023) corrects the mean prediction by the gold:

    estimate = power * mean_all(f) + mean_gold(u - power * f).

It is unbiased for any f. `power` is the regression coefficient of u on f in the gold, so useless predictions
get no weight (the regression estimator of survey sampling). A ratio A/B, such as precision or recall, is the
R at which the estimate of mean(a - R b) is 0; by the delta method it has the distribution of the mean of
u = (a - R b)/B.

Target. Gold is a random part of the N samples at hand: the variance is that of the residuals times
(1 - n/N)/n, and 0 when all is gold. `target="population"` adds var(u)/N.

Sampling. With unequal `inclusion` probabilities gold is weighted by 1/inclusion, normalised (Hajek). With
`strata` the spread is taken within strata.

Small samples. Residuals are divided by the root of 1 - leverage. The distribution is Student's t, confined to
the range, with as many degrees of freedom as gold samples are informative about the ratio (recall: those of
the class), less the fitted numbers, and at least one. All gold may agree with the predictions, and a variance
of 0 would claim certainty; so `surprise` = 1/2 adds half a gold answer of a whole unit of residual, of a
sample whose class matters (`possible`). A power fitted to ten points is noisy; `pseudo_gold` adds so many
answers that are as predicted. 0 is the textbook for both. Measured coverage: `benchmarks/judges.py`.

Class counts of all samples (`class_counts`). Samples lie in strata of known sizes N_s. In each a guess m_s is
the share of each class, and k_s known samples are of each:

    p_s ~ Dirichlet(worth * m_s^sharpness + a little, spread evenly),   k_s ~ Multinomial(p_s),

and the classes of the N_s - n_s others are multinomial too. `worth` (in samples for each stratum),
`sharpness`, and the choice among several guesses are unknown: the evidence of the known classes weights a
small grid, so a guess that they contradict counts as a tenth of a sample. The evidence counts half, because
the quality of labels differs between strata (Grunwald and van Ommen 2017 on misspecified models). With
unequal probabilities pi_i to be known, samples represent the others with weight 1/pi_i - 1 and count as
Kish's effective number. Little (1993) is the Bayesian post-stratification; coverage on public sets beside
PPI++: `benchmarks/kinds.py`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import gammaln, softmax

from jtruth import _validation as check
from jtruth._host import cross_table
from jtruth._one_line import one_line
from jtruth._validation.in_range import check_finite, check_shape
from jtruth.stats.student import StudentEstimate

TARGETS = ("in-sample", "population")
_ROUNDS = 50  # of power and ratio in turn; a few are enough
_CLOSE = 1e-10
_ROUNDED = 1.5  # answers by which a stratum may have more or fewer than its share

OfGold = Float[np.ndarray, " gold"]


class GoldSample(NamedTuple):
    """The samples with gold, and how they were chosen."""

    chosen: Int[np.ndarray, " gold"]  # indices of the gold samples
    inclusion: OfGold  # the probability that each was chosen
    stratum: Int[np.ndarray, " gold"]  # all 0 without strata
    num_samples: int

    __repr__ = one_line

    @property
    def weight(self) -> OfGold:
        """How many samples each gold sample stands for."""
        return 1.0 / self.inclusion


class FittedPower(NamedTuple):
    """The best power by the gold, pulled towards 1 by `pseudo_gold` answers that are as predicted."""

    pseudo_gold: float = 0.0


BY_GOLD = FittedPower()


class PpiEstimate(NamedTuple):
    """A prediction-powered estimate and its distribution."""

    dist: StudentEstimate
    value: float  # may lie outside the range; the distribution does not
    standard_error: float
    power: float  # weight of the predictions, 0: gold only
    num_informative: int  # gold samples that are informative about this ratio
    converged: bool  # power and ratio agree

    __repr__ = one_line


def uninformative(bounds: tuple[float, float]) -> PpiEstimate:
    """A flat estimate between these bounds."""
    flat = StudentEstimate(0.5 * sum(bounds), np.inf, 1.0, *bounds)
    return PpiEstimate(flat, float("nan"), float("inf"), 0.0, 0, True)


def gold_sample(
    has_gold: Bool[np.ndarray, " samples"], *, inclusion: Any = None, strata: Any = None, sizes: Any = None
) -> GoldSample:
    """Describe how gold was chosen.

    Strata with fewer than two gold samples, but not all, show no spread: they are merged. If every stratum
    has its share of the gold, up to rounding, all samples had the same chance.

    Args:
        has_gold: (samples,) whether a sample has a gold answer.
        inclusion: (samples,) probability of each sample to be chosen for gold; only entries of samples with
            gold are used. By default all are equal, within strata if there are some.
        strata: (samples,) whole numbers or names: gold was chosen at random inside each stratum.
        sizes: (samples,) size of the stratum of each sample with gold; counted by default.

    Raises:
        ValueError: no gold, probabilities outside (0, 1], or impossible sizes.
    """
    has_gold = np.asarray(has_gold, bool)
    chosen = np.flatnonzero(has_gold)
    if not chosen.size:
        raise ValueError("no sample has gold; give at least a few verified labels")
    stratum, p = np.zeros(chosen.size, np.int64), np.full(chosen.size, chosen.size / has_gold.size)
    if strata is not None:
        stratum, p = _in_strata(chosen, np.asarray(strata), sizes, has_gold.size)
    if inclusion is not None:
        p = np.asarray(inclusion, np.float64)
        check_shape(p, "inclusion", "samples", samples=has_gold.size)
        p = p[chosen]
    bad = np.flatnonzero(~((p > 0) & (p <= 1)))
    if bad.size:
        raise ValueError(
            f"inclusion[{chosen[bad[0]]}] is {p[bad[0]]}; the inclusion probability of a gold sample "
            "is above 0 and at most 1"
        )
    return GoldSample(chosen, p, stratum, has_gold.size)


def _in_strata(
    chosen: np.ndarray, strata: np.ndarray, sizes: Any, number: int
) -> tuple[Int[np.ndarray, " gold"], OfGold]:
    """Stratum and inclusion probability of each gold sample."""
    check_shape(strata, "strata", "samples", samples=number)
    if strata.dtype.kind not in "iuUO":
        raise ValueError(f"strata must hold whole numbers or names; got dtype {strata.dtype}")
    names, stratum = np.unique(strata[chosen], return_inverse=True)
    gold = np.bincount(stratum)
    size = np.array([(strata == name).sum() for name in names])
    if sizes is not None:
        given = np.asarray(sizes, np.float64)[chosen]
        size = np.bincount(stratum, given) / gold
        wrong = np.flatnonzero((given != size[stratum]) | (given < gold[stratum]) | (given % 1 != 0))
        if wrong.size or size.sum() > number:
            which = stratum[wrong[0]] if wrong.size else size.argmax()
            raise ValueError(
                f"the size of stratum {str(names[which])!r} is {given[stratum == which][0]:g}: give one "
                f"number for each stratum, not below its gold ({gold[which]}); sizes sum to at most {number}"
            )
    even, rest = chosen.size / number, number - size.sum()  # in strata without gold
    equal = bool((np.abs(gold - size * even) < _ROUNDED).all())
    together = (gold < 2) & (gold < size)
    open_ = [h for h in np.argsort(size, kind="stable") if gold[h] < size[h] and not together[h]]
    while open_ and (together.any() or rest > 0) and gold[together].sum() < 2:
        together[open_.pop(0)] = True
    size = np.where(together, size[together].sum() + rest, size)
    gold = np.where(together, gold[together].sum(), gold)
    p = np.full(chosen.size, even) if equal else (gold / size)[stratum]
    return np.unique(np.where(together[stratum], names.size, stratum), return_inverse=True)[1], p


def ppi_ratio(
    truth: tuple[OfGold, OfGold],
    predicted: tuple[Float[np.ndarray, " samples"], Float[np.ndarray, " samples"]],
    gold: GoldSample,
    *,
    power: float | FittedPower = BY_GOLD,
    target: str = "in-sample",
    bounds: tuple[float, float] = (0.0, 1.0),
    surprise: float = 0.5,
    possible: tuple[Float[np.ndarray, "gold classes"], Float[np.ndarray, "gold classes"]] | None = None,
) -> PpiEstimate:
    """Estimate sum(numerator)/sum(denominator) over all samples.

    Args:
        truth: (numerator, denominator) of the gold samples in the order of `gold.chosen`.
        predicted: their predictions, (samples,) each, made without the gold answers. Equal to the truth where
            that is known anyway (predicted positives).
        gold: from `gold_sample`.
        power: weight of the predictions; the best one by the gold (PPI++), or 1: plain PPI, 0: gold only.
        target: "in-sample" or "population".
        bounds: the range of the ratio; its distribution is confined to it.
        surprise: see the module docstring.
        possible: numerator and denominator of each gold sample if it were of class 0, 1, ...; None: the class
            matters equally for all.

    Returns:
        `PpiEstimate`, flat on `bounds` if no gold sample is informative about the ratio.

    >>> y, gold = (np.arange(200) % 4 == 0) * 1.0, gold_sample(np.arange(200) < 40)
    >>> found = ppi_mean(y[:40], 0.8 * y, gold)
    >>> print(round(found.value, 6), [round(end, 3) for end in found.dist.interval()])
    0.25 [0.218, 0.282]
    """
    check.choose("target", target, TARGETS)
    a, b, f, g = (np.asarray(v, np.float64) for v in (*truth, *predicted))
    for name, v, size in (
        ("numerator", a, gold.chosen.size), ("denominator", b, gold.chosen.size),
        ("numerator_hat", f, gold.num_samples), ("denominator_hat", g, gold.num_samples),
    ):  # fmt: skip
        check_shape(v, name, "samples", samples=size)
        check_finite(v, name, "give numbers")
    used = (a != 0) | (b != 0)
    informative = int(used.sum())
    share = gold.weight / gold.weight.sum()
    fits = isinstance(power, FittedPower)
    weight, value, converged = (1.0 if fits else power), np.nan, False
    for _ in range(_ROUNDS):
        top = weight * f.mean() + share @ (a - weight * f[gold.chosen])
        bottom = weight * g.mean() + share @ (b - weight * g[gold.chosen])
        if bottom <= 0:
            break
        before, value = value, top / bottom
        if abs(before - value) < _CLOSE:
            converged = True
            break
        if fits:
            guess = f - value * g
            prior = power.pseudo_gold / a.size * float(guess.var())
            weight = _best_power(a - value * b, guess[gold.chosen], share, gold.stratum, prior)
    fitted = len(np.unique(gold.stratum[used])) + (weight != 0)
    freedom = float(max(informative - fitted, 1))
    if np.isnan(value) or bottom <= 0 or not informative:
        flat = uninformative(bounds).dist
        return PpiEstimate(flat, float(value), float("inf"), float(weight), informative, converged)
    left, guess = (a - value * b) / bottom, (f - value * g)[gold.chosen] / bottom
    reach = share * (1.0 if possible is None else np.ptp(possible[0] - value * possible[1], axis=1))
    half = surprise / bottom**2 * (reach / reach.sum() if reach.any() else share)
    prior = power.pseudo_gold / a.size * float(((f - value * g) / bottom).var()) if fits else 0.0
    variance = _residual_variance(left, weight, guess, share, gold, half, prior)
    if target == "population":
        spread = left - share @ left
        variance += float(share @ spread**2) / (gold.num_samples * (1 - 1 / max(a.size, 2)))
    error = float(np.sqrt(variance))
    dist = StudentEstimate(float(value), error, freedom, *bounds)
    return PpiEstimate(dist, float(value), error, float(weight), informative, converged)


def ppi_mean(
    truth: OfGold, predicted: Float[np.ndarray, " samples"], gold: GoldSample, **options: Any
) -> PpiEstimate:
    """Estimate the mean over all samples: `ppi_ratio` with denominator 1, and its options."""
    ones = np.ones(gold.num_samples)
    return ppi_ratio((truth, ones[gold.chosen]), (predicted, ones), gold, **options)


def _within(v: np.ndarray, share: np.ndarray, stratum: np.ndarray) -> np.ndarray:
    """v less its weighted mean in every stratum."""
    total = np.bincount(stratum, weights=share)
    return v - (np.bincount(stratum, weights=share * v) / np.where(total > 0, total, 1.0))[stratum]


def _best_power(
    truth: np.ndarray, guess: np.ndarray, share: np.ndarray, stratum: np.ndarray, prior: float
) -> float:
    """Coefficient of truth on guess, 0 of constant guesses; `prior`: the pseudo-gold of right guesses."""
    x, y = _within(guess, share, stratum), _within(truth, share, stratum)
    spread = share @ x**2 + prior
    return float((share @ (x * y) + prior) / spread) if spread > 1e-14 else 0.0


def _residual_variance(
    truth: np.ndarray, power: float, guess: np.ndarray, share: np.ndarray, gold: GoldSample,
    surprise: np.ndarray, prior: float,
) -> float:  # fmt: skip
    """Variance of the weighted mean of residuals; `surprise` (gold,) is added to their squares."""
    x, residual = _within(guess, share, gold.stratum), _within(truth - power * guess, share, gold.stratum)
    leverage = share / np.bincount(gold.stratum, weights=share)[gold.stratum]
    spread = share @ x**2 + prior
    if power != 0 and spread > 1e-14:
        leverage = leverage + share * x**2 / spread
    scaled = residual**2 / np.maximum(1 - leverage, 1e-3)
    left = 1 - gold.inclusion  # a sample that was certain to be chosen adds none
    return float(left @ (share**2 * (scaled + surprise)))


_WORTH = np.array([0.1, 0.5, 1.0, 2.0, 4.0, 8.0])  # samples, for each stratum
_SHARPNESS = {0.5: 0.25, 1.0: 0.5, 2.0: 0.25}  # and how probable each is beforehand
_TRUST = 0.5  # power of the evidence: the quality of the guess differs between strata
_EVEN, _EVEN_IN_ALL = 0.5, 2.0  # samples that are spread over the classes: of a stratum, and of all, at most


ClassShares = Float[np.ndarray, "strata classes"]
Guesses = Sequence[tuple[float, ClassShares]]
# Of each stratum: its size; samples of known class (strata, classes); the same weighted as they represent the
# others; and guessed shares of the classes, made without the known ones.
Strata = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def strata_of(
    stratum: Int[np.ndarray, " samples"],
    guess: Float[np.ndarray, "samples classes"],
    classes: Int[np.ndarray, " samples"],
    inclusion: Float[np.ndarray, " samples"] | None = None,
) -> tuple[Strata, Int[np.ndarray, " strata"]]:
    """Summarise samples by stratum (any whole numbers), and the numbers of those that occur.

    `classes` are -1 where unknown; `inclusion` is the probability of each sample to be known; None: equal.
    """
    names, place = np.unique(stratum, return_inverse=True)
    known, shape = classes >= 0, (names.size, guess.shape[1])
    where, size = (place[known], classes[known]), np.bincount(place)
    counts, share = cross_table(*where, shape), np.zeros(shape)
    np.add.at(share, place, guess)
    share /= size[:, None]
    if inclusion is None:
        return (size, counts, counts.astype(np.float64), share), names
    stands_for = 1.0 / inclusion[known] - 1.0
    weight = cross_table(*where, shape, stands_for)
    total = weight.sum(axis=1)
    square = np.bincount(place[known], stands_for**2, minlength=names.size)
    effective = np.divide(total, square, out=np.zeros_like(total), where=square > 0)
    return (size, counts, weight * effective[:, None], share), names


def class_counts(
    strata: Strata, rng: np.random.Generator, *, others: Guesses = (), num_draws: int = 4000
) -> Int[np.ndarray, "draws strata classes"]:
    """Draw the number of samples of each class in each stratum, known ones included.

    `others` are alternative guesses with their prior probabilities.

    >>> strata, _ = strata_of(np.zeros(100, int), np.full((100, 2), 0.5), np.repeat([0, 1, -1], [3, 27, 70]))
    >>> draws = class_counts(strata, np.random.default_rng(0))
    >>> bool(abs(draws[:, 0, 1].mean() - 89) < 2), int(draws.sum(2).min())
    (True, 100)
    """
    size, known, counts, first = strata
    even = min(_EVEN, _EVEN_IN_ALL / size.size) / first.shape[1]
    concentrations, log_weight = [], []  # for every guess, sharpness and worth
    for probable, guess in ((1.0 - sum(p for p, _ in others), first), *others):
        for sharpness, likely in _SHARPNESS.items():
            share = guess**sharpness
            share = share / share.sum(axis=1, keepdims=True)
            concentrations += [worth * share + even for worth in _WORTH]
            log_weight += [np.log(probable * likely)] * _WORTH.size
    priors = np.array(concentrations)
    total = priors.sum(axis=2)
    evidence = (gammaln(total) - gammaln(total + counts.sum(axis=1))).sum(axis=1)
    evidence += (gammaln(priors + counts) - gammaln(priors)).sum(axis=(1, 2))
    number = rng.multinomial(num_draws, softmax(_TRUST * evidence + np.array(log_weight)))
    rest, tables = size - known.sum(axis=1), []
    for prior, draws in zip(priors, number, strict=True):
        mass = rng.standard_gamma(prior + counts, (draws, *counts.shape)) + 1e-300
        open_ = rng.multinomial(np.broadcast_to(rest, (draws, rest.size)), mass / mass.sum(2, keepdims=True))
        tables.append(known + open_)
    return np.concatenate(tables)


def tilted(strata: Strata, bins: Int[np.ndarray, " strata"], by: float, rising: int) -> ClassShares:
    """Guessed shares, log odds of class `rising` raised by the rank of each stratum's bin: -`by` to `by`."""
    size = np.bincount(bins, strata[0])
    rank = 2 * (np.cumsum(size) - size / 2)[bins] / size.sum() - 1
    guess = strata[3].copy()
    guess[:, rising] *= np.exp(by * rank)
    return guess / guess.sum(axis=1, keepdims=True)


def less_of(strata: Strata, of_class: int, by: float) -> ClassShares:
    """Guessed shares, log odds of one class lowered by `by` everywhere."""
    guess = strata[3].copy()
    guess[:, of_class] *= np.exp(-by)
    return guess / guess.sum(axis=1, keepdims=True)
