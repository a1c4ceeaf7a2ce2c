"""EM for labels in long form: what the models of this folder have in common.

A model brings how probable labels are, its own M step and its own prior. The E step, the class prior (always
the last of the parameters), the climb and what is read off at the summit are the same for all.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jtruth._squarem import inside_simplex
from jtruth.labels import Labels
from jtruth.learning._given import clamp, not_converged, unlabelled
from jtruth.learning.modes import _long_form as lf
from jtruth.learning.modes._climb import Summit, climb

Params = tuple[Any, ...]


class Model(NamedTuple):
    """A model of labels with parameters `(*own, class prior)`."""

    # params, class prior, labels -> log p(labels of a sample, class): (samples, classes) or (.., .., levels)
    joint: Callable[[Params, Any, lf.LongForm], Array]
    m_step: Callable[[Params, Array], Params]  # params, posterior of class (and level) -> own
    log_prior: Callable[[Params], Array]
    inside: Callable[[Params, Params], Params]  # own after a jump, and after a step -> the former, allowed


class End(NamedTuple):
    """What the parameters at the summit say of the samples."""

    class_posterior: Array  # (samples, classes)
    label_log_likelihood: Array  # (samples, classes)
    log_likelihood: Array


def em(
    model: Model, data: lf.LongForm, start: Params, prior: Any, *, max_steps: int, tol: Any
) -> tuple[Summit, End, Array]:
    """EM from `start`; pure. The last result is the posterior of class (and level) at the end.

    Args:
        model, data, start: the model, the labels, and its first parameters.
        prior: (classes,) a known class prior; -1 to learn it.
        max_steps, tol: see `climb`.
    """

    def e_step(params):
        joint = model.joint(params, params[-1], data)
        posterior, evidence = lf.e_step(joint, axis=tuple(range(1, joint.ndim)))
        return posterior, posterior.sum(axis=tuple(range(2, joint.ndim))), lf.total(data, evidence)

    def improve(params):
        posterior, by_class, log_likelihood = e_step(params)
        shares = lf.next_shares(data, by_class, prior)
        return log_likelihood + model.log_prior(params), (*model.m_step(params, posterior), shares)

    def inside(far, plain):
        return *model.inside(far[:-1], plain[:-1]), inside_simplex(far[-1], plain[-1])

    found = climb(improve, start, inside, max_steps=max_steps, tol=tol)
    posterior, by_class, log_likelihood = e_step(found.params)
    alone = model.joint(found.params, jnp.ones_like(found.params[-1]), lf.unknown(data))
    alone = alone if alone.ndim == 2 else lf.e_step(alone, axis=2)[1]
    return found, End(by_class, alone, log_likelihood), posterior


def in_common(
    found: Summit, end: End, labels: Labels, known: np.ndarray, doubts: tuple[str, ...]
) -> dict[str, Any]:
    """The fields that the results of all these models have, NumPy float64; `doubts` are the model's own."""
    size, converged, steps = labels.num_samples, bool(found.converged), int(found.num_steps)
    return {
        "prior": np.asarray(found.params[-1]),
        "class_posterior": clamp(np.asarray(end.class_posterior)[:size], known),
        "label_log_likelihood": np.asarray(end.label_log_likelihood)[:size],
        "log_likelihood": float(end.log_likelihood),
        "log_posterior": float(found.objective),
        "converged": converged,
        "num_steps": steps,
        "warnings": (*not_converged("EM", converged, steps), *unlabelled(labels), *doubts),
    }


def silent(labels: Labels, what: str) -> tuple[str, ...]:
    """A sentence if some labelers gave no label; `what` says what that does."""
    none = np.count_nonzero(labels.labels_per_labeler() == 0)
    return (f"{none} labelers gave no label; {what}",) if none else ()
