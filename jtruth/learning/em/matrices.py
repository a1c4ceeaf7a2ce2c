"""The model of Dawid and Skene (1979) for EM: labels by columns, a confusion matrix for each labeler.

Sample i has an unknown class y_i, drawn from the prior pi. Labeler t gives label k to a sample of class c
with probability psi_t[c, k], independently of everything else (Su (58)). EM repeats (2.3)-(2.5) there:

    M:  psi_t[c, k]  proportional to  the sum of rho_i[c] over the samples to which t gave label k
        pi[c]        proportional to  the sum of rho_i[c] over all samples
    E:  rho_i[c]     proportional to  pi[c] * the product of psi_t[c, k] over the labels k, by t, of sample i

With pseudo-counts it finds the mode of a posterior. A step is one pass over the labels in logs, and its
transpose, which adds up the counts: nothing underflows.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jtruth._arrays import AnyArray, safe_log
from jtruth._iterate import inside_simplex, normalised
from jtruth._one_line import one_line
from jtruth.learning.em.algorithm import Model, e_step, log_shares, maximise, of_probabilities, wide
from jtruth.learning.em.columns import LabelColumns

_PLAIN_STEPS = 20  # of EM before the first jump: most problems are done by then
_UNROLL = 8  # labels a sample that are not a loop
_MOST_FLOAT32 = 2**24  # samples that a sum of float32 can count


class EMResult(NamedTuple):
    """What `dawid_skene_em` returns."""

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


@partial(jax.jit, static_argnames=("max_steps", "one_coin"))
def dawid_skene_em(
    data: LabelColumns,
    start: Float[AnyArray, "samples classes"],
    pseudo_counts: tuple[Float[AnyArray, " classes"], Float[AnyArray, "labelers classes classes"]],
    prior: Float[AnyArray, " classes"] | None = None,
    *,
    max_steps: int,
    tol: float | Float[Array, ""],
    one_coin: bool = False,
) -> EMResult:
    """EM from a first guess of the class posterior; pure, jitted, of the dtype of its float arguments.

    Args:
        data: labels by columns (`jtruth.learning.em.columns`). Samples of weight 0 count nowhere.
        start: first class posterior, for instance the vote shares.
        pseudo_counts: of the class prior, and a matrix of them for each labeler (0: maximum likelihood).
        prior: keep the class prior at this value instead of learning it.
        max_steps: static; also the length of `path`.
        tol: done when EM would change no parameter by `tol` or more; in float32 not below about 1e-5.
        one_coin: static; a labeler has one error rate, and all wrong classes are equally likely.

    Raises:
        ValueError: more than 2**24 samples where JAX has no 64-bit types.
    """
    of_prior, of_matrices = (jnp.asarray(each) for each in pseudo_counts)
    data, start = jax.tree.map(jnp.asarray, data), jnp.asarray(start)
    if wide() == jnp.float32 and len(start) > _MOST_FLOAT32:
        raise ValueError(f"float32 cannot count {len(start)} samples: set jax_enable_x64")
    model_of, settings = one_coins if one_coin else matrices, (of_prior, of_matrices)
    model = model_of(data, settings)
    weighted = data.weight[:, None] * start
    mass = weighted.sum(axis=0, dtype=wide()).astype(start.dtype)
    shares = normalised(mass + of_prior) if prior is None else jnp.asarray(prior, start.dtype)
    # Slopes at probabilities of 1 are the expected labels themselves.
    certain = jnp.ones(of_matrices.shape, start.dtype), shares
    first = model.m_step(certain, start, jax.vjp(model.joint, certain)[1](weighted)[0])
    fixed = -jnp.ones_like(shares) if prior is None else shares
    end = maximise(model_of, data, (*first, shares), settings, fixed, max_steps=max_steps - 1, tol=tol)
    log_likelihood, posterior, slopes = e_step(data, model.joint, end.params)
    return EMResult(
        prior=end.params[1],
        matrices=end.params[0],
        class_posterior=posterior,
        row_labels=(end.params[0] * slopes[0]).sum(axis=2),
        log_likelihood=log_likelihood,
        objective=end.objective,
        converged=end.converged,
        num_steps=end.num_steps + 1,
        largest_drop=end.largest_drop,
        path=end.path,
    )


def matrices(data: LabelColumns, settings: Any) -> Model:
    """The model for EM: a matrix for each labeler; `settings`: pseudo-counts of prior and matrices."""
    of_prior, of_matrices = settings

    def joint(params):
        return log_shares(data, params[1]) + sum_of_labels(data, safe_log(params[0].astype(wide())))

    model = of_probabilities(joint, (of_matrices,))
    number = data.weight[:, None] if data.sample is None else data.weight[data.sample, None]
    terms = jnp.where(of_matrices.shape[0] * of_matrices.shape[1] > data.code.T, number, 0).sum()
    return model._replace(terms=jnp.maximum(terms, 1), pseudo=of_prior, plain_steps=_PLAIN_STEPS)


def one_coins(data: LabelColumns, settings: Any) -> Model:
    """The same with one error rate for each labeler."""
    model = matrices(data, settings)

    def m_step(params, _, slopes):
        return (normalised(_one_coin(params[0] * slopes[0] + settings[1])),)

    def inside(far, plain):
        return normalised(_one_coin(inside_simplex(far, plain)))

    return model._replace(m_step=m_step, inside=inside)


def _one_coin(counts):
    """Counts of each labeler averaged such that all rows have one error rate: the M step of one coin."""
    classes = counts.shape[-1]
    diagonal = jnp.eye(classes, dtype=bool)
    right = jnp.where(diagonal, counts, 0).sum(axis=(1, 2), keepdims=True)
    wrong = jnp.where(diagonal, 0, counts).sum(axis=(1, 2), keepdims=True) / (classes - 1)
    return jnp.where(diagonal, right, wrong)


def sum_of_labels(data: LabelColumns, log_matrices: Array) -> Array:
    """(samples, classes) the sum of log psi_t[c, k] over the labels k, by t, of each sample."""
    classes = log_matrices.shape[2]
    by_code = log_matrices.swapaxes(1, 2).reshape(-1, classes)
    by_code = jnp.concatenate([by_code, jnp.zeros((1, classes), by_code.dtype)])  # the last: no label
    kind = data.weight.dtype

    def add(logs, code):
        return logs + by_code[code].astype(kind), None

    # A few labels of a sample are written out, many are a loop. Transposed it adds up column by column: one
    # large scatter would copy the rows for each.
    first = jnp.zeros((data.code.shape[1], classes), kind)
    logs = jax.lax.scan(add, first, data.code, unroll=min(len(data.code), _UNROLL))[0]
    if data.sample is None:
        return logs
    return jnp.zeros((data.weight.size, classes), kind).at[data.sample].add(logs)
