"""Moments of labels, and what triplets of labelers say of each: the arithmetic of `label_model`, compiled.

With x = +1, -1 for the classes and 0 for an abstention, Cov(x_t, x_u) = v_t v_u for labelers who err
independently given the class, so that three of them give each other away (Fu et al. 2020). The formulas are
those at the head of `label_model`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jtruth._one_line import one_line


class TripletMoments(NamedTuple):
    """What `triplet_moments` returns. Symbols are class 0, class 1 and, last, the abstention."""

    strength: Float[Array | np.ndarray, " labelers"]  # v
    square: Float[Array | np.ndarray, " labelers"]  # v^2 as estimated; below 0 they contradict the model
    prior: Float[Array | np.ndarray, ""]  # of class 1
    shares: Float[Array | np.ndarray, "labelers symbols"]  # how often each symbol is given
    shifts: Float[Array | np.ndarray, "labelers symbols"]  # p(symbol | 1) - p(symbol | 0)
    pair_shares: Float[Array | np.ndarray, "edges symbols symbols"]
    pair_shifts: Float[Array | np.ndarray, "edges symbols symbols"]

    __repr__ = one_line


@jax.jit
def triplet_moments(
    symbol: Int[Array | np.ndarray, "samples labelers"],
    seen: Float[Array | np.ndarray, "samples labelers"],
    weight: Float[Array | np.ndarray, " samples"],
    apart: Float[Array | np.ndarray, "labelers labelers"],
    voters: Int[Array | np.ndarray, " voters"],
    edges: Int[Array | np.ndarray, "edges two"],
    prior: Float[Array | np.ndarray, ""],
) -> TripletMoments:
    """Moments of labels and what follows from them; pure, to be vmapped over weights.

    Args:
        symbol: 0 and 1 for the classes, 2 for an abstention.
        seen: 1 where a labeler saw the sample; an unseen sample says nothing.
        weight: how often each sample counts.
        apart: 1 for pairs of labelers who are not connected by edges, 0 elsewhere and on the diagonal.
        voters: labelers whose third moments are taken.
        edges: connected pairs.
        prior: of class 1, NaN if it is to be estimated.
    """
    weight = jnp.asarray(weight)[:, None]
    seen, apart, symbol = jnp.asarray(seen), jnp.asarray(apart), jnp.asarray(symbol)
    x = jnp.where(symbol == 2, 0, 2 * symbol - 1).astype(seen.dtype) * seen
    shared = (weight * seen).T @ seen

    def with_others(f, on):
        """Cov(f, x_u) over the samples where both are there, for every u."""
        number = (weight * on).T @ seen
        safe = jnp.where(number > 0, number, 1)
        return ((weight * f).T @ x) / safe - ((weight * f).T @ seen) * ((weight * on).T @ x) / safe**2

    pairs = apart * shared
    covariance = with_others(x, seen) * apart
    weighted = pairs * covariance
    cube = jnp.einsum("tu,ut->t", weighted @ weighted, weighted)
    total = jnp.einsum("tu,ut->t", pairs @ (weighted * covariance), pairs)
    square = cube / jnp.where(total > 0, total, 1)
    side = jnp.linalg.eigh(weighted)[1][:, -1]
    v = jnp.where(side < 0, -1.0, 1.0) * jnp.sqrt(jnp.maximum(square, 0))
    v = jnp.where((shared.diagonal() * v).sum() < 0, -v, v)
    number = (weight * seen).sum(axis=0)
    number = jnp.where(number > 0, number, 1)
    mean = (weight * x).sum(axis=0) / number

    # Third moments of all triples of voters who are apart, by products of (voters, voters) blocks.
    some, own = apart[voters][:, voters], v[voters]
    along = (some[:, None, :] * some[None, :, :] * some[:, :, None]).reshape(-1, voters.shape[0])

    def triples(a):
        third = (a @ along.T).reshape(a.shape[0], voters.shape[0], voters.shape[0])
        return (weight[:, 0] * (third * a[:, :, None] * a[:, None, :]).sum(axis=(1, 2))).sum()

    here = seen[:, voters]
    skew = triples(here * (x - mean[None, :])[:, voters] * own[None, :])
    size = triples(here * own[None, :] ** 2)
    ratio = skew / jnp.where(size > 0, size, 1)
    p = jnp.where(jnp.isnan(prior), (1 - ratio / jnp.sqrt(4 + ratio**2)) / 2, prior)
    p = jnp.where(jnp.isnan(prior) & ~(size > 0), jnp.nan, p)

    def shift(f, on, free):
        """p(f | 1) - p(f | 0) of an indicator, from its covariances with labelers that are free of it."""
        use = ((weight * on).T @ seen) * free
        power = (use * v[None, :] ** 2).sum(axis=1)
        slope = (use * with_others(f, on) * v[None, :]).sum(axis=1) / jnp.where(power > 0, power, 1)
        return slope / jnp.sqrt(p * (1 - p))

    says = jnp.stack([(symbol == s).astype(seen.dtype) * seen for s in range(3)])
    shares = (weight[None] * says).sum(axis=1).T / number[:, None]
    shifts = jax.vmap(lambda f: shift(f, seen, apart), out_axes=1)(says)
    a, b = edges[:, 0], edges[:, 1]
    both, free = seen[:, a] * seen[:, b], apart[a] * apart[b]
    count = (weight * both).sum(axis=0)
    together = (says[:, None, :, a] * says[None, :, :, b]).reshape(9, *both.shape)
    pair_shares = (weight[None] * together).sum(axis=1).T / jnp.where(count > 0, count, 1)[:, None]
    pair_shifts = jax.vmap(lambda f: shift(f, both, free), out_axes=1)(together)
    pair_shares, pair_shifts = (m.reshape(-1, 3, 3) for m in (pair_shares, pair_shifts))
    return TripletMoments(v, square, p, shares, shifts, pair_shares, pair_shifts)
