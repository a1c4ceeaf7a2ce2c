"""Rows that raters have in common: theta[t, r] ~ Dirichlet(a G[r]), G[r] ~ Dirichlet(g[r]).

This is not conjugate as it stands, but becomes so with one more set of variables. Given G and the counts
n[t, r, k], with theta integrated out, the likelihood of G is a product of rising factorials
(a G_rk)(a G_rk + 1)...(a G_rk + n - 1). Each is the normaliser of the number of tables l at which n guests of
a Chinese restaurant with concentration a G_rk sit (Antoniak 1974); l is a sum of independent Bernoulli draws,
and given all l: G[r] ~ Dirichlet(g[r] + sum_t l[t, r]). (Escobar and West 1995; Teh et al. 2006, A.)
"""

import numpy as np

_SMALLEST = 1e-100  # a G that rounds to 0 would forbid a symbol for ever


def draw_common_rows(
    problem, counts: np.ndarray, common: list[np.ndarray], rngs: list[np.random.Generator]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Concentrations (chains, P) of all rows after one draw of every G (chains, rows, symbols)."""
    concentration = np.broadcast_to(problem.concentration, counts.shape)
    if not problem.pooled:
        return concentration, common
    concentration, drawn = concentration.copy(), []
    for group, g in zip(problem.pooled, common, strict=True):
        size = int(np.prod(group.shape))
        here = slice(group.first, group.first + size)
        new = np.empty_like(g)
        for k, rng in enumerate(rngs):
            n = counts[k, here].reshape(group.shape)
            tables = draw_tables(rng, n, np.broadcast_to(group.strength * g[k], group.shape))
            draw = rng.standard_gamma(group.common_prior + tables.sum(axis=0))
            new[k] = np.maximum(draw, _SMALLEST) / draw.sum(axis=-1, keepdims=True)
            concentration[k, here] = np.broadcast_to(group.strength * new[k], group.shape).ravel()
        drawn.append(new)
    return concentration, drawn


def draw_tables(rng: np.random.Generator, n: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Number of tables taken by n guests at concentration a: sum over j < n of Bernoulli(a / (a + j))."""
    n, shape = n.ravel().astype(np.int64), n.shape
    cell = np.repeat(np.arange(n.size), n)
    seat = np.arange(cell.size) - np.repeat(np.cumsum(n) - n, n)
    strength = a.ravel()[cell]
    new = rng.random(cell.size) * (strength + seat) < strength
    return np.bincount(cell[new], minlength=n.size).astype(np.float64).reshape(shape)
