"""How far models of the labels were from the truth, on data sets whose truth is known.

A model that was fitted to labels and predictions says where a metric is, with its own spread; what it does
not know is how its assumption was broken. On other data sets that can be seen: `TAU` is how far the
truth was from what models said beyond their spread, on the logit scale (the scale of Student t errors with
3 degrees of freedom).

The table is small because more of it did not help. Learned on some data sets and judged on the one that was
left out, a tau for each model (.23 to .39 of whole-table metrics, .13 to .41 of one class, at most .20 of
shares) and weights by stacking did no better than one tau above all of them and equal weights: 30 gold
answers, real sets: accuracy covered in 93.1 % at a width of .176 against 93.9 % at .181, precision in 92.1 %
at .296 against 95.5 % at .327. A tau of .25 holds .93 of the accuracies on average over sets, and would make
intervals 5 % narrower; it is not taken, because the set whose labelers are wrong together (faces) pays for
it: .80, .68 and .83 held with no, 10 and 30 gold instead of 1.0, .87 and .90. Nor does an average over other
sets do for labelers and class shares by labels alone: there it is the smallest tau that holds 90 % in every
set (`benchmarks/labelers.py`), and leaving any one set out it holds 98 % of that one. `FLAT` is the weight of
an answer that knows nothing. Sets, cases and numbers: `benchmarks/shared_errors.py`.
"""

from collections.abc import Mapping

import numpy as np

from jtruth.stats.predictive import Opinion, opinion
from jtruth.tables.metrics import Metric
from jtruth.tables.posterior import TableDraws

OVERALL, CLASS, SHARE = "of all classes", "of one class", "share of the samples"
LABELS = "of labelers and class shares"
TAU = {OVERALL: 0.4, CLASS: 0.4, SHARE: 0.2, LABELS: 0.45}
FLAT = 0.02
# Sets and simulated families that TAU was learned on; every one counts alike, whatever its size.
SETS = ("restaurant", "rte", "dogs", "faces", "bluebirds", "cifar10h_a")
FAMILIES = ("independent", "shared", "labelers", "gradual", "together", "copying")


def kind_of(metric: Metric) -> str:
    """Which row of the table a metric takes: metrics of one class are known less well."""
    return OVERALL if metric.position is None else CLASS


def size_of(model: TableDraws, metric: Metric) -> float:
    """How many samples stand below the line of a metric, on average; of what is no ratio of counts, all."""
    if not metric.is_ratio and metric.joint is None:
        return float(model.counts[0].sum())
    below = metric.terms(np.ones(model.shape)).denominator
    return max(float((below * model.counts).sum((1, 2)).mean()), 1.0)


def said_of(model: TableDraws, metric: Metric, size: float) -> Opinion | None:
    """Where a model says that a metric is; None where it says that it is undefined."""
    values = np.asarray(metric.of_table(model.counts), np.float64)
    return None if np.isnan(values).all() else opinion(values, size, metric.bounds)


def opinions(said: Mapping[str, Opinion | None], kind: str) -> tuple[list[Opinion], float]:
    """The parts of the mixture and the weight of the flat one.

    Args:
        said: by the name of the assumption, what its model says of the metric; None: nothing.
        kind: of the metric.
    """
    parts = [
        one._replace(scale=float(np.hypot(one.scale, TAU[kind]))) for one in said.values() if one is not None
    ]
    return parts, FLAT if parts else 1.0
