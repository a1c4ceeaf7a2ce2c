"""The registry of metrics, `METRICS`: functions of the count table n[true class, predicted symbol].

Tables are (..., classes, symbols), NumPy or JAX, counts or expected counts (Su 2.7.2), leading axes draws; a
metric is NaN where it is undefined (0/0). The first `classes` symbols are the classes; any further symbol
("abstain") is wrong for every class. There are two kinds of entries.

`LinearRatio`: a ratio of two sums of counts, of one class against the rest, with weights of (tp, fp, fn, tn)
above and below the line (Su Tables 8 and 16):

    miss rate = fn / (tp + fn)    is    LinearRatio("miss_rate", num=(0, 0, 1, 0), den=(1, 0, 1, 0))

`OfTable`: any other function of the table, such as Cohen's kappa. Ratios are computed exactly, other metrics
by draws, by atoms, or by the first derivatives at the estimated table (delta method).

`named_metric` finds the function behind a name, for any number of classes:

    accuracy, kappa, mcc, ...        of the whole table
    recall, f2, f0.5, npv, ...       of the positive class (sensitivity is recall, ppv is precision)
    recall[cat]                      of class cat against the rest
    macro_f1, micro_f1, weighted_f1  averages over classes

macro is the plain mean over classes, micro the metric of the summed binary tables; weighted averages have the
sizes of the true classes as weights. Classes for which the metric is 0/0 are LEFT OUT of macro and weighted
averages (scikit-learn: zero_division=nan).
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num

from jtruth._arrays import is_concrete, namespace
from jtruth._one_line import one_line
from jtruth._random import host_rng
from jtruth._validation.in_range import check_codes

OfCounts = Callable[[Any, Any, Any, Any], Any]  # of tp, fp, fn, tn


def ratio(numerator: Any, denominator: Any) -> Any:
    """numerator / denominator, NaN where the denominator is 0; gradients stay finite there."""
    xp = namespace(numerator, denominator)
    defined = denominator != 0
    return xp.where(defined, numerator / xp.where(defined, denominator, 1), xp.nan)


def binary_counts(y_pred: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """(tp, fp, fn, tn) of predictions against labels, both (..., samples) of 0 and 1, summed over samples."""
    for name, codes in (("y_pred", y_pred), ("y", y)):
        check_codes(np.ravel(codes) if is_concrete(codes) else codes, 2, name)
    if np.shape(y_pred)[-1:] != np.shape(y)[-1:]:
        numbers = f"{np.shape(y_pred)[-1]} predictions but {np.shape(y)[-1]} labels"
        raise ValueError(f"{numbers}; give one for each")
    hit, true = y_pred == 1, y == 1
    return (hit & true).sum(-1), (hit & ~true).sum(-1), (~hit & true).sum(-1), (~hit & ~true).sum(-1)


def _diagonal(table: Any) -> Any:
    """Counts of right predictions (..., classes)."""
    classes, symbols = table.shape[-2:]
    if symbols < classes:
        text = f"the table has {classes} classes but {symbols} symbols"
        raise ValueError(f"{text}; the first symbols must be the classes")
    return table.diagonal(axis1=-2, axis2=-1)


def class_counts(table: Any) -> tuple[Any, Any, Any, Any]:
    """(tp, fp, fn, tn) of every class against the rest, each (..., classes)."""
    total = table.sum((-2, -1))[..., None]
    tp = _diagonal(table).astype(total.dtype)  # sums of int32 are int64
    fn = table.sum(-1) - tp
    fp = table.sum(-2)[..., : tp.shape[-1]] - tp
    return tp, fp, fn, total - tp - fp - fn


def of_class(metric: OfCounts, position: int, table: Any, rest: bool = True) -> Any:
    """A binary metric of one class against the rest; `rest`: true negatives matter."""
    total = table.sum((-2, -1)) if rest else None
    row, column = table[..., position, :].sum(-1), table[..., position].sum(-1)
    tp = _diagonal(table)[..., position].astype(row.dtype)
    return metric(tp, column - tp, row - tp, 0 * tp if total is None else total - row - column + tp)


def _average(values: Any, weight: Any) -> Any:
    """Weighted mean over the last axis of the values that are not NaN; NaN if there are none."""
    xp = namespace(values)
    defined = ~xp.isnan(values)
    total = xp.where(defined, weight, 0.0).sum(-1)
    return ratio((xp.where(defined, values, 0.0) * weight).sum(-1), total)


def macro(metric: OfCounts, table: Any) -> Any:
    """Mean of a binary metric over the classes for which it is defined."""
    values = metric(*class_counts(table))
    return _average(values, namespace(values).ones_like(values))


def weighted(metric: OfCounts, table: Any) -> Any:
    """Mean over the classes for which it is defined, weighted by the numbers of samples of the classes."""
    return _average(metric(*class_counts(table)), _shares(table, -1))


def micro(metric: OfCounts, table: Any) -> Any:
    """The binary metric of the one-against-rest tables of all classes added up."""
    return metric(*(count.sum(-1) for count in class_counts(table)))


def overall(metric: OfCounts, table: Any) -> Any:
    """A metric of right (tp) and wrong (fp) predictions, whatever the classes: accuracy."""
    total, right = table.sum((-2, -1)), _diagonal(table).sum(-1)
    return metric(right, total - right, 0 * total, 0 * total)


def _shares(table: Any, axis: int) -> Any:
    """Marginal shares of the classes (axis=-1) or of the symbols (axis=-2); they sum to 1."""
    counts = table.sum(axis)  # no share exceeds 1, not even by rounding
    return ratio(counts, counts.sum(-1)[..., None])


def _agreement_beyond_chance(table: Any) -> tuple[Any, Any, Any]:
    """(observed minus chance agreement, shares of classes, shares of symbols)."""
    true, predicted = _shares(table, -1), _shares(table, -2)
    chance = (true * predicted[..., : true.shape[-1]]).sum(-1)
    return ratio(_diagonal(table).sum(-1), table.sum((-2, -1))) - chance, true, predicted


def kappa(table: Any) -> Any:
    """Cohen's kappa: agreement beyond chance over the largest possible; NaN when chance alone gives 1."""
    beyond, true, predicted = _agreement_beyond_chance(table)
    return ratio(beyond, (true * (1 - predicted[..., : true.shape[-1]])).sum(-1))


def mcc(table: Any) -> Any:
    """Matthews correlation for any number of classes (Gorodkin 2004).

    NaN if only one class or one symbol occurs (scikit-learn: 0), or if an estimated table has a negative
    class.
    """
    beyond, true, predicted = _agreement_beyond_chance(table)
    # 1 - sum shares^2 without cancellation, exactly 0 when one share is 1.
    spreads = [(shares * (1 - shares)).sum(-1) for shares in (true, predicted)]
    xp, product = namespace(beyond), spreads[0] * spreads[1]
    return ratio(beyond, xp.sqrt(xp.where(product > 0, product, np.nan)))


AVERAGES = {"macro": macro, "micro": micro, "weighted": weighted}


def expected_table(
    truth: Float[np.ndarray, "samples classes"], y_pred: Int[np.ndarray, " samples"], num_symbols: int
) -> Float[np.ndarray, "classes symbols"]:
    """The expected table of samples with these class shares or probabilities."""
    return np.array([np.bincount(y_pred, share, num_symbols) for share in truth.T])


Weights = tuple[float, float, float, float]  # of tp, fp, fn, tn
ALWAYS, MANY, ASKED = "always", "more than two classes", "when asked for"
_STEP, _JUMP = 1e-5, 1e-3  # of the difference quotient, as a share of the table; more than a slope explains


class LinearRatio(NamedTuple):
    """A metric of one class against the rest: num . (tp, fp, fn, tn) / den . (tp, fp, fn, tn).

    It lies in [0, 1], because 0 <= num <= den is required.
    """

    name: str
    num: Weights
    den: Weights
    title: str = ""  # in texts; the name in words if empty
    axis: str = ""  # in pictures, with its symbol; the title if empty
    printed: str = ALWAYS  # answers that show it by default
    averages: tuple[str, ...] = ()  # averages shown for more than two classes
    each_class: bool = False  # whether it is shown for every class
    overall: bool = False  # without a class it is of the whole table, right against wrong
    smaller_is_better: bool = False

    def __call__(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Value from the four counts: NumPy or JAX arrays or numbers that broadcast together."""
        return ratio(weighted_sum(self.num, (tp, fp, fn, tn)), weighted_sum(self.den, (tp, fp, fn, tn)))


class OfTable(NamedTuple):
    """A metric of the whole table (..., classes, symbols)."""

    name: str
    of_table: Callable[[Any], Any]
    title: str = ""
    axis: str = ""
    printed: str = MANY
    bounds: tuple[float, float] = (0.0, 1.0)
    smaller_is_better: bool = False

    def __call__(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Value for two classes, from the four counts."""
        xp = namespace(tp, fp, fn, tn)
        cells = xp.stack(xp.broadcast_arrays(tn, fp, fn, tp), -1)
        return self.of_table(cells.reshape(*cells.shape[:-1], 2, 2))


class Metric(NamedTuple):
    """The function behind a name, for certain classes; made by `named_metric`."""

    name: str
    of_table: Callable[[Any], Any]  # tables (..., classes, symbols) to values, NumPy or JAX
    entry: LinearRatio | OfTable | None = None  # None: an average that is no ratio of two sums
    position: int | None = None  # of its class; None: of the whole table, or summed over classes
    bounds: tuple[float, float] = (0.0, 1.0)
    joint: np.ndarray | None = None  # of a table of tuples (`pairs`): the ratio's terms laid out on it
    difference: bool = False  # of two classifiers

    __repr__ = one_line

    @property
    def alone(self) -> "Metric":
        """The same metric of a table of two classes, its class the positive one."""
        ratio = self.entry if self.position is not None else None
        return _of_class(self.name, ratio, 1) if isinstance(ratio, LinearRatio) else self

    @property
    def is_ratio(self) -> bool:
        """Whether it is a ratio of two sums of counts, so that `terms` are exact."""
        return isinstance(self.entry, LinearRatio)

    def of_counts(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Value for two classes from counts that broadcast together; class 1 is positive."""
        if not isinstance(self.entry, LinearRatio):
            return OfTable(self.name, self.of_table)(tp, fp, fn, tn)
        above, below = self.weights
        return self.entry._replace(num=above, den=below)(tp, fp, fn, tn)

    @property
    def weights(self) -> tuple[Weights, Weights]:
        """Of a ratio of two classes: of (tp, fp, fn, tn), above and below the line."""
        above, below = self.terms(np.ones((2, 2)))[:, [1, 0, 1, 0], [1, 1, 0, 0]].tolist()
        return tuple(above), tuple(below)

    def terms(self, table: Any) -> Float[np.ndarray, "2 classes symbols"]:
        """Contribution of a sample of each cell to the two sums, above and below the line, of the ratio.

        Exact for a ratio, else to first order around this table. `terms[:, :, y_pred]` is (2, classes,
        samples).
        """
        if self.joint is not None:
            return self.joint
        table = np.asarray(table, np.float64)
        if isinstance(self.entry, LinearRatio):
            weights = tuple(self.entry.num), tuple(self.entry.den)
            whole = self.entry.overall and self.position is None
            return _linear_terms(weights, whole, self.position, *table.shape)
        total, cells = table.sum(), np.eye(table.size).reshape(table.size, *table.shape)
        step = _STEP * total
        ends = self.of_table(table + step * cells), self.of_table(np.maximum(table - step * cells, 0.0))
        gap = step + np.minimum(table, step)
        slope = (ends[0] - ends[1]).reshape(table.shape) / gap
        # No slope where a neighbour is undefined, or where an average jumps with a class's first sample.
        jumps = np.abs(ends[0] - self.of_table(table)).reshape(table.shape) > _JUMP
        slope = np.where(np.isnan(slope) | (jumps & (table.sum(axis=1, keepdims=True) == 0)), 0.0, slope)
        here = float(self.of_table(table)) - float((slope * table).sum())
        return np.stack([here + total * slope, np.ones_like(table)])


def weighted_sum(weights: Weights, counts: tuple[Any, Any, Any, Any]) -> Any:
    """Sum of counts times weights; whole counts stay whole where weights are 0 and 1."""
    if not all(w in (0, 1) for w in weights):
        counts = tuple(n / 1 for n in counts)  # floating, as weights may not be whole
    parts = [n if w == 1 else 0 * n if w == 0 else w * n for w, n in zip(weights, counts, strict=True)]
    return (parts[0] + parts[1]) + (parts[2] + parts[3])


def f_entry(beta: float, **options: Any) -> LinearRatio:
    """F_beta = (1 + beta^2) tp / (beta^2 (tp + fn) + tp + fp)."""
    more = 1 + beta**2
    return LinearRatio(f"f{beta:g}", (more, 0, 0, 0), (more, 1, beta**2, 0), **options)


_RECALL = LinearRatio(
    "recall", num=(1, 0, 0, 0), den=(1, 0, 1, 0), axis="recall $P_D$", averages=("macro",), each_class=True
)
_ENTRIES = (
    LinearRatio("accuracy", num=(1, 0, 0, 1), den=(1, 1, 1, 1), overall=True),
    LinearRatio("precision", num=(1, 0, 0, 0), den=(1, 1, 0, 0), averages=("macro",), each_class=True),
    _RECALL,
    LinearRatio("false_alarm_rate", num=(0, 1, 0, 0), den=(0, 1, 0, 1), title="false positive rate (FPR)",
                axis="false-alarm rate $P_{FA}$", smaller_is_better=True),
    f_entry(1, title="F1", averages=("macro", "weighted"), each_class=True),
    LinearRatio("specificity", num=(0, 0, 0, 1), den=(0, 1, 0, 1), printed=ASKED),
    LinearRatio("fnr", num=(0, 0, 1, 0), den=(1, 0, 1, 0), title="false-negative rate", printed=ASKED,
                smaller_is_better=True),
    LinearRatio("npv", num=(0, 0, 0, 1), den=(0, 0, 1, 1), title="NPV", printed=ASKED),
    LinearRatio("share", num=(1, 0, 1, 0), den=(1, 1, 1, 1), title="share of the class", printed=ASKED),
    OfTable("balanced_accuracy", partial(macro, _RECALL), printed=ASKED),
    OfTable("kappa", kappa, title="Cohen's kappa", bounds=(-1.0, 1.0)),
    OfTable("mcc", mcc, title="MCC", bounds=(-1.0, 1.0)),
)  # fmt: skip
METRICS: dict[str, LinearRatio | OfTable] = {entry.name: entry for entry in _ENTRIES}
SYNONYMS = {"sensitivity": "recall", "ppv": "precision", "tpr": "recall", "tnr": "specificity",
            "fpr": "false_alarm_rate", "false_positive_rate": "false_alarm_rate",
            "false_negative_rate": "fnr"}  # fmt: skip


def default_metrics(classes: Sequence[str]) -> tuple[str, ...]:
    """Names of the metrics that an answer about these classes shows by default."""
    ratios = [e for e in METRICS.values() if isinstance(e, LinearRatio)]
    several = [e for e in METRICS.values() if isinstance(e, OfTable)]
    names = [e.name for e in METRICS.values() if e.printed == ALWAYS]
    if len(classes) > 2:
        names += [f"{average}_{e.name}" for e in ratios for average in e.averages]
        names += [e.name for e in several if e.printed == MANY]
        names += [f"{e.name}[{c}]" for c in classes for e in ratios if e.each_class]
    return tuple(names)


def title(name: str) -> str:
    """A metric's name in words."""
    entry = METRICS.get(name)
    return (entry.title if entry else "") or name.replace("_", " ").replace(" f1", " F1")


def of_one_class(name: str) -> bool:
    """Whether a name without a class means the positive one: recall, f2; not accuracy, kappa, macro_f1."""
    entry = _entry(name)
    return isinstance(entry, LinearRatio) and not entry.overall


def named_metric(name: str, classes: Sequence[Any] = (0, 1), positive: int | None = None) -> Metric:
    """Find the metric called `name`.

    Args:
        name: a key of METRICS or "f<beta>", "<one of those>[<class>]", or "<average>_<one of those>" with
            average macro, micro or weighted; or as answers print it ("macro F1").
        classes: the names of the classes in the order of the rows; names are compared as text.
        positive: position of the class that "recall" means; the second of two if None.

    Raises:
        ValueError: no such metric or class, or a metric of one class without a class.

    >>> print(named_metric("recall[dog]", ["cat", "dog"]).of_table(np.array([[8, 2], [1, 9]])))
    0.9
    """
    head, bracket, rest = name.partition("[")
    name = head.strip().lower().replace(" ", "_") + bracket + rest
    entry, number = _entry(name), len(classes)
    if isinstance(entry, OfTable):
        return Metric(name, entry.of_table, entry, None, entry.bounds)
    if entry is not None and entry.overall:
        return Metric(name, partial(overall, entry), entry)
    if entry is not None:
        if positive is None and number > 2:
            raise ValueError(
                f"metric {name!r} is of one class: name it, for example {name}[{classes[0]}], or give "
                "positive=..."
            )
        return _of_class(name, entry, 1 if positive is None else positive)
    one_class, average = re.fullmatch(r"([^\[\]]+)\[(.*)\]", name), name.partition("_")[::2]
    if one_class and isinstance(found := _entry(one_class[1]), LinearRatio):
        names = [str(c) for c in classes]
        if one_class[2] not in names:
            raise ValueError(f"metric {name!r}: there is no class {one_class[2]!r}; classes: {names}")
        return _of_class(name, found, names.index(one_class[2]))
    if average[0] in AVERAGES and isinstance(found := _entry(average[1]), LinearRatio):
        function = partial(AVERAGES[average[0]], found)
        return Metric(name, function, found._replace(overall=False) if average[0] == "micro" else None)
    raise ValueError(
        f"unknown metric {name!r}; choose one of {', '.join((*METRICS, *SYNONYMS))}, or f<beta> with "
        "beta > 0 such as f2; a metric of one class may be of a named class, recall[cat], or averaged: "
        "macro_, micro_, weighted_"
    )


def _entry(name: str) -> LinearRatio | OfTable | None:
    """The entry of a name without class and average; None if there is none."""
    entry = METRICS.get(SYNONYMS.get(name, name))
    if isinstance(entry, LinearRatio):
        bad = [f"{n} / {d}" for n, d in zip(entry.num, entry.den, strict=True) if not 0 <= n <= d]
        if bad:
            raise ValueError(
                f"the weights of metric {name!r} have {bad[0]}, but a LinearRatio needs 0 <= num <= den, so "
                "that it lies in [0, 1]; register other functions as OfTable, with bounds"
            )
    if entry is not None:
        return entry
    try:
        beta = float(name.removeprefix("f")) if name.startswith("f") else -1.0
    except ValueError:
        return None
    return f_entry(beta) if 0 < beta < float("inf") else None


def _of_class(name: str, entry: LinearRatio, position: int) -> Metric:
    true_negatives = bool(entry.num[3] or entry.den[3])
    return Metric(name, partial(of_class, entry, position, rest=true_negatives), entry, position)


@lru_cache(maxsize=4096)
def _linear_terms(
    weights: tuple[Weights, Weights], whole: bool, position: int | None, classes: int, symbols: int
) -> Float[np.ndarray, "2 classes symbols"]:
    """The weights laid out on the table: of one class, of all classes summed, or of right and wrong."""
    right = np.eye(classes, symbols)

    def lay(weights: Weights, c: int) -> np.ndarray:
        tp, fp, fn, tn = weights
        row, column = np.zeros((classes, 1)), np.zeros((1, symbols))
        row[c], column[0, c] = 1, 1
        hit, miss = tp * row + fp * (1 - row), fn * row + tn * (1 - row)
        return hit * column + miss * (1 - column)

    where = range(classes) if position is None else [position]
    laid = np.stack([
        w[0] * right + w[1] * (1 - right) if whole else np.add.reduce([lay(w, c) for c in where])
        for w in weights
    ])  # fmt: skip
    laid.flags.writeable = False  # it is cached
    return laid


_PROBES, _SAME = 6, 1e-9  # random tables for `settled`, and its tolerance


def settled(
    metric: Metric, predicted: Num[np.ndarray, " symbols"], classes: int, gold: Int[np.ndarray, " samples"]
) -> float | None:
    """The value of a metric of these predictions if it is the same for any truth (NaN included), else None.

    Recall of a class that is never predicted is 0, its precision undefined. Computed for random truths of all
    classes, and without each class that is not in the gold (-1 where unknown).
    """
    if np.all(predicted > 0):
        return None
    may_lack = np.setdiff1d(np.arange(classes), gold)
    occur = np.concatenate([np.ones((_PROBES, classes)), 1.0 - np.eye(classes)[may_lack]])
    truths = host_rng(0, "truths").dirichlet(np.ones(classes), (len(occur), predicted.size))
    tables = (truths * occur[:, None]).swapaxes(1, 2)
    values = metric.of_table(tables / tables.sum(axis=1, keepdims=True) * predicted)
    known = values[~np.isnan(values)]
    if not known.size:
        return float("nan")
    return float(known[0]) if np.ptp(known) < _SAME else None
