"""How many labels are wrong, where some true classes are known: a model's numbers, corrected by them.

The share of wrong labels is a ratio of sums over samples, of wrong labels and of labels. A model of the
labels says the first of every sample, the known samples say it truly, and prediction-powered inference
(`jtruth.stats.ppi`) puts both together: right on average whatever the model is, as long as the known samples
were chosen at random, or with known chances. Labels of one sample are right or wrong together, so samples are
what is counted.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth.evaluation.gold.measured import POWER
from jtruth.io import Gold
from jtruth.stats.ppi import gold_sample, ppi_ratio
from jtruth.stats.student import StudentEstimate

_FEWEST = 5


class Known(NamedTuple):
    """True classes of some samples, and how these were chosen."""

    classes: Int[np.ndarray, " samples"]  # -1 where unknown
    inclusion: Any = None
    strata: Any = None

    @classmethod
    def of(cls, gold: Any, num_samples: int, num_classes: int) -> "Known":
        """Checked.

        Raises:
            ValueError: no codes of classes, or fewer than five known.
        """
        given = gold if isinstance(gold, Gold) else Gold(gold)
        classes = np.asarray(given.classes)
        if classes.shape != (num_samples,) or classes.dtype.kind not in "iu":
            raise ValueError(f"gold must hold a class code, or -1, for each of {num_samples} samples; got "
                             f"{classes.dtype} of shape {classes.shape}")  # fmt: skip
        bad = np.flatnonzero((classes < -1) | (classes >= num_classes))
        if bad.size:
            raise ValueError(
                f"gold[{bad[0]}] is {classes[bad[0]]}; codes are 0..{num_classes - 1}, -1 unknown"
            )
        if (classes >= 0).sum() < _FEWEST:
            raise ValueError(f"gold has {(classes >= 0).sum()} known classes; {_FEWEST} are the least from "
                             "which the number of wrong labels can be told")  # fmt: skip
        return cls(classes, given.inclusion, given.strata)


def wrong_share(
    counts: Float[np.ndarray, "samples classes"],
    posterior: Float[np.ndarray, "samples classes"],
    known: Known,
) -> StudentEstimate:
    """Law of the share of all labels that are wrong.

    Args:
        counts: how many labels of each class every sample has.
        posterior: the model's class posterior, made without the known classes.
        known: true classes.
    """
    counts = counts / counts.sum(axis=1).mean()  # then a surprise is all labels of a sample, not one of them
    labels = counts.sum(axis=1)
    wrong = labels[:, None] - counts  # of a sample, for each class it may have
    sample = gold_sample(known.classes >= 0, inclusion=known.inclusion, strata=known.strata)
    rows = sample.chosen
    found = wrong[rows, known.classes[rows]]
    most = labels.sum() - (labels[rows] - found).sum()  # all but what is known to be right
    bounds = (float(found.sum() / labels.sum()), float(most / labels.sum()))
    expected = (wrong * posterior).sum(axis=1)
    return ppi_ratio(
        (found, labels[rows]), (expected, labels), sample, bounds=bounds, power=POWER,
        possible=(wrong[rows], np.repeat(labels[rows, None], counts.shape[1], axis=1)),
    ).law  # fmt: skip
