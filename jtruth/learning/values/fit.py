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

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from jtruth import _host
from jtruth._one_line import one_line
from jtruth._validation.in_range import check_codes
from jtruth.learning.values.table import Values


class ValuesFit(NamedTuple):
    """The common face of learners, and the upper waist."""

    prior: Float[np.ndarray, " classes"]
    channel: Any  # the fitted channel
    class_posterior: Float[np.ndarray, "samples classes"]
    by_class: Float[np.ndarray, "samples classes"]  # log p(values of a sample | class), for jt.evaluate
    log_likelihood: float
    converged: bool
    num_steps: int
    path: Float[np.ndarray, " steps"]  # log-likelihood and log prior after each step
    warnings: tuple[str, ...]

    __repr__ = one_line

    def noise_model(self) -> Any:
        """The channel as a noise model; only matrices of symbols and grades are one."""
        if not hasattr(self.channel, "noise_model"):
            raise ValueError(
                f"a {type(self.channel).__name__} gives no codes, so no model of `jtruth.noise` holds it; "
                "hand over its array by_class instead"
            )
        return self.channel.noise_model()


def fit_values(
    values: Values,
    channel: Any,
    num_classes: int,
    *,
    gold: Any = None,
    max_steps: int = 2000,
    tol: float = 1e-8,
    **options: Any,
) -> ValuesFit:
    """Learn class shares and labelers from values of any kind.

    Args:
        values: what labelers gave.
        channel: `SymbolMatrices`, `SetMatrices`, `DirichletChannel`, `OrdinalLink`, `NormalRatings`, or a
        class
            with the same methods.
        num_classes: C.
        gold: (samples,) known classes, -1 where unknown, in the order of `values.tasks`.
        max_steps, tol: done when no class probability moves by `tol`.
        options: of `channel.before`.

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
    if num_classes < 2 or max_steps < 1 or not tol >= 0:
        raise ValueError(
            f"need 2 classes or more, max_steps >= 1, tol >= 0; got {num_classes}, {max_steps}, {tol}"
        )
    size = len(values.tasks)
    known = np.full(size, -1) if gold is None else np.asarray(gold)
    check_codes(known, num_classes, "gold", size=size, missing=True, kinds="iu")
    now = channel.before(values, num_classes, **options)
    certain = known[:, None] == np.arange(num_classes)
    rho: np.ndarray = np.where(known[:, None] >= 0, certain, now.start(values))
    path: list[float] = []
    converged = False
    by_class, prior = np.zeros_like(rho), np.full(num_classes, 1 / num_classes)
    while not converged and len(path) < max_steps:
        now = now.refit(values, rho[values.sample])
        prior = (rho.sum(axis=0) + 1.0) / (size + num_classes)
        by_class = _host.known_classes(values.sums(now.log_p(values)), known)
        joint = by_class + np.log(prior)
        new = np.asarray(softmax(joint, axis=1))
        converged = bool(np.abs(new - rho).max() < tol)
        rho = new
        evidence = float(np.logaddexp.reduce(joint, axis=1).sum())
        path.append(evidence + now.log_prior() + float(np.log(prior).sum()))
    total = float(np.logaddexp.reduce(by_class + np.log(prior), axis=1).sum())
    return ValuesFit(prior, now, rho, by_class, total, converged, len(path), np.array(path),
                     tuple(_doubts(values, rho, converged, len(path))))  # fmt: skip


def _doubts(values: Values, rho: np.ndarray, converged: bool, steps: int):
    """Sentences about what the values could not settle."""
    if not converged:
        yield f"EM did not converge in {steps} steps; raise max_steps."
    if np.bincount(values.sample).max() < 2:
        yield "No sample has two labels: nothing here checks a labeler."
    for c in np.flatnonzero(rho.sum(axis=0) < 1e-6):
        yield f"No sample seems to be of class {c}."
