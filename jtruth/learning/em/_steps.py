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

With labelers near chance EM crawls, for ten thousand steps and more. So after 20 steps every second one is a
jump along the way that EM took (SQUAREM), kept only if the objective does not fall; otherwise EM goes on from
where it was. The fixed points are those of EM, and convergence is measured by what EM itself would change.

A step is one pass over the labels, in blocks that stay in the cache (`_pass`), and what it leaves are counts;
the class posterior of the samples is computed at the end (benchmarks/dawid_skene_speed.py has the numbers).
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jtruth._arrays import from_here
from jtruth._one_line import one_line
from jtruth._squarem import inside_simplex, squarem
from jtruth.learning.em._pass import block_size, class_posterior, counts_of, expected
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


class _State(NamedTuple):
    parameters: Array  # (labelers * classes + 1, classes): matrix rows, then the prior; each sums to 1
    before: Array  # the parameters of the step before
    fallback: Array  # where to go on after a jump that did not pay
    rejected: Array  # the last step was such a jump; `counts` are of no use then
    plain_steps: Array  # since the start or the last jump
    longest: Array  # the longest jump allowed; changes by 4 when one of this length pays or does not
    counts: Array  # that these parameters make expected, rows as theirs
    in_logs: Array  # products of probabilities were too small
    row_labels: Array
    log_likelihood: Array
    objective: Array
    converged: Array
    num_steps: Array
    largest_drop: Array
    path: Array


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


def _log_prior(pseudo_counts, parameters):
    """sum of pseudo-count * log probability, where 0 * log 0 = 0."""
    used = pseudo_counts > 0
    return jnp.where(used, pseudo_counts * jnp.log(jnp.where(used, parameters, 1)), 0).sum()


class _Model(NamedTuple):
    """What every step works with."""

    data: LabelColumns
    pseudo_counts: Array  # rows as those of the parameters
    prior: Array | np.ndarray | None  # where it is kept
    num_labels: Array  # by weight
    tol: float | Array
    max_steps: int
    one_coin: bool
    block: int


def _propose(model, old):
    """Where EM goes from `old`, and where this step goes: there, or by a jump of a length."""
    mapped = _m_step(old.counts, model.pseudo_counts, model.prior, model.one_coin)
    after = jnp.where(old.rejected, old.fallback, mapped)
    jumped = (old.plain_steps >= 1) & (old.num_steps >= _PLAIN_STEPS) & (old.num_steps < model.max_steps - 1)
    (far,), length = squarem([old.before], [old.parameters], [after], old.longest)
    far = inside_simplex(far, after)
    if model.one_coin:
        far = _one_coin(far) / _one_coin(far).sum(axis=1, keepdims=True)
    return after, jnp.where(jumped, far, after), jumped, length


def _step(model, old):
    """One pass over the labels: counts that the new parameters make expected, and how good these are."""
    after, new, jumped, length = _propose(model, old)
    counts, log_likelihood, in_logs = expected(model.data, new, model.block, old.in_logs)
    log_prior = _log_prior(model.pseudo_counts, new)
    objective = log_likelihood + log_prior
    rejected = jumped & ~(objective >= old.objective)
    limited, shorter = jumped & (length >= old.longest), jnp.maximum(length / 4, 2)
    drop = jnp.where(rejected, 0, old.objective - objective)
    # What rounding can do to the objective: a few eps for each label (rows sum to 1 within eps) and each log.
    rounding = 64 * jnp.finfo(new.dtype).eps
    allowed = rounding * (model.num_labels + jnp.abs(log_likelihood) + jnp.abs(log_prior))
    moved = jnp.abs(after - old.parameters).max()
    kept = jnp.where(rejected, old.objective, objective)
    row_labels = old.counts[:-1].sum(axis=1).reshape(old.row_labels.shape)
    return _State(
        parameters=jnp.where(rejected, old.parameters, new),
        before=old.parameters,
        fallback=after,
        rejected=rejected,
        plain_steps=jnp.where(jumped, 0, old.plain_steps + 1),
        longest=jnp.where(limited, jnp.where(rejected, shorter, 4 * length), old.longest),
        counts=counts,
        in_logs=in_logs,
        row_labels=jnp.where(old.rejected, old.row_labels, row_labels),
        log_likelihood=log_likelihood,
        objective=kept,
        converged=~rejected & (moved < model.tol) & (jnp.abs(drop) < model.tol * model.num_labels),
        num_steps=old.num_steps + 1,
        largest_drop=jnp.maximum(old.largest_drop, jnp.where(drop > allowed, drop, 0)),
        path=from_here(old.path, old.num_steps, kept),
    )


def _first(model, start):
    """The state before the first step: counts of a class posterior, and parameters nowhere."""
    nowhere = jnp.full_like(model.pseudo_counts, jnp.inf)
    rows, classes = nowhere.shape
    none = jnp.array(-jnp.inf, nowhere.dtype)
    return _State(
        parameters=nowhere,
        before=nowhere,
        fallback=nowhere,
        rejected=jnp.array(False),
        plain_steps=jnp.array(0, jnp.int32),
        longest=jnp.array(4, nowhere.dtype),
        counts=counts_of(model.data, jnp.asarray(start), rows - 1, model.block),
        in_logs=jnp.array(False),
        row_labels=jnp.zeros((rows // classes, classes), nowhere.dtype),
        log_likelihood=none,
        objective=none,
        converged=jnp.array(False),
        num_steps=jnp.array(0, jnp.int32),
        largest_drop=jnp.array(0, nowhere.dtype),
        path=jnp.zeros(model.max_steps, nowhere.dtype),
    )


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
        tol: done when EM changes no parameter, and the objective per label, by `tol` or more. In float32
            nothing below about 1e-5 can be met.
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
    num_labels = jnp.maximum(jnp.where(data.code < rows, entry_weight[None, :], 0).sum(), 1)
    model = _Model(data, pseudo, prior, num_labels, tol, max_steps, one_coin, block)
    state = jax.lax.while_loop(
        lambda s: ~s.converged & (s.num_steps < max_steps), partial(_step, model), _first(model, start)
    )
    return EMResult(
        prior=state.parameters[-1],
        matrices=state.parameters[:-1].reshape(of_matrices.shape),
        class_posterior=class_posterior(data, state.parameters, block, state.in_logs),
        **{name: getattr(state, name) for name in EMResult._fields[3:]},
    )
