"""E[A/(A+B) | A+B > 0] of independent coins, some of them chosen: the means of Algorithms 2 and 4.

With y_1, y_2, ... independent given the operating point (or the confusion matrix), the metric "share of the
positives that are predicted positive" is such a ratio of two Poisson-binomial counts (Su 2023, 2.2).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.special import comb

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_POWERS = 8
_ENOUGH = 64.0  # expected count above which 8 power sums give 1e-10 (at 50: 4e-10)
_BLOCK = 4096  # samples whose powers stay in the cache
_RARE = 1e-3  # share of tails below which the sums of their powers are not taken from those of heads
# (1 - p)^k = 1 - k p + ...: rows k = 0..9, columns the powers of p
_BINOMIAL = comb(np.arange(_POWERS + 2)[:, None], np.arange(_POWERS + 2)) * (-1.0) ** np.arange(_POWERS + 2)


def mean_shares(
    p: Float[Array, "sets samples"],
    chosen: Bool[Array, "choices samples"],
    weight: Float[Array, " samples"] | None = None,
    *,
    complementary: bool = False,
) -> Float[Array, "sets choices"]:
    """E[A/(A+B) | A+B > 0], A (B) the number of heads among (not) chosen coins with probabilities p.

    `weight` is how many coins of each there are, where equal ones are merged (or on a grid).
    E[A/(A+B); A+B > 0] = integral_0^1 G_A'(t) G_B(t) dt with the probability generating functions G; with
    t = 1 - u both are expanded in u when the expected count is large, else evaluated node by node. Sets that
    are all large are expanded together. `complementary`: the two sets are heads and tails of the same coins.
    Power sums of the tails are then binomials of those of the heads; their rounding, N 2^k 1e-16 u^k in the
    k-th, stays below 1e-10 while u < 40/expected is small where N is large.
    """
    power_sums = _sums_of_both if complementary and p.dtype == jnp.float64 else _power_sums
    sums = power_sums(p, chosen, weight)
    expected = sums[:, 0, 0]
    reach = jnp.minimum(1.0, 40.0 / jnp.maximum(expected, 1e-30))[:, None]
    u = 0.5 * reach * (1.0 + jnp.asarray(_NODES, p.dtype)[None, :])
    gauss = 0.5 * reach * jnp.asarray(_WEIGHTS, p.dtype)[None, :]

    def by_nodes(p, u, sums):
        heads = p * u[0][:, None]
        logs, nobody = jnp.log1p(-heads), jnp.log1p(-p[0])
        if weight is not None:  # none of a coin: 0 times the log of 0
            logs = logs * weight[None]
            nobody = jnp.where(weight == 0, 0, weight * jnp.where(weight == 0, 0, nobody))
        slope = _product(_columns(chosen, weight, p.dtype)[1:], p / (1.0 - heads))
        return slope[None], logs.sum(1)[None], nobody.sum()[None]

    def by_powers(p, u, sums):
        log_g = jnp.zeros_like(u)
        slope = jnp.zeros_like(u)[:, None, :]
        for k in range(_POWERS, 0, -1):  # Horner
            log_g = (log_g - sums[:, k - 1, :1] / k) * u
            slope = (slope + sums[:, k, 1:, None]) * u[:, None, :]
        nobody = -sums[:, 0, 0]  # P(no head) <= exp(-expected) < 2e-28: as good as 0
        return slope + sums[:, 0, 1:, None], log_g, nobody

    def one_by_one(p, u, sums):
        def one(of_set):
            alone = [part[None] for part in of_set]
            found = jax.lax.cond(of_set[2][0, 0] > _ENOUGH, by_powers, by_nodes, *alone)
            return tuple(part[0] for part in found)

        return jax.lax.map(one, (p, u, sums))

    many = (expected > _ENOUGH).all()
    slope, log_g, log_no_head = jax.lax.cond(many, by_powers, one_by_one, p, u, sums)
    inside = (gauss * jnp.exp(log_g))[:, None, :]
    return (inside * slope).sum(axis=2) / -jnp.expm1(log_no_head)[:, None]


def _power_sums(
    p: Float[Array, "sets samples"],
    chosen: Bool[Array, "choices samples"],
    weight: Float[Array, " samples"] | None,
) -> Float[Array, "sets powers all_and_choices"]:
    """Sums of p, p^2, ... over all samples and over the chosen, block by block where samples are many."""

    def of_block(k, size):
        def part(x: Array) -> Array:
            return jax.lax.dynamic_slice_in_dim(x, k * _BLOCK, size, x.ndim - 1)

        mine, often = part(p), None if weight is None else part(weight)
        powers = [mine]
        for _ in range(_POWERS):
            powers.append(powers[-1] * mine)
        sums = _product(jnp.concatenate(powers), _columns(part(chosen), often, p.dtype))
        return sums.reshape(_POWERS + 1, len(p), -1).swapaxes(0, 1)

    whole, rest = divmod(p.shape[1], _BLOCK)
    if not whole:
        return of_block(0, rest)
    return jax.lax.fori_loop(0, whole, lambda k, sums: sums + of_block(k, _BLOCK), of_block(whole, rest))


def _columns(
    chosen: Bool[Array, "choices samples"], weight: Float[Array, " samples"] | None, dtype
) -> Float[Array, "all_and_choices samples"]:
    """How often each sample counts: in all, and among the chosen."""
    every = jnp.ones((1, chosen.shape[1]), dtype) if weight is None else weight[None]
    return jnp.concatenate([every, chosen.astype(dtype) * every])


def _sums_of_both(
    p: Float[Array, "2 samples"],
    chosen: Bool[Array, "choices samples"],
    weight: Float[Array, " samples"] | None,
) -> Float[Array, "2 powers all_and_choices"]:
    """Those of heads, and from them those of tails, p[1] = 1 - p[0], unless these are rare."""
    heads, total = _power_sums(p[:1], chosen, weight), _columns(chosen, weight, p.dtype).sum(axis=1)
    known = jnp.concatenate([total[None], heads[0]])
    tails = jnp.matmul(_BINOMIAL, known, precision=jax.lax.Precision.HIGHEST)[None, 1:]
    rare = tails[0, 0, 0] < jnp.maximum(_ENOUGH, _RARE * total[0])
    tails = jax.lax.cond(rare, lambda: _power_sums(p[1:], chosen, weight), lambda: tails)
    return jnp.concatenate([heads, tails])


def _product(
    a: Float[Array, "rows samples"], b: Float[Array, "columns samples"]
) -> Float[Array, "rows columns"]:
    """a @ b.T in full precision: accelerators may round float32 products to 10 bits otherwise."""
    return jnp.matmul(a, b.T, precision=jax.lax.Precision.HIGHEST)
