"""Which of these labels are wrong? Every label's probability of being wrong, without an oracle.

A label is wrong if it is not the true class, so p(wrong) = 1 - p(y = label | everything known). The class
posterior that jtruth computes from labels (and, out of sample, from features) is all it takes. Most people
ask label-error tools for this; here the number is a probability, and their sum the expected number of wrong
labels, with an interval.

Uncertain error rates are carried by handing over draws of the posterior (`posterior_draws` of a `fit_joint`),
and dependence is shown as a range: a mapping of assumptions, each with its posterior. Many labels of one
sample that err together are not as sure as they look: `confusion.shared_confusion` has draws for them. Where
there is one label a sample and a classifier, `learning.fit_noise_layer` learns the error rates.

How many labels are wrong cannot be told from labels alone. Where everybody makes the same mistake the model
sees none, and neither more labels nor another assumption shows it: on six crowds 2 to 53 % more labels were
wrong than expected, and on MNIST, whose classifier has learned the mistakes, four times as many. The interval
of the model holds if the model is right; `caution` says so in every answer. With `gold`, true classes of
samples chosen at random, number and interval rest on these (`_known`), whatever labelers share. Numbers:
benchmarks/label_issues.py.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from jtruth._host import labels_log_likelihood, log
from jtruth._one_line import one_line
from jtruth._pictures import picture
from jtruth._random import as_key, host_rng
from jtruth._validation import align_table, samples_of
from jtruth.cleaning._known import Known, wrong_share
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.learning.predicted.noise_layer import NoiseLayer
from jtruth.stats.regions import check_level

_MOST_DRAWS = 200
_LAYER_DRAWS = 50
_OF_MODEL = (
    "the interval holds if the model of the labels does: mistakes that all labelers, or labels and "
    "classifier, make alike are not in it, and labels alone cannot tell how many these are; known classes of "
    "some samples chosen at random (gold) would"
)
_OF_GOLD = "number and interval rest on {} known samples, taken to be chosen {}"


class Issues(NamedTuple):
    """Every label, the most suspicious first, and how many are wrong."""

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
    caution: str  # what the interval takes for granted

    plot = picture
    __repr__ = one_line


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
    """p(given label is wrong) for each label, sorted, and the number of wrong labels.

    Args:
        labels: of any number of labelers.
        class_posterior: p(y | labels), (samples, classes); with uncertain rates (draws, samples, classes); or
            a mapping from names of assumptions to either. Rows of a frame are matched by task id, its columns
            by class.
        probabilities: (samples, classes) p(y | features) of a classifier that did not see these samples'
            labels; errors of labels are then taken as independent of the features given the class.
        prior: (classes,), needed with `probabilities`, because both posteriors hold it.
        gold: (samples,) true classes where they are known, else -1, of samples chosen at random, or a
            `jtruth.io.Gold` that says how; `class_posterior` is made without them.
        level: of the interval of the number.
        key: of the draws behind it; 0 if None.

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
    entries = [np.asarray(part) for part in labels.arrays]
    entries = [part[entries[2] >= 0] for part in entries]
    sample, labeler, label = entries
    beliefs = {name: _posterior(given, labels, name) for name, given in several.items()}
    if probabilities is not None:
        features = _by_task(probabilities, labels, "probabilities")
        beliefs = {name: _with_features(draws, features, prior) for name, draws in beliefs.items()}
    means = [draws.mean(axis=0) for draws in beliefs.values()]
    rows = [1 - mean[sample, label] for mean in means]
    if gold is None:
        tails = [(1 - level) / 2, (1 + level) / 2]
        ends = [np.quantile(_numbers(draws, sample, label, rng), tails) for draws in beliefs.values()]
        hull = float(min(e[0] for e in ends)), float(max(e[1] for e in ends))
        number = float(rows[0].sum()), hull, _OF_MODEL
    else:
        known = Known.of(gold, labels.num_samples, labels.num_classes)
        number = _by_gold(_counts(means[0].shape, sample, label), means[0], known, level)
        sure = known.classes[sample]
        rows = [np.where(sure >= 0, sure != label, row) for row in rows]
    wrong, low, high = rows[0], np.min(rows, axis=0), np.max(rows, axis=0)
    order = np.argsort(-wrong, kind="stable")
    return Issues(
        sample[order], labeler[order], label[order], wrong[order], low[order], high[order], *number[:2],
        np.bincount(labeler, wrong, labels.num_labelers), np.bincount(label, wrong, labels.num_classes),
        number[2],
    )  # fmt: skip


def _by_gold(
    counts: np.ndarray, posterior: np.ndarray, known: Known, level: float
) -> tuple[float, tuple[float, float], str]:
    """Expected number, interval and caution where some classes are known."""
    law, total = wrong_share(counts, posterior, known), counts.sum()
    low, high, _ = law.interval(level)
    chosen = "at random" if known.inclusion is None and known.strata is None else "as their table says"
    caution = _OF_GOLD.format((known.classes >= 0).sum(), chosen)
    return float(law.mean * total), (float(low * total), float(high * total)), caution


def posterior_draws(labels: Labels, fit: JointPosterior) -> Float[np.ndarray, "draws samples classes"]:
    """Class posteriors under the draws of error rates and prior of a `fit_joint`, at most 200 of them.

    Raises:
        ValueError: a fit of dependent labelers, whose rates depend on strata; take its `class_posterior`.
    """
    if fit.dependence != "independent":
        raise ValueError(
            f"this fit is {fit.dependence!r}; hand its class_posterior over, beside that of 'independent', "
            "as a mapping of assumptions"
        )
    some = np.unique(np.linspace(0, len(fit.matrices) - 1, min(_MOST_DRAWS, len(fit.matrices))).astype(int))
    sample, labeler, label = labels.arrays
    matrices = fit.matrices[some].astype(np.float64)
    given = labels_log_likelihood(matrices, sample, labeler, label, labels.num_samples)
    return softmax(given + log(fit.prior[fit.matrix_draw[some]])[:, None, :], axis=2)


def layer_draws(labels: Labels, fit: NoiseLayer) -> Float[np.ndarray, "draws samples classes"]:
    """Class posteriors given each sample's one label alone, under 50 bootstrap samples of `fit_noise_layer`.

    Give the probabilities of the fit and `fit.prior` to `suspicious_labels` beside them.
    """
    label = labels.counts().argmax(axis=1)
    rows = fit.prior[None, :, None] * fit.bootstrap[:_LAYER_DRAWS]
    draws = rows[:, :, label].swapaxes(1, 2)
    return draws / draws.sum(axis=2, keepdims=True)


def _posterior(given: Any, labels: Labels, name: str) -> np.ndarray:
    """(draws, samples, classes) checked."""
    found = _by_task(given, labels, f"the class posterior {name!r}")
    found = found[None] if found.ndim == 2 else found
    if found.ndim != 3 or found.shape[1:] != (labels.num_samples, labels.num_classes):
        raise ValueError(
            f"the class posterior {name!r} has shape {np.shape(given)}; it must be ({labels.num_samples}, "
            f"{labels.num_classes}), samples by classes, with or without draws in front"
        )
    bad = np.flatnonzero(
        ~(np.isclose(found.sum(axis=2), 1, atol=1e-4) & (found >= 0).all(axis=2)).all(axis=0)
    )
    if bad.size:
        raise ValueError(
            f"the class posterior {name!r} of sample {bad[0]} is no distribution ({bad.size} such)"
        )
    return found


def _by_task(given: Any, labels: Labels, what: str) -> np.ndarray:
    """An array; rows and columns of a frame are matched with the labels' ids and classes."""
    names = tuple(map(str, labels.class_names))
    return np.asarray(align_table(given, samples_of(labels), names, what)[0], np.float64)


def _with_features(draws: np.ndarray, features: np.ndarray, prior: Any) -> np.ndarray:
    """p(y | labels, features) proportional to p(y | labels) p(y | features) / p(y)."""
    if features.shape != draws.shape[1:] or prior is None or np.shape(prior) != draws.shape[2:]:
        raise ValueError(
            f"probabilities must be {draws.shape[1:]}, samples by classes, with the class prior beside them"
        )
    return softmax(log(draws) + log(features)[None] - log(np.asarray(prior, np.float64))[None, None], axis=2)


def _numbers(
    draws: np.ndarray, sample: np.ndarray, label: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draws of the number of wrong labels: true classes from every draw of the posterior."""
    counts = _counts(draws.shape[1:], sample, label)
    wrong = counts.sum(axis=1, keepdims=True) - counts  # of a sample, for each class it may have
    numbers = []
    for k in range(max(1000 // len(draws), 1) * len(draws)):
        top = np.cumsum(draws[k % len(draws)], axis=1)
        y = (rng.random((len(top), 1)) * top[:, -1:] >= top).sum(axis=1)
        numbers.append(wrong[np.arange(len(top)), y].sum())
    return np.array(numbers)


def _counts(shape: tuple[int, int], sample: np.ndarray, label: np.ndarray) -> np.ndarray:
    """(samples, classes) how many labels of each class a sample has."""
    counts = np.zeros(shape)
    np.add.at(counts, (sample, label), 1)
    return counts
