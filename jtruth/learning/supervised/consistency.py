"""When can error rates be learned without known classes? The conditions of Donmez et al. (2010).

Donmez, Lebanon and Balasubramanian estimate error rates of classifiers by maximum likelihood from predictions
alone, the class prior known and errors independent given the class. The estimate is consistent (goes to the
truth as samples grow)

1. if every labeler is a weak learner or better, right more often than chance: else the mirror image, in which
   classes are exchanged, explains the same labels;
2. and, for labelers with one error rate each, if the class prior is not even: with even classes a labeler of
   accuracy a gives each class half of its labels whatever a is, so that one labeler alone says nothing. Three
   labelers or more with agreements to compare do not need this condition, but then 1 alone names the classes.

`check_consistency` checks both at estimated rates, with their error, and says what it found. A check passed
is no proof: the rates themselves come from the model.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Num
from scipy.special import ndtri

from jtruth._one_line import one_line
from jtruth._validation import quoted


class Consistency(NamedTuple):
    """What holds of the conditions, at estimated rates."""

    accuracy: Float[np.ndarray, " labelers"]  # sum of prior * diagonal
    weak_learner: Bool[np.ndarray, " labelers"]  # above chance by more than the error
    even: bool  # the prior cannot be told from an even one
    compared: bool  # three labelers or more that are weak learners
    sentences: tuple[str, ...]  # one for each condition that is not met

    __repr__ = one_line

    @property
    def holds(self) -> bool:
        """Whether error rates learned without gold go to the truth, as far as these conditions say."""
        return bool(self.weak_learner.all()) and (self.compared or not self.even)


def check_consistency(
    prior: Float[np.ndarray, " classes"],
    matrices: Float[np.ndarray, "labelers classes classes"],
    number: Num[np.ndarray, " labelers"],
    *,
    num_samples: int,
    workers: Any = None,
    level: float = 0.95,
) -> Consistency:
    """Check the conditions at estimated rates.

    Args:
        prior, matrices: estimates.
        number: how many labels each labeler gave; those without are left out.
        num_samples: samples behind the prior.
        workers: names, for the sentences.
        level: of the one-sided error that an accuracy must be above chance by.

    >>> matrices = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.5, 0.5]]])
    >>> found = check_consistency(np.array([0.5, 0.5]), matrices, np.array([100, 100]), num_samples=100)
    >>> found.weak_learner.tolist(), found.even, found.holds
    ([True, False], True, False)
    """
    classes = prior.size
    accuracy = np.einsum("c,tcc->t", prior, matrices)
    z = float(ndtri(level))
    error = np.sqrt(np.maximum(accuracy * (1 - accuracy), 1e-12) / np.maximum(number, 1))
    weak = (accuracy - z * error > 1 / classes) | (number == 0)
    spread = np.sqrt((classes - 1) / classes**2 / max(num_samples, 1))
    even = bool(np.abs(prior - 1 / classes).max() < z * spread)
    compared = int((weak & (number > 0)).sum()) >= 3
    names = tuple(range(accuracy.size)) if workers is None else workers
    said = []
    if not weak.all():
        said.append(
            f"Labelers {quoted(names[t] for t in np.flatnonzero(~weak))} are not clearly better than chance: "
            "rates learned without gold are only sure to go to the truth if all are (Donmez et al. 2010)."
        )
    if even and not compared:
        said.append(
            "The class prior is even and there are no three labelers better than chance to compare: error "
            "rates cannot be learned without gold (Donmez et al. 2010)."
        )
    return Consistency(accuracy, weak, even, compared, tuple(said))
