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

A step is one pass over the labels, in blocks that stay in the cache (`_pass`), and what it leaves are counts;
the class posterior of the samples is computed at the end (benchmarks/dawid_skene_speed.py has the numbers).
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array, Bool, Float, Int

from jtruth._one_line import one_line
from jtruth._squarem import inside_simplex
from jtruth.learning._climb import climb
from jtruth.learning.em._pass import Expected, block_size, class_posterior, counts_of, expected
from jtruth.learning.em.columns import LabelColumns

_PLAIN_STEPS = 20  # of EM before the first jump: most problems are done by then


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
    total = rows.sum(axis=1, keepdims=True)
    parameters = jnp.where(total > 0, rows / jnp.where(total > 0, total, 1), 1 / rows.shape[1])
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
