"""Functions of count tables behind the metrics of `metrics`: one class against the rest, averages, agreement.

A table is (..., classes, symbols): n[c, u] samples of true class c were predicted u; NumPy or JAX, counts or
expected counts (Su 2.7.2). Leading axes are draws. The first `classes` symbols are the classes; any further
symbol ("abstain") is wrong for every class.

Averages of a metric of one class over the classes:

- macro: the plain mean; micro: the metric of the summed binary tables; weighted: weights are the numbers of
  samples of the true classes.
- A class for which the metric is 0/0 (precision of a class never predicted) is LEFT OUT of macro and
  weighted averages; an average is NaN only when every class is left out. scikit-learn does this with
  zero_division=nan; its default counts 0 for such a class, which mixes "no information" with "always wrong".
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from jtruth._arrays import is_concrete
from jtruth._validation.in_range import check_codes

OfCounts = Callable[[Any, Any, Any, Any], Any]  # of tp, fp, fn, tn


def _xp(*values: Any) -> Any:
    return jnp if any(isinstance(value, jax.Array) for value in values) else np


def ratio(numerator: Any, denominator: Any) -> Any:
    """numerator / denominator, NaN where the denominator is 0; gradients stay finite there."""
    xp = _xp(numerator, denominator)
    defined = denominator != 0
    return xp.where(defined, numerator / xp.where(defined, denominator, 1), xp.nan)


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


def _diagonal(table: Any) -> Any:
    """Counts of right predictions (..., classes)."""
    classes, symbols = table.shape[-2:]
    if symbols < classes:
        raise ValueError(
            f"the table has {classes} classes but {symbols} symbols; the first symbols must be the classes"
        )
    return table.diagonal(axis1=-2, axis2=-1)


def class_counts(table: Any) -> tuple[Any, Any, Any, Any]:
    """(tp, fp, fn, tn) of every class against the rest, each (..., classes)."""
    total = table.sum((-2, -1))[..., None]
    tp = _diagonal(table).astype(total.dtype)  # sums of int32 are int64
    fn = table.sum(-1) - tp
    fp = table.sum(-2)[..., : tp.shape[-1]] - tp
    return tp, fp, fn, total - tp - fp - fn


def per_class(metric: OfCounts, table: Any) -> Any:
    """A binary metric of every class against the rest, (..., classes)."""
    return metric(*class_counts(table))


def of_class(metric: OfCounts, position: int, table: Any, rest: bool = True) -> Any:
    """A binary metric of one class against the rest; without `rest`, one that true negatives leave alone.

    Of many classes a class is a small part of the table, and the true negatives are nearly all of it.
    """
    total = table.sum((-2, -1)) if rest else None
    row, column = table[..., position, :].sum(-1), table[..., position].sum(-1)
    tp = _diagonal(table)[..., position].astype(row.dtype)
    return metric(tp, column - tp, row - tp, 0 * tp if total is None else total - row - column + tp)


def _average(values: Any, weight: Any) -> Any:
    """Weighted mean over the last axis of what is not NaN; NaN if nothing is left."""
    xp = _xp(values)
    defined = ~xp.isnan(values)
    total = xp.where(defined, weight, 0.0).sum(-1)
    return ratio((xp.where(defined, values, 0.0) * weight).sum(-1), total)


def macro(metric: OfCounts, table: Any) -> Any:
    """Mean of a binary metric over the classes for which it is defined."""
    values = per_class(metric, table)
    return _average(values, _xp(values).ones_like(values))


def weighted(metric: OfCounts, table: Any) -> Any:
    """Mean over the classes for which it is defined, weighted by the numbers of samples of the classes."""
    return _average(per_class(metric, table), _shares(table, -1))


def micro(metric: OfCounts, table: Any) -> Any:
    """The binary metric of the one-against-rest tables of all classes added up."""
    return metric(*(count.sum(-1) for count in class_counts(table)))


def overall(metric: OfCounts, table: Any) -> Any:
    """A metric of right (tp) and wrong (fp) predictions, whatever the classes: accuracy."""
    total, right = table.sum((-2, -1)), _diagonal(table).sum(-1)
    return metric(right, total - right, 0 * total, 0 * total)


def balanced_accuracy(table: Any) -> Any:
    """Mean of the recalls of the classes that occur: macro recall."""
    tp, _, fn, _ = class_counts(table)
    values = ratio(tp, tp + fn)
    return _average(values, _xp(values).ones_like(values))


def _shares(table: Any, axis: int) -> Any:
    """Marginal shares of the classes (axis=-1) or of the symbols (axis=-2); they sum to 1."""
    counts = table.sum(axis)  # added up as they are here, no share exceeds 1, not even by rounding
    return ratio(counts, counts.sum(-1)[..., None])


def _agreement_beyond_chance(table: Any) -> tuple[Any, Any, Any]:
    """(observed minus chance agreement, shares of classes, shares of symbols)."""
    true, predicted = _shares(table, -1), _shares(table, -2)
    chance = (true * predicted[..., : true.shape[-1]]).sum(-1)
    return ratio(_diagonal(table).sum(-1), table.sum((-2, -1))) - chance, true, predicted


def _spread(shares: Any) -> Any:
    """1 - sum shares^2, without cancellation and exactly 0 when one share is 1."""
    return (shares * (1 - shares)).sum(-1)


def kappa(table: Any) -> Any:
    """Cohen's kappa: agreement beyond chance over the most there can be; NaN when chance alone gives 1."""
    beyond, true, predicted = _agreement_beyond_chance(table)
    return ratio(beyond, (true * (1 - predicted[..., : true.shape[-1]])).sum(-1))


def mcc(table: Any) -> Any:
    """Matthews correlation for any number of classes (Gorodkin 2004).

    NaN if only one class or one symbol occurs, where scikit-learn gives 0, and of estimated tables that give
    a class less than none of the samples.
    """
    beyond, true, predicted = _agreement_beyond_chance(table)
    xp, product = _xp(beyond), _spread(true) * _spread(predicted)
    return ratio(beyond, xp.sqrt(xp.where(product > 0, product, np.nan)))


AVERAGES = {"macro": macro, "micro": micro, "weighted": weighted}


def expected_table(
    truth: Float[np.ndarray, "samples classes"], y_pred: Int[np.ndarray, " samples"], num_symbols: int
) -> Float[np.ndarray, "classes symbols"]:
    """The table of samples that belong to each class with these shares or probabilities."""
    return np.array([np.bincount(y_pred, share, num_symbols) for share in truth.T])
