"""`method="tars"`: unbiased counts with confidence intervals in the place of a posterior."""

from typing import Any

import numpy as np

from jtruth.evaluation.answers import names_of
from jtruth.evaluation.inputs import Inputs, Model
from jtruth.testing import EstimatedTable, consolidate, estimate_counts, resampled_table
from jtruth.testing.tested import Tested

TARS = "tars"
KIND = "confidence interval"
TARGET = "; the intervals are for the population that the samples were drawn from, not for these samples"
_WARNING = (
    "TARS corrects each label by its error rates and counts: unbiased, but estimates may leave [0, 1], and "
    "predictions tell it nothing about labels; method='bayes' uses both and is for these samples"
)


def check_noise(method: str) -> None:
    """Called where no error rates were given."""
    if method == TARS:
        raise ValueError("method='tars' takes error rates as known: give noise=... and prior=[...]")


def tars_answer(data: Inputs, model: Model, noise: Any, key: Any) -> Tested:
    """Estimated table of an evaluation; known classes (gold) count as labels that cannot err.

    Raises:
        ValueError: no prior, or labels that say nothing of the class.
    """
    if model.prior_unknown:
        raise ValueError("method='tars' takes the class prior as known: give prior=[...], or use 'bayes'")
    found = consolidate(data.own_labels(), noise, model.prior, key=key)
    known = data.gold >= 0
    rates = np.where(known[:, None, None], np.eye(len(data.classes))[None], found.rates)
    found = found._replace(label=np.where(known, data.gold, found.label), rates=rates)
    counts = estimate_counts(data.y_pred, found)
    table = resampled_table(counts, key=key)
    if len(data.classes) == 2 and data.positive == 0:  # (negative, positive), as `tables_of` has it
        point, resamples = table.point[::-1, ::-1], table.resamples[:, ::-1, ::-1]
        table = EstimatedTable(point, resamples, table.target)
    warnings = (_WARNING,)
    if found.error.max() > 0:
        warnings += (f"the error rates of consolidated labels are known within {found.error.max():.2g}",)
    return Tested(TARS, table, None, float("nan"), warnings, *names_of(data))
