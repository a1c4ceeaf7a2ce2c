"""Metrics of a binary classifier as pure functions of its count table (Su Table 8).

Each takes the four counts, true positives, false positives, false negatives and true negatives, as NumPy or
JAX arrays (or numbers) that broadcast together, and returns NaN where the metric is undefined (0/0). A new
metric is one function here and one line in `METRICS`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jtruth._arrays import is_concrete
from jtruth._validation.in_range import check_codes


def ratio(numerator: Any, denominator: Any) -> Any:
    """numerator / denominator, NaN where the denominator is 0; gradients stay finite there."""
    xp = jnp if isinstance(numerator, jax.Array) or isinstance(denominator, jax.Array) else np
    defined = denominator != 0
    return xp.where(defined, numerator / xp.where(defined, denominator, 1), xp.nan)


def accuracy(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """Share of samples predicted right: (tp + tn) / N."""
    return ratio(tp + tn, tp + fp + fn + tn)


def precision(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """Share of predicted positives that are positive: tp / (tp + fp)."""
    return ratio(tp + 0 * fn, tp + fp + 0 * tn)


def recall(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """P_D, the share of positives predicted positive: tp / (tp + fn)."""
    return ratio(tp + 0 * fp, tp + fn + 0 * tn)


def false_alarm_rate(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """P_FA, the share of negatives predicted positive: fp / (fp + tn)."""
    return ratio(fp + 0 * tp, fp + tn + 0 * fn)


def f_score(beta: float, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """F_beta = (1 + beta^2) tp / (beta^2 (tp + fn) + tp + fp); recall weighs beta times precision."""
    # Division by 1 makes integer counts floating, as every other metric does, before they meet beta.
    tp, positive, predicted = (tp + 0 * tn) / 1, (tp + fn) / 1, (tp + fp) / 1
    return ratio((1 + beta**2) * tp, beta**2 * positive + predicted)


METRICS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "accuracy": accuracy,
    "precision": precision,
    "recall": recall,
    "false_alarm_rate": false_alarm_rate,
    "f1": partial(f_score, 1),
}


def named_metric(name: str) -> Callable[[Any, Any, Any, Any], Any]:
    """The metric called `name`: a key of METRICS, or "f<beta>" such as "f0.5" or "f2"."""
    if name in METRICS:
        return METRICS[name]
    try:
        beta = float(name.removeprefix("f"))
    except ValueError:
        beta = -1.0
    if not (name.startswith("f") and 0 < beta < float("inf")):
        known = ", ".join(METRICS)
        raise ValueError(
            f"unknown metric {name!r}; choose one of {known}, or f<beta> with beta > 0 such as f2"
        )
    return partial(f_score, beta)


def binary_counts(y_pred: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """(tp, fp, fn, tn) of predictions against labels, both (..., samples) of 0 and 1, summed over samples."""
    for name, codes in (("y_pred", y_pred), ("y", y)):
        check_codes(np.ravel(codes) if is_concrete(codes) else codes, 2, name)
    if np.shape(y_pred)[-1:] != np.shape(y)[-1:]:
        raise ValueError(
            f"{np.shape(y_pred)[-1]} predictions but {np.shape(y)[-1]} labels; give one for each"
        )
    positive, true = y_pred == 1, y == 1
    return (
        (positive & true).sum(-1),
        (positive & ~true).sum(-1),
        (~positive & true).sum(-1),
        (~positive & ~true).sum(-1),
    )
