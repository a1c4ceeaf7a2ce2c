"""Each labeler by gold: which share of the labels they gave is right, whatever labelers share.

Gold clamped into the joint posterior hardly moves it: the likelihood of all labels outweighs a few known
classes, and where labelers err together their accuracies stay wrong. So a labeler is judged as a classifier
is (`tables`): the labels given are its predictions, those of all say which class is probable, and gold says
what that is worth. Of whom fewer than five labels have a known truth, the law without gold stands.

The share is that of the labels given, in these samples. Gold is taken to be a random part of all samples,
unless it is said how it was chosen.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from jtruth._random import Key, stream
from jtruth.evaluation.gold.measured import AT_RANDOM, GoldSampling
from jtruth.evaluation.gold.tables import gold_tables
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.ppi import gold_sample

_FEW = 5  # labels of known truth, below which gold says too little of a labeler


def labeler_laws_by_gold(
    without: Sequence[DrawsEstimate],
    labels: Labels,
    class_posterior: Float[np.ndarray, "samples classes"],
    gold: Int[np.ndarray, " samples"],
    sampling: GoldSampling = AT_RANDOM,
    key: Key = 0,
) -> list[DrawsEstimate]:
    """For each labeler the law of the share of right labels.

    Args:
        without: the laws without gold (`of_labelers.labeler_laws`).
        labels: the labels of all.
        class_posterior: by labels alone, made without the gold.
        gold: (samples,) known classes, -1 where unknown.
        sampling: how the gold samples were chosen.
        key: of the draws.

    >>> labels = Labels.from_matrix(np.repeat([[0, 1], [0, 0], [1, 1]], 10, axis=0), 2)
    >>> gold = np.where(np.arange(30) % 3 == 0, 0, -1)
    >>> flat = [DrawsEstimate(np.linspace(0, 1, 9))] * 2
    >>> one, two = labeler_laws_by_gold(flat, labels, np.full((30, 2), 0.5), gold)
    >>> bool(one.mean > two.mean)
    True
    """
    sample, labeler, label = labels.arrays
    chance = None
    if not sampling.unknown and (gold >= 0).any():  # strata too: of one labeler each may have no gold
        chosen = gold_sample(gold >= 0, **sampling._asdict())
        chance = np.full(gold.size, np.nan)
        chance[chosen.chosen] = chosen.inclusion
    found = []
    for t, law in enumerate(without):
        own = np.flatnonzero((labeler == t) & (label >= 0))
        truth = gold[sample[own]]
        if (truth >= 0).sum() < _FEW:
            found.append(law)
            continue
        how = gold_sample(truth >= 0, inclusion=None if chance is None else chance[sample[own]])
        guess = class_posterior[sample[own]]
        draws = stream(key, "labeler by gold", t)
        tables = gold_tables(label[own], labels.num_classes, guess, truth, how, draws)
        found.append(tables.estimate("accuracy"))
    return found
