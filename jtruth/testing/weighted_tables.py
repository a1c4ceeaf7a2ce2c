"""The posterior of the count table as weighted tables: pure, for jit, vmap and grad (Su 2.7).

`exact_counts` (`binary.batch`) lists every table of two classes. For more classes their number is too large,
and `count_draws` draws them by a fixed number of Gibbs sweeps: y given K by (25), rows of K given y
Dirichlet. `count_posterior` answers the same question on the host and stops when it has converged.

Draws have equal weights, whose derivatives are those of the posterior: with s_m = log p(y_m, y_pred | z), the
derivative of E[f] is the covariance of f and the derivative of s (the score function; Glasserman 2003,
section 7.3). So `mean` is differentiable in the log-likelihood, the class prior and alpha, with a Monte Carlo
error of its own.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Bool, Float, Int

from jtruth._arrays import AnyArray, is_concrete, safe_log
from jtruth._one_line import one_line
from jtruth._random import Key, as_key
from jtruth._validation.in_range import check_codes, check_shape
from jtruth.noise.base import draw_rows
from jtruth.posterior import validate_prior
from jtruth.tables.metrics import Metric, named_metric

_AGREE = 1.1  # largest split R-hat of a cell of the table


class WeightedTables(NamedTuple):
    """Count tables and their probabilities; `ok`: they represent the posterior."""

    tables: Float[Array, "*tables classes symbols"]  # rows are true classes; counts as floating numbers
    weight: Float[Array, "*tables"]  # sums to 1
    ok: Bool[Array, ""]  # all but 1e-12 is listed, or split R-hat is below 1.1

    __repr__ = one_line

    def mean(self, metric: str | Metric | Callable[[Any], Any]) -> Float[Array, ""]:
        """Posterior mean of a metric, given that it is defined: a name, or a function of (..., C, S)."""
        metric = named_metric(metric, range(self.tables.shape[-2])) if isinstance(metric, str) else metric
        if not isinstance(metric, Metric):
            values = metric(self.tables)
        elif self.tables.shape[-2:] == (2, 2):  # of its four counts, in a third of the time
            tn, fp, fn, tp = (self.tables[..., i, j] for i in (0, 1) for j in (0, 1))
            values = metric.of_counts(tp, fp, fn, tn)
        else:
            values = metric.of_table(self.tables)
        undefined = jnp.isnan(values)
        weight = jnp.where(undefined, 0, self.weight)
        return (weight * jnp.where(undefined, 0, values)).sum() / weight.sum()


def count_draws(
    key: Key,
    log_likelihood: Float[AnyArray, "samples classes"],
    prior: Float[AnyArray, " classes"],
    y_pred: Int[AnyArray, " samples"],
    *,
    alpha: float | Float[AnyArray, "classes symbols"] = 1.0,
    num_draws: int = 2000,
    burn_in: int = 100,
) -> WeightedTables:
    """Draw the count table from its exact posterior, K integrated out, for any number of classes.

    Args:
        key: a JAX key, or a whole number.
        log_likelihood: (samples, classes), log p(z_i | y_i = c), of a noise model.
        prior: (classes,), of the classes.
        y_pred: (samples,) predicted symbols.
        alpha: concentration of the Dirichlet prior of each row of K: one number where the symbols are the
            classes, or (classes, symbols).
        num_draws, burn_in: sweeps that are kept, an even number, and sweeps before them.

    Raises:
        ValueError: `num_draws` is odd or below 4; a wrong code, prior or shape.

    >>> log_p = jnp.log(jnp.array([[.8, .1, .1], [.1, .8, .1], [.1, .1, .8], [.8, .1, .1]]))
    >>> found = count_draws(jax.random.key(0), log_p, jnp.full(3, 1 / 3), jnp.array([0, 1, 2, 1]))
    >>> found.tables.shape, abs(float(found.mean("accuracy")) - 0.65) < 0.03  # enumerated: 0.649
    ((2000, 3, 3), True)
    """
    if num_draws < 4 or num_draws % 2:
        raise ValueError(f"num_draws is {num_draws}; give an even number of 4 or more")
    samples, classes = check_shape(log_likelihood, "log_likelihood", "samples classes")
    check_shape(prior, "prior", "classes", classes=classes)
    prior = validate_prior(prior, classes) if is_concrete(prior) else prior
    log_lik = jnp.asarray(log_likelihood)
    log_rho = jax.nn.log_softmax(log_lik + safe_log(jnp.asarray(prior, log_lik.dtype))[None], axis=1)
    alpha = jnp.asarray(alpha, log_rho.dtype)
    rows = jnp.broadcast_to(alpha, (classes, classes)) if alpha.ndim == 0 else alpha
    check_shape(rows, "alpha", "classes symbols", classes=classes)
    check_codes(y_pred, rows.shape[1], "y_pred", size=samples)
    y_pred = jnp.asarray(y_pred)
    rho, known = jax.lax.stop_gradient((jnp.exp(log_rho), rows))
    tiny = jnp.finfo(rho.dtype).tiny

    def sweep(table: Array, key: Array) -> tuple[Array, tuple[Array, Array]]:
        of_rows, of_classes = jax.random.split(key)
        confusion = jnp.maximum(jax.random.dirichlet(of_rows, known + table), tiny)
        y = draw_rows(of_classes, rho * confusion.T[y_pred])
        table = jnp.zeros_like(table).at[y, y_pred].add(1)
        chosen = jnp.take_along_axis(log_rho, y[:, None], axis=1)
        integrated = gammaln(rows + table).sum() - gammaln((rows + table).sum(1)).sum()
        return table, (table, chosen.sum() + integrated + gammaln(rows.sum(1)).sum() - gammaln(rows).sum())

    of_burn_in, of_draws = jax.random.split(as_key(key))
    table, _ = jax.lax.scan(
        lambda table, key: (sweep(table, key)[0], None),
        jnp.zeros(rows.shape, rho.dtype),
        jax.random.split(of_burn_in, burn_in),
    )
    _, (tables, score) = jax.lax.scan(sweep, table, jax.random.split(of_draws, num_draws))
    return WeightedTables(tables, jax.nn.softmax(score - jax.lax.stop_gradient(score)), _halves_agree(tables))


def _halves_agree(tables: Float[Array, "draws classes symbols"]) -> Bool[Array, ""]:
    """Split R-hat of every cell of one chain, without cells that never change."""
    halves = tables.reshape(2, -1, *tables.shape[1:])
    within, between = halves.var(axis=1, ddof=1).mean(axis=0), halves.mean(axis=1).var(axis=0, ddof=1)
    return (between <= (_AGREE**2 - 1) * within).all()
