"""Testing by NUTS: the operating matrix sampled with the true classes summed out (Su 2.6, 2.7).

    K[c] ~ Dirichlet(alpha[c]),   p(y_pred_i | z_i) = sum_c rho_i(c) K[c, y_pred_i]

with rho_i(c) = p(y_i = c | z_i) of (21). Given a draw of K the classes y_i are independent with the
distribution (10) = (25); a draw of them gives a count table. `exact.count_table` has no Monte Carlo error and
`count_posterior` is faster: use this model as a part of a larger one.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array, Float, Int

from jtruth._random import host_rng, stream
from jtruth.latent import NutsSettings
from jtruth.latent.infer import kernel, nuts
from jtruth.stats.chains import effective_sample_size, split_rhat
from jtruth.testing import multiclass

_DRAWS_AT_ONCE = 100  # parameter draws for which classes are drawn together


def testing_model(
    log_rho: Float[Array, "samples classes"],
    y_pred: Int[Array | np.ndarray, " samples"] | None,
    weight: Float[Array, " samples"],
    alpha: Float[Array, "classes symbols"],
) -> None:
    """NumPyro model: rows of K ~ Dirichlet(alpha), log p(y_i = c | z_i) weighted by multiplicity."""
    classifier = numpyro.sample("classifier", dist.Dirichlet(alpha).to_event(1))
    with numpyro.plate("predictions", log_rho.shape[0]), numpyro.handlers.scale(scale=weight):
        p = jnp.exp(log_rho) @ jnp.asarray(classifier)
        numpyro.sample("y_pred", dist.CategoricalProbs(p), obs=y_pred)


def binary_nuts(
    log_odds: Float[np.ndarray, " samples"],
    y_pred: Int[np.ndarray, " samples"],
    *,
    key: Any,
    settings: NutsSettings = NutsSettings(),
) -> multiclass.CountDraws:
    """Posterior of a binary classifier's count table: `multiclass_nuts` of two classes.

    Args:
        log_odds: (samples,) logit p(y_i = 1 | z_i); +-inf where certain.
        y_pred: (samples,) 0 or 1.
        key: JAX random key.
        settings: of NUTS.
    """
    x = np.asarray(log_odds, np.float64)
    two = np.stack([-np.logaddexp(0, x), -np.logaddexp(0, -x)], axis=1)
    return multiclass_nuts(two, np.full(2, 0.5), y_pred, key=key, settings=settings)


def multiclass_nuts(
    log_likelihood: Float[np.ndarray, "samples classes"],
    prior: Float[np.ndarray, " classes"],
    y_pred: Int[np.ndarray, " samples"],
    *,
    key: Any,
    settings: NutsSettings = NutsSettings(),
) -> multiclass.CountDraws:
    """Posterior of the count table by `testing_model`, rows of K uniform.

    Converged means split R-hat below 1.01 and an ESS of 100 a chain for every parameter and every cell.

    Args:
        log_likelihood, prior, y_pred: see `count_posterior`.
        key: JAX random key.
        settings: of NUTS.
    """
    log_lik, prior, y, concentration = multiclass.checked_inputs(log_likelihood, prior, y_pred)
    distribution = multiclass.class_dist(log_lik, prior)
    model, observed = multiclass.table_problem(distribution, y, concentration, learned=False)
    log_rho, symbol, weight = observed.offset.T, observed.symbols[0].indices, observed.multiplicity
    # Padding with rows of weight 0 lets data of about the same size share a compiled program.
    step = max(1 << (weight.size.bit_length() - 3), 1) if weight.size > 4 else 1
    pad = (0, -weight.size % step)
    log_rho = np.pad(log_rho, (pad, (0, 0)), constant_values=-np.log(log_rho.shape[1]))
    symbol, weight = np.pad(symbol.astype(np.int32), pad), np.pad(weight, pad)
    data, chain_key = (log_rho, symbol, weight, concentration), stream(key, "table nuts")
    run = nuts.run_nuts(testing_model, *data, key=chain_key, settings=settings)
    confusion, rng = run.samples["classifier"], host_rng(key, "classes")
    problem, flat = kernel.flatten(model, observed), confusion.reshape(-1, *confusion.shape[2:])
    starts = range(0, flat.shape[0], _DRAWS_AT_ONCE)  # classes, hence tables, given each draw of K
    counts = np.concatenate(
        [multiclass.draw_tables(problem, flat[k : k + _DRAWS_AT_ONCE], rng) for k in starts]
    )
    counted, (chains, draws) = counts.reshape(confusion.shape), confusion.shape[:2]
    rhat, ess = split_rhat(counted), effective_sample_size(counted)
    good = not bool((rhat > 1.01).any() or (ess < 100.0 * chains).any())  # NaN: a cell that never changed
    return multiclass.CountDraws(
        counts, flat, good and run.converged, chains, draws + run.num_warmup, run=run
    )
