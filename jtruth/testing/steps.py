"""Algorithms 1 to 4 and their relatives: find the operating matrix K of a classifier (Su 2.2-2.5, 2.7.1).

Every algorithm iterates K <- f(K) from uniform rows (`iterate`). The `Step` f:

- `exact_step`     the conditional means of (23) themselves: no sampling, no normality
- `sampling_step`  Algorithms 2 and 4: averages of (23) over counts of drawn label vectors
- `plug_in_step`   E[C] with each row divided by its sum: EM on the collapsed likelihood, which is concave
- `labels_step`    Algorithm 3: (23) of the most probable labels; not a posterior mean

Algorithm 1, ratios of normals, is for two classes (`binary.empirical_bayes`); its point (p_D, p_FA) is the
second column of K. A data set is `log_rho` (samples, classes), the logarithm of (21) up to a constant per
sample (-inf: impossible class), `y_pred` (samples,), symbols 0..symbols-1, and `weight`, the multiplicity of
merged samples. Pure JAX: jit, vmap over data sets, any float dtype. A row of K for which a step finds no
sample keeps its value. The conditional means are E[A/(A+B) | A+B > 0] of two Poisson-binomial counts (2.2).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from jtruth._arrays import AnyArray, from_here, largest, safe_log
from jtruth._one_line import one_line
from jtruth._random import stream
from jtruth._validation.in_range import check_codes
from jtruth.tables.metrics import ratio
from jtruth.testing.binary.batch import flips

LogRho = Float[AnyArray, "samples classes"]
Codes = Int[AnyArray, " samples"]
Confusion = Float[Array, "classes symbols"]
Weight = Float[AnyArray, " samples"] | None
Step = Callable[[Confusion, Int[Array, ""]], Confusion]

_EDGE = 1e-3  # no rate is nearer to 0 or 1 in an iteration
_REACH = 7.0  # width of a window of counts, in square roots of the samples: 7 sd or more on each side
_CHUNK = 500_000  # label draws at a time; those that fit a cache are three times as fast on a CPU

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_POWERS = 8
_ENOUGH = 64.0  # expected count above which 8 power sums give 1e-10 (at 50: 4e-10)
_BLOCK = 4096  # samples whose powers stay in the cache


def mean_shares(
    p: Float[Array, "sets samples"], chosen: Bool[Array, "choices samples"], weight: Weight = None
) -> Float[Array, "sets choices"]:
    """E[A/(A+B) | A+B > 0], A (B) the number of heads among (not) chosen coins with probabilities p.

    E[A/(A+B); A+B > 0] = integral_0^1 G_A'(t) G_B(t) dt with the probability generating functions G. With t =
    1 - u both are expanded in u where the expected count is large, else evaluated node by node. `weight` is
    the multiplicity of each coin.
    """
    sums = _power_sums(p, chosen, weight)
    expected = sums[:, 0, 0]
    reach = jnp.minimum(1.0, 40.0 / jnp.maximum(expected, 1e-30))[:, None]
    u = 0.5 * reach * (1.0 + jnp.asarray(_NODES, p.dtype)[None, :])
    gauss = 0.5 * reach * jnp.asarray(_WEIGHTS, p.dtype)[None, :]

    def by_nodes(p, u, sums):
        heads = p * u[0][:, None]
        logs, none_of = jnp.log1p(-heads), jnp.log1p(-p[0])
        if weight is not None:  # none of a coin: 0 times the log of 0
            logs = logs * weight[None]
            none_of = jnp.where(weight == 0, 0, weight * jnp.where(weight == 0, 0, none_of))
        slope = _product(_columns(chosen, weight, p.dtype)[1:], p / (1.0 - heads))
        return slope[None], logs.sum(1)[None], none_of.sum()[None]

    def by_powers(p, u, sums):
        log_g = jnp.zeros_like(u)
        slope = jnp.zeros_like(u)[:, None, :]
        for k in range(_POWERS, 0, -1):  # Horner
            log_g = (log_g - sums[:, k - 1, :1] / k) * u
            slope = (slope + sums[:, k, 1:, None]) * u[:, None, :]
        none_of = -sums[:, 0, 0]  # P(no head) <= exp(-expected) < 2e-28: as good as 0
        return slope + sums[:, 0, 1:, None], log_g, none_of

    def one_by_one(p, u, sums):
        def expand(of_set):
            alone = [part[None] for part in of_set]
            expanded = jax.lax.cond(of_set[2][0, 0] > _ENOUGH, by_powers, by_nodes, *alone)
            return tuple(part[0] for part in expanded)

        return jax.lax.map(expand, (p, u, sums))

    all_large = (expected > _ENOUGH).all()
    slope, log_g, log_no_head = jax.lax.cond(all_large, by_powers, one_by_one, p, u, sums)
    inside = (gauss * jnp.exp(log_g))[:, None, :]
    return (inside * slope).sum(axis=2) / -jnp.expm1(log_no_head)[:, None]


def _power_sums(
    p: Float[Array, "sets samples"], chosen: Bool[Array, "choices samples"], weight: Weight
) -> Float[Array, "sets powers all_and_choices"]:
    """Sums of p, p^2, ... over all samples and over the chosen, in blocks."""

    def of_block(k, size):
        def part(x: AnyArray) -> Array:
            return jax.lax.dynamic_slice_in_dim(x, k * _BLOCK, size, x.ndim - 1)

        chance, often = part(p), None if weight is None else part(weight)
        powers = [chance]
        for _ in range(_POWERS):
            powers.append(powers[-1] * chance)
        sums = _product(jnp.concatenate(powers), _columns(part(chosen), often, p.dtype))
        return sums.reshape(_POWERS + 1, len(p), -1).swapaxes(0, 1)

    whole, rest = divmod(p.shape[1], _BLOCK)
    if not whole:
        return of_block(0, rest)
    return jax.lax.fori_loop(0, whole, lambda k, sums: sums + of_block(k, _BLOCK), of_block(whole, rest))


def _columns(chosen: Bool[Array, "choices samples"], weight: Weight, dtype) -> Float[Array, "rows samples"]:
    """Multiplicity of each sample: in all, and among the chosen."""
    times = jnp.ones((1, chosen.shape[1]), dtype) if weight is None else weight[None]
    return jnp.concatenate([times, chosen.astype(dtype) * times])


def _product(a: Float[Array, "rows n"], b: Float[Array, "columns n"]) -> Float[Array, "rows columns"]:
    """a @ b.T in full precision: accelerators may round float32 products to 10 bits otherwise."""
    return jnp.matmul(a, b.T, precision=jax.lax.Precision.HIGHEST)


def log_testing_posterior(log_rho: LogRho, y_pred: Codes, confusion: Confusion) -> LogRho:
    """log p(y_i = c | y_pred_i, z_i; K), (25)."""
    _check(log_rho, y_pred, confusion)
    return jax.nn.log_softmax(log_rho + safe_log(confusion).T[y_pred], axis=1)


def _check(log_rho: LogRho, y_pred: Codes, confusion: Confusion) -> None:
    """ValueError for a start of other classes, and for predictions that no column of K is for."""
    if confusion.ndim != 2 or len(confusion) != log_rho.shape[1]:
        raise ValueError(
            f"the iteration starts from shape {confusion.shape} but there are {log_rho.shape[1]} classes; "
            f"give start=steps.uniform_rows({log_rho.shape[1]})"
        )
    check_codes(y_pred, confusion.shape[1], "y_pred", size=len(log_rho))


def expected_counts(log_rho: LogRho, y_pred: Codes, confusion: Confusion) -> tuple[Confusion, Confusion]:
    """Means and variances of the elements of the confusion matrix given K (2.7.2).

    E[C[l, n]] is the sum over y_pred_i = n of p(y_i = l | .), and the variance that of p (1 - p). The paper
    prints p(y_pred_i | .), which is right for l = n only.
    """
    log_p = log_testing_posterior(log_rho, y_pred, confusion)
    p, not_p = jnp.exp(log_p), -jnp.expm1(log_p)
    chosen = _predicted(y_pred, 0, confusion.shape[1]).astype(p.dtype)
    return _product(p.T, chosen), _product((p * not_p).T, chosen)


def _predicted(y_pred: Codes, first: int, end: int) -> Bool[Array, "symbols samples"]:
    """Indicators of the predicted symbols from `first` to `end`."""
    return y_pred[None] == jnp.arange(first, end, dtype=y_pred.dtype)[:, None]


def plug_in_step(log_rho: LogRho, y_pred: Codes) -> Step:
    """Ratio of means: one step of EM on the collapsed likelihood."""
    log_rho, y_pred = jnp.asarray(log_rho), jnp.asarray(y_pred)

    def step(confusion, _):
        mean, _ = expected_counts(log_rho, y_pred, confusion)
        return ratio(mean, mean.sum(1, keepdims=True))

    return step


def exact_step(log_rho: LogRho, y_pred: Codes, weight: Weight = None) -> Step:
    """E[K[l, n] | K], given that class l occurs: for one l the counts of the symbols are independent.

    K has no zeros (`iterate`), so (25) is a product with class posteriors whose largest is 1.
    """
    log_rho, y_pred = jnp.asarray(log_rho), jnp.asarray(y_pred)
    rho = jnp.exp(log_rho - log_rho.max(axis=1, keepdims=True)).T

    def step(confusion, _):
        _check(log_rho, y_pred, confusion)
        symbols = confusion.shape[1]
        if symbols == 2:  # faster than to gather
            p = rho * jnp.where(y_pred[None] == 1, confusion[:, 1:], confusion[:, :1])
        else:
            p = rho * confusion[:, y_pred]
        shares = mean_shares(p / p.sum(axis=0, keepdims=True), _predicted(y_pred, 1, symbols), weight)
        return jnp.concatenate([1 - shares.sum(axis=1, keepdims=True), shares], axis=1)

    return step


def labels_table(log_rho: LogRho, y_pred: Codes, confusion: Confusion) -> Int[Array, "classes symbols"]:
    """Count table of the most probable labels (22); ties go to the first class."""
    y = log_testing_posterior(log_rho, y_pred, confusion).argmax(1)
    return count_tables(y[None, :].astype(y_pred.dtype), y_pred, *confusion.shape)[0]


def labels_step(log_rho: LogRho, y_pred: Codes) -> Step:
    """Algorithm 3: (23) of the most probable labels."""
    log_rho, y_pred = jnp.asarray(log_rho), jnp.asarray(y_pred)

    def step(confusion, _):
        table = labels_table(log_rho, y_pred, confusion)
        return ratio(table, table.sum(1, keepdims=True)).astype(confusion.dtype)

    return step


def count_tables(
    y: Int[Array, "draws samples"], y_pred: Codes, num_classes: int, num_symbols: int
) -> Int[Array, "draws classes symbols"]:
    """Count tables of label vectors."""
    cell = y * num_symbols + y_pred[None, :]
    size = num_classes * num_symbols
    counts = jax.vmap(lambda c: jnp.bincount(c, length=size))(cell)
    return counts.reshape(-1, num_classes, num_symbols)


def draw_tables(
    key: Key[Array, ""], log_rho: LogRho, y_pred: Codes, confusion: Confusion, num_draws: int
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


def draw_counts(
    key: Key[Array, ""], log_rho: LogRho, y_pred: Codes, confusion: Confusion, num_draws: int
) -> Int[Array, "draws classes symbols"]:
    """Draw rows of count tables of label vectors from (25), each row independently of the others.

    Given the predictions the counts C[l, n] of one class l are independent Poisson-binomials, built flip by
    flip and inverted, without drawing labels. For two classes the second determines the first, and tables are
    whole. Counts `_REACH` standard deviations or more away (below 3e-11, Hoeffding) are cut off.
    """
    (samples, classes), symbols = log_rho.shape, confusion.shape[1]
    p = jnp.exp(log_testing_posterior(log_rho, y_pred, confusion))[:, int(classes == 2) :]
    chosen = _predicted(y_pred, 0, symbols)
    place = (jnp.cumsum(chosen, axis=1) - 1)[y_pred, jnp.arange(samples)]
    heads = jnp.zeros((samples, p.shape[1], symbols), p.dtype).at[place, :, y_pred].set(p)
    number = jnp.broadcast_to(chosen.sum(axis=1), heads.shape[1:])
    width = min(samples, int(_REACH * samples**0.5)) + 1
    pmf, first = flips(heads, 1 - heads, number, width, largest(number))
    below = jnp.cumsum(pmf, axis=-1)
    u = jax.random.uniform(key, (*number.shape, num_draws), p.dtype) * below[..., -1:]
    more = jax.vmap(jax.vmap(partial(jnp.searchsorted, side="right")))(below, u)
    counts = jnp.minimum(first[..., None] + more.astype(first.dtype), number[..., None])
    both = counts if classes > 2 else jnp.concatenate([number[..., None] - counts, counts])
    return both.transpose(2, 0, 1)


def sampling_step(key: Key[Array, ""], log_rho: LogRho, y_pred: Codes) -> Step:
    """Algorithm 4, by 2500 draws a class; draws without a class are left out of its row."""
    log_rho, y_pred, draws = jnp.asarray(log_rho), jnp.asarray(y_pred), 2500 * log_rho.shape[1]

    def step(confusion, number):
        tables = draw_counts(stream(key, "algorithm 4", number), log_rho, y_pred, confusion, draws)
        return jnp.nanmean(ratio(tables, tables.sum(2, keepdims=True)), axis=0).astype(confusion.dtype)

    return step


class FixedPoint(NamedTuple):
    """Result of an iteration; `path[j]` is the point after j steps, the last of them repeated."""

    value: Float[Array, "2"] | Float[Array, "classes symbols"]  # (p_D, p_FA), or K
    converged: Bool[Array, ""]
    num_steps: Int[Array, ""]
    path: Float[Array, "steps_and_start ..."]

    __repr__ = one_line

    @property
    def p_detection(self) -> Float[AnyArray, "*sets"]:
        """p_D, of two classes."""
        return self.value[..., 0]

    @property
    def p_false_alarm(self) -> Float[AnyArray, "*sets"]:
        """p_FA, of two classes."""
        return self.value[..., 1]

    @property
    def confusion(self) -> Float[AnyArray, "*sets classes symbols"]:
        """K, of any number of classes."""
        return self.value


def iterate(step: Step, *, dtype, start=(0.5, 0.5), max_steps: int = 30, tol: float = 1e-3) -> FixedPoint:
    """The loop that Algorithms 1 to 4 share: x <- step(x, number) until no element changes by `tol`.

    Every element is clipped to [.001, .999]; rows of a matrix are divided by their sums. What a step leaves
    undefined keeps its value. `start`: (p_D, p_FA), or a matrix (`uniform_rows`).

    The derivatives of `value`, forward and reverse, are those of the fixed point (by the implicit function,
    so choose a small `tol`). A step that counts drawn or most probable labels has derivative 0.
    """
    start = jnp.asarray(start, dtype)

    def advance(old, number):
        new = step(old, number)
        new = jnp.clip(jnp.where(jnp.isnan(new), old, new), _EDGE, 1.0 - _EDGE)
        return new / new.sum(1, keepdims=True) if new.ndim == 2 else new

    def body(state):
        old, path, number, _ = state
        new = advance(old, number)
        return new, from_here(path, number + 1, new), number + 1, jnp.abs(new - old).max()

    def unfinished(state):
        _, _, number, change = state
        return (number < max_steps) & (change >= tol)

    def solve(_, start):
        # The point travels by itself: read out of the path, XLA would take its logarithms anew every time.
        path = jnp.broadcast_to(start, (max_steps + 1, *start.shape))
        state = (start, path, 0, jnp.asarray(jnp.inf, start.dtype))
        _, path, number, change = jax.lax.while_loop(unfinished, body, state)
        return path[number], (change, jnp.asarray(number, start.dtype), path)  # JAX asks for floats

    def tangent(linear, right):
        matrix = jax.jacfwd(linear)(right).reshape(right.size, right.size)
        return jnp.linalg.solve(matrix, right.ravel()).reshape(right.shape)

    root = jax.lax.custom_root(lambda x: advance(x, 0) - x, start, solve, tangent, has_aux=True)
    found, (change, number, path) = root
    return FixedPoint(found, change < tol, number.astype(jnp.result_type(int)), path)


def uniform_rows(classes: int) -> Float[np.ndarray, "classes classes"]:
    """Where matrices start: a classifier that knows nothing."""
    return np.full((classes, classes), 1.0 / classes)
