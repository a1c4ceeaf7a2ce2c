"""Does it matter who gave a label? The assumption behind label histograms, tested.

Histograms forget the labelers. That is right if labels of one sample are independent draws from the same
class probabilities, whoever gives them (Mimori et al. 2021, D.6). Two fixed raters with different policies
break it: they may disagree everywhere, which no law of class probabilities allows.

Given the histograms, and who labelled what, every exchange of labels within a sample is then equally likely.
So the test is exact: labels are shuffled within samples, and the statistic sums over labelers and classes
(and groups of samples) the squared difference between how often a labeler gave a class and how often the
histograms expect it, over its variance. Unanimous samples say nothing and are left out.
"""

import numpy as np

from jtruth._random import Key, host_rng
from jtruth.evaluation.parts import Check
from jtruth.labels import Labels

NAME = "exchangeable labelers"
ALARM = 0.05
_TO_DO = (
    "Histograms then depend on who was asked. Ask labelers at random, or model them: evaluate_labelers, and "
    "panel_probabilities for what a labeler drawn from the panel would say"
)


def exchangeability_check(
    labels: Labels, *, key: Key, groups: np.ndarray | None = None, permutations: int = 499
) -> Check:
    """Permutation test that the labelers of a sample are interchangeable.

    Args:
        labels: who gave which label.
        key: PRNG key or seed.
        groups: (samples,) codes 0.. of samples among which labelers may differ in different ways, for
            instance the predicted class; None: all alike.
        permutations: shuffles; p-values are multiples of 1 / (permutations + 1).

    Returns:
        A `Check`; "cannot be seen" where no sample has two different labels.
    """
    sample, labeler, label = labels.arrays
    counts = labels.counts()
    mixed = (counts > 0).sum(axis=1) > 1
    use = (label >= 0) & mixed[sample]
    if not use.any():
        text = "no sample has two different labels: who gave them cannot matter, and cannot be seen"
        return Check(NAME, None, None, "cannot be seen", text)
    order = np.argsort(sample[use], kind="stable")
    sample, labeler, label = (a[use][order] for a in (sample, labeler, label))
    group = np.zeros(labels.num_samples, np.int64) if groups is None else np.asarray(groups, np.int64)
    num_groups = int(group.max()) + 1
    row = labeler * num_groups + group[sample]
    size = (labels.num_labelers * num_groups, labels.num_classes)
    shares = counts[sample] / counts[sample].sum(axis=1, keepdims=True)
    expected, variance = _sums(row, shares, size[0]), _sums(row, shares * (1 - shares), size[0])

    def departures(given: np.ndarray) -> np.ndarray:
        observed = np.bincount(row * size[1] + given, minlength=size[0] * size[1]).reshape(size)
        return np.where(variance > 0, (observed - expected) ** 2 / np.where(variance > 0, variance, 1.0), 0.0)

    found = departures(label)
    statistic, rng = float(found.sum()), host_rng(key, "exchangeability")
    above = 0
    for _ in range(permutations):
        shuffled = label[np.argsort(sample + rng.random(sample.size), kind="stable")]
        above += departures(shuffled).sum() >= statistic * (1 - 1e-12)
    p_value = (1 + above) / (permutations + 1)
    if p_value > ALARM:
        return Check(NAME, statistic, p_value, "fits", f"who gave a label does not show (p = {p_value:.2g})")
    worst, k = np.unravel_index(np.argmax(found), size)
    who = int(worst) // num_groups
    name = labels.workers[who] if labels.workers else who
    rate = np.bincount(row * size[1] + label, minlength=size[0] * size[1]).reshape(size)[worst, k]
    text = (
        f"labelers differ on the same samples (p = {p_value:.2g}): {str(name)!r} said "
        f"{str(labels.class_names[k])!r} {rate} times where {expected[worst, k]:.1f} are expected. {_TO_DO}"
    )
    return Check(NAME, statistic, p_value, "does not fit", text)


def _sums(row: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    """Sum of the rows of `values` by `row`."""
    return np.stack([np.bincount(row, weights=column, minlength=size) for column in values.T], axis=1)
