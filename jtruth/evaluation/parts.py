"""What an `Evaluation` is made of: checks, assumptions, and how it was made."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jtruth._one_line import one_line
from jtruth._random import Stated
from jtruth._validation.words import LOOK
from jtruth._version import __version__
from jtruth.stats.estimates import Estimate
from jtruth.tables.posterior import TablePosterior

WORTH_KNOWING = "worth knowing"  # the verdict on what is so and spoils no answer
PREDICTIVE = "predictive"  # kind of interval: models of labels, widened by how far they were off elsewhere
LOOK_FIRST = "look first"  # the verdict on what makes every number below it worthless


class Check(NamedTuple):
    """One check. The verdict is "look first" (stands above the answer), or one of those below.

    They are "does not fit", "cannot be seen", "fits", and "worth knowing" (spoils nothing).
    """

    name: str
    statistic: float | None
    p_value: float | None
    verdict: str
    message: str


def first_lines(checks: Sequence[Check], warnings: Sequence[str] = ()) -> list[str]:
    """What stands above every number, a line each: alarms of the checks, and of what read the tables.

    Args:
        checks: of the answer.
        warnings: sentences; those that begin with "Look first: " belong above.
    """
    alarms = [f"{LOOK}{check.message}." for check in checks if check.verdict == LOOK_FIRST]
    return list(dict.fromkeys((*alarms, *(text for text in warnings if text.startswith(LOOK)))))


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
    interval_kind: str  # "posterior", "predictive", "confidence interval"
    key: Stated  # of whatever was drawn: the number that makes it, 0 if none was given, or its words
    version: str = __version__  # of jtruth
