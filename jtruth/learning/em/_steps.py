"""The EM steps of Dawid and Skene (1979) as one pure, jitted function of a fixed shape.

Sample i has an unknown class y_i, drawn from the prior pi. Labeler t, shown a sample of class c, gives label
k with probability psi_t[c, k], independently of everything else (Su (58)). EM repeats two steps that can only
raise the marginal likelihood of the labels:

    M:  psi_t[c, k]  proportional to  the sum of rho_i[c] over the samples to which t gave label k
        pi[c]        proportional to  the sum of rho_i[c] over all samples
    E:  rho_i[c]     proportional to  pi[c] * the product of psi_t[c, k] over the labels k, by t, of sample i

((2.3)-(2.5) there). A sample whose class is known keeps that class;
pseudo-counts turn maximum likelihood into the mode of a posterior; a sample may carry a weight, so that equal
samples are handled once and a bootstrap is a `vmap` over weights.

A step is one pass over the labels: probabilities in, expected counts and the log-likelihood out. It needs no
class posterior: what a sample says is added to the counts of its labels and forgotten (speed:
benchmarks/dawid_skene_speed.py). So samples are taken in blocks that stay in the processor's cache, and what
a step reads from memory are the codes of the labels. In a block the class posterior is a product of gathered
probabilities, which spares a logarithm for each label and an exponential for each sample and class. Products
need a guard: once the total of some sample comes near the smallest number of its type, this pass is made
again in logs, and all later ones; with more than 100 labels a sample logs are taken from the beginning. Short
data are one block in logs: nothing branches, so `vmap` is cheap.

In float32 a sum stops growing at 2**24 times what is added, so each block has sums of its own, and these are
added with the rounding error of the last addition carried along (Kahan). The class posterior of the samples
is computed once, when EM is done.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array, Bool, Float, Int

from jtruth._iterate import climb, inside_simplex, normalised
from jtruth._one_line import one_line
from jtruth.learning.em.columns import LabelColumns

_PLAIN_STEPS = 20  # of EM before the first jump: most problems are done by then

_BLOCK = 4096  # samples on a CPU; elsewhere and in float32 with many labelers more
_LARGEST = 2**20
_MOST = 100  # labels a sample, above which products are not tried
_UNROLL = 8  # labels a sample that are not a loop


class EMResult(NamedTuple):
    """What `dawid_skene_em` returns. Row c of matrix t rests on `row_labels[t, c]` expected labels."""

    prior: Float[Array, " classes"]
    matrices: Float[Array, "labelers classes classes"]
    class_posterior: Float[Array, "samples classes"]  # at these matrices and this prior
    row_labels: Float[Array, "labelers classes"]
    log_likelihood: Float[Array, ""]  # sum_i weight_i log sum_c pi[c] prod psi_t[c, label]
    objective: Float[Array, ""]  # log_likelihood + sum of pseudo-count * log probability
    converged: Bool[Array, ""]
    num_steps: Int[Array, ""]
    largest_drop: Float[Array, ""]  # of the objective in one step, if more than rounding; else 0
    path: Float[Array, " max_steps"]  # objective after each step; the last is repeated

    __repr__ = one_line


def _one_coin(counts):
    """Counts, or rows that are nearly so, shared out such that all rows of a labeler hold one error rate.

    The sum of counts * log rows is then largest at: right labels over all, and wrong ones spread evenly. The
    last row, the class prior, stays.
    """
    classes = counts.shape[1]
    own = jnp.eye(classes, dtype=bool)[None, :, :]
    by_labeler = counts[:-1].reshape(-1, classes, classes)
    right = jnp.where(own, by_labeler, 0).sum(axis=(1, 2), keepdims=True)
    wrong = jnp.where(own, 0, by_labeler).sum(axis=(1, 2), keepdims=True) / (classes - 1)
    return jnp.concatenate([jnp.where(own, right, wrong).reshape(-1, classes), counts[-1:]])


def _m_step(counts, pseudo_counts, fixed_prior, one_coin=False):
    """Expected counts, plus pseudo-counts, normalised ((2.3), (2.4)); rows of zero counts are uniform."""
    rows = counts + pseudo_counts
    rows = _one_coin(rows) if one_coin else rows
    parameters = normalised(rows)
    return parameters if fixed_prior is None else parameters.at[-1].set(fixed_prior)


@partial(jax.jit, static_argnames=("max_steps", "one_coin", "block"))
def dawid_skene_em(
    data: LabelColumns,
    start: Float[Array | np.ndarray, "samples classes"],
    pseudo_counts: tuple[
        Float[Array | np.ndarray, " classes"], Float[Array | np.ndarray, "labelers classes classes"]
    ],
    prior: Float[Array | np.ndarray, " classes"] | None = None,
    *,
    max_steps: int,
    tol: float | Float[Array, ""],
    one_coin: bool = False,
    block: int | None = None,
) -> EMResult:
    """EM from a first guess of the class posterior; pure, jitted, of the dtype of its float arguments.

    Args:
        data: labels by columns (`jtruth.learning.em.columns`). Samples of weight 0 count nowhere: padding,
            or left out by a bootstrap.
        start: first class posterior, for instance the vote shares.
        pseudo_counts: of the class prior, and a matrix of them for each labeler (0: maximum likelihood).
        prior: keep the class prior at this value instead of learning it.
        max_steps: static; also the length of `path`.
        tol: done when EM would change no parameter by `tol` or more. In float32 nothing below about 1e-5
            can be met.
        one_coin: static; a labeler has one error rate, and errs towards every class alike. A jump keeps that
            but for rounding, which a long one enlarges, so it is made so again.
        block: static; samples at a time. By default what suits the processor and the size; 0: all of them,
            for samples that several devices share, and for `vmap` over more than 4096 samples, which would
            make every pass both by products and in logs.
    """
    of_prior, of_matrices = (jnp.asarray(each) for each in pseudo_counts)
    labelers, classes, _ = of_matrices.shape
    rows = labelers * classes
    block = block_size(data, rows, start.dtype) if block is None else block
    last = of_prior[None, :] if prior is None else jnp.zeros((1, classes), start.dtype)
    pseudo = jnp.concatenate([of_matrices.reshape(-1, classes), last])
    entry_weight = data.weight if data.sample is None else data.weight[data.sample]
    num_labels = jnp.where(data.code < rows, entry_weight[None, :], 0).sum()

    def after(counts):
        return _m_step(counts, pseudo, prior, one_coin)

    def improve(parameters, old):
        found = expected(data, parameters, block, old.in_logs)
        return found.log_likelihood + xlogy(pseudo, parameters).sum(), after(found.counts), found

    def inside(far, plain):
        far = inside_simplex(far, plain)
        return _one_coin(far) / _one_coin(far).sum(axis=1, keepdims=True) if one_coin else far

    counts = counts_of(data, jnp.asarray(start), rows, block)
    found = climb(
        improve, after(counts), inside, max_steps=max_steps - 1, tol=tol, plain_steps=_PLAIN_STEPS,
        terms=jnp.maximum(num_labels, 1), kept=Expected(counts, pseudo[0, 0], jnp.array(False)),
    )  # fmt: skip
    return EMResult(
        prior=found.params[-1],
        matrices=found.params[:-1].reshape(of_matrices.shape),
        class_posterior=class_posterior(data, found.params, block, found.kept.in_logs),
        row_labels=found.kept.counts[:-1].sum(axis=1).reshape(labelers, classes),
        log_likelihood=found.kept.log_likelihood,
        objective=found.objective,
        converged=found.converged,
        num_steps=found.num_steps + 1,
        largest_drop=found.largest_drop,
        path=found.path,
    )


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
