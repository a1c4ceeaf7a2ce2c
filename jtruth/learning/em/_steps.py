"""The EM steps of Dawid and Skene (1979) as one pure, jitted function of a fixed shape.

Sample i has an unknown class y_i, drawn from the prior pi. Labeler t, shown a sample of class c, gives label
k with probability psi_t[c, k], independently of everything else (Su (58)). EM repeats (2.3)-(2.5) there:

    M:  psi_t[c, k]  proportional to  the sum of rho_i[c] over the samples to which t gave label k
        pi[c]        proportional to  the sum of rho_i[c] over all samples
    E:  rho_i[c]     proportional to  pi[c] * the product of psi_t[c, k] over the labels k, by t, of sample i

A sample whose class is known keeps it; pseudo-counts turn maximum likelihood into the mode of a posterior; a
sample may carry a weight, so that a bootstrap is a `vmap` over weights. A step is one pass over the labels in
logs: nothing underflows. Sums over samples are of 64 bits where JAX has them: in float32 a sum stops growing
at 2**24 times what is added (benchmarks/dawid_skene_speed.py).
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
_UNROLL = 8  # labels a sample that are not a loop
_MOST_FLOAT32 = 2**24  # samples that a sum of float32 can count


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


@partial(jax.jit, static_argnames=("max_steps", "one_coin"))
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

    Raises:
        ValueError: more than 2**24 samples where JAX has no 64-bit types.
    """
    of_prior, of_matrices = (jnp.asarray(each) for each in pseudo_counts)
    labelers, classes, _ = of_matrices.shape
    rows, start = labelers * classes, jnp.asarray(start)
    if _wide() == jnp.float32 and len(start) > _MOST_FLOAT32:
        raise ValueError(f"float32 cannot count {len(start)} samples: set jax_enable_x64")
    last = of_prior[None, :] if prior is None else jnp.zeros((1, classes), start.dtype)
    pseudo = jnp.concatenate([of_matrices.reshape(-1, classes), last])
    entry_weight = data.weight if data.sample is None else data.weight[data.sample]
    num_labels = jnp.where(data.code < rows, entry_weight[None, :], 0).sum(dtype=start.dtype)

    def improve(parameters, _):
        posterior, log_p = posterior_in_logs(data, parameters)
        objective = _weighted(data.weight, log_p) + xlogy(pseudo, parameters).sum()
        return objective, _m_step(counts_of(data, posterior, rows), pseudo, prior, one_coin), None

    def inside(far, plain):
        far = inside_simplex(far, plain)
        return _one_coin(far) / _one_coin(far).sum(axis=1, keepdims=True) if one_coin else far

    found = climb(
        improve, _m_step(counts_of(data, start, rows), pseudo, prior, one_coin), inside,
        max_steps=max_steps - 1, tol=tol, plain_steps=_PLAIN_STEPS, terms=jnp.maximum(num_labels, 1),
    )  # fmt: skip
    posterior, log_p = posterior_in_logs(data, found.params)
    return EMResult(
        prior=found.params[-1],
        matrices=found.params[:-1].reshape(of_matrices.shape),
        class_posterior=posterior,
        row_labels=counts_of(data, posterior, rows)[:-1].sum(axis=1).reshape(labelers, classes),
        log_likelihood=_weighted(data.weight, log_p),
        objective=found.objective,
        converged=found.converged,
        num_steps=found.num_steps + 1,
        largest_drop=found.largest_drop,
        path=found.path,
    )


def counts_of(data: Any, posterior: Array, cells: int) -> Array:
    """(cells + 1, classes): expected labels by (labeler, true class), then samples; by given class."""
    classes = posterior.shape[1]
    mass = data.weight[:, None] * posterior
    rows = mass if data.sample is None else mass[data.sample]
    zero = jnp.zeros((cells + 1, classes), _wide())
    # Column by column: one large scatter would copy the rows for each.
    by_code = _over_labels(lambda total, one: total.at[one].add(rows.astype(total.dtype)), zero, data.code)
    by_class = by_code[:-1].reshape(-1, classes, classes).swapaxes(1, 2).reshape(-1, classes)
    return jnp.concatenate([by_class, mass.sum(axis=0, dtype=_wide())[None]]).astype(posterior.dtype)


def posterior_in_logs(data: Any, parameters: Array) -> tuple[Array, Array]:
    """Class posterior (2.5) and log p(labels of a sample); 0 and -inf where labels are impossible."""
    classes = parameters.shape[1]
    logs = jnp.log(parameters)
    by_code = logs[:-1].reshape(-1, classes, classes).swapaxes(1, 2).reshape(-1, classes)
    of_code = jnp.concatenate([by_code, jnp.zeros((1, classes), logs.dtype)])  # the last: no label
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


def of_another_class(known: Any, classes: int) -> Array:
    """(samples, classes) whether a sample is known to be of another class; -1 is unknown."""
    known = jnp.asarray(known)[:, None]
    return (known >= 0) & (known != jnp.arange(classes, dtype=known.dtype)[None, :])


def _weighted(weight: Any, log_p: Array) -> Array:
    """Sum over samples; one of weight 0 counts nothing even if it is impossible."""
    return jnp.where(weight > 0, weight * log_p, 0).sum(dtype=_wide()).astype(log_p.dtype)


def _wide() -> Any:
    """The type of sums over samples: float64 where JAX has it."""
    return jax.dtypes.canonicalize_dtype(float)
