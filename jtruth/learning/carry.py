"""What was learned of labelers, carried to other labels: draws of yesterday as the prior of today.

`carried` sums up the draws of a matrix row, whoever made them, by the Dirichlet law of the same mean and the
same total spread: a mean m with variances v_k has the concentration A m, where A + 1 = sum m_k (1 - m_k) /
sum v_k. What that holds beyond the prior of `fit_joint` is as good as labels of known class, its
`pseudo_counts`. What is lost: that rows are not independent given the labels, and any shape that is not
Dirichlet's; nothing where all classes are known.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from jtruth import _host
from jtruth.labels import Labels
from jtruth.learning.joint.inputs import DirichletPriors

_FEWEST = 20  # draws


def carried(
    prior: Float[np.ndarray, "draws classes"],
    matrices: Any,
    workers: Sequence,
    labels: Labels,
) -> DirichletPriors:
    """Pseudo-counts and class prior for new labels from draws of a fit to other labels.

    The labels must be others: to carry a fit to the labels that it is of counts them twice.

    Args:
        prior, matrices: draws, (draws, classes) and (draws, labelers, classes, classes), such as those of
            `fit_joint`, `laplace_draws`, or "draws" of `jtruth.io.read_noise`.
        workers: who the labelers of the draws are.
        labels: the new labels; labelers are known by their names.

    Returns:
        `DirichletPriors` for `fit_joint`: `pseudo_counts`, 0 for a new labeler, and `prior_concentration`, to
        be replaced by 1 where the new samples may have other class shares than the old ones.

    Raises:
        ValueError: fewer than 20 draws, other classes, or no worker in common.

    >>> rng = np.random.default_rng(0)
    >>> rows = np.stack([rng.dirichlet([90, 10], 4000), rng.dirichlet([5, 45], 4000)], axis=1)[:, None]
    >>> labels = Labels.from_long(["a", "a"], ["x", "new"], [0, 1])
    >>> found = carried(rng.dirichlet([30, 70], 4000), rows, ["x"], labels)
    >>> far = np.abs(found.pseudo_counts[0] - [[88, 9], [4, 43]]).max()
    >>> bool(far < 4), float(found.pseudo_counts[1].max())
    (True, 0.0)
    """
    matrices, classes = np.asarray(matrices, np.float64), labels.num_classes
    if matrices.shape[1:] != (len(workers), classes, classes) or prior.shape[1:] != (classes,):
        raise ValueError(
            f"the draws have shapes {prior.shape} and {matrices.shape}; they must be (draws, {classes}) and "
            f"(draws, {len(workers)}, {classes}, {classes}), for {len(workers)} workers and {classes} classes"
        )
    if (number := min(len(prior), len(matrices))) < _FEWEST:
        raise ValueError(f"{number} draws do not say how well a rate is known; give {_FEWEST} or more")
    names = list(labels.worker_names)
    place = {name: t for t, name in enumerate(workers)}
    known = [t for t, name in enumerate(names) if name in place]
    if not known:
        raise ValueError(
            "no labeler of these labels is among the workers of the draws: nothing is carried on"
        )
    found = np.zeros((len(names), classes, classes))
    own = _host.diagonal_rows(classes, 2.0, 1.0)
    old = concentration(matrices)
    for t in known:
        found[t] = np.maximum(old[place[names[t]]] - own, 0.0)  # never less than the prior of a stranger
    return DirichletPriors(prior_concentration=concentration(prior), pseudo_counts=found)


def concentration(draws: Float[np.ndarray, "draws *rows classes"]) -> Float[np.ndarray, "*rows classes"]:
    """Concentrations of the Dirichlet law with the mean and total variance of the draws (last axis)."""
    mean, variance = draws.mean(axis=0), draws.var(axis=0).sum(axis=-1, keepdims=True)
    spread = (mean * (1 - mean)).sum(axis=-1, keepdims=True)
    return mean * np.maximum(spread / np.maximum(variance, 1e-12) - 1, 1e-3)
