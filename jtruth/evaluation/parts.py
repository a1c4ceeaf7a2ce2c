"""What an `Evaluation` is made of: checks, assumptions, and how it was made."""

from collections.abc import Mapping
from typing import NamedTuple

from jtruth._one_line import one_line
from jtruth._random import Stated
from jtruth._version import __version__
from jtruth.stats.estimates import Estimate
from jtruth.tables.posterior import TablePosterior

WORTH_KNOWING = "worth knowing"  # the verdict on what is so and spoils no answer


class Check(NamedTuple):
    """One check; verdict is "fits", "does not fit", "cannot be seen", or "worth knowing" (spoils nothing)."""

    name: str
    statistic: float | None
    p_value: float | None
    verdict: str
    message: str


class Loo(NamedTuple):
    """How well a model predicts labels and prediction of a sample left out (PSIS-LOO). It picks nothing."""

    elpd: float  # expected log predictive density, summed over samples
    difference: float  # to the first model of the answer
    difference_se: float  # sqrt(samples * variance of the pointwise differences)
    num_bad: int  # samples whose Pareto k says that their term cannot be trusted


class Assumption(NamedTuple):
    """The metrics under one named assumption; an answer may show several."""

    name: str
    sentence: str
    metrics: Mapping[str, Estimate]
    loo: Loo | None = None
    posterior: TablePosterior | None = None  # of the count table; None for rules that have none

    __repr__ = one_line


class Provenance(NamedTuple):
    """How an answer was made."""

    method: str
    target: str  # "in-sample" or "population": what the metrics are of
    level: float  # probability of the printed intervals
    interval_kind: str  # "posterior", "sensitivity range", "pooled interval" (gold), "confidence interval"
    key: Stated  # of whatever was drawn: the number that makes it, 0 if none was given, or its words
    version: str = __version__  # of jtruth
