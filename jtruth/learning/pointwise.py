"""The pointwise log-likelihood of a fit: log p(labels of one sample | one draw), for every sample and draw.

The labels of a sample are one observation, with the true class (and the difficulty) summed out. Samples with
equal labels are computed once. Fits by NUTS carry all it takes; those of the Gibbs sampler (`joint`) do where
labelers err independently and nothing but labels was used.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth.labels import Labels
from jtruth.learning.annotation.rows import (
    Draws,
    LabelRows,
    MergedRows,
    digest,
    merged_rows,
    row_blocks,
    row_log_likelihood,
)
from jtruth.learning.annotation.spec import SPECS
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.chains import effective_sample_size

_NOT_THE_SAME = 0.3  # a class probability of the same labels and draws does not differ by this


class Pointwise(NamedTuple):
    """Draws and rows of one fit, and the function that joins them."""

    channel: Callable
    samples: Draws  # (chains, draws, ...)
    hyper: dict[str, Any]
    num_labelers: int
    data: MergedRows
    relative_ess: float  # mean effective sample size of a parameter, over draws

    __repr__ = one_line

    def blocks(self) -> list[LabelRows]:
        """Rows that fit in memory together with all draws; padding at the end of the last one."""
        return row_blocks(self.data.rows, self.data.size)

    def of_rows(self, rows: LabelRows) -> Float[np.ndarray, "chains draws rows"]:
        """log p(labels of the row | draw)."""
        return row_log_likelihood(self.channel, self.samples, rows, self.hyper, self.num_labelers)

    def of_samples(self) -> Float[np.ndarray, "chains draws samples"]:
        """log p(labels of the sample | draw): 8 bytes each, so mind the size."""
        by_row = np.concatenate([self.of_rows(rows) for rows in self.blocks()], axis=2)
        return by_row[:, :, self.data.row_of_sample]


def pointwise_of_joint(fit: JointPosterior, labels: Labels) -> Pointwise:
    """The draws of a Gibbs fit to these labels.

    Raises:
        ValueError: a fit with another dependence, a classifier or gold labels, or of other labels.
    """
    if fit.dependence != "independent" or fit.classifier is not None:
        raise ValueError(
            "a JointPosterior gives a pointwise log-likelihood under dependence='independent' and without "
            f"y_pred; this one has {fit.dependence!r}{'' if fit.classifier is None else ' and y_pred'}. "
            "Append predictions to the labels as one more labeler."
        )
    sizes = labels.num_labelers, labels.num_classes, labels.num_samples
    if (*fit.mean_matrices.shape[:2], len(fit.class_posterior)) != sizes:
        raise ValueError("the JointPosterior is of other labels: it has other numbers of samples or labelers")
    chains = int(fit.chain.max()) + 1
    prior = fit.prior[fit.matrix_draw].reshape(chains, -1, labels.num_classes)
    matrices = fit.matrices.astype(np.float64).reshape(*prior.shape[:2], *fit.matrices.shape[1:])
    samples = {"prior": prior, "matrices": matrices / matrices.sum(axis=-1, keepdims=True)}
    data, channel = merged_rows(labels), SPECS["dawid_skene"].channel
    again = digest(channel, samples, data.rows, {}, labels.num_labelers)[0][data.row_of_sample]
    certain = ((fit.class_posterior == 1) & (again < 1 - 1e-9)).any()
    if certain or np.abs(again - fit.class_posterior).max() > _NOT_THE_SAME:
        raise ValueError(
            "the class posterior of this JointPosterior is not that of these labels alone: it was fitted to "
            "other labels, or with gold labels, whose samples are no observations of labels only"
        )
    accuracy = np.einsum("mdtcc->mdt", samples["matrices"]) / labels.num_classes
    return Pointwise(channel, samples, {}, labels.num_labelers, data, mean_relative_ess([prior, accuracy]))


def mean_relative_ess(draws: list[np.ndarray]) -> float:
    """Mean over numbers of effective sample size / draws, between 0.001 and 1."""
    ess = np.concatenate([effective_sample_size(x).ravel() for x in draws])
    chains, length = draws[0].shape[:2]
    return float(np.clip(np.nanmean(ess) / (chains * length), 1e-3, 1.0))
