"""EM for labels of any kind: a channel says log p(value | class) and fits itself to weighted values.

    E:  rho_i[c]  proportional to  pi[c] exp(sum over the labels of i of log p(value | c; labeler))
    M:  the channel from the values, each weighted with rho of its sample; pi[c] from the mean of rho

A channel is a NamedTuple with `before` (checks the values), `start` (first class posterior), `log_p`, `refit`
and `log_prior`. Symbols, sets and grades have proper priors, and EM raises the posterior in every step;
ratings and probabilities lean on the mean of all labelers, which moves, and stop when the class posterior
does.

What comes back has `log_likelihood`, (samples, classes), the array that `jt.evaluate`, testing and training
take: nothing behind it knows what the labels were.
"""

from typing import Any

import numpy as np
from scipy.special import softmax

from jtruth import _host
from jtruth._validation.in_range import check_codes
from jtruth.learning._fit import Fit
from jtruth.learning._given import check_steps, clamp, not_converged
from jtruth.learning.values.table import Values


def fit_values(
    values: Values,
    channel: Any,
    num_classes: int,
    *,
    gold: Any = None,
    max_steps: int = 2000,
    tol: float = 1e-8,
    **options: Any,
) -> Fit:
    """Learn class shares and labelers from values of any kind.

    Args:
        values: what labelers gave.
        channel: `SymbolMatrices`, `SetMatrices`, `DirichletChannel`, `OrdinalLink`, `NormalRatings`, or a
            class with the same methods.
        num_classes: C.
        gold: (samples,) known classes, -1 where unknown, in the order of `values.tasks`.
        max_steps, tol: done when no class probability moves by `tol`.
        options: of `channel.before`.

    Returns:
        `Fit`. Its own: `channel`, fitted; `by_class` (samples, classes), log p(values of a sample | class),
        for `jt.evaluate`; `path` (steps,), log-likelihood and log prior after each step; `matrices` where
        values are codes, so that `noise_model()` holds them.

    Raises:
        ValueError: values that the channel cannot read; the row is named.

    >>> sample = np.repeat(np.arange(60), 3)
    >>> grade = np.clip(sample % 3 + (np.arange(180) % 11 == 0), 0, 2)
    >>> given = Values.from_long(sample, np.tile(["x", "y", "z"], 60), grade)
    >>> from jtruth.learning.values.symbols import SymbolMatrices
    >>> fit = fit_values(given, SymbolMatrices, 3)
    >>> bool((fit.class_posterior.argmax(axis=1) == np.arange(60) % 3).all()), fit.converged
    (True, True)
    """
    if num_classes < 2:
        raise ValueError(f"need 2 classes or more; got {num_classes}")
    check_steps(max_steps, tol)
    size = len(values.tasks)
    known = np.full(size, -1) if gold is None else np.asarray(gold)
    check_codes(known, num_classes, "gold", size=size, missing=True, kinds="iu")
    now = channel.before(values, num_classes, **options)
    rho = clamp(now.start(values), known)
    path: list[float] = []
    converged = False
    by_class, prior, total = np.zeros_like(rho), np.full(num_classes, 1 / num_classes), 0.0
    while not converged and len(path) < max_steps:
        now = now.refit(values, rho[values.sample])
        prior = (rho.sum(axis=0) + 1.0) / (size + num_classes)
        by_class = _host.known_classes(values.sums(now.log_p(values)), known)
        joint = by_class + np.log(prior)
        new = np.asarray(softmax(joint, axis=1))
        converged = bool(np.abs(new - rho).max() < tol)
        rho = new
        total = float(np.logaddexp.reduce(joint, axis=1).sum())
        path.append(total + now.log_prior() + float(np.log(prior).sum()))
    own = {"channel": now, "by_class": by_class, "path": np.array(path)}
    if values.value.ndim == 1 and hasattr(now, "matrices"):  # codes
        own["matrices"] = now.matrices
    doubts = tuple(_doubts(values, rho, converged, len(path)))
    return Fit(prior, rho, total, converged, len(path), doubts, own)


def _doubts(values: Values, rho: np.ndarray, converged: bool, steps: int):
    """Sentences about what the values could not settle."""
    yield from not_converged("EM", converged, steps)
    if np.bincount(values.sample).max() < 2:
        yield "No sample has two labels: nothing here checks a labeler."
    for c in np.flatnonzero(rho.sum(axis=0) < 1e-6):
        yield f"No sample seems to be of class {c}."
