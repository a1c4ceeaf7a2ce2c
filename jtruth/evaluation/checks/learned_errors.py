"""How often labelers, and their majority vote, err by the labels alone: a quick reading for alarms.

Two readings, of which the kinder one counts, so that an alarm that needs errors keeps quiet where they
differ: Dawid and Skene's EM from the majority vote (labelers are not alike, but few labels mislead it), and
one error rate for all by how often labelers agree, or how often somebody differs from the vote. Both know
independent errors only; labelers who share mistakes look better than they are, and alarms are quiet again.
"""

import numpy as np
from jaxtyping import Float, Int

from jtruth._host import across, smoothed_vote_shares, softmax
from jtruth.evaluation.assumptions.learned import with_classifier
from jtruth.evaluation.checks._fit import Modes
from jtruth.evaluation.checks.sets import observed
from jtruth.labels import Labels


def learned_errors(
    labels: Labels, y_pred: Int[np.ndarray, " samples"] | None = None
) -> tuple[Float[np.ndarray, " samples"], Float[np.ndarray, " labelers"]]:
    """The chance that the majority vote of each sample is right, and each labeler's error rate.

    Args:
        labels: of all labelers.
        y_pred: predictions, judged as those of one more labeler, whose error is the last.
    """
    seen, votes = np.flatnonzero(labels.labels_per_sample() > 0), labels.counts()
    raters = labels.restrict(seen)
    if y_pred is not None:
        raters = with_classifier(raters, y_pred[seen])
    modes = Modes(observed(raters, collapse=False))
    fit = modes.fit(modes.parameters(smoothed_vote_shares(votes[seen])[None]), max_cycles=60, tol=1e-5)
    vote = winners(votes)
    right = np.ones(labels.num_samples)
    right[seen] = fit.posterior[0][np.arange(seen.size), vote[seen]]
    sample, rater, label = raters.entries()
    asked = vote[seen][sample] >= 0
    differ = np.bincount(rater, asked & (label != vote[seen][sample]), raters.num_labelers)
    rate = differ / np.maximum(np.bincount(rater, asked, raters.num_labelers), 1)
    errors = 1 - np.einsum("c,tcc->t", fit.parameters.prior[0], fit.parameters.matrices[0])
    return np.where(vote >= 0, np.maximum(right, alike_right(votes)), 1.0), np.minimum(errors, rate)


def alike_right(votes: Int[np.ndarray, "samples classes"]) -> Float[np.ndarray, " samples"]:
    """The chance that the vote is right if all labelers err alike, by how often two labels agree.

    With a the chance to be right, two labels agree with probability a^2 + (1 - a)^2 / (C - 1).
    """
    total, size = votes.sum(axis=1), votes.shape[1]
    pairs = (total * (total - 1)).sum()
    agree = (votes * (votes - 1)).sum() / pairs if pairs else 1.0
    a = 1 / size + np.sqrt((size - 1) / size * max(agree - 1 / size, 0.0))
    odds = np.log(max(a * (size - 1), 1e-12) / max(1 - a, 1e-12))
    return across(np.maximum, softmax(odds * votes))


def winners(votes: Int[np.ndarray, "*rows classes"]) -> Int[np.ndarray, "*rows"]:
    """The class with the most votes; -1 where several have, or where there is no vote.

    >>> winners(np.array([[2, 1], [1, 1], [0, 0]])).tolist()
    [0, -1, -1]
    """
    top = across(np.maximum, votes)
    single = (across(np.add, (votes == top[..., None]).view(np.int8)) == 1) & (top > 0)
    return np.where(single, votes.argmax(axis=-1), -1)
