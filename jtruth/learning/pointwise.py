"""The pointwise log-likelihood of draws of the joint posterior that were made without it.

`fit_joint` keeps log p(labels of one sample | draw) where `Effort(pointwise=True)` asks for it. If labelers
err independently and nothing but labels was used, draws of matrices and labels are enough for it later.
"""

import numpy as np

from jtruth.labels import Labels
from jtruth.latent.pointwise import RowLikelihood
from jtruth.learning.annotation.rows import digest, merged_rows, pointwise
from jtruth.learning.annotation.spec import SPECS
from jtruth.learning.joint.posterior import JointPosterior

_NOT_THE_SAME = 0.3  # a class probability of the same labels and draws does not differ by this


def pointwise_of_joint(fit: JointPosterior, labels: Labels) -> RowLikelihood:
    """log p(labels of each row of samples | draw), of a fit to these labels.

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
    return pointwise(channel, samples, data, {}, labels.num_labelers)
