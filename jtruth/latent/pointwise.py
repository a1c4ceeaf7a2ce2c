"""log p(labels, prediction and known class of one sample | draw), the state summed out, for PSIS-LOO."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth._one_line import one_line
from jtruth.latent.infer import kernel
from jtruth.latent.model import LatentModel, Observed
from jtruth.stats.chains import effective_sample_size

_MOST_DRAWS = 1000
_MOST_NUMBERS = 20_000_000  # draws x rows
_LEAST = 1e-38  # a probability that float32 cannot hold
_BLOCK = 4_000_000  # states x draws x rows handled at once


class RowLikelihood(NamedTuple):
    """Samples with equal labels are one row."""

    log_p: Float[np.ndarray, "chains draws rows"]
    row_of_sample: Int[np.ndarray, " samples"]
    relative_ess: float  # mean over rows of effective sample size over draws

    __repr__ = one_line


def row_likelihood(log_p: np.ndarray, row_of_sample: np.ndarray) -> RowLikelihood:
    """With the effective sample size of the (chains, draws, rows) values themselves."""
    some = log_p[:, :, np.unique(np.linspace(0, log_p.shape[2] - 1, 200).astype(int))]
    ess = effective_sample_size(some) / (log_p.shape[0] * log_p.shape[1])
    finite = ess[np.isfinite(ess)]
    return RowLikelihood(log_p, row_of_sample, float(np.clip(finite.mean(), 1e-3, 1)) if finite.size else 1.0)


def chosen_draws(chains: int, draws: int, rows: int) -> np.ndarray:
    """Numbers of the draws of each chain that are looked at, evenly spaced."""
    most = max(-(-200 // chains), 4, min(_MOST_DRAWS, _MOST_NUMBERS // max(rows, 1)) // chains)
    return np.unique(np.linspace(0, draws - 1, min(draws, most)).astype(int))


def of_gibbs(model: LatentModel, observed: Observed, large: dict[str, np.ndarray]) -> RowLikelihood:
    """From draws of class prior, strata weights and rows, (chains, draws, ...) each."""
    chains, draws = large["raters0"].shape[:2]
    problem, chosen = kernel.flatten(model, observed), chosen_draws(chains, draws, observed.offset.shape[1])
    size, parts = chains * chosen.size, []
    flat = [large[name][:, chosen].reshape(size, -1).astype(np.float64) for name in problem.blocks]
    log_theta = np.log(np.maximum(np.concatenate(flat, axis=1), _LEAST))
    step = max(1, _BLOCK // observed.offset.size)
    for begin in range(0, size, step):
        parts.append(kernel.log_rows(problem, log_theta[begin : begin + step]))
    log_p = np.concatenate(parts).reshape(chains, chosen.size, -1)
    return row_likelihood(log_p, observed.row_of_sample)


def of_tempering(log_p: np.ndarray, row_of_sample: np.ndarray) -> RowLikelihood:
    """At evenly spaced ones of the draws (chains, draws, rows) of log p(row | draw)."""
    chosen = chosen_draws(*log_p.shape)
    return row_likelihood(log_p[:, chosen].astype(np.float64), row_of_sample)
