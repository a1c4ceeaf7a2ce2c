"""Models of strata by tempering, where it takes seconds: with few coordinates, and rows that merge."""

from typing import Any

import numpy as np

from jtruth.latent import Effort, GibbsRun, TooLarge, Watch
from jtruth.latent.fit import TemperedDigest, model_of, run_tempered, temperable
from jtruth.latent.model import LatentModel, Model, Observed
from jtruth.latent.models import strata
from jtruth.latent.models.strata import arrays_of
from jtruth.latent.pointwise import RowLikelihood, chosen_draws, row_likelihood
from jtruth.latent.rows import Rows, number_of_groups


def tempered_model(model: LatentModel, observed: Observed) -> Model | None:
    """The model as a log density; None where tempering it would not take seconds."""
    arrays = arrays_of(model, number_of_groups(observed))
    found = model_of(strata.KIND, arrays, observed, model.num_classes)
    return found if temperable(found) else None


def tempered_run(
    model: LatentModel, observed: Observed, wanted: TemperedDigest, *, key: Any, effort: Effort, watch: Watch
) -> GibbsRun | None:
    """A run by tempering; None where it would take too long, or does not get to the posterior."""
    found = tempered_model(model, observed)
    if found is None:
        return None
    try:
        return run_tempered(found, observed, wanted, key=key, effort=effort, watch=watch)
    except TooLarge:
        if effort.give_up:
            raise
        return None


def of_tempering(run: GibbsRun, rows: Rows) -> RowLikelihood:
    """log p(row | draw) at evenly spaced draws."""
    log_p = run.large["log_p"]
    chosen = chosen_draws(*log_p.shape)
    return row_likelihood(log_p[:, chosen].astype(np.float64), rows.row_of_sample)
