"""Chains that started in different places and sit in different modes: which of these modes have any weight?

The weight of a mode is its height times its volume. Heights are at hand, the likelihood with the states
summed out; of the volume it is known that each of P free probabilities adds half a log of a ratio of widths,
about P / 2 where widths differ by e. So a chain whose log-likelihood lies more than P / 2 + 10 below the best
one sits where nothing is, by a factor of e^10 or so, and goes on from where the best one is; the start of the
chain had no say in what the posterior is. Modes that are nearer than that are left alone, and R-hat speaks of
them.
"""

import numpy as np
from jaxtyping import Float, Int

from jtruth.latent.infer import kernel

_BESIDES = 10.0


def log_likelihood(
    problem: kernel.Problem, symbols: Float[np.ndarray, "columns states chains"]
) -> Float[np.ndarray, " chains"]:
    """log p(everything seen) of every chain, states summed out, at the mean rows given its states."""
    counts = kernel.count_probabilities(problem, symbols)
    table = kernel.log_probabilities(problem, kernel.posterior_means(problem, problem.concentration + counts))
    _, states, chains = table.shape
    log_p = problem.design @ table.reshape(len(table), states * chains)
    log_p = log_p.reshape(-1, states, chains) + problem.offset.T[:, :, None]
    return np.logaddexp.reduce(log_p, axis=1).T @ problem.multiplicity


def sources(
    problem: kernel.Problem, symbols: Float[np.ndarray, "columns states chains"]
) -> Int[np.ndarray, " chains"]:
    """The chain that each one goes on from: itself, or one in the best mode where its own has no weight."""
    height = log_likelihood(problem, symbols)
    seen = kernel.count_probabilities(problem, symbols).sum(axis=0) > 0
    rows = np.add.reduceat(seen.astype(np.int64), problem.starts)
    free = int(np.maximum(rows - 1, 0).sum())
    good = np.flatnonzero(height >= height.max() - (0.5 * free + _BESIDES))
    found = np.arange(height.size)
    poor = np.setdiff1d(found, good)
    found[poor] = good[np.arange(poor.size) % good.size]
    return found
