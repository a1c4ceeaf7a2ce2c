"""Where half of the chains start: away from the mode that EM finds, so that another mode is not overlooked.

All chains that start at one mode agree as long as none leaves it, and split R-hat is content. Where a
labeler is more often wrong than right there are several modes, and EM from the votes may climb to the
poorer one. There half of the chains start where one labeler is believed: the one who contradicts the mode
most among those whom the other labelers confirm more often than chance. An adversary is not confirmed, and
the mirror image in which all classes have exchanged names, a mode of its own that only the prior knows to
be wrong, is not where these chains begin. Where gold names the classes, all chains start at the mode. What
comes of a start that leads to a mode without weight is told in `jtruth.latent.infer.gibbs` (`sources`).

Models of strata have several modes too (who is hard, and what the hard ones are). Started in this way on
3869 X-rays of five dentists, chains of shared strata stayed in different ones and the model was left out of
the range, so it is not done there without an adversary; R-hat of chains from one mode does not see that.
"""

from collections.abc import Callable

import numpy as np

from jtruth.latent.model import LatentModel
from jtruth.latent.rows import Rows

_FEWEST = 10  # labels of a labeler
_ALARM = 3.0  # standard errors below chance that make an adversary
_BELIEF = 5.0  # votes of the labeler who is believed
_APART = 1.0  # standard deviations between the means of both halves
SEVERAL = (
    "Chains that started at the mode found by EM and chains that started elsewhere are in different places "
    "({:.1f} standard deviations apart): the posterior may have several modes, and the draws do not say how "
    "much weight each of them has."
)


def away_from(model: LatentModel, rows: Rows) -> Callable[[np.ndarray], np.ndarray | None]:
    """The function from a mode (states, rows) to another start, None where one start is enough.

    Classes start elsewhere, and strata given the class where the mode has them: their names are the prior's
    alone, and chains that exchanged them would disagree about nothing else.
    """

    def away(mode: np.ndarray) -> np.ndarray | None:
        of_class = mode.reshape(model.num_classes, model.num_strata, -1)
        agree, number, confirmed = _agreement(rows, of_class.sum(axis=1))
        chance = 1 / model.num_classes
        error = np.sqrt(chance * (1 - chance) / np.maximum(number, 1))
        adversary = (number >= _FEWEST) & (agree < chance - _ALARM * error)
        trusted = (number >= _FEWEST) & (confirmed > chance)
        named = np.unique(rows.gold[rows.gold >= 0]).size == model.num_classes
        if named or not trusted.any() or not adversary.any():
            return None
        believed = int(np.argmin(np.where(trusted, agree, np.inf)))
        classes = np.where(rows.gold[None] < 0, _believing(rows, believed).T, of_class.sum(axis=1))
        strata = of_class + 1e-12
        strata = strata / strata.sum(axis=1, keepdims=True)
        return np.ascontiguousarray((classes[:, None] * strata).reshape(mode.shape))

    return away


def several_modes(draws: dict[str, np.ndarray]) -> str | None:
    """A sentence where both halves of the chains are apart; `draws` (chains, sweeps, ...) by name."""
    most = 0.0
    for values in draws.values():
        half = len(values) // 2
        first, second = values[:half].astype(np.float64), values[half:].astype(np.float64)
        spread = np.sqrt((first.var(axis=(0, 1)) + second.var(axis=(0, 1))) / 2)
        gap = np.abs(first.mean(axis=(0, 1)) - second.mean(axis=(0, 1)))
        most = max(most, float(np.max(gap / np.maximum(spread, 1e-12), initial=0.0)))
    return SEVERAL.format(most) if most > _APART else None


def _agreement(rows: Rows, of_class: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each labeler: share of labels that the mode agrees with, their number, share that others confirm."""
    sample, labeler, label = (a[rows.labels.arrays[2] >= 0] for a in rows.labels.arrays)
    weight, size = rows.multiplicity[sample].astype(np.float64), rows.labels.num_labelers
    number = np.bincount(labeler, weight, size)
    agree = np.bincount(labeler, weight * of_class[label, sample], size) / np.maximum(number, 1)
    others = rows.labels.counts()[sample].astype(np.float64)
    others[np.arange(label.size), label] -= 1
    top = others == others.max(axis=1, keepdims=True)
    equal = top[np.arange(label.size), label] / top.sum(axis=1) * others.any(axis=1)
    judged = np.bincount(labeler, weight * others.any(axis=1), size)
    return agree, number, np.bincount(labeler, weight * equal, size) / np.maximum(judged, 1)


def _believing(rows: Rows, believed: int) -> np.ndarray:
    """(rows, classes) vote shares where one labeler has several votes; even where there is no vote."""
    votes = rows.labels.counts().astype(np.float64) + 1e-3
    sample, labeler, label = rows.labels.arrays
    own = (label >= 0) & (labeler == believed)
    np.add.at(votes, (sample[own], label[own]), _BELIEF)
    return votes / votes.sum(axis=1, keepdims=True)
