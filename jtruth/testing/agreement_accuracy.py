"""Accuracy of a classifier from nothing but agreement: two quick rivals of the posterior (Su's Table 4).

Both take all raters to err independently of each other, with errors spread evenly over the wrong classes.

- `lehner_accuracy`: labelers of ONE accuracy p agree with each other in A = p^2 + (1 - p)^2 / (C - 1) of all
  pairs, so A says p; p says how probable the best class of each sample is; and how often the classifier
  agrees with classes that are right with a known probability says how often it is right
  (`carlotto_accuracy`).
- `weighted_vote_accuracy`: the classifier votes with the labelers, votes weigh C w - 1 where w is the share
  of a rater's votes that won, and so on until nothing changes.

Holodnak, Matterer and Streilein (2018, MIT Lincoln Laboratory, Technical Report 1225) compare ways to
estimate accuracy from noisy labels. The report was not to be had. What is known of it: Su says that it has an
empirical study on real and simulated data, two models of dependent labelers, and the finding that estimates
which take labelers to be independent get worse the more they depend; no formula of it. A package of the same
laboratory and contract (StatSWAG, 2019) has five such estimates: majority vote (`majority_metrics`), one
error rate for each rater by EM (`jtruth.learning.fit_one_coin`), moments (Jaffe, Nadler and Kluger 2015; by
triplets in `jtruth.learning.fit_label_model`), and the two of this file. That these are the report's is
likely and not certain. Its two models of dependence stand neither there (labelers are simulated
independently, its examples say) nor in Su, so nothing here bears their name. Models of dependence that jtruth
has: `jtruth.noise.SharedErrors` and, learned, those of `jtruth.evaluation.assumptions.registry`, over which
`evaluate` ranges by default.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from jtruth import _host
from jtruth._validation.in_range import check_codes
from jtruth.labels import Labels
from jtruth.testing.baselines import carlotto_accuracy

_BINS = 10  # of equal width, for the probability of the best class


def lehner_accuracy(y_pred: Int[np.ndarray, " samples"], labels: Any) -> float:
    """Accuracy of a classifier from how often equally good labelers agree (Lehner 2015).

    Source: Estimating the accuracy of automated classification systems using only expert ratings that are
    less accurate than the system, J. Modern Applied Statistical Methods 14(1), 13. Samples without labels,
    and those whose best class is no more probable than chance (a tie of two), say nothing and are left out.

    Args:
        y_pred: the predicted class of each sample.
        labels: `Labels`, two and more for some samples.

    Returns:
        The estimate; outside [0, 1] where no accuracy explains how often they agree.

    Raises:
        ValueError: no two labels of one sample, labelers who agree no more often than by chance, or a class
            given less often than errors alone would give it.

    >>> z = np.array([[1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> round(lehner_accuracy(np.array([1, 0, 1, 0, 1, 1]), Labels.from_matrix(z, 2)), 3)
    0.891
    """
    y_pred, labels = _checked(y_pred, labels)
    votes, classes = labels.counts().astype(np.float64), labels.num_classes
    right = labeler_accuracy_by_agreement(votes)
    known = _class_probabilities(votes, right)
    best, sure = known.argmax(axis=1), known.max(axis=1)
    agree, step = best == y_pred, np.ceil(sure * _BINS)
    told = (votes.sum(axis=1) > 0) & (classes * sure > 1 + 1e-9)
    total = 0.0
    for this in np.unique(step[told]):
        part = told & (step == this)
        total += part.sum() * carlotto_accuracy(float(agree[part].mean()), float(sure[part].mean()), classes)
    return float(total / told.sum())


def labeler_accuracy_by_agreement(votes: Float[np.ndarray, "samples classes"]) -> float:
    """p > 1 / C with p^2 + (1 - p)^2 / (C - 1) = share of the pairs of labels of a sample that agree."""
    classes, each = votes.shape[1], votes.sum(axis=1)
    pairs = (each * (each - 1)).sum()
    if pairs == 0:
        raise ValueError("no sample has two labels: nobody can agree; ask for second labels of some")
    share = (votes * (votes - 1)).sum() / pairs
    if share <= 1 / classes + 1e-12:
        raise ValueError(
            f"labelers agree in {100 * share:.1f} % of all pairs, by chance it would be "
            f"{100 / classes:.1f}: their labels say nothing of the classes"
        )
    return float((1 + np.sqrt(classes * (classes - 1) * share - classes + 1)) / classes)


def _class_probabilities(votes: np.ndarray, right: float) -> np.ndarray:
    """p(class | votes) of labelers who are right with this probability, at the shares that they imply."""
    classes, given = votes.shape[1], votes.sum(axis=0) / votes.sum()
    shares = ((classes - 1) * given - (1 - right)) / (classes * right - 1)
    if shares.min() < 0:
        k = int(shares.argmin())
        raise ValueError(
            f"class {k} has {100 * given[k]:.1f} % of the labels, and errors alone would give it "
            f"{100 * (1 - right) / (classes - 1):.1f} %: labelers of one accuracy who spread errors evenly "
            "do not label like this; learn a matrix for each (fit_dawid_skene)"
        )
    if right >= 1 - 1e-12:
        return _host.majority(votes)
    joint = _host.log(shares) + votes * np.log(right * (classes - 1) / (1 - right))
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    return joint / joint.sum(axis=1, keepdims=True)


def weighted_vote_accuracy(
    y_pred: Int[np.ndarray, " samples"], labels: Any, *, max_steps: int = 100
) -> float:
    """Accuracy of a classifier by iterated weighted majority voting (Li and Yu 2014, Algorithm 1).

    Source: Error rate bounds and iterative weighted majority voting for crowdsourcing, arXiv 1411.4086. Tied
    classes share a sample.

    Args:
        y_pred: the predicted class of each sample; it votes too.
        labels: `Labels`.
        max_steps: rounds of voting.

    Raises:
        ValueError: predictions that are no classes.
        RuntimeError: winners still change after `max_steps` rounds.

    >>> z = np.array([[1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> round(weighted_vote_accuracy(np.array([1, 0, 1, 0, 1, 1]), Labels.from_matrix(z, 2)), 3)
    0.833
    """
    y_pred, labels = _checked(y_pred, labels)
    sample, labeler, label = labels.entries()
    size, raters, classes = labels.num_samples, labels.num_labelers + 1, labels.num_classes
    sample = np.append(sample, np.arange(size))
    rater, label = np.append(labeler, np.full(size, raters - 1)), np.append(label, y_pred)
    number = np.maximum(np.bincount(rater, minlength=raters), 1)
    weight, winners = np.ones(raters), np.zeros((size, classes))
    for _ in range(max_steps):
        votes = np.bincount(sample * classes + label, weight[rater], size * classes).reshape(size, classes)
        before, winners = winners, _host.majority(np.round(votes, 12))
        right = np.bincount(rater, winners[sample, label], raters) / number
        if np.array_equal(before, winners):
            return float(right[-1])
        weight = classes * right - 1
    raise RuntimeError(f"the winners of the weighted vote still change after {max_steps} rounds")


def _checked(y_pred: Any, labels: Any) -> tuple[np.ndarray, Labels]:
    """Predictions as an array, one class for each sample."""
    if not isinstance(labels, Labels):
        raise ValueError(f"labels is a {type(labels).__name__}; give jt.Labels")
    y_pred = np.asarray(y_pred)
    check_codes(y_pred, labels.num_classes, "y_pred", size=labels.num_samples)
    return y_pred, labels
