"""How far models of the labels were from the truth, on data sets whose truth is known.

A model that was fitted to labels and predictions says where a metric is, with its own spread; what it does
not know is how its assumption was broken. On other data sets that can be seen: `TAU` is how far the
truth was from what models said beyond their spread, on the logit scale (the scale of Student t errors with
3 degrees of freedom).

The table is small because more of it did not help. Learned on some data sets and judged on the one that was
left out, a tau for each model (.23 to .39 of whole-table metrics, .13 to .41 of one class, at most .20 of
shares) and weights by stacking did no better than one tau for all models and equal weights. Of the accuracy
it is the smallest with which 10 and 30 gold answers hold .93 of the accuracies on average of the public sets
and of the simulated families: .25, and .2 to .3 where one set is left out, which is then held in .93 with
none, 10 and 30 gold alike; with 30 at .8 of the width of PPI++. Where labelers are wrong together (faces) it
holds less, .8 without gold and .7 to .8 with 10 to 30. Of one class 30 gold hold the precision in 95.5 % at
.327 where learned taus hold 92.1 % at .296. Of labelers and class shares by labels alone, a tau that holds on
average over other sets is too small for one whose labelers are wrong together; the smallest that holds 90 %
in every set is what `benchmarks/labelers.py` learns, and leaving any one set out it holds 98 % of that one.
`FLAT` is the weight of an answer that knows nothing. Sets, cases and numbers: `benchmarks/shared_errors.py`.
"""

from collections.abc import Mapping

import numpy as np

from jtruth.stats.predictive import Opinion, opinion
from jtruth.tables.metrics import Metric
from jtruth.tables.posterior import TableDraws

ACCURACY, OVERALL, CLASS, SHARE = "accuracy", "of all classes", "of one class", "share of the samples"
LABELS = "of labelers and class shares"
TAU = {ACCURACY: 0.25, OVERALL: 0.4, CLASS: 0.4, SHARE: 0.2, LABELS: 0.45}
FLAT = {ACCURACY: 0.05, OVERALL: 0.02, CLASS: 0.02, SHARE: 0.02, LABELS: 0.02}
# Sets and simulated families that TAU was learned on; every one counts alike, whatever its size.
SETS = ("restaurant", "rte", "dogs", "faces", "bluebirds", "cifar10h_a")
FAMILIES = ("independent", "shared", "labelers", "gradual", "together", "copying")


def kind_of(metric: Metric) -> str:
    """Which row of the table a metric takes: accuracy is known best, metrics of one class least."""
    if metric.name == ACCURACY:
        return ACCURACY
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
    return parts, FLAT[kind] if parts else 1.0
