"""Unbiased counts of true and false positives and negatives from consolidated labels: TARS (6)-(8), (9)-(15).

Let R be the law of a sample's consolidated label, rows true class. Then W = row `label` of R^-1 has the
expectation "1 at the true class, 0 elsewhere", whatever that class is:

    E[W(c) | y] = sum_k R[y, k] R^-1[k, c] = [y = c].

For two classes this is (7), with 1 / (1 - a - b) in front; for more it is the full linear system of the
paper's footnote 2. The count of (true class c, prediction u) is the sum of W(c) over the samples predicted u
(8), unbiased and not confined to 0..N. Noise rates above 1/2 are as good as below; at a + b = 1 the label
says nothing. (Figure 3 of the paper swaps FP and FN; here they have their usual meaning.)

Precision is unbiased too, given the predictions: its denominator is the number predicted positive, exactly.
Recall and F are ratios of two estimates and are not.

Two things may be meant by "accuracy", and the target names which:

- "population": of all samples that might have been drawn. Error of sampling and error of labels.
- "in-sample": of these very samples. Error of labels alone.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from jtruth._one_line import one_line
from jtruth._validation import choose, some
from jtruth._validation.in_range import check_codes
from jtruth.stats.regions import Interval, check_level
from jtruth.tables.metrics import expected_table, named_metric
from jtruth.testing.tars.consolidation import Consolidated

LEAST_SIGNAL = 0.01  # of |1 - a - b|: below it the error is more than a hundred times that of true labels
TARGETS = ("population", "in-sample")
WEIGHTS = ("equal", "inverse_variance")
SYSTEMS = ("joint", "one_against_rest")


class CountEstimate(NamedTuple):
    """Estimated counts, and what each sample adds to them."""

    table: Float[np.ndarray, "classes symbols"]  # rows true, columns predicted
    truth: Float[np.ndarray, "samples classes"]  # W: in the place of "1 at the true class"
    weight: Float[np.ndarray, " samples"]  # of each sample; the mean is 1
    y_pred: Int[np.ndarray, " samples"]
    system: str

    __repr__ = one_line

    def metric(self, name: str) -> float:
        """A metric of the estimated table, by name; class 1 is positive. It may lie outside of [0, 1]."""
        return float(named_metric(name, range(len(self.table)), 1).of_table(self.table))

    def accuracy_interval(self, level: float = 0.95, target: str = "population") -> Interval:
        """(10): accuracy +- lambda sqrt(var / N), by the central limit theorem."""
        check_level(level)
        half = float(ndtri(0.5 + level / 2)) * float(np.sqrt(self.accuracy_variance(target)))
        centre = self.metric("accuracy")
        return Interval(centre - half, centre + half, level)

    def accuracy_variance(self, target: str = "population") -> float:
        """Estimated variance of the accuracy. In-sample: E[X (X - 1) | y] is the variance of X given y."""
        choose("target", target, TARGETS)
        x = self.truth[np.arange(self.y_pred.size), self.y_pred]
        if target == "in-sample":
            check_in_sample(self)
            return max(float((x * (x - 1)).sum()) / x.size**2, 0.0)
        off = self.weight * (x - float(self.weight @ x) / x.size)
        return float(off @ off) / x.size**2


def estimate_counts(
    y_pred: Int[np.ndarray, " samples"],
    consolidated: Consolidated,
    *,
    weights: str = "equal",
    system: str = "joint",
) -> CountEstimate:
    """Unbiased estimates of the count table (TARS (6)-(8)).

    Args:
        y_pred: (samples,) predicted classes, 0..C-1.
        consolidated: labels and their noise rates, from `consolidate`, or built from known rates.
        weights: "equal", the paper's plain mean, also right for these very samples; or "inverse_variance",
            for populations whose samples differ in noise: the weight of a sample is 1 / (variance of its
            label's noise + 1/4). It depends on rates alone, so the estimate stays unbiased where who labelled
            a sample says nothing about whether its prediction is right.
        system: more than two classes: "joint" solves for all of them; "one_against_rest" treats each by (7)
            with rates averaged over the other classes by the prior, which is biased unless these err alike.

    Raises:
        ValueError: predictions that do not fit, or labels that say nothing about the class (|1 - a - b| below
            .01; of more classes the smallest singular value of R), naming samples.

    Example:
        >>> rates = np.tile(np.array([[0.8, 0.2], [0.2, 0.8]]), (4, 1, 1))
        >>> label = np.array([1, 1, 0, 0])
        >>> given = Consolidated(label, rates, np.zeros(4), np.zeros(4, bool), np.array([0.5, 0.5]))
        >>> found = estimate_counts(np.array([1, 0, 0, 0]), given)
        >>> print(found.table.round(2), round(found.metric("accuracy"), 3))
        [[ 2.33 -0.33]
         [ 0.67  1.33]] 0.917
    """
    choose("weights", weights, WEIGHTS)
    choose("system", system, SYSTEMS)
    y_pred, num_classes = np.asarray(y_pred), consolidated.rates.shape[-1]
    check_codes(y_pred, num_classes, "y_pred", size=consolidated.label.size)
    signal = _signal(consolidated.rates)
    weight = np.ones(y_pred.size) if weights == "equal" else _precisions(consolidated, signal)
    _check_signal(signal, weight)
    one = system == "one_against_rest" and num_classes > 2
    truth = (_one_by_one if one else _all_at_once)(consolidated, weight > 0)
    table = expected_table(truth * weight[:, None], y_pred, num_classes)
    return CountEstimate(table, truth, weight, y_pred, "one_against_rest" if one else "joint")


def labels_as_truth(
    y_pred: Int[np.ndarray, " samples"], consolidated: Consolidated
) -> Int[np.ndarray, "classes classes"]:
    """DirtyEval: the count table with the consolidated labels taken as the truth. Biased by their noise."""
    table = np.zeros(consolidated.rates.shape[1:], np.int64)
    np.add.at(table, (consolidated.label, np.asarray(y_pred)), 1)
    return table


def check_in_sample(counts: CountEstimate) -> None:
    """Weights and averaged rates have no meaning for the samples at hand."""
    if counts.system != "joint" or (counts.weight != 1).any():
        raise ValueError("target 'in-sample' needs weights='equal' and system='joint'")


class ErrorSources(NamedTuple):
    """Where the error of an estimated accuracy comes from: half widths of what each would give alone."""

    half_width: float  # (15)
    sampling: float  # of the samples (Insight 1)
    labels: float  # of the labels' noise (Insight 2)
    share_of_labels: float  # of the variance


def error_sources(theta: float, beta: float, num_samples: int, level: float = 0.95) -> ErrorSources:
    """(15): half width of the interval of an accuracy `theta` from labels wrong with probability `beta`.

        var = theta (1 - theta) / N + beta (1 - beta) / (1 - 2 beta)^2 / N

    Both parts shrink with N: more samples help against noisy labels as well.

    Raises:
        ValueError: numbers outside [0, 1], fewer than one sample, or beta too near to 1/2.

    Example:
        >>> found = error_sources(0.8, 0.2, 100)
        >>> round(found.half_width, 4), round(found.share_of_labels, 3)
        (0.1524, 0.735)
    """
    for name, value in (("theta", theta), ("beta", beta)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name} is {value}; it is a probability")
    if num_samples < 1:
        raise ValueError(f"num_samples is {num_samples}; give at least 1")
    if abs(1 - 2 * beta) < LEAST_SIGNAL:
        raise ValueError(f"beta is {beta}: such labels say nothing of the accuracy")
    sampling, labels = (
        theta * (1 - theta) / num_samples,
        beta * (1 - beta) / (1 - 2 * beta) ** 2 / num_samples,
    )
    factor, total = float(ndtri(0.5 + check_level(level) / 2)), sampling + labels
    share = labels / total if total > 0 else 0.0
    return ErrorSources(factor * total**0.5, factor * sampling**0.5, factor * labels**0.5, share)


def _signal(rates: np.ndarray) -> np.ndarray:
    """(samples,) |1 - a - b|, or the smallest singular value where there are more classes."""
    if rates.shape[-1] == 2:
        return np.abs(rates[:, 1, 1] - rates[:, 0, 1])
    distinct, inverse = np.unique(rates, axis=0, return_inverse=True)
    return np.linalg.svd(distinct, compute_uv=False).min(axis=-1)[inverse.ravel()]


def _check_signal(signal: np.ndarray, weight: np.ndarray) -> None:
    """Refuse samples that count and whose label says next to nothing."""
    bad = np.flatnonzero((signal < LEAST_SIGNAL) & (weight > 0))
    if bad.size or not weight.any():
        bad = bad if bad.size else np.arange(signal.size)
        raise ValueError(
            f"the consolidated label of sample(s) {some(bad)} hardly depends on the class (|1 - a - b| is "
            f"{signal[bad[0]]:.3g}, the limit {LEAST_SIGNAL}): dividing by that makes any number. Leave them "
            "out, consolidate with a prior nearer to equal classes, take weights='inverse_variance', or use "
            "method='bayes', which needs no division"
        )


def _precisions(consolidated: Consolidated, signal: np.ndarray) -> np.ndarray:
    """1 / (variance of the label's noise + 1/4), mean 1; 0 where the label says nothing."""
    usable = signal >= LEAST_SIGNAL
    weight = np.zeros(signal.size)
    if usable.any():
        rates = consolidated.rates[usable]
        inverse = np.linalg.inv(rates)
        noise = np.einsum("y,iyk,ikc->i", consolidated.prior, rates, inverse**2) - 1.0
        weight[usable] = 1.0 / (0.5 * np.maximum(noise, 0.0) + 0.25)
        weight *= weight.size / weight.sum()
    return weight


def _all_at_once(consolidated: Consolidated, used: np.ndarray) -> np.ndarray:
    """Rows of R^-1 at the labels, one solve for each sample that counts."""
    truth = np.zeros((used.size, consolidated.rates.shape[-1]))
    chosen = np.eye(truth.shape[1])[consolidated.label[used]]
    transposed = np.swapaxes(consolidated.rates[used], 1, 2)
    truth[used] = np.linalg.solve(transposed, chosen[..., None])[..., 0]
    return truth


def _one_by_one(consolidated: Consolidated, used: np.ndarray) -> np.ndarray:
    """(7) for each class against the rest, whose rates are averaged by the prior."""
    prior, rates = consolidated.prior, consolidated.rates
    truth = np.zeros(rates.shape[:2])
    for c in range(prior.size):
        others = np.delete(np.arange(prior.size), c)
        a = rates[:, others, c] @ (prior[others] / prior[others].sum())
        signal = rates[:, c, c] - a
        _check_signal(np.abs(signal), used.astype(float))
        said = consolidated.label == c
        truth[:, c] = np.where(used, (said - a) / np.where(used, signal, 1.0), 0.0)
    return truth
