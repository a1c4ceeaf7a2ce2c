"""Labelers of one population, so that a labeler with few labels is estimated from all others too.

Rows of one class are alike over labelers (`latent.models.alike`), by the sampler of `fit_joint`, which does
the same where labels are few (see `DirichletPriors`). A labeler without labels has the population's matrix
and an interval as wide as labelers differ.
"""

from typing import Any

import numpy as np

from jtruth._random import as_key, seeded, stream
from jtruth.labels import Labels
from jtruth.latent import STANDARD, Effort
from jtruth.latent.model import LatentModel
from jtruth.latent.models.alike import alike_raters
from jtruth.latent.rows import Rows
from jtruth.learning._fit import Fit, clamp, gold_and_prior
from jtruth.learning.joint.models import Built, independent
from jtruth.learning.joint.posterior import fit_joint


@seeded
def fit_hierarchical(
    labels: Labels,
    *,
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    effort: Effort = STANDARD,
) -> Fit:
    """Sample matrices, class shares and classes of labelers who are alike.

    Args:
        labels: the noisy labels.
        gold: (samples,) known classes, -1 where unknown.
        prior: (classes,) a known class prior.
        key: a whole number or a JAX key; 0 if None.
        effort: when to stop sampling.

    Returns:
        A `Fit` of posterior means, with `accuracy_interval()`. Its own: `matrices` (labelers, classes,
        classes); `accuracy` (labelers,), sum_c pi[c] psi_t[c, c]; `posterior`, draws; NaN `log_likelihood`.

    Raises:
        ValueError: for input that cannot be used, before any sampling.

    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [40, 30, 6, 5], axis=0)
    >>> fit = fit_hierarchical(Labels.from_matrix(z, 2))
    >>> int(fit.accuracy.argmin()), fit.accuracy_interval().shape
    (1, (3, 2))
    """
    known, fixed = gold_and_prior(labels, gold, prior)

    def hierarchical(base: LatentModel, rows: Rows) -> Built:
        """The independent model whose rows are alike within each class."""
        (labelers,), votes = base.raters, rows.multiplicity @ rows.labels.counts()
        alike = alike_raters(votes, labels.num_labelers)
        return independent(base._replace(raters=(labelers._replace(alike=alike),)), rows)

    found = fit_joint(
        labels, key=stream(as_key(key), "hierarchical"), gold=known if (known >= 0).any() else None,
        prior=fixed, dependence=hierarchical, effort=effort,
    )  # fmt: skip
    matrices, accuracy = found.mean_matrices.astype(np.float64), found.labeler_accuracy.mean(axis=0)
    own = {"matrices": matrices, "accuracy": accuracy, "posterior": found}
    shares = found.prior.mean(axis=0) if fixed is None else fixed
    posterior, sweeps = clamp(found.class_posterior, known), int(found.convergence.num_sweeps)
    return Fit(shares, posterior, float("nan"), bool(found.converged), sweeps, found.warnings, own)
