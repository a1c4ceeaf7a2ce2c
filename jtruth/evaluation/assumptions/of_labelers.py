"""How good is each labeler, by labels alone? Labelers as uncertain as classifiers.

Two targets can be meant. "in-sample" is the share of the labels given that are right; it ranks labelers
better, since people label different samples. "population" is the chance that a label of theirs for a new
sample is right, each class weighted by its learned share.

The majority vote that judges a labeler is that of the others, ties broken by chance: with the own label in it
a labeler of three is wrong only where both others agree. It says nothing of the population. The law of each
is the predictive one (`predictive`), with the errors of metrics of the whole table: a labeler is judged by
the others as a classifier is. Measured on sources left out: `benchmarks/kinds.py`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from jtruth._random import Key, host_rng
from jtruth._validation import choose
from jtruth.evaluation.assumptions.model_error import OVERALL
from jtruth.evaluation.assumptions.predictive import law_of
from jtruth.evaluation.assumptions.ranges import Member
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS
from jtruth.evaluation.parts import IN_SAMPLE, OF_LABELERS, POPULATION
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.draws import DrawsEstimate

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


def labeler_laws(draws: Mapping[str, Draws], labels: Labels, labelers_are: str) -> list[DrawsEstimate]:
    """Predictive law of each labeler's accuracy; NaN of whom no reading says anything.

    Args:
        draws: by the name of the assumption; those of readings have a say.
        labels: that the fits are of.
        labelers_are: their kind.
    """
    number, found = labels.labels_per_labeler(), []
    for t in range(labels.num_labelers):
        own = {
            name: values[:, t]
            for name, values in draws.items()
            if ASSUMPTIONS[name].reading and not np.isnan(values[:, t]).all()
        }
        law = law_of(own, OVERALL, labelers_are, float(max(number[t], 1))) if own else _NOTHING
        found.append(law)
    return found


_NOTHING = DrawsEstimate(np.array([np.nan]))


def matrix_ends(fit: JointPosterior, level: float) -> dict[str, np.ndarray]:
    """Mean and equal tails of all confusion matrices.

    Returns:
        "mean", "low" and "high", each (labelers, classes, classes).
    """
    low, high = np.quantile(fit.matrices, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return {"mean": fit.mean_matrices, "low": low.astype(np.float64), "high": high.astype(np.float64)}
