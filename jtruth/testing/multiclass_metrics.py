"""Metrics of a classifier with any number of classes, as pure functions of its count table (Su 2.7.2).

A table is (..., classes, symbols): n[c, u] samples of true class c were predicted u; NumPy or JAX, counts or
expected counts. Leading axes are draws. The first `classes` symbols are the classes; any further symbol
("abstain") is wrong for every class.

Per-class metrics are the binary ones of `metrics`, of class c against the rest. Averages over classes:

- macro: the plain mean; micro: the metric of the summed binary tables; weighted: weights are the numbers of
  samples of the true classes.
- A class for which the metric is 0/0 (precision of a class never predicted) is LEFT OUT of macro and
  weighted averages, and `num_undefined` counts such classes; an average is NaN only when every class is left
  out. scikit-learn does this with zero_division=nan; its default counts 0 for such a class, which mixes "no
  information" with "always wrong".

`named_metric` finds a metric by name: "accuracy", "balanced_accuracy", "kappa", "mcc"; "recall[cat]" for one
class; "macro_f1", "weighted_precision", "micro_f2" and so on for averages.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jtruth.testing import metrics as binary
from jtruth.testing.metrics import ratio

Metric = Callable[[Any], Any]


def _xp(table: Any) -> Any:
    return jnp if isinstance(table, jax.Array) else np


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


def per_class(metric: Callable[[Any, Any, Any, Any], Any], table: Any) -> Any:
    """A binary metric of every class against the rest, (..., classes)."""
    return metric(*class_counts(table))


def _of_class(metric: Callable[[Any, Any, Any, Any], Any], position: int, table: Any) -> Any:
    return per_class(metric, table)[..., position]


def _average(values: Any, weight: Any) -> Any:
    """Weighted mean over the last axis of what is not NaN; NaN if nothing is left."""
    xp = _xp(values)
    defined = ~xp.isnan(values)
    total = xp.where(defined, weight, 0.0).sum(-1)
    return ratio((xp.where(defined, values, 0.0) * weight).sum(-1), total)


def macro(metric: Callable[[Any, Any, Any, Any], Any], table: Any) -> Any:
    """Mean of a binary metric over the classes for which it is defined."""
    values = per_class(metric, table)
    return _average(values, _xp(values).ones_like(values))


def weighted(metric: Callable[[Any, Any, Any, Any], Any], table: Any) -> Any:
    """Mean over the classes for which it is defined, weighted by the numbers of samples of the classes."""
    return _average(per_class(metric, table), _shares(table, -1))


def micro(metric: Callable[[Any, Any, Any, Any], Any], table: Any) -> Any:
    """The binary metric of the one-against-rest tables of all classes added up."""
    return metric(*(count.sum(-1) for count in class_counts(table)))


def num_undefined(metric: Callable[[Any, Any, Any, Any], Any], table: Any) -> Any:
    """Number of classes for which a binary metric is 0/0, which `macro` and `weighted` leave out."""
    values = per_class(metric, table)
    return _xp(values).isnan(values).sum(-1)


def accuracy(table: Any) -> Any:
    """Share of samples predicted right."""
    return ratio(_diagonal(table).sum(-1), table.sum((-2, -1)))


def balanced_accuracy(table: Any) -> Any:
    """Mean of the recalls of the classes that occur: macro recall."""
    return macro(binary.recall, table)


def _shares(table: Any, axis: int) -> Any:
    """Marginal shares of the classes (axis=-1) or of the symbols (axis=-2); they sum to 1."""
    return ratio(table.sum(axis), table.sum((-2, -1))[..., None])


def _agreement_beyond_chance(table: Any) -> tuple[Any, Any, Any]:
    """(observed minus chance agreement, shares of classes, shares of symbols)."""
    true, predicted = _shares(table, -1), _shares(table, -2)
    chance = (true * predicted[..., : true.shape[-1]]).sum(-1)
    return accuracy(table) - chance, true, predicted


def _spread(shares: Any) -> Any:
    """1 - sum shares^2, without cancellation and exactly 0 when one share is 1."""
    return (shares * (1 - shares)).sum(-1)


def kappa(table: Any) -> Any:
    """Cohen's kappa: agreement beyond chance over the most there can be; NaN when chance alone gives 1."""
    beyond, true, predicted = _agreement_beyond_chance(table)
    return ratio(beyond, (true * (1 - predicted[..., : true.shape[-1]])).sum(-1))


def mcc(table: Any) -> Any:
    """Matthews correlation for any number of classes (Gorodkin 2004).

    NaN if only one class or one symbol occurs, where scikit-learn gives 0.
    """
    beyond, true, predicted = _agreement_beyond_chance(table)
    return ratio(beyond, _xp(beyond).sqrt(_spread(true) * _spread(predicted)))


METRICS: dict[str, Metric] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "macro_precision": partial(macro, binary.precision),
    "macro_recall": partial(macro, binary.recall),
    "macro_f1": partial(macro, binary.METRICS["f1"]),
    "micro_f1": partial(micro, binary.METRICS["f1"]),
    "weighted_f1": partial(weighted, binary.METRICS["f1"]),
    "kappa": kappa,
    "mcc": mcc,
}
_AVERAGES = {"macro": macro, "micro": micro, "weighted": weighted}


def named_metric(name: str, classes: Sequence[Any]) -> Metric:
    """The metric called `name`, a function of tables (..., classes, symbols).

    Args:
        name: a key of METRICS; "<average>_<binary metric>" with average macro, micro or weighted; or
            "<binary metric>[<class>]". Binary metrics: precision, recall, false_alarm_rate, f1, f2, f0.5, ...
        classes: the names of the classes in the order of the rows; names are compared as text.

    Raises:
        ValueError: no such metric or class.

    >>> print(named_metric("recall[dog]", ["cat", "dog"])(np.array([[8, 2], [1, 9]])))
    0.9
    """
    if name in METRICS:
        return METRICS[name]
    one_class = re.fullmatch(r"([^\[\]]+)\[(.*)\]", name)
    average, _, rest = name.partition("_")
    try:
        if one_class:
            metric, names = binary.named_metric(one_class[1]), [str(c) for c in classes]
            if one_class[2] not in names:
                raise ValueError(f"metric {name!r}: there is no class {one_class[2]!r}; classes: {names}")
            return partial(_of_class, metric, names.index(one_class[2]))
        if average in _AVERAGES:
            return partial(_AVERAGES[average], binary.named_metric(rest))
    except ValueError as error:
        if "there is no class" in str(error):
            raise
    known = ", ".join(METRICS)
    raise ValueError(
        f"unknown metric {name!r}; choose one of {known}, or a binary metric (precision, recall, "
        "false_alarm_rate, f1, f<beta>) as macro_<metric>, micro_<metric>, weighted_<metric> or, for one "
        "class, <metric>[<class>]"
    )
