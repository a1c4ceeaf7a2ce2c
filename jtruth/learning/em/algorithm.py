"""One EM for every model of labels.

A model is p(labels of a sample, class and level of difficulty), and an M step. The E step is one pass with
its gradient: class posterior, and slopes of the log-likelihood. The class prior is the last of the
parameters. Where all others are probabilities, the M step is `of_probabilities`: the expected number of times
that a probability p was used is p times the slope of the log-likelihood in p (Baum and Eagon 1967). A model
without a closed form may take a Newton step, which points uphill (Fisher's identity); `climb` dampens it.

Labels are in long form (`LongForm`), or by columns where a label is a code (`columns`), three times as fast
(benchmarks/dawid_skene_speed.py). Sizes are padded (weight 0) to a few. A bootstrap is a `vmap` over weights.
Sums over samples are of 64 bits where JAX has them: in float32 a sum stops growing at 2**24.
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

    def by_sample(self, log_p: Any) -> Array:
        """(samples, ...) the sum over the labels of each sample, Su (58); padding adds nothing."""
        kept = jnp.where(self.mask.reshape(-1, *[1] * (log_p.ndim - 1)) > 0, log_p, 0)
        return jnp.zeros((self.known.shape[0], *log_p.shape[1:]), log_p.dtype).at[self.sample].add(kept)


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
    """Checked arguments: labels in long form, known classes, and the class prior.

    The last is (classes,) shares to start at, those of all labels (of half a label at least) or the known
    ones, and `prior` for `maximise`: -1 to learn it.
    """
    known, fixed = gold_and_prior(labels, gold, prior)
    check_steps(max_steps, tol)
    votes = np.maximum(labels.counts().sum(axis=0), 0.5)
    shares = (votes / votes.sum(), np.full(votes.size, -1.0)) if fixed is None else (fixed, fixed)
    return long_form(labels.entries(), known), known, shares


class Model(NamedTuple):
    """A model of labels with parameters `(*own, class prior)`."""

    joint: Callable[[Params], Array]  # log p(labels of a sample, class): (.., ..) or (.., .., levels)
    m_step: Callable[[Params, Array, Params], Params]  # params, posterior, slopes -> own
    log_prior: Callable[[Params], Any]
    inside: Callable[[Any, Any], Any]  # one of own after a jump, and after a step -> the former, allowed
    terms: Any = 0.0  # above 0: a step may lower the objective and is taken all the same (see `climb`)
    pseudo: Any = 0.0  # pseudo-counts of the classes in the class prior
    plain_steps: int = 5  # before the first jump


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


def log_shares(data: Any, prior: Any) -> Array:
    """(samples, classes) log prior, -inf where the class is known to be another."""
    known = jnp.asarray(data.known)[:, None]
    another = (known >= 0) & (known != jnp.arange(prior.size, dtype=known.dtype)[None, :])
    return jnp.where(another, -jnp.inf, safe_log(prior)[None, :])


def total(data: Any, evidence: Any) -> Array:
    """Weighted sum over samples; one of weight 0 counts nothing, even if -inf."""
    return jnp.where(data.weight > 0, data.weight * evidence, 0).sum(dtype=wide()).astype(evidence.dtype)


def wide() -> Any:
    """The type of sums over samples: float64 where JAX has it."""
    return jax.dtypes.canonicalize_dtype(float)


def e_step(data: Any, joint: Callable[[Params], Array], params: Params) -> tuple[Array, Array, Params]:
    """Log-likelihood, p(class, level) of each sample, and slopes of the log-likelihood in the parameters.

    Where the labels of a sample are impossible they are -inf, 0 and 0.
    """
    log_joint, slopes_of = jax.vjp(joint, params)
    inside = tuple(range(1, log_joint.ndim))
    top = log_joint.max(axis=inside, keepdims=True)
    top = jnp.where(jnp.isfinite(top), top, 0)
    posterior = jnp.exp(log_joint - top)
    each = posterior.sum(axis=inside, keepdims=True)
    posterior = posterior * jnp.where(each > 0, 1 / each, 0)
    weighted = data.weight.reshape(-1, *[1] * len(inside)) * posterior
    return total(data, (jnp.log(each) + top).reshape(-1)), posterior, slopes_of(weighted)[0]


@partial(jax.jit, static_argnames=("model_of", "max_steps"))
def maximise(
    model_of: Callable[[Any, Any], Model],
    data: Any,
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
        data: labels with `weight` and `known` of each sample.
        settings: arrays of the model: priors, nodes.
        prior: (classes,) a known class prior; -1 to learn it.

    Returns:
        Where EM stopped. `kept` are p(class) (samples, classes) or p(class, level); log p(labels | class)
        (samples, classes) with no class known; and the log-likelihood.
    """
    data, start, settings = jax.tree.map(jnp.asarray, (data, start, settings))
    model = model_of(data, settings)

    def improve(params: Params, _: Any) -> tuple[Array, Params, None]:
        log_likelihood, posterior, slopes = e_step(data, model.joint, params)
        by_class = posterior.sum(axis=tuple(range(2, posterior.ndim)))
        mass = (data.weight[:, None] * by_class).sum(axis=0, dtype=wide()).astype(by_class.dtype)
        own = model.m_step(params, posterior, slopes)
        of_prior = xlogy(model.pseudo, params[-1]).sum()
        shares = jnp.where(prior < 0, normalised(mass + model.pseudo), prior)
        return log_likelihood + model.log_prior(params) + of_prior, (*own, shares), None

    def inside(far: Params, plain: Params) -> Params:
        return *map(model.inside, far[:-1], plain[:-1]), inside_simplex(far[-1], plain[-1])

    end = climb(
        improve, start, inside,
        max_steps=max_steps, tol=tol, terms=model.terms, plain_steps=model.plain_steps,
    )  # fmt: skip
    log_likelihood, posterior, _ = e_step(data, model.joint, end.params)
    free = model_of(data._replace(known=jnp.full_like(data.known, -1)), settings)
    alone = free.joint((*end.params[:-1], jnp.ones_like(end.params[-1])))
    alone = jax.nn.logsumexp(alone.reshape(*alone.shape[:2], -1), axis=2)
    return end._replace(kept=(posterior, alone, log_likelihood))


def even_errors(data: LongForm, log_right: Any, log_wrong: Any, prior: Any) -> Array:
    """log p(labels of a sample, class) where all wrong classes are equally likely: two sums, whatever C is.

    From the log probability of the right class and of one wrong class, (labels, *levels) each; (samples,
    classes, *levels).
    """
    size, classes, levels = data.known.shape[0], prior.shape[0], log_right.shape[1:]
    mask = data.mask.reshape(-1, *[1] * len(levels))
    more = jnp.zeros((size * classes, *levels), log_right.dtype)
    more = more.at[data.sample * classes + data.label].add(mask * (log_right - log_wrong))
    shares = log_shares(data, prior).reshape(size, classes, *[1] * len(levels))
    return shares + data.by_sample(log_wrong)[:, None] + more.reshape(size, classes, *levels)


def run(model_of: Any, data: LongForm, start: Params, settings: Any, prior: Any, **steps: Any) -> Summit:
    """`maximise` in float64, its end as NumPy arrays."""
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, maximise(model_of, data, start, settings, prior, **steps))


def fitted(labels: Labels, known: np.ndarray, end: Summit, doubts: Iterable[str], **own: Any) -> Fit:
    """The end of EM as a `Fit`; `doubts` and `own` are the model's own."""
    size, (posterior, alone, log_likelihood) = labels.num_samples, end.kept
    converged, steps = bool(end.converged), int(end.num_steps)
    posterior = clamp(posterior[:size].reshape(size, labels.num_classes, -1).sum(axis=2), known)
    doubts = (*not_converged("EM", converged, steps), *doubts)
    own |= {"label_log_likelihood": alone[:size], "log_posterior": float(end.objective)}
    return Fit(end.params[-1], posterior, float(log_likelihood), converged, steps, doubts, own)
