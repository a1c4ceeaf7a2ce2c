"""Metrics of true classes and raw predictions, for `jt.metric_posterior`: pure JAX, y first.

A count table does not contain scores or probabilities. These functions take the classes of all samples,
(samples,) codes, and the classifier's output: codes, scores of class 1 (larger: rather class 1), or
probabilities of shape (samples,), of class 1, or (samples, classes). With the true classes they agree with
scikit-learn's functions of these names, except that an undefined metric is NaN.
"""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jtruth._arrays import AnyArray
from jtruth.stats.agreement import weights as agreement_weights
from jtruth.tables.metrics import named_metric, ratio

Classes = Int[AnyArray, " samples"]
Scores = Float[AnyArray, " samples"]
Probabilities = Float[AnyArray, " samples"] | Float[AnyArray, "samples classes"]


def log_loss(y: Classes, p: Probabilities) -> Float[Array, ""]:
    """Mean of -log p(true class); infinite where a true class got probability 0."""
    y, p = jnp.asarray(y), jnp.asarray(p)
    rows = jnp.stack([1 - p, p], axis=1) if p.ndim == 1 else p
    of_true = jnp.take_along_axis(rows, y[:, None], axis=1)[:, 0]
    return -jnp.log(of_true).mean()


def brier(y: Classes, p: Probabilities) -> Float[Array, ""]:
    """Mean squared error of the probabilities: of class 1 for (samples,), else summed over the classes."""
    y, p = jnp.asarray(y), jnp.asarray(p)
    if p.ndim == 1:
        return ((p - y.astype(p.dtype)) ** 2).mean()
    return ((p - jax.nn.one_hot(y, p.shape[1], dtype=p.dtype)) ** 2).sum(axis=1).mean()


def auc(y: Classes, scores: Scores) -> Float[Array, ""]:
    """Area under the ROC curve, ties counted half (Mann and Whitney); NaN if a class is absent."""
    y, scores = jnp.asarray(y), jnp.asarray(scores)
    positive = y.astype(scores.dtype)
    order = jnp.sort(scores)
    below, to = jnp.searchsorted(order, scores, side="left"), jnp.searchsorted(order, scores, side="right")
    rank = (below + to + 1).astype(scores.dtype) / 2
    ones = positive.sum()
    zeros = positive.size - ones
    return ratio((rank * positive).sum() - ones * (ones + 1) / 2, ones * zeros)


def average_precision(y: Classes, scores: Scores) -> Float[Array, ""]:
    """Sum over thresholds of precision times the step of recall; equal scores are one threshold."""
    y, scores = jnp.asarray(y), jnp.asarray(scores)
    order = jnp.argsort(-scores)
    hits, descending = jnp.cumsum(y[order]).astype(scores.dtype), -scores[order]
    last = jnp.searchsorted(descending, descending, side="right") - 1  # of the samples of equal score
    precision = hits[last] / (last + 1).astype(scores.dtype)
    positive = y[order].astype(scores.dtype)
    return ratio((precision * positive).sum(), positive.sum())


def mcc(y: Classes, y_pred: Classes, num_classes: int = 2) -> Float[Array, ""]:
    """Matthews correlation; NaN if only one class is true or predicted."""
    return named_metric("mcc").of_table(_table(y, y_pred, num_classes))


def kappa(
    weights: str = "nominal", num_classes: int = 2, values: Sequence[float] | None = None
) -> Callable[[Classes, Classes], Float[Array, ""]]:
    """Cohen's kappa with "nominal", "linear" or "quadratic" weights, by distances of `values`.

    Pass `labels.values` there; without them codes are ranks.
    """
    apart = 1 - agreement_weights(weights, num_classes, None if values is None else np.array(values, float))

    def of_labels(y: Classes, y_pred: Classes) -> Float[Array, ""]:
        table = _table(y, y_pred, num_classes)
        share = table / table.sum()
        price = jnp.asarray(apart, table.dtype)
        chance = share.sum(axis=1) @ price @ share.sum(axis=0)
        return 1 - ratio((price * share).sum(), chance)

    return of_labels


def mean_cost(price: Float[np.ndarray, "classes classes"]) -> Callable[[Classes, Classes], Float[Array, ""]]:
    """Mean cost of a sample; price[true class, predicted class]."""
    return lambda y, y_pred: jnp.asarray(price, jnp.result_type(float))[y, y_pred].mean()


def expected_calibration_error(bins: int = 10) -> Callable[[Classes, Scores], Float[Array, ""]]:
    """Mean distance of probability and frequency of class 1, over bins of equal width weighted by size.

    It is positive even for a calibrated classifier, because frequencies in small bins vary at random.
    """
    if bins < 1:
        raise ValueError(f"bins is {bins}; give 1 or more")

    def of_labels(y: Classes, p: Scores) -> Float[Array, ""]:
        y, p = jnp.asarray(y), jnp.asarray(p)
        place = jnp.clip((p * bins).astype(jnp.int32), 0, bins - 1)
        gap = jnp.zeros(bins, p.dtype).at[place].add(y.astype(p.dtype) - p)
        return jnp.abs(gap).sum() / p.size

    return of_labels


def _table(y: Classes, y_pred: Classes, num_classes: int) -> Float[Array, "classes classes"]:
    dtype = jnp.result_type(float)
    return jnp.zeros((num_classes, num_classes), dtype).at[y, y_pred].add(jnp.ones(y.size, dtype))
