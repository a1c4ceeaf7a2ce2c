"""Alternatives to the posterior, for comparison (Su 2.6 and Table 4).

- `labeler_metrics`: each labeler's labels taken as the truth on the samples that the labeler labelled, then
  merged by mean or by the geometric median (the second suboptimal method).
- `carlotto_accuracy`: accuracy against the truth from accuracy against labels of a known accuracy.
- `prior_marginal_table`: the formula of 2.6.2, which averages over the PRIOR of the operating point instead
  of applying Bayes' rule (Table 10).
- `lehner_accuracy`: labelers of ONE accuracy p agree in p^2 + (1 - p)^2 / (C - 1) of all pairs, which
  determines p, and p the probability of the best class of each sample.
- `weighted_vote_accuracy`: the classifier votes with the labelers. Votes weigh C w - 1, where w is the share
  of a rater's votes that won, until nothing changes.

The last two assume that all raters err independently, with errors spread evenly over the wrong classes.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit, softmax

from jtruth import _host
from jtruth._one_line import one_line
from jtruth._validation.in_range import check_codes, check_whole
from jtruth.labels import Labels
from jtruth.lam_stork.rates import check_rate
from jtruth.stats.poisson_binomial import pmf
from jtruth.tables.binary import CountTable
from jtruth.tables.metrics import METRICS, binary_counts, default_metrics, ratio
from jtruth.testing.binary.operating_point import LogOdds, shifted

_MOST_STEPS, _MOST_ROUNDS = 10_000, 100  # of the geometric median, and of the weighted vote
_NODES = 32  # of Gauss and Legendre, for each rate
_BINS = 10  # of equal width, for the probability of the best class


class LabelerMetrics(NamedTuple):
    """Metrics against each labeler; columns in the order of `names`, NaN where undefined."""

    names: tuple[str, ...]
    each: Float[np.ndarray, "labelers metrics"]
    mean: Float[np.ndarray, " metrics"]  # over the labelers for whom the metric is defined
    median: Float[np.ndarray, " metrics"]  # geometric median over labelers with every metric defined

    __repr__ = one_line


def labeler_metrics(y_pred: Int[np.ndarray, " samples"], labels: Any) -> LabelerMetrics:
    """Compute metrics against every labeler's own labels, their mean and geometric median.

    Raises:
        ValueError: labels of more than two classes, or predictions that are not 0 or 1 for each sample.
    """
    if labels.num_classes != 2:
        raise ValueError(f"these metrics are for two classes; the labels have {labels.num_classes}")
    y_pred = np.asarray(y_pred)
    check_codes(y_pred, 2, "y_pred", size=labels.num_samples)
    sample, labeler, label = labels.entries()
    rows, names = [], default_metrics("01")
    for t in range(labels.num_labelers):
        by_labeler = labeler == t
        counts = binary_counts(y_pred[sample[by_labeler]], label[by_labeler])
        rows.append([float(METRICS[name](*counts)) for name in names])
    values = np.array(rows)
    defined = ~np.isnan(values)
    complete, mean = values[defined.all(axis=1)], ratio(np.where(defined, values, 0.0).sum(0), defined.sum(0))
    median = geometric_median(complete) if len(complete) else np.full(values.shape[1], np.nan)
    return LabelerMetrics(names, values, mean, median)


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
    check_whole(2, num_classes=num_classes)
    wrong = (1 - label_accuracy) / (num_classes - 1)
    if abs(label_accuracy - wrong) < 1e-12:
        raise ValueError(f"label_accuracy is {label_accuracy}, which is chance for {num_classes} classes")
    return (apparent - wrong) / (label_accuracy - wrong)


def geometric_median(points: Float[np.ndarray, "points axes"]) -> Float[np.ndarray, " axes"]:
    """Point with the least sum of distances to `points` (Vardi and Zhang 2000).

    Raises:
        RuntimeError: not converged to 1e-14 of the spread in 10 000 steps.
    """
    centre = points.mean(axis=0)
    scale = float(np.abs(points - centre[None, :]).max())
    if scale == 0:
        return centre
    for _ in range(_MOST_STEPS):
        distance = np.linalg.norm(points - centre[None, :], axis=1)
        away = distance > 1e-13 * scale
        if not away.any():
            return centre
        weight = 1.0 / distance[away]
        target = weight @ points[away] / weight.sum()
        pull = float(np.linalg.norm(weight @ (points[away] - centre[None, :])))
        stay = min(1.0, (~away).sum() / pull) if pull > 0 else 1.0
        new = (1 - stay) * target + stay * centre
        if np.abs(new - centre).max() < 1e-14 * scale:
            return new
        centre = new
    raise RuntimeError(f"the median of {len(points)} points did not converge in {_MOST_STEPS} steps")


def prior_marginal_table(data: LogOdds) -> CountTable:
    """Su 2.6.2 as printed: tables given (p_D, p_FA), averaged over a uniform prior.

    `log_evidence` is NaN: the formula has none.
    """
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    rates = list(zip(0.5 * (node + 1), 0.5 * weight, strict=True))
    table = np.zeros([side.total + 1 for side in data])
    for d, wd in rates:
        for f, wf in rates:
            (p_a, a), (p_b, b) = (pmf(expit(side.x), side.counts) for side in shifted(data, d, f))
            a, b = a + data[0].sure, b + data[1].sure
            table[a : a + p_a.size, b : b + p_b.size] += wd * wf * p_a[:, None] * p_b[None, :]
    a, b = (np.arange(size) for size in table.shape)
    return CountTable(a, b, table / table.sum(), data[0].total, data[1].total, float("nan"))


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
        return _host.majority(votes)
    joint = _host.log(shares) + votes * np.log(right * (classes - 1) / (1 - right))
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
        votes = _host.cross_table(sample, label, (size, classes), weight[rater])
        before, winners = winners, _host.majority(np.round(votes, 12))
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
    check_codes(y_pred, labels.num_classes, "y_pred", size=labels.num_samples)
    return y_pred, labels
