"""One pass over the labels: probabilities in, expected counts and the log-likelihood out.

An EM step needs nothing else, and no class posterior: what a sample says is added to the counts of its labels
and forgotten. So samples are taken in blocks that stay in the processor's cache, and what a step reads from
memory are the codes of the labels. In a block the class posterior is a product of gathered probabilities,
which spares a logarithm for each label and an exponential for each sample and class. Products need a guard:
once the total of some sample comes near the smallest number of its type, this pass is made again in logs, and
all later ones; with more than 100 labels a sample logs are taken from the beginning. Short data are one block
in logs: nothing branches, so `vmap` is cheap.

In float32 a sum stops growing at 2**24 times what is added, so each block has sums of its own, and these are
added with the rounding error of the last addition carried along (Kahan). The class posterior of the samples
is computed once, when EM is done.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

_BLOCK = 4096  # samples on a CPU; elsewhere and in float32 with many labelers more
_LARGEST = 2**20
_MOST = 100  # labels a sample, above which products are not tried
_UNROLL = 8  # labels a sample that are not a loop


class Expected(NamedTuple):
    """What the E step says of all samples together."""

    counts: Float[Array, "rows classes"]  # labels by (labeler, true class), then samples; by given class
    log_likelihood: Float[Array, ""]
    in_logs: Bool[Array, ""]  # products are too small at these parameters, or were before


def block_size(data: Any, cells: int, dtype: Any) -> int:
    """Samples of a block; in float32 no fewer than a table has cells to add up. 0: one block, in logs."""
    width, rows = data.code.shape
    if data.sample is not None or width > _MOST or rows <= _BLOCK:
        return 0
    if jax.default_backend() != "cpu":
        return _LARGEST
    return _BLOCK if jnp.dtype(dtype).itemsize > 4 else min(max(cells, _BLOCK), _LARGEST)


def expected(data: Any, parameters: Array, block: int, in_logs: Array) -> Expected:
    """E step and the counts of the M step, `block` samples at a time.

    Args:
        data: labels by columns.
        parameters: (labelers * classes + 1, classes) rows of all matrices, then the prior.
        block: see `block_size`.
        in_logs: products were too small before, so do not try them.
    """
    if not block:
        posterior, log_p = posterior_in_logs(data, parameters)
        counts = counts_of(data, posterior, len(parameters) - 1)
        return Expected(counts, _weighted(data.weight, log_p), in_logs)
    data, starts = _in_blocks(data, block, len(parameters) - 1)
    of_code, unit = _of_code(parameters, 1), jnp.finfo(parameters.dtype)

    def products(part: Any) -> tuple[Array, Array, Array]:
        joint, total = _joint(part, parameters, of_code)
        return joint * (part.weight / total)[:, None], (part.weight * jnp.log(total)).sum(), total.min()

    def logs(part: Any) -> tuple[Array, Array, Array]:
        posterior, log_p = posterior_in_logs(part, parameters)
        return part.weight[:, None] * posterior, _weighted(part.weight, log_p), jnp.ones_like(log_p[0])

    def over(one: Any) -> Expected:
        def add(sums: Any, start: Array) -> tuple[Any, Array]:
            part = _part(data, start, block)
            mass, log_p, least = one(part)
            return _added(sums, part.code, mass, log_p), least

        zero = jnp.zeros_like(of_code)
        sums = (zero, zero[0], zero[0, 0])
        (found, _), least = jax.lax.scan(add, (sums, sums), starts)
        small = ~(least.min() > unit.tiny / unit.eps)
        return Expected(_by_rows(found[0], found[1]), found[2], small)

    def nothing() -> Expected:
        return Expected(jnp.zeros_like(parameters), jnp.zeros_like(parameters[0, 0]), jnp.array(True))

    found = jax.lax.cond(in_logs, nothing, lambda: over(products))
    kept = jax.lax.cond(found.in_logs, lambda: over(logs), lambda: found)
    return kept._replace(in_logs=found.in_logs)


def counts_of(data: Any, posterior: Array, cells: int, block: int = 0) -> Array:
    """Expected counts (cells + 1, classes) of a class posterior (samples, classes)."""
    mass = data.weight[:, None] * posterior
    counts = jnp.zeros((cells + 1, mass.shape[1]), mass.dtype)
    if not block:
        rows = mass if data.sample is None else mass[data.sample]
        return _by_rows(_scattered(counts, data.code, rows), mass.sum(axis=0))
    data, starts = _in_blocks(data, block, cells)
    mass = jnp.pad(mass, ((0, data.weight.size - len(mass)), (0, 0)))

    def add(sums: Any, start: Array) -> tuple[Any, None]:
        code = jax.lax.dynamic_slice_in_dim(data.code, start, block, axis=1)
        return _added(sums, code, jax.lax.dynamic_slice_in_dim(mass, start, block), counts[0, 0]), None

    sums = (counts, counts[0], counts[0, 0])
    (found, _), _ = jax.lax.scan(add, (sums, sums), starts)
    return _by_rows(found[0], found[1])


def class_posterior(data: Any, parameters: Array, block: int, in_logs: Array) -> Array:
    """p(class of each sample) (samples, classes); `in_logs` as the pass with these parameters left it."""
    if not block:
        return posterior_in_logs(data, parameters)[0]
    samples, of_code = data.weight.size, _of_code(parameters, 1)
    data, starts = _in_blocks(data, block, len(parameters) - 1)

    def products(start: Array) -> Array:
        joint, total = _joint(_part(data, start, block), parameters, of_code)
        return joint / total[:, None]

    def logs(start: Array) -> Array:
        return posterior_in_logs(_part(data, start, block), parameters)[0]

    found = jax.lax.cond(in_logs, lambda: jax.lax.map(logs, starts), lambda: jax.lax.map(products, starts))
    return found.reshape(-1, parameters.shape[1])[:samples]


def _joint(part: Any, parameters: Array, of_code: Array) -> tuple[Array, Array]:
    """p(class, labels of a sample) as products, and their sum over the classes."""
    joint = jnp.where(of_another_class(part.known, parameters.shape[1]), 0, parameters[-1:])
    joint = _over_labels(lambda p, code: p * of_code[code], joint, part.code)
    return joint, joint.sum(axis=1)


def posterior_in_logs(data: Any, parameters: Array) -> tuple[Array, Array]:
    """Class posterior (2.5) and log p(labels of a sample); 0 and -inf where labels are impossible."""
    classes = parameters.shape[1]
    logs = jnp.log(parameters)
    of_code = _of_code(logs, 0)
    log_joint = jnp.where(of_another_class(data.known, classes), -jnp.inf, logs[-1:])
    rows = log_joint if data.sample is None else jnp.zeros((data.code.shape[1], classes), logs.dtype)
    rows = _over_labels(lambda total, code: total + of_code[code], rows, data.code)
    log_joint = rows if data.sample is None else log_joint.at[data.sample].add(rows)
    top = log_joint.max(axis=1, keepdims=True)
    top = jnp.where(jnp.isfinite(top), top, 0)
    joint = jnp.exp(log_joint - top)
    total = joint.sum(axis=1, keepdims=True)
    return joint * jnp.where(total > 0, 1 / total, 0), (jnp.log(total) + top)[:, 0]


def _over_labels(step: Any, first: Array, code: Any) -> Array:
    """`step` for one label of every sample after the other; a few are written out, many are a loop."""
    return jax.lax.scan(
        lambda kept, one: (step(kept, one), None), first, code, unroll=min(len(code), _UNROLL)
    )[0]


def _of_code(parameters: Array, nothing: float) -> Array:
    """(cells + 1, classes): the number of every code in each true class; the last is for no label."""
    classes = parameters.shape[1]
    table = parameters[:-1].reshape(-1, classes, classes).swapaxes(1, 2).reshape(-1, classes)
    return jnp.concatenate([table, jnp.full((1, classes), nothing, table.dtype)])


def _by_rows(counts: Array, samples: Array) -> Array:
    """Counts by code as rows (labeler, true class), and the samples' as the last row."""
    classes = counts.shape[1]
    rows = counts[:-1].reshape(-1, classes, classes).swapaxes(1, 2)
    return jnp.concatenate([rows.reshape(-1, classes), samples[None]])


def _scattered(counts: Array, code: Any, rows: Array) -> Array:
    """Counts and rows by code. Column by column: one large scatter would copy the rows for each."""
    return _over_labels(lambda total, one: total.at[one].add(rows), counts, code)


def of_another_class(known: Any, classes: int) -> Array:
    """(samples, classes) whether a sample is known to be of another class; -1 is unknown."""
    known = jnp.asarray(known)[:, None]
    return (known >= 0) & (known != jnp.arange(classes, dtype=known.dtype)[None, :])


def _weighted(weight: Any, log_p: Array) -> Array:
    """Sum over samples; one of weight 0 counts nothing even if it is impossible."""
    return jnp.where(weight > 0, weight * log_p, 0).sum()


def _in_blocks(data: Any, block: int, cells: int) -> tuple[Any, Array]:
    """The data with samples of weight 0 until blocks are full, and where each block starts."""
    more = -data.weight.size % block
    if more:
        data = data._replace(
            code=jnp.pad(data.code, ((0, 0), (0, more)), constant_values=cells),
            weight=jnp.pad(data.weight, (0, more)),
            known=jnp.pad(data.known, (0, more), constant_values=-1),
        )
    return data, jnp.arange(0, data.weight.size, block, dtype=jnp.int32)


def _part(data: Any, start: Array, block: int) -> Any:
    return data._replace(
        code=jax.lax.dynamic_slice_in_dim(data.code, start, block, axis=1),
        weight=jax.lax.dynamic_slice_in_dim(data.weight, start, block),
        known=jax.lax.dynamic_slice_in_dim(data.known, start, block),
    )


def _added(sums: Any, code: Array, mass: Array, log_p: Array) -> Any:
    """(sums, what rounding took from them) after one more block."""
    (counts, samples, total), lost = sums
    if counts.dtype.itemsize > 4:
        return (_scattered(counts, code, mass), samples + mass.sum(axis=0), total + log_p), lost
    more = _scattered(jnp.zeros_like(counts), code, mass), mass.sum(axis=0), log_p
    more = jax.tree.map(jnp.subtract, more, lost)
    new = jax.tree.map(jnp.add, sums[0], more)
    lost = jax.tree.map(lambda n, s, a: jnp.where(jnp.isfinite(n), (n - s) - a, 0), new, sums[0], more)
    return new, lost
