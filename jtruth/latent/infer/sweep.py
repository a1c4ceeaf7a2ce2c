"""One Gibbs sweep in words: rows given states, then states given rows.

Whoever can count, draw Dirichlet rows and draw states (an `Engine`) can make it: `gibbs` does so in NumPy on
the host, `device` in a traced program. What is drawn and in which order is written here, once.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from jtruth._either import namespace, replaced
from jtruth.latent.infer.pooled import draw_common_rows
from jtruth.latent.models import alike


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
