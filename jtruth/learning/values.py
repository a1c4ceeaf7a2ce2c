"""Labels that are not one class each: symbols, sets, probabilities, grades, ratings; one EM for all.

A *channel* is p(value | class) and fits itself to weighted values:

    E:  rho_i[c]  proportional to  pi[c] exp(sum over the labels of i of log p(value | c; labeler))
    M:  the channel from the values, each weighted with rho of its sample; pi[c] from the mean of rho

It is a NamedTuple of arrays, the parameters, with these methods: `before` (checks the values), `votes` (where
EM starts), `log_p`, `refit` and `log_prior`, the last three pure JAX; `inside` brings a jump of EM back into
the domain. Ratings and probabilities are shrunk to the mean of all labelers, which moves; they have no
`log_prior`, and EM stops when nothing moves.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from jtruth import _host
from jtruth._validation import brief
from jtruth._validation.in_range import check_codes
from jtruth.learning._fit import Fit, check_steps, clamp, not_converged
from jtruth.learning.em import algorithm as em
from jtruth.learning.value_channels import (
    DirichletChannel,
    NormalRatings,
    OrdinalLink,
    SymbolMatrices,
    Values,
)

__all__ = [
    "DirichletChannel", "NormalRatings", "OrdinalLink", "SymbolMatrices", "Values", "fit_values",
]  # fmt: skip


def fit_values(
    values: Values,
    channel: Any,
    num_classes: int,
    *,
    gold: Any = None,
    max_steps: int = 2000,
    tol: float = 1e-8,
) -> Fit:
    """Learn class shares and labelers from values of any kind.

    Args:
        values: of `Values.from_long`.
        channel: `SymbolMatrices` (of sets too), `DirichletChannel`, `OrdinalLink`, `NormalRatings`, or yours.
        num_classes: C.
        gold: (samples,) known classes, -1 where unknown, in the order of `values.tasks`.
        max_steps, tol: EM stops when no parameter moves by `tol`.

    Returns:
        `Fit`. Its own: `channel`, fitted; `by_class` (samples, classes), log p(values of a sample | class),
        for `jt.evaluate`; `path` (steps,), log-likelihood and log prior after each step; `matrices` where
        values are codes, so that `noise_model()` holds them.

    Raises:
        ValueError: values that the channel cannot read, with their row.

    >>> sample = np.repeat(np.arange(60), 3)
    >>> grade = np.clip(sample % 3 + (np.arange(180) % 11 == 0), 0, 2)
    >>> values = Values.from_long(sample, np.tile(["x", "y", "z"], 60), grade)
    >>> fit = fit_values(values, SymbolMatrices, 3)
    >>> bool((fit.class_posterior.argmax(axis=1) == np.arange(60) % 3).all()), fit.converged
    (True, True)
    """
    if num_classes < 2:
        raise ValueError(f"need 2 classes or more; got {num_classes}")
    check_steps(max_steps, tol)
    size = len(values.tasks)
    known = np.full(size, -1) if gold is None else np.asarray(gold)
    check_codes(known, num_classes, "gold", size=size, missing=True, kinds="iu")
    first, shares = channel.before(values, num_classes), np.zeros((size, num_classes))
    np.add.at(shares, values.sample, first.votes(values))
    shares = clamp(shares / shares.sum(axis=1, keepdims=True), known)
    data = em.long_form((values.sample, values.labeler, values.value), known)
    free, padded = np.full(num_classes, -1.0), np.zeros((data.known.size, num_classes))
    padded[:size] = shares
    with jax.enable_x64(True):
        begin = jax.tree.map(np.asarray, _refit(first, data, padded))
    start = begin, (shares.sum(axis=0) + 1) / (size + num_classes)
    falls = np.float64(not hasattr(first, "log_prior"))  # it leans on a mean that moves
    end = em.run(_model, data, start, falls, free, max_steps=max_steps - 1, tol=tol)
    (fitted, prior), (posterior, alone, log_likelihood) = end.params, end.kept
    rho, steps = clamp(posterior[:size], known), int(end.num_steps) + 1
    own = {"channel": fitted, "by_class": _host.known_classes(alone[:size], known),
           "path": end.path[:steps]}  # fmt: skip
    if values.value.ndim == 1 and hasattr(fitted, "matrices"):  # codes
        own["matrices"] = fitted.matrices
    converged = bool(end.converged)
    doubts = tuple(_doubts(values, rho, converged, steps))
    return Fit(prior, rho, float(log_likelihood), converged, steps, doubts, own)


@jax.jit
def _refit(channel: Any, data: em.LongForm, posterior: Any) -> Any:
    """The channel fitted to values weighted with the class posterior of their samples."""
    data = jax.tree.map(jnp.asarray, data)
    weight = posterior[data.sample] * data.each[:, None]
    return channel.refit(data.labeler, data.label, weight)


def _model(data: em.LongForm, falls: Any) -> em.Model:
    """Any channel as a model for EM: its only own parameter is the channel."""

    def joint(params: Any) -> Array:
        channel, prior = params
        return em.log_shares(data, prior) + data.by_sample(channel.log_p(data.labeler, data.label))

    def m_step(params: Any, posterior: Array, _: Any) -> tuple:
        return (_refit(params[0], data, posterior),)

    def log_prior(params: Any) -> Any:
        return params[0].log_prior() if hasattr(params[0], "log_prior") else 0.0

    return em.Model(joint, m_step, log_prior, lambda far, plain: plain.inside(far), falls, pseudo=1.0)


def _doubts(values: Values, rho: np.ndarray, converged: bool, steps: int) -> Iterator[str]:
    yield from not_converged("EM", converged, steps)
    if np.bincount(values.sample).max() < 2:
        yield "No sample has two labels, so nothing checks a labeler."
    for c in np.flatnonzero(rho.sum(axis=0) < 1e-6):
        yield f"Class {c} is estimated to have no sample."


def members(
    named: Iterable[Iterable], classes: Sequence | None = None
) -> tuple[Bool[np.ndarray, "rows classes"], tuple]:
    """Which classes each set names, and the classes: if None those that are named, in order of their text.

    Raises:
        ValueError: a row that is no set of classes, or a name that is no class.
    """
    sets = []
    for row, one in enumerate(named):
        try:
            sets.append(set(None if isinstance(one, str | bytes) else one))  # type: ignore[arg-type]
        except TypeError:  # no collection, or one of lists
            raise ValueError(
                f"row {row}: {brief(one)} is not a set of classes; give a list, which may be empty"
            ) from None
    names = sorted(set().union(*sets), key=str) if classes is None else classes
    code = {name: k for k, name in enumerate(names)}
    unknown = [(row, name) for row, one in enumerate(sets) for name in one if name not in code]
    if unknown:
        raise ValueError(f"row {unknown[0][0]}: {unknown[0][1]!r} is not one of the classes {list(names)}")
    found = np.zeros((len(sets), len(names)), bool)
    found[[row for row, one in enumerate(sets) for _ in one], [code[n] for one in sets for n in one]] = True
    return found, tuple(names)
