"""Rows that raters have in common: theta[t, r] ~ Dirichlet(a G[r]), G[r] ~ Dirichlet(g[r]).

Given the raters' rows, everything about G[r] is in n raters and L[k] = sum_t log theta[t, r, k]:

  log p(G[r] | theta) = n log Gamma(a) + sum_k [(a G_k - 1) L_k - n log Gamma(a G_k) + (g_k - 1) log G_k]

so the cost follows neither samples nor raters. Metropolis steps move log G at random, at a scale that is
drawn anew each time over two powers of ten and so fits whatever the data say. Raters without labels are left
out: their rows are drawn from the prior and would only slow G down.
"""

import numpy as np
from scipy.special import gammaln

_STEPS = 4  # Metropolis steps a sweep
_SMALLEST = -230.0  # of log G: a G that rounds to 0 would forbid a symbol for ever


def draw_common_rows(
    problem, log_theta: np.ndarray, counts: np.ndarray, log_common: list[np.ndarray], rng: np.random.Generator
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Concentrations (chains, P) of all rows, after a move of every log G (chains, rows, symbols).

    `log_theta` (chains, P) are the rows as last drawn, `counts` (chains, P) what they were drawn from.
    """
    concentration = np.broadcast_to(problem.concentration, log_theta.shape)
    if not problem.pooled:
        return concentration, log_common
    concentration, moved = concentration.copy(), []
    for group, start in zip(problem.pooled, log_common, strict=True):
        here = slice(group.first, group.first + int(np.prod(group.shape)))
        shape = (log_theta.shape[0], *group.shape)
        seen = counts[:, here].reshape(shape).sum(axis=(2, 3)) > 0  # (chains, raters): the same in all chains
        total = np.einsum("mtrk,mt->mrk", log_theta[:, here].reshape(shape), seen.astype(np.float64))
        log_g = metropolis(rng, start, total, seen.sum(axis=1)[:, None], group)
        spread = np.broadcast_to(group.strength * np.exp(log_g)[:, None], shape)
        concentration[:, here] = spread.reshape(log_theta.shape[0], -1)
        moved.append(log_g)
    return concentration, moved


def metropolis(
    rng: np.random.Generator, log_g: np.ndarray, total: np.ndarray, raters: np.ndarray, group
) -> np.ndarray:
    """log G (chains, rows, symbols) after `_STEPS` moves, given the sums L of log theta and their number."""
    density = _log_density(log_g, total, raters, group)
    for _ in range(_STEPS):
        scale = 10.0 ** -rng.uniform(0.0, 2.0, (*log_g.shape[:-1], 1))
        new = log_g + scale * rng.standard_normal(log_g.shape)
        new = new - new.max(axis=-1, keepdims=True)
        new = new - np.log(np.exp(new).sum(axis=-1, keepdims=True))
        proposed = np.where(new.min(axis=-1) > _SMALLEST, _log_density(new, total, raters, group), -np.inf)
        better = np.log1p(-rng.random(density.shape)) < proposed - density
        log_g = np.where(better[..., None], new, log_g)
        density = np.where(better, proposed, density)
    return log_g


def _log_density(log_g: np.ndarray, total: np.ndarray, raters: np.ndarray, group) -> np.ndarray:
    """log p(G | theta) as a density of log G, (chains, rows): the Jacobian adds sum_k log G_k."""
    a = group.strength * np.exp(log_g)
    labels = -raters * gammaln(a).sum(axis=-1) + ((a - 1) * total).sum(axis=-1)
    return labels + (group.common_prior * log_g).sum(axis=-1)
