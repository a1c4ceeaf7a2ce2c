"""Bins of predicted probabilities, and what happened inside each: the material of calibration losses.

Class k has its own bins [e_0, e_1), [e_1, e_2), ..., [e_{B-1}, e_B] (Mimori et al. 2021, section 3.2): of
equal width, of equal mass, or given. Edges are made once and then fixed, so that everything after them is a
smooth function of the labels. Sums run over blocks of samples, so float32 sums of millions of terms stay
exact to rounding.
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jtruth._arrays import as_array
from jtruth._one_line import one_line

_BLOCK = 4096
_FEW_EDGES = 65


class MergedBins(NamedTuple):
    """Bins of equal width, merged until each holds enough predictions: for few samples."""

    number: int = 15
    at_least: int = 2  # predictions in a bin; 2 rules out bins of one sample


class BinTable(NamedTuple):
    """Each bin of each class; means of empty bins are 0."""

    count: Int[Array, "classes bins"]
    target: Float[Array, "classes bins"]  # c-bar: mean of what was observed
    predicted: Float[Array, "classes bins"]  # z-bar: mean prediction
    spread: Float[Array, "classes bins"]  # mean of (target - c-bar)^2, sigma-bar^2 of (14)
    gap_spread: Float[Array, "classes bins"]  # the same of target - prediction

    __repr__ = one_line


def equal_width_edges(num_bins: int, dtype: Any = None) -> Float[Array, " edges"]:
    """0, 1/B, 2/B, ..., 1."""
    if num_bins < 1:
        raise ValueError(f"there must be at least one bin, got {num_bins}")
    return jnp.asarray(np.linspace(0, 1, num_bins + 1), jnp.result_type(float) if dtype is None else dtype)


@eqx.filter_jit
def equal_mass_edges(
    predicted: Float[Array | np.ndarray, "samples classes"], num_bins: int
) -> Float[Array, "classes edges"]:
    """Edges with equally many predictions between them, by class; equal predictions leave bins empty."""
    z = as_array(predicted)
    inner = jnp.quantile(z, jnp.linspace(0, 1, num_bins + 1, dtype=z.dtype), axis=0).T
    return inner.at[:, 0].set(0.0).at[:, -1].set(1.0)


def merged_edges(predicted: Any, edges: Any, at_least: int) -> tuple[np.ndarray, str]:
    """Edges of the same bins, merged from the left until each holds `at_least` predictions (on the host).

    Args:
        predicted: (samples,) of one class.
        edges: (bins + 1,).
        at_least: predictions that a bin needs; 2 rules out bins of one sample.

    Returns:
        Fewer edges, and a sentence that says how many bins were merged ("" if none).
    """
    z, edges = np.asarray(predicted, np.float64), check_edges(edges)
    number = np.bincount(assign(z, edges), minlength=edges.size - 1)
    kept, held = [float(edges[0])], 0
    for b, count in enumerate(number):
        held += int(count)
        if held >= at_least:
            kept.append(float(edges[b + 1]))
            held = 0
    if len(kept) == 1:
        kept.append(float(edges[-1]))
    kept[-1] = float(edges[-1])  # what is left over joins the last bin
    merged = edges.size - len(kept)
    text = (
        f"{edges.size - 1} bins were merged to {len(kept) - 1}, so that each has {at_least} samples or more."
    )
    return np.array(kept), text if merged else ""


def merged_by_class(predicted: Any, bins: MergedBins) -> tuple[np.ndarray, str]:
    """`merged_edges` of every class, (classes, edges), and what was merged.

    Classes keep different numbers of bins; rows of fewer begin with bins of no width, which stay empty.
    """
    z = np.asarray(predicted, np.float64)
    edges = np.asarray(equal_width_edges(bins.number), np.float64)
    found = [merged_edges(column, edges, bins.at_least)[0] for column in z.T]
    most = max(one.size for one in found)
    padded = np.stack([np.concatenate([np.zeros(most - one.size), one]) for one in found])
    kept = [one.size - 1 for one in found]
    if min(kept) == bins.number:
        return padded, ""
    number = f"{min(kept)}" if min(kept) == max(kept) else f"{min(kept)} to {max(kept)}"
    return (
        padded,
        f"{bins.number} bins were merged to {number}, so that each has {bins.at_least} samples or more.",
    )


def check_edges(edges: Any) -> np.ndarray:
    """Edges on the host: from 0 to 1, not decreasing."""
    edges = np.asarray(edges, np.float64)
    if edges.shape[-1] < 2 or not ((edges[..., 0] == 0) & (edges[..., -1] == 1)).all():
        raise ValueError(f"bin edges must run from 0 to 1; got {edges.tolist()}")
    if (np.diff(edges, axis=-1) < 0).any():
        raise ValueError(f"bin edges must not decrease; got {edges.tolist()}")
    return edges


def assign(predicted: Any, edges: Any) -> Any:
    """The bin of each prediction (samples,) on the host; the last bin holds its right end."""
    edges = np.asarray(edges)
    return np.clip(np.searchsorted(edges, np.asarray(predicted), side="right") - 1, 0, edges.size - 2)


def bins_of(
    predicted: Float[Array, "samples classes"], edges: Float[Array | np.ndarray, "*classes edges"]
) -> Int[Array, "samples classes"]:
    """`assign` for every class in JAX; edges of all classes, or (classes, edges) of their own."""
    edges = jnp.asarray(edges, predicted.dtype)
    both = jnp.broadcast_to(edges, (predicted.shape[1], edges.shape[-1]))
    # Few edges are all compared at once, which is ten times as fast as the search of a million predictions.
    how = "compare_all" if edges.shape[-1] <= _FEW_EDGES else "scan"
    search = partial(jnp.searchsorted, side="right", method=how)
    found = jax.vmap(search, (0, 1), 1)(both, predicted)
    return jnp.clip(found - 1, 0, edges.shape[-1] - 2).astype(jnp.int32)


def bin_sums(
    values: Float[Array, "samples classes"] | Int[Array, "samples classes"],
    bins: Int[Array, "samples classes"],
    num_bins: int,
) -> Array:
    """(classes, bins) sums of `values`, first within blocks of samples."""
    samples, classes = bins.shape
    blocks = -(-samples // _BLOCK)
    row = (jnp.arange(samples, dtype=jnp.int32) // _BLOCK)[:, None] * classes
    row = row + jnp.arange(classes, dtype=jnp.int32)[None]
    place = row * num_bins + bins
    sums = jax.ops.segment_sum(values.ravel(), place.ravel(), blocks * classes * num_bins)
    return sums.reshape(blocks, classes, num_bins).sum(axis=0)


def own_bin(table: Float[Array, "classes bins"], bins: Int[Array, "samples classes"]) -> Array:
    """The entry of a sample's own bin, (samples, classes)."""
    return table[jnp.arange(bins.shape[1], dtype=jnp.int32)[None], bins]


def bin_table(
    target: Float[Array, "samples classes"],
    predicted: Float[Array, "samples classes"],
    bins: Int[Array, "samples classes"],
    num_bins: int,
    where: Bool[Array, " samples"],
) -> BinTable:
    """Counts, means and spreads of every bin, in two passes (means first), so that nothing cancels."""
    there = jnp.broadcast_to(where[:, None], bins.shape)
    count = bin_sums(there.astype(jnp.int32), bins, num_bins)
    size = jnp.maximum(count, 1).astype(predicted.dtype)

    def mean(values: Array) -> Array:
        return bin_sums(jnp.where(there, values, 0.0), bins, num_bins) / size

    c, z = mean(target), mean(predicted)
    gap = target - predicted - own_bin(c - z, bins)
    return BinTable(count, c, z, mean((target - own_bin(c, bins)) ** 2), mean(gap**2))
