"""Probability that each label is wrong, and the number of wrong labels, without an oracle.

A label is wrong with probability 1 - p(y = label | data); the sum is the expected number of wrong labels.
Labels alone do not show mistakes that everybody makes: on six crowds 2 to 53 % more labels were wrong than
expected, on MNIST four times as many (`benchmarks/label_issues.py`). With `gold`, true classes of random
samples, the share of wrong labels is a ratio of sums over samples, estimated by prediction-powered inference
(`jtruth.stats.ppi`), which is unbiased for any model.

*Shared confusion.* A deer that looks like a horse misleads people together, and a model of independent errors
becomes certain of the horse. In `shared_confusion` every sample has its own row of label probabilities,

    q_i | y_i = c  ~  Dirichlet(concentration * matrix[c]),     labels of sample i  ~  q_i,

so its counts are Dirichlet-multinomial. The marginal likelihood is maximised, with one label of every kind
and eight right ones as a prior of each row and log concentration ~ N(log 10, 2^2). Each labeler has rows
shrunk to the crowd's by ten labels a class, and the evidence of the n labels of a sample is divided by their
design effect,

    log p(labels | c)  =  (1 + concentration) / (n + concentration)  sum_t log row_t[c, z_t].

Labelers of very different skill look like confusion too, so this is conservative. Uncertainty comes from a
bootstrap of samples.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy
from jaxtyping import Float, Int
from scipy.special import logsumexp, softmax

from jtruth._host import labels_log_likelihood, log, picked
from jtruth._one_line import one_line
from jtruth._random import as_key, host_rng, seeded
from jtruth._validation import align_table, by_class, collapse_rows
from jtruth._validation.in_range import check_codes, check_rows, check_shape
from jtruth._validation.words import number_of, part_of
from jtruth.answers import Answer, Column, Document, Queue, Table, facts, warning_notes
from jtruth.evaluation.gold.tables import POWER, how_chosen
from jtruth.io import Gold
from jtruth.labels import Labels
from jtruth.learning.methods import clamp
from jtruth.stats.estimates import check_level
from jtruth.stats.ppi import ppi_ratio
from jtruth.stats.student import StudentEstimate

_FEWEST = 5  # known classes
_OF_MODEL = (
    "The count leaves out mistakes that all labelers share, because labels cannot show them. Verified labels "
    "of random samples (gold) would."
)
_UNDER = {
    "independent": "errors are independent", "labeler_strata": "some samples are hard for all labelers",
    "shared_confusion": "some samples mislead all labelers in the same way",
}  # fmt: skip
_MEASURED = (
    "The interval includes the errors of such counts on 11 data sets with known classes. The count is too "
    "low if labelers err where the classifier errs; verified labels of random samples (gold) would show it."
)
_NO_BETTER = (
    "These probabilities agree with the labels hardly more often than a constant class ({:.0f} % and "
    "{:.0f} %), so they say little about the number of wrong labels: it may be close to 0. Verified labels "
    "of random samples (gold) would tell."
)
# Standard deviation of a count of wrong labels by a classifier: shares of the errors that the classifier
# expects of itself, which pass for wrong labels, and of the count (benchmarks/label_issues.py).
_OWN_ERRORS, _OF_COUNT = 0.35, 0.2
_NO_NEWS = 0.05  # a classifier that repeats labels so little more often than the most frequent class does
_OF_GOLD = "Number and interval come from {} verified samples, assumed to be chosen {}."


@dataclass(frozen=True, repr=False)
class Issues(Answer):
    """Every label, the most suspicious first, and the number of wrong labels."""

    sample: Int[np.ndarray, " labels"]
    labeler: Int[np.ndarray, " labels"]
    label: Int[np.ndarray, " labels"]
    p_wrong: Float[np.ndarray, " labels"]  # under the first assumption
    low: Float[np.ndarray, " labels"]  # smallest and largest of all assumptions
    high: Float[np.ndarray, " labels"]
    expected: float  # number of wrong labels
    interval: tuple[float, float]  # of that number: by gold, else the hull of all assumptions' intervals
    of_labelers: Float[np.ndarray, " labelers"]  # expected number of wrong labels of each labeler
    of_classes: Float[np.ndarray, " classes"]  # and of each class as it was given; both by the model
    caution: str  # assumption of the interval, or what it includes
    labels: Labels  # that were judged
    level: float  # of the interval
    class_posterior: Float[np.ndarray, "samples classes"]  # under the first assumption; certain where gold
    each: Mapping[str, float] = field(default_factory=dict)  # expected number under each assumption; no gold

    def blocks(self) -> Document:
        """Build the document of the result."""
        return self.screen()

    def screen(self, num: int | None = None, notes: tuple[str, ...] = ()) -> Document:
        """Build the document with the `num` most suspicious labels, and notes on error rates."""
        labels, num = self.labels, self.label.size if num is None else num
        tasks, workers = (
            [name.item() if isinstance(name, np.generic) else name for name in names]
            for names in (labels.task_names, labels.worker_names)
        )
        best = self.class_posterior.argmax(axis=1).tolist()
        columns = self.sample, self.labeler, self.label, self.p_wrong, self.low, self.high
        rows: list[dict[str, Any]] = [
            {"task": tasks[i], "worker": workers[t], "label": labels.class_names[c], "p_wrong": p,
             "low": low, "high": high, "suggested": labels.class_names[best[i]]}
            for i, t, c, p, low, high in zip(*(column[:num].tolist() for column in columns), strict=True)
        ]  # fmt: skip
        classes = dict(zip(map(str, labels.class_names), self.of_classes.tolist(), strict=True))
        low, high = self.interval
        several = bool((self.low < self.high).any())
        title = "Labels that may be wrong" + ", with the range over all assumptions" * several
        probability = [Column("p_wrong", "P(wrong)", form="p")]
        ends = (("low", "lowest"), ("high", "highest")) if several else ()
        probability += [Column(name, head, form="p", detail=True) for name, head in ends]
        wrong = (Column("expected_wrong", "expected wrong labels", form=".1f"),)
        blocks = (
            Queue("queue", title, "task",
                  (Column("worker", "labeler"), Column("label", "label"), Column("suggested", "suggested"),
                   *probability), rows, head="sample"),
            Table("labelers", "Expected wrong labels of each labeler", "worker", wrong,
                  [{"worker": w, "expected_wrong": v}
                   for w, v in zip(workers, self.of_labelers.tolist(), strict=True)],
                  order=np.argsort(-self.of_labelers, kind="stable").tolist()),
            Table("", "Expected wrong labels of each class", "class", wrong,
                  [{"class": c, "expected_wrong": v} for c, v in classes.items()]),
            warning_notes((self.caution, *notes)),
            facts(expected_wrong=self.expected, interval=[low, high], classes=classes, target="in-sample"),
        )  # fmt: skip
        first = next(iter(self.each), "")
        given = f"; P(wrong) assumes that {_under(first)}" * (first in _UNDER)
        about = f"{len(rows)} most suspicious labels of {number_of(len(workers), 'labeler')}{given}"
        return Document("Which labels are wrong?", about, self.sentence, blocks)

    @property
    def sentence(self) -> str:
        """The number of wrong labels, in words."""
        low, high = self.interval
        ends = sorted(self.each.items(), key=lambda item: item[1])
        ends = [(f"{number:.0f}", f"if {_under(name)}") for name, number in (ends[:1] + ends[1:][-1:])]
        why = f" The estimate is {' and '.join(' '.join(end) for end in ends)}." * (
            len({end[0] for end in ends}) > 1
        )
        about = f"About {part_of(round(self.expected), self.label.size, 'label', 'is')} wrong"
        return f"{about} ({100 * self.level:g} % interval {low:.0f} to {high:.0f}).{why}"


def _under(name: str) -> str:
    return _UNDER.get(name, f"{name!r} is right")


@seeded
def suspicious_labels(
    labels: Labels,
    class_posterior: Any,
    *,
    probabilities: Any = None,
    prior: Any = None,
    gold: Any = None,
    level: float = 0.95,
    key: Any = None,
) -> Issues:
    """P(given label is wrong) for each label, sorted, and the number of wrong labels.

    Args:
        labels: of any number of labelers.
        class_posterior: p(y | labels), (samples, classes); with uncertain rates (draws, samples, classes); or
            a mapping from names of assumptions to either. Rows of a frame are matched by task id, its columns
            by class.
        probabilities: (samples, classes) p(y | features) of a classifier that did not see these samples'
            labels; label errors are then assumed independent of the features given the class.
        prior: (classes,), needed with `probabilities`, because both posteriors include it.
        gold: (samples,) true classes, -1 where unknown, of random samples, or a `jtruth.io.Gold` with their
            design; `class_posterior` is made without them.
        level: of the interval of the number.
        key: seed of its draws; 0 if None.

    Raises:
        ValueError: arrays that do not fit, rows that are no distributions, gold of fewer than five samples.

    Example:
        >>> labels = Labels.from_matrix(np.array([[1, 1], [0, 1]]), 2)
        >>> found = suspicious_labels(labels, np.array([[0.1, 0.9], [0.7, 0.3]]))
        >>> print(found.p_wrong.round(2), round(found.expected, 2))
        [0.7 0.3 0.1 0.1] 1.2
    """
    check_level(level)
    several = class_posterior if isinstance(class_posterior, Mapping) else {"given": class_posterior}
    rng = host_rng(as_key(key), "number of wrong labels")
    sample, labeler, label = labels.entries()
    posteriors = {name: _posterior(posterior, labels, name) for name, posterior in several.items()}
    own_errors, caution = 0.0, _OF_MODEL
    if probabilities is not None:
        features = _by_task(probabilities, labels, "probabilities")
        posteriors, own_errors, caution = _with_features(posteriors, features, prior, labels)
    counts = np.asarray(labels.counts(), np.float64)
    means = {name: draws.mean(axis=0) for name, draws in posteriors.items()}
    rows, first = [1 - mean[sample, label] for mean in means.values()], next(iter(means.values()))
    if gold is None:
        tails = [(1 - level) / 2, (1 + level) / 2]
        numbers = [_numbers(draws, counts, rng) for draws in posteriors.values()]
        if caution is not _OF_MODEL:
            errors = [np.hypot(own_errors, _OF_COUNT * n) * rng.standard_normal(n.size) for n in numbers]
            numbers = [(n + off).clip(0, label.size) for n, off in zip(numbers, errors, strict=True)]
        ends = [np.quantile(n, tails) for n in numbers]
        expected = float(rows[0].sum())
        each = {name: float(row.sum()) for name, row in zip(means, rows, strict=True)}
        tells = caution in (_OF_MODEL, _MEASURED)
        interval = float(min(e[0] for e in ends)) if tells else 0.0, float(max(e[1] for e in ends))
    else:
        known = checked_gold(gold, labels.num_samples, labels.num_classes)
        dist = wrong_share(counts, first, known)
        low, high = dist.interval(level)
        design = "at random" if known.at_random else "as their table says"
        caution, size = _OF_GOLD.format((known.classes >= 0).sum(), design), label.size
        expected, interval, each = float(dist.mean * size), (float(low * size), float(high * size)), {}
        first = clamp(first, known.classes)
        gold_of_label = known.classes[sample]
        rows = [np.where(gold_of_label >= 0, gold_of_label != label, row) for row in rows]
    wrong, low, high = rows[0], np.min(rows, axis=0), np.max(rows, axis=0)
    order = np.argsort(-wrong, kind="stable")
    return Issues(
        sample[order], labeler[order], label[order], wrong[order], low[order], high[order], expected,
        interval, np.bincount(labeler, wrong, labels.num_labelers),
        np.bincount(label, wrong, labels.num_classes), caution, labels, level, first, each,
    )  # fmt: skip


def _with_features(
    posteriors: Mapping[str, np.ndarray], features: np.ndarray, prior: Any, labels: Labels
) -> tuple[dict[str, np.ndarray], float, str]:
    """Posteriors by labels and features, the classifier's own expected errors, and a caution."""
    shape, prior = (labels.num_samples, labels.num_classes), by_class(prior, labels.class_names)
    if features.shape != shape or prior is None or np.shape(prior) != shape[1:]:
        raise ValueError(
            f"probabilities must have shape {shape}, samples by classes, and need the class prior"
        )
    # p(y | labels, features) is proportional to p(y | labels) p(y | features) / p(y).
    lift = log(features) - log(np.asarray(prior, np.float64))[None]
    both = {name: softmax(log(draws) + lift[None], axis=2) for name, draws in posteriors.items()}
    if (labels.labels_per_sample() != 1).any():  # with several labels the classifier matters little
        return both, 0.0, _OF_MODEL
    sample, _, label = labels.entries()
    agreed = float((features[sample].argmax(axis=1) == label).mean())
    common = float(np.bincount(label).max() / label.size)
    caution = _NO_BETTER.format(100 * agreed, 100 * common) if agreed < common + _NO_NEWS else _MEASURED
    return both, _OWN_ERRORS * float((1 - features.max(axis=1)).sum()), caution


def checked_gold(gold: Any, num_samples: int, num_classes: int) -> Gold:
    """Checked codes of true classes, -1 where unknown, and their design; at least five are needed."""
    known = gold if isinstance(gold, Gold) else Gold(gold)
    classes = np.asarray(known.classes)
    check_codes(classes, num_classes, "gold", size=num_samples, missing=True, kinds="iu")
    if (classes >= 0).sum() < _FEWEST:
        raise ValueError(f"gold has {(classes >= 0).sum()} known classes; estimating the number of wrong "
                         f"labels needs {_FEWEST} or more")  # fmt: skip
    return known._replace(classes=classes)


def wrong_share(
    counts: Float[np.ndarray, "samples classes"], posterior: Float[np.ndarray, "samples classes"], known: Gold
) -> StudentEstimate:
    """Posterior of the share of all labels that are wrong; `counts`: labels of each class of a sample."""
    counts = counts / counts.sum(axis=1).mean()  # then a surprise is all labels of a sample, not one of them
    labels = counts.sum(axis=1)
    wrong = labels[:, None] - counts  # of a sample, for each class it may have
    sample = how_chosen(known)
    rows = sample.chosen
    wrong_of_gold = wrong[rows, known.classes[rows]]
    largest = labels.sum() - (labels[rows] - wrong_of_gold).sum()  # all but what is known to be right
    bounds = (float(wrong_of_gold.sum() / labels.sum()), float(largest / labels.sum()))
    expected = (wrong * posterior).sum(axis=1)
    return ppi_ratio(
        (wrong_of_gold, labels[rows]), (expected, labels), sample, bounds=bounds, power=POWER,
        possible=(wrong[rows], np.repeat(labels[rows, None], counts.shape[1], axis=1)),
    ).dist  # fmt: skip


def _posterior(values: Any, labels: Labels, name: str) -> np.ndarray:
    title = f"the class posterior {name!r}"
    p = _by_task(values, labels, title)
    p = p[None] if p.ndim == 2 else p
    sizes = {"samples": labels.num_samples, "classes": labels.num_classes}
    check_shape(p, title, "draws samples classes", **sizes)
    check_rows(p, title, 1e-4)
    return p


def _by_task(values: Any, labels: Labels, title: str) -> np.ndarray:
    """An array; rows and columns of a frame are matched with the labels' ids and classes."""
    names = tuple(map(str, labels.class_names))
    return np.asarray(align_table(values, labels, names, title)[0], np.float64)


def _numbers(draws: np.ndarray, counts: np.ndarray, rng: Any) -> np.ndarray:
    """Draws of the number of wrong labels: true classes from every draw of the posterior."""
    wrong = counts.sum(axis=1, keepdims=True) - counts  # of a sample, for each class it may have
    numbers = []
    for k in range(max(1000 // len(draws), 1) * len(draws)):
        y = picked(draws[k % len(draws)], rng.random(len(wrong)))
        numbers.append(wrong[np.arange(len(y)), y].sum())
    return np.array(numbers)


_STEPS, _SHRINKAGE = 10, 10.0  # of EM for the labelers, and labels of the crowd that each row is drawn to
_CENTRE, _WIDTH = np.log(10.0), 2.0  # of log concentration
_PSEUDO, _RIGHT = 1.0, 8.0  # labels that each row is taken to have had, of every kind and right ones


class SharedConfusion(NamedTuple):
    """A crowd's confusion matrix, the variation between samples, and the class of each sample."""

    prior: Float[np.ndarray, " classes"]
    matrix: Float[np.ndarray, "classes classes"]  # p(label | class) of the crowd
    rows: Float[np.ndarray, "labelers classes classes"]  # of each labeler, drawn to the crowd's
    concentration: float  # large: labels of one sample are independent given its class
    class_posterior: Float[np.ndarray, "samples classes"]
    draws: Float[np.ndarray, "draws samples classes"]  # under bootstrap samples: for `suspicious_labels`

    __repr__ = one_line

    def design_effect(self, num_labels: float) -> float:
        """Number of labels of one sample that are worth one independent label, if it has `num_labels`."""
        return (num_labels + self.concentration) / (1 + self.concentration)


@seeded
def shared_confusion(labels: Labels, *, num_bootstrap: int = 50, key: Any = None) -> SharedConfusion:
    """Fit the model of shared confusion to the counts of each sample's labels.

    Args:
        labels: some samples with two or more labels.
        num_bootstrap: bootstrap samples of samples.
        key: seed of the bootstrap; 0 if None.

    Raises:
        ValueError: no sample has two labels; fewer than two bootstrap samples.
        RuntimeError: the search for the maximum fails.

    Example:
        >>> counts = np.array([[9, 1], [1, 9], [6, 4], [10, 0]])
        >>> rows = [[0] * a + [1] * b for a, b in counts]
        >>> found = shared_confusion(Labels.from_matrix(np.array(rows), 2), num_bootstrap=20)
        >>> [bool(p > 0.5) for p in found.class_posterior[:, 0]], bool(found.design_effect(10) > 1)
        ([True, False, True, True], True)
    """
    counts = np.asarray(labels.counts(), np.int64)
    if counts.sum(axis=1).max(initial=0) < 2 or num_bootstrap < 2:
        raise ValueError("shared confusion needs samples with two labels or more, and num_bootstrap of 2 or "
                         f"more (got {num_bootstrap})")  # fmt: skip
    first, of_sample, times = collapse_rows(counts)
    patterns = counts[first]
    rng = host_rng(as_key(key), "bootstrap of shared confusion")
    drawn = rng.multinomial(len(counts), times / times.sum(), num_bootstrap).astype(float)
    best = _fitted(patterns, times.astype(float), None)
    again = [_fitted(patterns, weights, best) for weights in drawn]
    first = softmax(log_joint(best, patterns), axis=1)[of_sample]
    rows, posterior = _with_labelers(labels, best, first)
    draws = [_with_labelers(labels, theta, posterior)[1] for theta in again]
    matrix, concentration, prior = _parts(best, patterns.shape[1])
    return SharedConfusion(prior, matrix, rows, concentration, posterior, np.stack(draws))


def _with_labelers(labels: Labels, theta: np.ndarray, posterior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the labelers, and the posterior given them: a few steps of EM with divided evidence."""
    classes = labels.num_classes
    matrix, concentration, prior = _parts(theta, classes)
    sample, labeler, label = labels.entries()
    number = np.maximum(labels.labels_per_sample(), 1)
    share = ((1 + concentration) / (number + concentration))[:, None]
    cell, size = labeler * classes + label, labels.num_labelers * classes
    rows = np.tile(matrix, (labels.num_labelers, 1, 1))
    for _ in range(_STEPS):
        counts = [np.bincount(cell, posterior[sample, c], size).reshape(-1, classes) for c in range(classes)]
        rows = np.stack(counts, axis=1) + _SHRINKAGE * matrix[None]
        rows /= rows.sum(axis=2, keepdims=True)
        log_p = labels_log_likelihood(rows[None], sample, labeler, label, labels.num_samples)[0]
        posterior = softmax(share * log_p + np.log(prior)[None], axis=1)
    return rows, posterior


def _summed(function: Any, alpha: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(rows, labels, classes): sums of function(alpha[class, label] + l) over l below each count."""
    steps = function(alpha.T[:, None] + np.arange(counts.max())[None, :, None])
    sums = np.concatenate([np.zeros((len(steps), 1, len(alpha))), np.cumsum(steps, axis=1)], axis=1)
    return sums[np.arange(counts.shape[1])[None], counts]


def log_joint(theta: np.ndarray, patterns: np.ndarray) -> np.ndarray:
    """(rows, classes) log prior + log p(counts | class), without the multinomial coefficient."""
    matrix, concentration, prior = _parts(theta, patterns.shape[1])
    whole = _summed(np.log, np.array([[concentration]]), patterns.sum(axis=1, keepdims=True))[:, 0]
    return _summed(np.log, concentration * matrix, patterns).sum(axis=1) - whole + np.log(prior)[None]


def slopes(theta: np.ndarray, patterns: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float]:
    """d log p / d alpha (class, label), and d / d concentration of its normaliser, both weighted."""
    matrix, concentration, _ = _parts(theta, patterns.shape[1])
    by_cell = np.einsum("rc,rkc->ck", weight, _summed(np.reciprocal, concentration * matrix, patterns))
    whole = _summed(np.reciprocal, np.array([[concentration]]), patterns.sum(axis=1, keepdims=True))
    return by_cell, float(weight.sum(axis=1) @ whole[:, 0, 0])


def _parts(theta: np.ndarray, classes: int) -> tuple[np.ndarray, float, np.ndarray]:
    rows, prior = theta[: classes**2].reshape(classes, classes), theta[classes**2 + 1 :]
    return softmax(rows, axis=1), float(np.exp(theta[classes**2])), softmax(prior)


def _fitted(patterns: np.ndarray, times: np.ndarray, start: np.ndarray | None) -> np.ndarray:
    """The posterior mode, with rows of counts weighted by their frequency."""
    classes = patterns.shape[1]
    pseudo = _PSEUDO + _RIGHT * np.eye(classes)

    def cost(theta):
        matrix, concentration, prior = _parts(theta, classes)
        joint = log_joint(theta, patterns)
        off = (theta[classes**2] - _CENTRE) / _WIDTH
        value = times @ logsumexp(joint, axis=1) + (pseudo * np.log(matrix)).sum() + np.log(prior).sum()
        weight = softmax(joint, axis=1) * times[:, None]
        by_cell, whole = slopes(theta, patterns, weight)
        by_row = concentration * matrix * (by_cell - (by_cell * matrix).sum(axis=1, keepdims=True))
        by_row += pseudo - pseudo.sum(axis=1, keepdims=True) * matrix
        by_log = concentration * ((by_cell * matrix).sum() - whole) - off / _WIDTH
        by_prior = weight.sum(axis=0) - times.sum() * prior + 1 - classes * prior
        return off**2 / 2 - value, -np.concatenate([by_row.ravel(), [by_log], by_prior])

    if start is None:  # rows and shares of the most frequent labels
        voted = (patterns == patterns.max(axis=1, keepdims=True)) * times[:, None]
        voted = voted / (voted > 0).sum(axis=1, keepdims=True)
        rows, shares = voted.T @ patterns + pseudo, voted.sum(axis=0) + _PSEUDO
        rows, shares = np.log(rows / rows.sum(axis=1, keepdims=True)), np.log(shares / shares.sum())
        start = np.concatenate([rows.ravel(), [_CENTRE], shares])
    optimum = scipy.optimize.minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 500})
    if not (np.isfinite(optimum.fun) and np.abs(optimum.jac).max() < 1e-2 * max(times.sum(), 1.0)):
        raise RuntimeError(f"the fit of shared confusion did not converge: {optimum.message}")
    return optimum.x
