"""log p(labels, prediction and known class of one sample | draw), the state summed out, for PSIS-LOO."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth._one_line import one_line
from jtruth.latent.model import LatentModel, Observed
from jtruth.stats.chains import effective_sample_size

_MOST_DRAWS = 1000
_MOST_NUMBERS = 20_000_000  # draws x rows
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
    chosen = chosen_draws(chains, draws, observed.offset.shape[1])
    one = {name: values[:, chosen].astype(np.float64) for name, values in large.items()}
    flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in one.items()}
    size = chains * chosen.size
    with np.errstate(divide="ignore"):
        pi = flat["pi"] if "pi" in flat else model.class_prior[None]
        pi = pi if observed.group is None else np.ones((1, model.num_classes))  # by rows, see there
        log_state = np.log(pi)[:, model.state_class]
        log_state = np.broadcast_to(log_state, (size, model.state_class.size))
        if "weights" in flat:
            of_state = flat["weights"][:, model.weight_row[model.state_class], model.state_stratum]
            log_state = log_state + np.log(of_state)
    parts = []
    step = max(1, _BLOCK // observed.offset.size)
    for begin in range(0, size, step):
        block = slice(begin, begin + step)
        parts.append(_rows(model, observed, flat, log_state[block], block))
    log_p = np.concatenate(parts).reshape(chains, chosen.size, -1)
    return row_likelihood(log_p, observed.row_of_sample)


def _rows(
    model: LatentModel, observed: Observed, flat: dict[str, np.ndarray], log_state: np.ndarray, block: slice
) -> np.ndarray:
    """(draws, rows) for a block of draws."""
    num, states = log_state.shape
    total = log_state[:, :, None] + observed.offset[None]
    if observed.group is not None:
        of_rows = np.log(flat["pi"][block])[:, observed.group]  # (draws, rows, classes)
        total = total + of_rows[:, :, model.state_class].swapaxes(1, 2)
    for group, raters in enumerate(model.raters):
        theta = flat[f"raters{group}"][block]  # (draws, raters, rows, symbols)
        log_theta = np.log(np.maximum(theta, 1e-38))[:, :, np.maximum(raters.row_of_state, 0)]
        log_theta = log_theta * (raters.row_of_state >= 0)[None, None, :, None]
        table = np.moveaxis(log_theta, 0, -1)  # (raters, states, symbols, draws)
        table = np.moveaxis(table, 2, 1).reshape(-1, states * num)  # columns: (rater, symbol)
        found = (observed.symbols[group] @ table).reshape(-1, states, num)
        total = total + np.moveaxis(found, 2, 0).swapaxes(1, 2)
    top = total.max(axis=1)
    return top + np.log(np.exp(total - top[:, None]).sum(axis=1))
