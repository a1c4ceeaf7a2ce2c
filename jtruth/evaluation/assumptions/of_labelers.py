"""How good is each labeler, under every assumption that has an answer? Labelers as uncertain as classifiers.

Labels alone do not tell labelers who err independently from those who are wrong together on hard samples, so
a labeler gets what a classifier gets: one answer for each assumption of the table, their hull and the mean of
their points. Two targets can be meant. "in-sample" is the share of the labels given that are right; it ranks
labelers better, since people label different samples. "population" is the chance that a label of theirs for a
new sample is right, each class weighted by its learned share.

The majority vote that judges a labeler is that of the others, ties broken by chance: with the own label in it
a labeler of three is wrong only where both others agree. It says nothing of the population.

Measured on six public sets with 3 and 5 labels a sample and on simulated families (`benchmarks/labelers.py`).
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from jtruth._random import Key, host_rng
from jtruth._validation import choose
from jtruth.evaluation.assumptions.ranges import Member
from jtruth.evaluation.text import IN_SAMPLE, OF_LABELERS, POPULATION
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.draws import DrawsEstimate
from jtruth.tables.several import RangeEstimate

_DRAWS = 1000  # of the majority vote, whose ties are all that is random

Draws = Float[np.ndarray, "draws labelers"]


def labeler_draws(found: Sequence[Member], labels: Labels, target: str, key: Key) -> dict[str, Draws]:
    """Draws of every labeler's accuracy by the name of the assumption; NaN of whom it says nothing.

    Args:
        found: assumptions with their fits.
        labels: that the fits are of.
        target: "in-sample" or "population".
        key: of the ties.

    Raises:
        ValueError: another target.
    """
    choose("target", target, tuple(OF_LABELERS))
    number = labels.labels_per_labeler().astype(np.float64)
    number[number == 0] = np.nan
    draws = {}
    for member in found:
        if member.fit is not None and target == POPULATION:
            draws[member.name] = member.fit.labeler_accuracy
        elif member.fit is not None and member.fit.right is not None:
            draws[member.name] = member.fit.right / number
        elif member.fit is None and target == IN_SAMPLE:
            draws[member.name] = others_vote(labels, host_rng(key, "majority of the others"))
    return draws


def others_vote(labels: Labels, rng: np.random.Generator) -> Draws:
    """Share of each labeler's labels that agree with the majority of the others, where others gave one."""
    sample, labeler, label = labels.arrays
    given = label >= 0
    sample, labeler, label = sample[given], labeler[given], label[given]
    votes = labels.counts()
    pair, own = np.unique(sample * labels.num_labelers + labeler, return_inverse=True)
    mine = np.zeros((pair.size, labels.num_classes), votes.dtype)
    np.add.at(mine, (own, label), 1)
    others = votes[sample] - mine[own]
    top = others == others.max(axis=1, keepdims=True)
    chance = top[np.arange(label.size), label] / top.sum(axis=1)
    seen = others.any(axis=1)
    size = labels.num_labelers
    total = np.zeros((_DRAWS, size))
    for p in np.unique(chance[seen]):
        times = np.bincount(labeler[seen & (chance == p)], minlength=size)
        total += rng.binomial(times, p, (_DRAWS, size))
    number = np.bincount(labeler[seen], minlength=size).astype(np.float64)
    number[number == 0] = np.nan
    return total / number


def labeler_ranges(draws: Mapping[str, Draws]) -> list[RangeEstimate]:
    """Point and hull of each labeler, over the assumptions that say something of them."""
    found = []
    for each in zip(*(values.T for values in draws.values()), strict=True):
        laws = tuple(DrawsEstimate(np.array(one)) for one in each if not np.isnan(one).all())
        found.append(RangeEstimate(laws or _NOTHING, laws or _NOTHING))
    return found


_NOTHING = (DrawsEstimate(np.array([np.nan])),)


def matrix_ranges(fits: Sequence[JointPosterior], level: float) -> dict[str, np.ndarray]:
    """Mean over fits, and hull of their equal tails, of all confusion matrices.

    Returns:
        "mean", "low" and "high", each (labelers, classes, classes).
    """
    tails = [(1 - level) / 2, (1 + level) / 2]
    ends = np.array([np.quantile(fit.matrices, tails, axis=0) for fit in fits], np.float64)
    mean = np.mean([fit.mean_matrices for fit in fits], axis=0)
    return {"mean": mean, "low": ends[:, 0].min(axis=0), "high": ends[:, 1].max(axis=0)}
