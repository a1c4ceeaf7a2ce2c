"""What was learned of labelers, carried to other labels: draws of yesterday as the prior of today.

`carried` sums up the draws of a matrix row, whoever made them, by the Dirichlet law of the same mean and the
same total spread: a mean m with variances v_k has the concentration A m, where A + 1 = sum m_k (1 - m_k) /
sum v_k. What that holds beyond the prior of `fit_joint` is as good as labels of known class, its
`pseudo_counts`. So the conjugate sampler goes on from day to day with as many numbers as the matrices have,
and error rates saved by `jtruth labelers --save` come with how well they are known. What is lost: that rows
are not independent given the labels, and any shape that is not Dirichlet's; nothing where all classes are
known.

`reweighted` loses neither, for as long as some draws are left, and samples nothing. Given matrices and class
prior, the samples of two days have nothing to do with each other, so

    p(theta | both days)  is proportional to  p(theta | yesterday) p(labels of today | theta),

and draws of yesterday's posterior with weights p(labels of today | draw), classes summed out, are draws of
the posterior of all labels: whatever its shape, and however rows depend on each other (importance sampling;
the sequential Monte Carlo of Chopin 2002 without its moves). No label of yesterday is needed. What limits it:
labels of today must be of NEW samples (a sample with labels on both days would have its class summed out
twice); there are no draws of a labeler who was not there; and few draws survive a day that says much.
`effective` says how many are left, and the shape k of the largest weights whether the answer can be trusted
(`usable`); if not, fit again with what is `carried`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp, softmax

from jtruth import _host
from jtruth import _validation as check
from jtruth.labels import Labels
from jtruth.latent.rows import gold_offset, label_columns
from jtruth.learning._fit import read_given
from jtruth.learning.joint.inputs import Beliefs
from jtruth.stats.loo import good_shape, smoothed_weights

_BLOCK = 4_000_000  # samples x classes x draws handled at once


def _of(
    prior: np.ndarray, matrices: Any, workers: Sequence, labels: Labels, least: int
) -> tuple[np.ndarray, list, dict]:
    """Draws of matrices as float64, who the labelers of the labels are, and the place of each worker."""
    matrices, classes = np.asarray(matrices, np.float64), labels.num_classes
    if matrices.shape[1:] != (len(workers), classes, classes) or prior.shape[1:] != (classes,):
        raise ValueError(
            f"the draws have shapes {prior.shape} and {matrices.shape}; they must be (draws, {classes}) and "
            f"(draws, {len(workers)}, {classes}, {classes}), for {len(workers)} workers and {classes} classes"
        )
    if (found := min(len(prior), len(matrices))) < least:
        raise ValueError(f"{found} draws do not say how well a rate is known; give {least} or more")
    return (
        matrices,
        list(labels.workers or range(labels.num_labelers)),
        {name: t for t, name in enumerate(workers)},
    )


def carried(
    prior: Float[np.ndarray, "draws classes"],
    matrices: Any,
    workers: Sequence,
    labels: Labels,
    *,
    same_prior: bool = True,
) -> Beliefs:
    """Pseudo-counts and class prior for new labels from draws of a fit to other labels.

    The labels must be others: to carry a fit to the labels that it is of counts them twice.

    Args:
        prior, matrices: draws, (draws, classes) and (draws, labelers, classes, classes), such as those of
            `fit_joint`, `laplace_draws`, or "draws" of `jtruth.io.read_noise`.
        workers: who the labelers of the draws are.
        labels: the new labels; labelers are known by their names.
        same_prior: whether the new samples have the class shares of the old ones; else Dirichlet(1).

    Returns:
        `Beliefs` for `fit_joint`: `pseudo_counts`, 0 for a labeler who is new, and `prior_concentration`.

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
    matrices, names, place = _of(prior, matrices, workers, labels, 20)
    classes = labels.num_classes
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
    shares = concentration(prior) if same_prior else np.ones(classes)
    return Beliefs(prior_concentration=shares, pseudo_counts=found)


def concentration(draws: Float[np.ndarray, "draws *rows classes"]) -> Float[np.ndarray, "*rows classes"]:
    """Concentrations of the Dirichlet law with the mean and total variance of the draws (last axis)."""
    mean, variance = draws.mean(axis=0), draws.var(axis=0).sum(axis=-1, keepdims=True)
    spread = (mean * (1 - mean)).sum(axis=-1, keepdims=True)
    return mean * np.maximum(spread / np.maximum(variance, 1e-12) - 1, 1e-3)


class Reweighted(NamedTuple):
    """The posterior of both days."""

    weights: Float[np.ndarray, " draws"]  # of yesterday's draws; they sum to 1
    class_posterior: Float[np.ndarray, "samples classes"]  # of today's samples, given both days
    log_evidence: float  # log p(labels of today | labels of yesterday)
    effective: float  # 1 / sum of squared weights: as good as so many draws
    pareto_k: float  # shape of the largest weights
    usable: bool  # whether k is below what so many draws allow
    warnings: tuple[str, ...]

    def mean(self, draws: Any) -> np.ndarray:
        """Posterior mean of anything that was computed from every draw (its first axis)."""
        return np.tensordot(self.weights, np.asarray(draws, np.float64), axes=1)


def reweighted(
    prior: Float[np.ndarray, "draws classes"],
    matrices: Any,
    workers: Sequence,
    labels: Labels,
    *,
    gold: Any = None,
    relative_ess: float = 1.0,
) -> Reweighted:
    """Weights of a fit's draws after labels of new samples.

    Args:
        prior, matrices: draws that belong together, (draws, classes) and (draws, labelers, classes, classes):
            `fit.prior[fit.matrix_draw]` and `fit.matrices` of `fit_joint`.
        workers: who the labelers of the draws are.
        labels: of new samples, the same classes; labelers are known by their names.
        gold: (samples,) known classes, -1 where unknown.
        relative_ess: effective sample size of the draws over their number.

    Raises:
        ValueError: fewer than 100 draws, other shapes, or a labeler who is not among the workers.

    >>> rng = np.random.default_rng(0)
    >>> rows = np.stack([rng.dirichlet([18, 2], (4000, 3)), rng.dirichlet([4, 16], (4000, 3))], axis=2)
    >>> labels = Labels.from_matrix(np.repeat([[0, 0, 0], [1, 1, 0]], [5, 3], axis=0), 2)
    >>> found = reweighted(rng.dirichlet([3, 3], 4000), rows, range(3), labels)
    >>> before, after = rows[:, 2, 1, 1].mean(), found.mean(rows[:, 2, 1, 1])
    >>> found.usable, bool(after < before)  # the third labeler misses class 1
    (True, True)
    """
    known, _ = read_given(labels, gold, None)
    prior = np.asarray(prior, np.float64)
    matrices, names, place = _of(prior, matrices, workers, labels, 100)
    if len(prior) != len(matrices):
        raise ValueError(
            f"{len(prior)} draws of the prior and {len(matrices)} of matrices do not belong together"
        )
    if strange := [name for name in names if name not in place]:
        raise ValueError(
            f"there are no draws of {check.quoted(strange)}: weights cannot say anything of a new labeler; "
            "fit again with jtruth.learning.carry.carried"
        )
    order = [place[name] for name in names]
    num, classes, samples = len(prior), labels.num_classes, labels.num_samples
    given, barred = label_columns(labels), gold_offset(known, np.arange(classes)).T
    log_p, step = np.empty(num), max(1, _BLOCK // (samples * classes))

    def joint(block):
        """log p(class, labels | draw), (samples, classes, draws)."""
        table = _host.log(matrices[block][:, order])  # (draws, labelers, classes, given)
        table = np.moveaxis(table, 0, -1).swapaxes(1, 2)  # (labelers, given, classes, draws)
        table = table.reshape(table.shape[0] * table.shape[1], -1)
        found = (given @ table).reshape(samples, classes, -1) + _host.log(prior[block]).T[None]
        return found + barred[:, :, None]

    blocks = [slice(first, first + step) for first in range(0, num, step)]
    for block in blocks:
        log_p[block] = np.asarray(logsumexp(joint(block), axis=1)).sum(axis=0)
    smooth, k = smoothed_weights(log_p[None], relative_ess)
    weights = softmax(smooth[0])
    posterior = sum(softmax(joint(block), axis=1) @ weights[block] for block in blocks)
    effective, usable = float(1 / (weights**2).sum()), bool(k[0] < good_shape(num))
    doubt = (
        f"Today's labels leave {effective:.0f} of {num} draws, too few to be believed (Pareto k {k[0]:.2f}): "
        "fit again with the draws carried on (jtruth.learning.carry.carried)."
    )
    evidence = float(logsumexp(log_p) - np.log(num))
    return Reweighted(
        weights, np.asarray(posterior), evidence, effective, float(k[0]), usable, () if usable else (doubt,)
    )
