"""EM for labels in long form, whatever a label is: one loop for every model that says E and M.

A model says how probable the labels of a sample are in each class (and level of difficulty), and where an M
step goes. The E step is one pass with its gradient: class posterior, and slopes of the log-likelihood. The
class prior is always the last of the parameters. Where all parameters are probabilities the M step is the
same for every model (`of_probabilities`): the expected number of times that a probability p was used is p
times the slope of the log-likelihood in p (Baum and Eagon 1967). One without a closed form may be a Newton
step: that points uphill, because the gradient of what EM climbs is that of its lower bound (Fisher's
identity), but may go too far, so `climb` is asked to dampen it.

Entries and sizes of labels are padded (weight 0) to a few sizes, so that programs are reused.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array

from jtruth._arrays import safe_log
from jtruth._iterate import Summit, climb, inside_simplex, normalised
from jtruth.labels import Labels
from jtruth.learning._fit import Fit, check_steps, clamp, gold_and_prior, not_converged
from jtruth.learning.em._steps import of_another_class
from jtruth.learning.em.columns import bucket

Params = tuple[Any, ...]


class LongForm(NamedTuple):
    """Labels in long form, NumPy or JAX. Padding has `mask` 0 and samples of weight 0."""

    sample: Any  # (labels,) int
    labeler: Any  # (labels,) int
    label: Any  # (labels, ...): class codes, or whatever a model reads
    mask: Any  # (labels,) float: 1, or 0 for padding
    known: Any  # (samples,) int: the class where it is known, -1 elsewhere
    weight: Any  # (samples,) float: how often a sample counts; a bootstrap is a `vmap` over it

    @property
    def each(self) -> Any:
        """(labels,) how often each label counts."""
        return self.mask * self.weight[self.sample]

    def shares(self, prior: Any) -> Array:
        """(samples, classes) log prior, -inf where the class is known to be another."""
        return jnp.where(of_another_class(self.known, prior.size), -jnp.inf, safe_log(prior)[None, :])

    def by_sample(self, log_p: Any) -> Array:
        """(samples, ...) the sum over the labels of each sample, Su (58); padding adds nothing."""
        kept = jnp.where(self.mask.reshape(-1, *[1] * (log_p.ndim - 1)) > 0, log_p, 0)
        return jnp.zeros((self.known.shape[0], *log_p.shape[1:]), log_p.dtype).at[self.sample].add(kept)

    def total(self, evidence: Any) -> Array:
        """Sum over samples, each as often as its weight says."""
        return jnp.where(self.weight > 0, self.weight * evidence, 0).sum()


def long_form(entries: tuple[np.ndarray, ...], known: np.ndarray) -> LongForm:
    """Sample, labeler and label of every entry, and known classes, padded; float64."""
    number, size = len(entries[0]), known.size
    more, samples = bucket(number) - number, bucket(size) - size
    sample, labeler, label = (
        np.pad(part, [(0, more), *[(0, 0)] * (part.ndim - 1)], mode="edge") for part in entries
    )
    return LongForm(
        sample.astype(np.int32),
        labeler.astype(np.int32),
        label.astype(np.int32) if label.dtype.kind == "i" else label,
        np.pad(np.ones(number), (0, more)),
        np.pad(known.astype(np.int32), (0, samples), constant_values=-1),
        np.pad(np.ones(size), (0, samples)),
    )


def read(
    labels: Labels, gold: Any, prior: Any, max_steps: int, tol: float
) -> tuple[LongForm, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """What a method was given, checked: labels in long form, known classes, and the class prior.

    The last are (classes,) shares to start at, those of all labels (of half a label at least) or the known
    ones, and `prior` for `em`: -1 to learn it.
    """
    known, fixed = gold_and_prior(labels, gold, prior)
    check_steps(max_steps, tol)
    votes = np.maximum(labels.counts().sum(axis=0), 0.5)
    shares = (votes / votes.sum(), np.full(votes.size, -1.0)) if fixed is None else (fixed, fixed)
    return long_form(labels.entries(), known), known, shares


def even_errors(data: LongForm, log_right: Any, log_wrong: Any, prior: Any) -> Array:
    """log p(labels of a sample, class) where all wrong classes are named alike: two sums, whatever C is.

    From the log probability of the right class and of one wrong class, (labels, *levels) each; (samples,
    classes, *levels).
    """
    size, classes, levels = data.known.shape[0], prior.shape[0], log_right.shape[1:]
    mask = data.mask.reshape(-1, *[1] * len(levels))
    more = jnp.zeros((size * classes, *levels), log_right.dtype)
    more = more.at[data.sample * classes + data.label].add(mask * (log_right - log_wrong))
    shares = data.shares(prior).reshape(size, classes, *[1] * len(levels))
    return shares + data.by_sample(log_wrong)[:, None] + more.reshape(size, classes, *levels)


class Model(NamedTuple):
    """A model of labels with parameters `(*own, class prior)`."""

    joint: Callable[[Params], Array]  # log p(labels of a sample, class): (.., ..) or (.., .., levels)
    m_step: Callable[[Params, Array, Params], Params]  # params, posterior, slopes -> own
    log_prior: Callable[[Params], Any]
    inside: Callable[[Any, Any], Any]  # one of own after a jump, and after a step -> the former, allowed
    terms: float = 0.0  # above 0: a step may lower the objective and is taken all the same (see `climb`)
    pseudo: float = 0.0  # pseudo-count of each class in the class prior


def of_probabilities(joint: Callable[[Params], Array], pseudo_counts: Params) -> Model:
    """A model whose own parameters are distributions (last axis); pseudo-counts have their shapes.

    A row without counts and pseudo-counts is uniform.
    """

    def m_step(params: Params, posterior: Array, slopes: Params) -> Params:
        each = zip(params, slopes, pseudo_counts, strict=False)
        return tuple(normalised(p * slope + more) for p, slope, more in each)

    def log_prior(params: Params) -> Any:
        return sum(xlogy(a, p).sum() for a, p in zip(pseudo_counts, params, strict=False))

    return Model(joint, m_step, log_prior, inside_simplex)


@partial(jax.jit, static_argnames=("model_of", "max_steps"))
def em(
    model_of: Callable[[LongForm, Any], Model],
    data: LongForm,
    start: Params,
    settings: Any,
    prior: Any,
    *,
    max_steps: int,
    tol: Any,
) -> Summit:
    """EM from first parameters; pure and jitted; `vmap` it over starts or `data.weight`.

    Args:
        model_of: (labels, settings) -> the model; one function object for each model.
        settings: arrays of the model: priors, nodes.
        prior: (classes,) a known class prior; -1 to learn it.

    Returns:
        Where EM stopped, and as `kept` what the parameters there say: p(class) (samples, classes) or p(class,
        level), log p(labels | class) (samples, classes) where no class is known, and the log-likelihood.
    """
    data, start, settings = jax.tree.map(jnp.asarray, (data, start, settings))
    model = model_of(data, settings)

    def evidence(params: Params) -> tuple[Array, Array]:
        joint = model.joint(params)
        each = jax.nn.logsumexp(joint, axis=tuple(range(1, joint.ndim)), keepdims=True)
        return data.total(each.reshape(-1)), jnp.exp(joint - each)

    def improve(params: Params, _: Any) -> tuple[Array, Params, None]:
        (log_likelihood, posterior), slopes = jax.value_and_grad(evidence, has_aux=True)(params)
        by_class = posterior.sum(axis=tuple(range(2, posterior.ndim)))
        mass = (data.weight[:, None] * by_class).sum(axis=0) + model.pseudo
        own = model.m_step(params, posterior, slopes)
        objective = log_likelihood + model.log_prior(params)
        if model.pseudo:
            objective = objective + model.pseudo * jnp.log(params[-1]).sum()
        return objective, (*own, jnp.where(prior < 0, mass / mass.sum(), prior)), None

    def inside(far: Params, plain: Params) -> Params:
        return *map(model.inside, far[:-1], plain[:-1]), inside_simplex(far[-1], plain[-1])

    found = climb(improve, start, inside, max_steps=max_steps, tol=tol, terms=model.terms)
    log_likelihood, posterior = evidence(found.params)
    free = model_of(data._replace(known=jnp.full_like(data.known, -1)), settings)
    alone = free.joint((*found.params[:-1], jnp.ones_like(found.params[-1])))
    alone = jax.nn.logsumexp(alone.reshape(*alone.shape[:2], -1), axis=2)
    return found._replace(kept=(posterior, alone, log_likelihood))


def run(model_of: Any, data: LongForm, start: Params, settings: Any, prior: Any, **steps: Any) -> Summit:
    """`em` in float64, its end as NumPy arrays."""
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, em(model_of, data, start, settings, prior, **steps))


def fitted(labels: Labels, known: np.ndarray, end: Summit, doubts: Iterable[str], **own: Any) -> Fit:
    """The end of EM as a result, NumPy float64; `doubts` and `own` are the model's own."""
    size, (posterior, alone, log_likelihood) = labels.num_samples, end.kept
    converged, steps = bool(end.converged), int(end.num_steps)
    posterior = clamp(posterior[:size].reshape(size, labels.num_classes, -1).sum(axis=2), known)
    doubts = (*not_converged("EM", converged, steps), *doubts)
    own |= {"label_log_likelihood": alone[:size], "log_posterior": float(end.objective)}
    return Fit(end.params[-1], posterior, float(log_likelihood), converged, steps, doubts, own)
