"""Yesterday's draws, weighted by what today's labels say of them: the posterior of both days, no sampling.

Given matrices and class prior, the samples of two days have nothing to do with each other, so

    p(theta | both days)  is proportional to  p(theta | yesterday) p(labels of today | theta),

and draws of yesterday's posterior with weights p(labels of today | draw), classes summed out, are draws of
the posterior of all labels: whatever its shape, and however rows depend on each other (importance sampling;
the sequential Monte Carlo of Chopin 2002 without its moves). No label of yesterday is needed. What limits it:

- labels of today must be of NEW samples. A sample with labels on both days would have its class summed out
  twice.
- everybody must be known: there are no draws of a labeler who was not there.
- few draws survive a day that says much. `effective` says how many are left, and the shape k of the largest
  weights whether the answer can be trusted (`usable`); if not, fit again: `carry.carried` hands the draws to
  `fit_joint` as a Dirichlet law, which loses the dependence between rows and never runs out.

Where classes are known (gold for every sample) the posterior IS a product of Dirichlet laws, and `carried`
loses nothing but the error of its draws; `tests/learning/test_carry.py` has both against the closed form.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import sparse
from scipy.special import logsumexp, softmax

from jtruth import _host
from jtruth import _validation as check
from jtruth.labels import Labels
from jtruth.learning._given import read_given
from jtruth.stats.loo import good_shape, smoothed_weights

_BLOCK = 4_000_000  # samples x classes x draws handled at once


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
    matrices, prior = np.asarray(matrices, np.float64), np.asarray(prior, np.float64)
    known, _ = read_given(labels, gold, None)
    order = _who(prior, matrices, workers, labels)
    num, classes, samples = len(prior), labels.num_classes, labels.num_samples
    sample, labeler, label = labels.entries()
    shape = samples, labels.num_labelers * classes
    given = sparse.csr_array((np.ones(sample.size), (sample, labeler * classes + label)), shape=shape)
    barred = np.where((known[:, None] >= 0) & (known[:, None] != np.arange(classes)), -np.inf, 0.0)
    log_p, step = np.empty(num), max(1, _BLOCK // (samples * classes))

    def joint(block):
        """log p(class, labels | draw), (samples, classes, draws)."""
        table = _host.log(matrices[block][:, order])  # (draws, labelers, classes, given)
        table = np.moveaxis(table, 0, -1).swapaxes(1, 2).reshape(shape[1], -1)
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


def _who(prior: np.ndarray, matrices: np.ndarray, workers: Sequence, labels: Labels) -> list[int]:
    """The place among the draws of each labeler of the labels."""
    classes = labels.num_classes
    wanted = len(prior), len(workers), classes, classes
    if matrices.shape != wanted or prior.shape != wanted[::3]:
        raise ValueError(
            f"the draws have shapes {prior.shape} and {matrices.shape}; for {len(workers)} workers and "
            f"{classes} classes they must be (draws, {classes}) and (draws, {len(workers)}, {classes}, "
            f"{classes}), equally many"
        )
    if len(prior) < 100:
        raise ValueError(f"{len(prior)} draws are too few to be weighted; give 100 or more")
    place = {name: t for t, name in enumerate(workers)}
    names = list(labels.workers or range(labels.num_labelers))
    strange = [name for name in names if name not in place]
    if strange:
        raise ValueError(
            f"there are no draws of {check.quoted(strange)}: weights cannot say anything of a new labeler; "
            "fit again with jtruth.learning.carry.carried"
        )
    return [place[name] for name in names]
