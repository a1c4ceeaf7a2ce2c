"""One coin for each labeler: right with probability q, and wrong towards every other class alike.

The model of Dawid and Skene with one number for each labeler instead of a matrix,

    p(z_t = k | y = c) = q_t if k = c, else (1 - q_t) / (C - 1),

for crowds in which nobody has enough labels for a matrix. It is the same EM with rows that are tied: the M
step makes q_t the expected share of the labeler's right labels. Below 1 / C a labeler is worse than chance,
and the labels then speak against what they say.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth.labels import Labels
from jtruth.learning._given import exchanged, not_converged, unlabelled
from jtruth.learning.em.starts import MAXIMUM_LIKELIHOOD, Smoothing, Starts, best_of_starts, check_arguments


class OneCoin(NamedTuple):
    """A fitted one-coin model. All arrays are NumPy float64."""

    prior: Float[np.ndarray, " classes"]
    accuracy: Float[np.ndarray, " labelers"]  # q; 1 / C for a labeler without labels and pseudo-counts
    class_posterior: Float[np.ndarray, "samples classes"]  # p(y_i = c | labels, prior, accuracy, gold)
    log_likelihood: float  # log p(labels, gold classes | prior, accuracy)
    log_posterior: float  # log_likelihood + sum of pseudo-count * log probability
    converged: bool
    num_steps: int
    path: Float[np.ndarray, " steps"]  # log_posterior after each step of the start that won
    start: int  # the start that won: 0 is majority vote, then the random ones
    start_objectives: Float[np.ndarray, " starts"]  # final log_posterior of each start
    warnings: tuple[str, ...]  # what is doubtful, one sentence each

    __repr__ = one_line

    def noise_model(self) -> Any:
        """The labelers as `jtruth.noise.Symmetric`, the form that testing and training take."""
        from jtruth.noise import Symmetric

        return Symmetric(1.0 - self.accuracy, self.prior.size)


def fit_one_coin(
    labels: Labels,
    *,
    smoothing: Smoothing = MAXIMUM_LIKELIHOOD,
    gold: Any = None,
    prior: Any = None,
    num_restarts: int = 0,
    key: Any = None,
    max_steps: int = 10_000,
    tol: float = 1e-8,
) -> OneCoin:
    """Fit by EM from majority vote, in float64. Arguments and errors are those of `fit_dawid_skene`.

    Pseudo-counts are those of a matrix: `Smoothing(diagonal=1, off_diagonal=.5)` adds C right labels to each
    labeler and C (C - 1) / 2 wrong ones.

    >>> from jtruth.labels import Labels
    >>> z = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    >>> fit = fit_one_coin(Labels.from_matrix(z, 2))
    >>> print(fit.accuracy.round(3), fit.converged)
    [1.    1.    0.667] True
    """
    starts = Starts(num_restarts, key, max_steps, tol)
    known, fixed = check_arguments(labels, smoothing, gold, prior, starts)
    found = best_of_starts(labels, known, fixed, smoothing, starts, one_coin=True)
    shared = {name: value for name, value in found._asdict().items() if name in OneCoin._fields}
    accuracy = found.matrices[:, 0, 0]
    return OneCoin(accuracy=accuracy, warnings=tuple(_doubts(found, labels)), **shared)


def _doubts(found, labels):
    """Sentences about what the data could not settle."""
    yield from not_converged("EM", found.converged, found.num_steps)
    yield from unlabelled(labels)
    silent = np.flatnonzero(labels.labels_per_labeler() == 0)
    if silent.size:
        yield f"{silent.size} labelers gave no label; their accuracy means nothing."
    yield from exchanged(np.einsum("tc,tck->ck", found.row_labels, found.matrices), labels.class_names)
