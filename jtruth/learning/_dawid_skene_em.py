"""The EM steps of Dawid and Skene (1979) as one pure, jitted function of a fixed shape.

Sample i has an unknown class y_i, drawn from the prior pi. Labeler t, shown a sample of class c, gives label
k with probability psi_t[c, k], independently of everything else (Su (58)). EM repeats two steps that can only
raise the marginal likelihood of the labels:

    M:  psi_t[c, k]  proportional to  the sum of rho_i[c] over the samples to which t gave label k
        pi[c]        proportional to  the sum of rho_i[c] over all samples
    E:  rho_i[c]     proportional to  pi[c] * the product of psi_t[c, k] over the labels k, by t, of sample i

((2.3)-(2.5) there). The product is taken in the log domain; a sample whose class is known keeps that class;
pseudo-counts turn maximum likelihood into the mode of a posterior; a sample may carry a weight, so that equal
samples are handled once and a bootstrap is a `vmap` over weights.

One loop over the columns of `LabelColumns` gathers log probabilities, another scatters expected counts; each
moves whole (samples, classes) blocks. On a CPU that is several times faster than the same sums by `bincount`
or sparse matrices (benchmarks/dawid_skene_speed.py has the numbers). Nothing is unrolled: the program
compiles in a fraction of a second however many labels a sample has.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jtruth.learning._columns import LabelColumns


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
    path: Float[Array, " max_steps"]  # objective after each step; NaN after the last


def _normalise(counts):
    """Rows to probabilities; a row of zeros, about which nothing is known, to uniform."""
    total = counts.sum(axis=-1, keepdims=True)
    return jnp.where(total > 0, counts / jnp.where(total > 0, total, 1), 1 / counts.shape[-1])


def _m_step(data, posterior, pseudo_prior, pseudo_matrices, prior):
    """Expected counts, plus pseudo-counts, normalised (their 2.3, 2.4)."""
    labelers, classes, _ = pseudo_matrices.shape
    mass = data.weight[:, None] * posterior
    rows = mass if data.sample is None else mass[data.sample]
    counts = jnp.zeros((labelers * classes + 1, classes), posterior.dtype)
    # One column at a time: one large scatter would first copy the posterior once for every label.
    counts, _ = jax.lax.scan(lambda total, code: (total.at[code].add(rows), None), counts, data.code)
    counts = counts[:-1].reshape(labelers, classes, classes).swapaxes(1, 2)  # (labeler, true, given)
    prior = _normalise(mass.sum(axis=0) + pseudo_prior) if prior is None else prior
    return prior, _normalise(counts + pseudo_matrices), counts.sum(axis=2)


def _e_step(data, prior, matrices):
    """Class posterior (their 2.5) and log p(labels of a sample); 0 and -inf where labels are impossible."""
    labelers, classes, _ = matrices.shape
    table = jnp.log(matrices).swapaxes(1, 2).reshape(labelers * classes, classes)
    table = jnp.concatenate([table, jnp.zeros((1, classes), table.dtype)])  # the last row: no label
    known = data.known[:, None]
    other = (known >= 0) & (known != jnp.arange(classes, dtype=known.dtype)[None, :])
    log_joint = jnp.where(other, -jnp.inf, jnp.log(prior)[None, :])
    rows = log_joint if data.sample is None else jnp.zeros((data.code.shape[1], classes), table.dtype)
    rows, _ = jax.lax.scan(lambda total, code: (total + table[code], None), rows, data.code)
    log_joint = rows if data.sample is None else log_joint.at[data.sample].add(rows)
    top = log_joint.max(axis=1, keepdims=True)
    top = jnp.where(jnp.isfinite(top), top, 0)
    joint = jnp.exp(log_joint - top)
    total = joint.sum(axis=1, keepdims=True)
    return joint * jnp.where(total > 0, 1 / total, 0), (jnp.log(total) + top)[:, 0]


def _log_prior(pseudo_count, probability):
    """sum of pseudo-count * log probability, where 0 * log 0 = 0."""
    used = pseudo_count > 0
    return jnp.where(used, pseudo_count * jnp.log(jnp.where(used, probability, 1)), 0).sum()


@partial(jax.jit, static_argnames=("max_steps",))
def dawid_skene_em(
    data: LabelColumns,
    start: Float[Array | np.ndarray, "samples classes"],
    pseudo_prior: Float[Array | np.ndarray, " classes"],
    pseudo_matrices: Float[Array | np.ndarray, "labelers classes classes"],
    prior: Float[Array | np.ndarray, " classes"] | None = None,
    *,
    max_steps: int,
    tol: float | Float[Array, ""],
) -> EMResult:
    """EM from a first guess of the class posterior; pure, jitted, of the dtype of its float arguments.

    Args:
        data: labels by columns (`jtruth.learning._columns`). Samples of weight 0 count nowhere: padding,
            or left out by a bootstrap.
        start: first class posterior, for instance the vote shares.
        pseudo_prior, pseudo_matrices: pseudo-counts (0: maximum likelihood), one matrix for each labeler.
        prior: keep the class prior at this value instead of learning it.
        max_steps: static; also the length of `path`.
        tol: done when a step changes no parameter, and the objective per label, by `tol` or more. In float32
            nothing below about 1e-5 can be met, and a count stops growing at 2**24 labels in one cell.
    """
    dtype = start.dtype
    labelers, classes, _ = pseudo_matrices.shape
    entry_weight = data.weight if data.sample is None else data.weight[data.sample]
    num_labels = jnp.where(data.code < labelers * classes, entry_weight[None, :], 0).sum()
    num_labels = jnp.maximum(num_labels, 1)
    # What rounding can do to the objective: a few eps for each label (rows sum to 1 within eps) and each log.
    rounding = 64 * jnp.finfo(dtype).eps

    def step(old):
        new_prior, matrices, row_labels = _m_step(
            data, old.class_posterior, pseudo_prior, pseudo_matrices, prior
        )
        posterior, log_p = _e_step(data, new_prior, matrices)
        log_likelihood = jnp.where(data.weight > 0, data.weight * log_p, 0).sum()
        log_prior = _log_prior(pseudo_matrices, matrices)
        log_prior += 0 if prior is not None else _log_prior(pseudo_prior, new_prior)
        objective = log_likelihood + log_prior
        drop = old.objective - objective
        moved = jnp.maximum(jnp.abs(new_prior - old.prior).max(), jnp.abs(matrices - old.matrices).max())
        allowed = rounding * (num_labels + jnp.abs(log_likelihood) + jnp.abs(log_prior))
        return EMResult(
            prior=jnp.asarray(new_prior),
            matrices=matrices,
            class_posterior=posterior,
            row_labels=row_labels,
            log_likelihood=log_likelihood,
            objective=objective,
            converged=(moved < tol) & (jnp.abs(drop) < tol * num_labels),
            num_steps=old.num_steps + 1,
            largest_drop=jnp.maximum(old.largest_drop, jnp.where(drop > allowed, drop, 0)),
            path=old.path.at[old.num_steps].set(objective),
        )

    first = EMResult(
        prior=jnp.full(classes, jnp.inf, dtype),
        matrices=jnp.full((labelers, classes, classes), jnp.inf, dtype),
        class_posterior=jnp.asarray(start),
        row_labels=jnp.zeros((labelers, classes), dtype),
        log_likelihood=jnp.array(-jnp.inf, dtype),
        objective=jnp.array(-jnp.inf, dtype),
        converged=jnp.array(False),
        num_steps=jnp.array(0, jnp.int32),
        largest_drop=jnp.array(0, dtype),
        path=jnp.full(max_steps, jnp.nan, dtype),
    )
    return jax.lax.while_loop(lambda now: ~now.converged & (now.num_steps < max_steps), step, first)
