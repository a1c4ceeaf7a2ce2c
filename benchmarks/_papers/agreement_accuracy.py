"""Related work of Su, Table 4: the accuracy of a classifier from labels, without a posterior.

- `carlotto_accuracy`: accuracy against the truth from accuracy against labels of a known accuracy.
- `lehner_accuracy`: labelers of ONE accuracy p agree in p^2 + (1 - p)^2 / (C - 1) of all pairs, which
  determines p, and p the probability of the best class of each sample.
- `weighted_vote_accuracy`: the classifier votes with the labelers. Votes weigh C w - 1, where w is the share
  of a rater's votes that won, until nothing changes.

The last two assume that all raters err independently, with errors spread evenly over the wrong classes.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from jtruth.labels import Labels
from jtruth.lam_stork.rates import check_rate

_MOST_ROUNDS = 100  # of the weighted vote
_BINS = 10  # of equal width, for the probability of the best class


def carlotto_accuracy(apparent: float, label_accuracy: float, num_classes: int) -> float:
    """Rough estimate of accuracy by Carlotto (2009): Lam & Stork (2) for two classes.

    Inverts a b + (1 - a)(1 - b)/(C - 1), the share of predictions that agree with their label, where
    `label_accuracy` is the share of right labels and errors are independent and spread evenly over the wrong
    classes. The result lies outside [0, 1] where no accuracy explains the agreement.

    Raises:
        ValueError: rates outside [0, 1], or labels no better than random ones.

    >>> round(carlotto_accuracy(0.77, 0.9, 4), 4)
    0.85
    """
    check_rate(apparent, "apparent")
    check_rate(label_accuracy, "label_accuracy")
    wrong = (1 - label_accuracy) / (num_classes - 1)
    if abs(label_accuracy - wrong) < 1e-12:
        raise ValueError(f"label_accuracy is {label_accuracy}, which is chance for {num_classes} classes")
    return (apparent - wrong) / (label_accuracy - wrong)


def lehner_accuracy(y_pred: Int[np.ndarray, " samples"], labels: Any) -> float:
    """Accuracy of a classifier from how often equally good labelers agree (Lehner 2015).

    Source: Estimating the accuracy of automated classification systems using only expert ratings that are
    less accurate than the system, J. Modern Applied Statistical Methods 14(1), 13. Samples without labels,
    and those without a most probable class, are left out. The estimate lies outside [0, 1] where no accuracy
    explains the agreement.

    Raises:
        ValueError: no two labels of one sample, labelers who agree no more often than random labels, or a
            class with fewer labels than errors alone would give it.

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
    informative = (votes.sum(axis=1) > 0) & (classes * sure > 1 + 1e-9)
    total = 0.0
    for place in np.unique(step[informative]):
        part = informative & (step == place)
        total += part.sum() * carlotto_accuracy(float(agree[part].mean()), float(sure[part].mean()), classes)
    return float(total / informative.sum())


def labeler_accuracy_by_agreement(votes: Float[np.ndarray, "samples classes"]) -> float:
    """p > 1 / C with p^2 + (1 - p)^2 / (C - 1) = share of the pairs of labels of a sample that agree."""
    classes, number = votes.shape[1], votes.sum(axis=1)
    pairs = (number * (number - 1)).sum()
    if pairs == 0:
        raise ValueError("no sample has two labels, so agreement is undefined; collect some second labels")
    share = (votes * (votes - 1)).sum() / pairs
    if share <= 1 / classes + 1e-12:
        raise ValueError(
            f"labelers agree in {100 * share:.1f} % of all pairs, and random labels would in "
            f"{100 / classes:.1f} %: these labels are uninformative"
        )
    return float((1 + np.sqrt(classes * (classes - 1) * share - classes + 1)) / classes)


def _class_probabilities(votes: np.ndarray, right: float) -> np.ndarray:
    """p(class | votes) of labelers of this accuracy, at the class shares that they imply."""
    classes, label_shares = votes.shape[1], votes.sum(axis=0) / votes.sum()
    shares = ((classes - 1) * label_shares - (1 - right)) / (classes * right - 1)
    if shares.min() < 0:
        k = int(shares.argmin())
        raise ValueError(
            f"class {k} has {100 * label_shares[k]:.1f} % of the labels, but errors alone would give it "
            f"{100 * (1 - right) / (classes - 1):.1f} %: this contradicts labelers of one accuracy with even "
            "errors; learn a matrix for each (fit_dawid_skene)"
        )
    if right >= 1 - 1e-12:
        return _majority(votes)
    with np.errstate(divide="ignore"):
        log_shares = np.log(shares)
    joint = log_shares + votes * np.log(right * (classes - 1) / (1 - right))
    return softmax(joint, axis=1)


def weighted_vote_accuracy(y_pred: Int[np.ndarray, " samples"], labels: Any) -> float:
    """Accuracy of a classifier by iterated weighted majority voting (Li and Yu 2014, Algorithm 1).

    Source: Error rate bounds and iterative weighted majority voting for crowdsourcing, arXiv 1411.4086. Tied
    classes share a sample.

    Raises:
        ValueError: predictions that are no classes.
        RuntimeError: winners still change after 100 rounds.

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
    for _ in range(_MOST_ROUNDS):
        votes = np.zeros((size, classes))
        np.add.at(votes, (sample, label), weight[rater])
        before, winners = winners, _majority(np.round(votes, 12))
        right = np.bincount(rater, winners[sample, label], raters) / number
        if np.array_equal(before, winners):
            return float(right[-1])
        weight = classes * right - 1
    raise RuntimeError(f"the winners of the weighted vote still change after {_MOST_ROUNDS} rounds")


def _checked(y_pred: Any, labels: Any) -> tuple[np.ndarray, Labels]:
    """Predictions as an array of classes, one for each sample."""
    if not isinstance(labels, Labels):
        raise ValueError(f"labels is a {type(labels).__name__}; give jt.Labels")
    y_pred = np.asarray(y_pred)
    if y_pred.shape != (labels.num_samples,) or not np.isin(y_pred, range(labels.num_classes)).all():
        raise ValueError(f"y_pred must hold a class, 0 to {labels.num_classes - 1}, for each sample")
    return y_pred, labels


def _majority(votes: np.ndarray) -> np.ndarray:
    """1 at the class with the most votes; k tied classes have 1/k each."""
    best = votes == votes.max(axis=1, keepdims=True)
    return best / best.sum(axis=1, keepdims=True)
