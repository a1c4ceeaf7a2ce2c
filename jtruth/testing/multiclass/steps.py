"""Algorithm 4 and its relatives: find the operating matrix K of a classifier (Su 2.7.1).

As in `empirical_bayes`, every algorithm iterates K <- f(K), here from uniform rows; each row is clipped to
[alpha, 1 - alpha] and divided by its sum, and the loop stops when no element changes by `tol`. The `Step` f:

- `sampling_step`  Algorithm 4: mean of (23) over drawn label vectors
- `exact_step`     what Algorithm 4 tends to with many draws: the conditional means themselves, no sampling
- `plug_in_step`   E[C] with each row divided by its sum: EM on the concave `collapsed_log_likelihood`
- `labels_step`    multi-class Algorithm 3: (23) of the most probable labels; not a posterior mean

A data set enters as `log_rho` (samples, classes), the logarithm of (21) (an additive constant per sample does
not matter, -inf marks impossible classes), and `y_pred` (samples,), symbols 0..symbols-1. Pure JAX: jit, vmap
over data sets, any float dtype. A row of K for which a step finds no sample keeps its value.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from jtruth._arrays import safe_log
from jtruth._one_line import one_line
from jtruth._random import stream
from jtruth.tables.metrics import ratio
from jtruth.testing.binary.conditional_means import mean_shares
from jtruth.testing.binary.empirical_bayes import fixed_point

LogRho = Float[Array, "samples classes"]
Predictions = Int[Array, " samples"]
Confusion = Float[Array, "classes symbols"]
Step = Callable[[Confusion, Int[Array, ""]], Confusion]

_CHUNK = 500_000  # label draws held at a time: what fits a cache is three times as fast on a CPU


class ConfusionFit(NamedTuple):
    """Result of an iteration; `path[j]` is K after j steps; the last is repeated beyond `num_steps`."""

    confusion: Float[Array, "classes symbols"]
    converged: Bool[Array, ""]
    num_steps: Int[Array, ""]
    path: Float[Array, "steps_and_start classes symbols"]

    __repr__ = one_line


def log_testing_posterior(log_rho: LogRho, y_pred: Predictions, confusion: Confusion) -> LogRho:
    """log p(y_i = c | y_pred_i, z_i; K), (25)."""
    return jax.nn.log_softmax(log_rho + safe_log(confusion).T[y_pred], axis=1)


def expected_counts(
    log_rho: LogRho, y_pred: Predictions, confusion: Confusion
) -> tuple[Confusion, Confusion]:
    """Means and variances of the elements of the confusion matrix given K (2.7.2).

    E[C[l, n]] is the sum over y_pred_i = n of p(y_i = l | .), and the variance that of p (1 - p). The paper
    prints p(y_pred_i | .), which is the class l = n only.
    """
    log_p = log_testing_posterior(log_rho, y_pred, confusion)
    p, not_p = jnp.exp(log_p), -jnp.expm1(log_p)
    chosen = jax.nn.one_hot(y_pred, confusion.shape[1], dtype=p.dtype)
    return _matmul(p.T, chosen), _matmul((p * not_p).T, chosen)


def _matmul(a: Array, b: Array) -> Array:
    """a @ b in full precision: accelerators may round float32 products to 10 bits otherwise."""
    return jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST)


def plug_in_step(log_rho: LogRho, y_pred: Predictions) -> Step:
    """Ratio of means: one step of EM on the collapsed likelihood."""

    def step(confusion, _):
        mean, _variance = expected_counts(log_rho, y_pred, confusion)
        return ratio(mean, mean.sum(1, keepdims=True))

    return step


def exact_step(log_rho: LogRho, y_pred: Predictions) -> Step:
    """E[K[l, n] | K], given that class l occurs: for one l the counts of the symbols are independent.

    K has no zeros, as `iterate` keeps it: (25) is then a product with class posteriors whose largest is 1,
    and the exponentials are those of the first step.
    """
    rho = jnp.exp(log_rho - log_rho.max(axis=1, keepdims=True)).T

    def step(confusion, _):
        p = rho * confusion[:, y_pred]
        chosen = y_pred[None] == jnp.arange(confusion.shape[1], dtype=y_pred.dtype)[:, None]
        return mean_shares(p / p.sum(axis=0, keepdims=True), chosen)

    return step


def labels_step(log_rho: LogRho, y_pred: Predictions) -> Step:
    """Algorithm 3: (23) of the most probable labels; ties go to the first class."""

    def step(confusion, _):
        y = log_testing_posterior(log_rho, y_pred, confusion).argmax(1)
        table = count_tables(y[None, :].astype(y_pred.dtype), y_pred, *confusion.shape)[0]
        return ratio(table, table.sum(1, keepdims=True)).astype(confusion.dtype)

    return step


def count_tables(
    y: Int[Array, "draws samples"], y_pred: Predictions, num_classes: int, num_symbols: int
) -> Int[Array, "draws classes symbols"]:
    """Count tables of label vectors."""
    cell = y * num_symbols + y_pred[None, :]
    size = num_classes * num_symbols
    counts = jax.vmap(lambda c: jnp.bincount(c, length=size))(cell)
    return counts.reshape(-1, num_classes, num_symbols)


def draw_tables(
    key: Key[Array, ""], log_rho: LogRho, y_pred: Predictions, confusion: Confusion, num_draws: int
) -> Int[Array, "draws classes symbols"]:
    """Count tables of `num_draws` label vectors drawn from (25), by inverting cumulative probabilities."""
    samples, classes = log_rho.shape
    below = jnp.cumsum(jnp.exp(log_testing_posterior(log_rho, y_pred, confusion)), axis=1)
    below = below / below[:, -1:]  # the last one is exactly 1, above every uniform draw
    chunk = max(1, min(num_draws, _CHUNK // max(samples, 1)))

    def draw(k):
        u = jax.random.uniform(k, (chunk, samples), below.dtype)
        y = jnp.zeros(u.shape, y_pred.dtype)
        for c in range(classes - 1):
            y = y + (below[:, c][None, :] <= u).astype(y.dtype)
        return count_tables(y, y_pred, *confusion.shape)

    tables = jax.lax.map(draw, jax.random.split(key, -(-num_draws // chunk)))
    return tables.reshape(-1, *confusion.shape)[:num_draws]


def sampling_step(
    key: Key[Array, ""], log_rho: LogRho, y_pred: Predictions, *, num_draws: int | None = None
) -> Step:
    """Algorithm 4; `num_draws` is 2500 a class if None. Draws without a class are left out of its row."""
    draws = 2500 * log_rho.shape[1] if num_draws is None else num_draws

    def step(confusion, number):
        tables = draw_tables(stream(key, "algorithm 4", number), log_rho, y_pred, confusion, draws)
        return jnp.nanmean(ratio(tables, tables.sum(2, keepdims=True)), axis=0).astype(confusion.dtype)

    return step


def iterate(
    step: Step,
    *,
    num_classes: int,
    num_symbols: int,
    dtype,
    max_steps: int = 50,
    tol: float = 1e-3,
    alpha: float = 1e-3,
) -> ConfusionFit:
    """The loop of Algorithms 3 and 4, from uniform rows; the change is that of the adjusted matrix."""

    def inside(new):
        new = jnp.clip(new, alpha, 1.0 - alpha)
        return new / new.sum(1, keepdims=True)

    start = jnp.full((num_classes, num_symbols), 1.0 / num_symbols, dtype)
    path, number, change = fixed_point(step, start, inside, max_steps, tol)
    return ConfusionFit(path[number], change < tol, jnp.asarray(number), path)
