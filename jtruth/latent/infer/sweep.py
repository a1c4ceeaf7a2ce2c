"""One Gibbs sweep in words: rows given states, then states given rows.

Whoever can count, draw Dirichlet rows and draw states (an `Engine`) can make it: `gibbs` does so in NumPy on
the host, `device` in a traced program. What is drawn and in which order is written here, once.

Rows that raters have in common, theta[t, r] ~ Dirichlet(a G[r]), G[r] ~ Dirichlet(g[r]).

Given the raters' rows, everything about G[r] is in n raters and L[k] = sum_t log theta[t, r, k]:

  log p(G[r] | theta) = n log Gamma(a) + sum_k [(a G_k - 1) L_k - n log Gamma(a G_k) + (g_k - 1) log G_k]

so the cost follows neither samples nor raters. Metropolis steps move log G at random, at a scale that is
drawn anew each time over two powers of ten and so fits whatever the data say. Raters without labels are left
out: their rows are drawn from the prior and would only slow G down.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from jtruth._either import gammaln, metropolis, namespace, replaced
from jtruth.latent.models import alike

_STEPS = 4  # Metropolis steps a sweep
_SMALLEST = -230.0  # of log G: a G that rounds to 0 would forbid a symbol for ever


@runtime_checkable
class Engine(Protocol):
    """What a sweep asks for; arrays are NumPy's or JAX's. P probabilities."""

    @property
    def concentration(self) -> Any:
        """Of the Dirichlet rows a priori, (P,)."""
        ...

    @property
    def pooled(self) -> Any:
        """Groups of pooled rows (`kernel.Pooled`)."""
        ...

    @property
    def alike(self) -> Any:
        """Groups of rows that are alike (`kernel.Family`)."""
        ...

    def count_probabilities(self, symbols: Any) -> Any:
        """Counts that belong to each probability, (chains, P)."""
        ...

    def draw_dirichlet_logs(self, concentration: Any, rng: Any) -> Any:
        """Log of one draw of every Dirichlet row, (chains, P)."""
        ...

    def draw_samples(self, log_theta: Any, rng: Any) -> tuple[Any, Any]:
        """Samples behind every (column, state, chain), and p(state) of every row summed over the chains."""
        ...


def sweep(engine: Engine, chain: dict, rng: Any) -> tuple[dict, Any, Any]:
    """The chain after a sweep, the log rows (chains, P) that it drew, and p as `draw_samples` gives it."""
    common = [chain[f"common{k}"] for k in range(len(engine.pooled))]
    counts = engine.count_probabilities(chain["symbols"])
    last = chain.get("log_theta", counts)
    concentration, common = draw_common_rows(engine, last, counts, common, rng)
    log_theta = namespace(counts).zeros(counts.shape)
    if sum(int(np.prod(group.shape)) for group in engine.alike) < counts.shape[1]:
        log_theta = engine.draw_dirichlet_logs(concentration + counts, rng)
    families = {}
    for k, (first, shape, group) in enumerate(engine.alike):
        here = slice(first, first + int(np.prod(shape)))
        data = alike.seen(group, counts[:, here].reshape(-1, *shape))
        families[f"alike{k}"] = state = alike.move(data, chain[f"alike{k}"], rng)
        rows = alike.draw_rows(data, state, rng).reshape(len(log_theta), -1)
        log_theta = replaced(log_theta, (slice(None), here), rows)
    symbols, p = engine.draw_samples(log_theta, rng)
    new = {"symbols": symbols} | {f"common{k}": g for k, g in enumerate(common)} | families
    if len(engine.pooled):
        new["log_theta"] = log_theta
    return new, log_theta, p


def draw_common_rows(
    problem: Any, log_theta: Any, counts: Any, log_common: list, rng: Any
) -> tuple[Any, list[Any]]:
    """Concentrations (chains, P) of all rows, after a move of every log G (chains, rows, symbols).

    `problem` has `concentration` (P,) and `pooled`; `log_theta` (chains, P) are the rows as last drawn,
    `counts` (chains, P) what they were drawn from.
    """
    xp = namespace(log_theta)
    concentration, moved = xp.broadcast_to(problem.concentration, log_theta.shape), []
    for group, start in zip(problem.pooled, log_common, strict=True):
        here = slice(group.first, group.first + int(np.prod(group.shape)))
        shape = (log_theta.shape[0], *group.shape)
        seen = counts[:, here].reshape(shape).sum(axis=(2, 3)) > 0  # (chains, raters): the same in all chains
        seen = seen.astype(np.float64)
        total = xp.einsum("mtrk,mt->mrk", log_theta[:, here].reshape(shape), seen)
        log_g = move_common(rng, start, total, seen.sum(axis=1)[:, None], group)
        spread = xp.broadcast_to(group.strength * xp.exp(log_g)[:, None], shape)
        values = spread.reshape(log_theta.shape[0], -1)
        concentration = replaced(concentration, (slice(None), here), values)
        moved.append(log_g)
    return concentration, moved


def move_common(rng: Any, log_g: Any, total: Any, raters: Any, group: Any) -> Any:
    """log G (chains, rows, symbols) after `_STEPS` moves, given the sums L of log theta and their number."""
    xp, shape = namespace(log_g), (_STEPS, *log_g.shape)
    moves = 10.0 ** -rng.uniform(0.0, 2.0, (*shape[:-1], 1)) * rng.standard_normal(shape)

    def propose(log_g: Any, move: Any) -> Any:
        new = log_g + move
        new = new - new.max(axis=-1, keepdims=True)
        return new - xp.log(xp.exp(new).sum(axis=-1, keepdims=True))

    def density(log_g: Any) -> Any:
        return xp.where(log_g.min(axis=-1) > _SMALLEST, _log_density(log_g, total, raters, group), -np.inf)

    return metropolis(propose, density, log_g, moves, rng.random(shape[:-1]))


def _log_density(log_g: Any, total: Any, raters: Any, group: Any) -> Any:
    """log p(G | theta) as a density of log G, (chains, rows): the Jacobian adds sum_k log G_k."""
    a = group.strength * namespace(log_g).exp(log_g)
    labels = -raters * gammaln(a).sum(axis=-1) + ((a - 1) * total).sum(axis=-1)
    return labels + (group.common_prior[None] * log_g).sum(axis=-1)
