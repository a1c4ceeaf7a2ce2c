"""EM for labels in long form: what the models of this folder have in common.

A model says how probable the labels of a sample are in each class (and level of difficulty), and where an M
step goes. The E step is one pass with its gradient: class posterior, and slopes of the log-likelihood. The
class prior is always the last of the parameters. Where all parameters are probabilities the M step is the
same for every model (`of_probabilities`): the expected number of times that a probability p was used is p
times the slope of the log-likelihood in p (Baum and Eagon 1967).

An M step without a closed form may be a Newton step: that points uphill, because the gradient of what EM
climbs is that of its lower bound (Fisher's identity), but may go too far, so `climb` is asked to dampen it.

Entries and sizes of labels are padded (weight 0) to a few sizes, so that programs are reused.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array

from jtruth._arrays import safe_log
from jtruth._squarem import inside_simplex
from jtruth.labels import Labels
from jtruth.learning._climb import Summit, climb
from jtruth.learning._fit import Fit
from jtruth.learning._given import clamp, not_converged, unlabelled
from jtruth.learning.em._pass import of_another_class
from jtruth.learning.em.columns import bucket

Params = tuple[Any, ...]


class LongForm(NamedTuple):
    """Labels in long form, NumPy or JAX. Padding has `given` 0 and samples of weight 0."""

    sample: Any  # (labels,) int
    labeler: Any  # (labels,) int
    label: Any  # (labels,) int
    given: Any  # (labels,) float: 1, or 0 for padding
    known: Any  # (samples,) int: the class where it is known, -1 elsewhere
    weight: Any  # (samples,) float: how often a sample counts; a bootstrap is a `vmap` over it

    @property
    def each(self) -> Any:
        """(labels,) how often each label counts."""
        return self.given * self.weight[self.sample]

    def shares(self, prior: Any) -> Array:
        """(samples, classes) log prior, -inf where the class is known to be another."""
        return jnp.where(of_another_class(self.known, prior.size), -jnp.inf, safe_log(prior)[None, :])

    def total(self, evidence: Any) -> Array:
        """Sum over samples, each as often as its weight says."""
        return jnp.where(self.weight > 0, self.weight * evidence, 0).sum()


def long_form(labels: Labels, known: np.ndarray) -> LongForm:
    """The entries that are labels, and known classes, padded; float64."""
    sample, labeler, label = labels.entries()
    more = bucket(sample.size) - sample.size
    samples = bucket(labels.num_samples) - labels.num_samples
    sample, labeler, label = (np.pad(each, (0, more)).astype(np.int32) for each in (sample, labeler, label))
    given = np.pad(np.ones(sample.size - more), (0, more))
    known = np.pad(known.astype(np.int32), (0, samples), constant_values=-1)
    return LongForm(sample, labeler, label, given, known, np.pad(np.ones(labels.num_samples), (0, samples)))


def start_shares(labels: Labels, fixed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """(classes,) the class prior at the start, and `prior` for `em`: -1 to learn it.

    At the start it is the known one, or the shares of all labels, of half a label at least.
    """
    votes = np.maximum(labels.counts().sum(axis=0), 0.5)
    return (votes / votes.sum(), np.full(votes.size, -1.0)) if fixed is None else (fixed, fixed)


def even_errors(data: LongForm, log_right: Any, log_wrong: Any, prior: Any) -> Array:
    """log p(labels of a sample, class) where all wrong classes are named alike: two sums, whatever C is.

    Args:
        data: the labels.
        log_right, log_wrong: (labels, *levels) log probability of the right class, and of one wrong class.
        prior: (classes,).

    Returns:
        (samples, classes), or (samples, classes, levels) with levels.
    """
    size, classes, levels = data.known.shape[0], prior.shape[0], log_right.shape[1:]
    given = data.given.reshape(-1, *[1] * len(levels))
    every = jnp.zeros((size, *levels), log_right.dtype).at[data.sample].add(given * log_wrong)
    own = jnp.zeros((size * classes, *levels), log_right.dtype)
    own = own.at[data.sample * classes + data.label].add(given * (log_right - log_wrong))
    shares = data.shares(prior).reshape(size, classes, *[1] * len(levels))
    return shares + every[:, None] + own.reshape(size, classes, *levels)


class Model(NamedTuple):
    """A model of labels with parameters `(*own, class prior)`."""

    joint: Callable[
        [Params, LongForm], Array
    ]  # log p(labels of a sample, class): (.., ..) or (.., .., levels)
    m_step: Callable[[Params, Array, Params], Params]  # params, posterior, slopes -> own
    log_prior: Callable[[Params], Any]
    inside: Callable[[Any, Any], Any]  # one of own after a jump, and after a step -> the former, allowed


def of_probabilities(joint: Callable[[Params, LongForm], Array], pseudo_counts: Params) -> Model:
    """A model whose own parameters are distributions (last axis); pseudo-counts have their shapes.

    A row without counts and pseudo-counts stays as it is.
    """

    def m_step(params: Params, posterior: Array, slopes: Params) -> Params:
        rows = [p * slope + more for p, slope, more in zip(params, slopes, pseudo_counts, strict=False)]
        total = [row.sum(axis=-1, keepdims=True) for row in rows]
        return tuple(jnp.where(n > 0, r / jnp.where(n > 0, n, 1), p)
                     for r, n, p in zip(rows, total, params, strict=False))  # fmt: skip

    def log_prior(params: Params) -> Any:
        return sum(xlogy(a, p).sum() for a, p in zip(pseudo_counts, params, strict=False))

    return Model(joint, m_step, log_prior, inside_simplex)


class End(NamedTuple):
    """Where EM stopped, and what the parameters there say of the samples."""

    summit: Summit
    posterior: Array  # (samples, classes) or (samples, classes, levels)
    alone: Array  # (samples, classes) log p(labels | class), no class known
    log_likelihood: Array


def e_step(joint: Array) -> tuple[Array, Array]:
    """Posterior of class (and level), and log p(labels of a sample)."""
    evidence = jax.nn.logsumexp(joint, axis=tuple(range(1, joint.ndim)), keepdims=True)
    return jnp.exp(joint - evidence), evidence.reshape(-1)


def em(model: Model, data: LongForm, start: Params, prior: Any, *, max_steps: int, tol: Any) -> End:
    """EM from `start`; pure.

    Args:
        model, data, start: the model, the labels, and its first parameters.
        prior: (classes,) a known class prior; -1 to learn it.
        max_steps, tol: see `climb`.
    """

    def evidence(params: Params) -> tuple[Array, Array]:
        posterior, each = e_step(model.joint(params, data))
        return data.total(each), posterior

    def improve(params: Params, _: Any) -> tuple[Array, Params, None]:
        (log_likelihood, posterior), slopes = jax.value_and_grad(evidence, has_aux=True)(params)
        by_class = posterior.sum(axis=tuple(range(2, posterior.ndim)))
        mean = (data.weight[:, None] * by_class).sum(axis=0) / data.weight.sum()
        own = model.m_step(params, posterior, slopes)
        return log_likelihood + model.log_prior(params), (*own, jnp.where(prior < 0, mean, prior)), None

    def inside(far: Params, plain: Params) -> Params:
        return *map(model.inside, far[:-1], plain[:-1]), inside_simplex(far[-1], plain[-1])

    found = climb(improve, jax.tree.map(jnp.asarray, start), inside, max_steps=max_steps, tol=tol)
    log_likelihood, posterior = evidence(found.params)
    params = (*found.params[:-1], jnp.ones_like(found.params[-1]))
    alone = model.joint(params, data._replace(known=jnp.full_like(data.known, -1)))
    alone = jax.nn.logsumexp(alone, axis=2) if alone.ndim == 3 else alone
    return End(found, posterior, alone, log_likelihood)


def fitted(labels: Labels, known: np.ndarray, end: End, doubts: tuple[str, ...], **own: Any) -> Fit:
    """The end of EM as a result, NumPy float64; `doubts` and `own` are the model's own."""
    size, found = labels.num_samples, end.summit
    converged, steps = bool(found.converged), int(found.num_steps)
    posterior = np.asarray(end.posterior)[:size]
    return Fit(
        np.asarray(found.params[-1]),
        clamp(posterior.reshape(*posterior.shape[:2], -1).sum(axis=2), known),
        float(end.log_likelihood),
        converged,
        steps,
        (*not_converged("EM", converged, steps), *unlabelled(labels), *doubts),
        own | {"label_log_likelihood": np.asarray(end.alone)[:size], "log_posterior": float(found.objective)},
    )


def silent(labels: Labels, what: str) -> tuple[str, ...]:
    """A sentence if some labelers gave no label; `what` says what that does."""
    none = np.count_nonzero(labels.labels_per_labeler() == 0)
    return (f"{none} labelers gave no label; {what}",) if none else ()
