"""Labelers of one population, so that a labeler with few labels is estimated from all others too.

Rows of one class are alike over labelers (`latent.models.alike`), by the sampler of `fit_joint`, which does
the same where labels are few (see `DirichletPriors`). A labeler without labels has the population's matrix
and an interval as wide as labelers differ. Each group of labelers (a site, a language) is its own population,
so groups should have a few labelers each.

In `fit_domains` a labeler is a population of domains (languages, sites, kinds of question), as in the coupled
models of Platanios, Dubey and Mitchell (2016), which have a mixture of clusters and class shares by domain.
"""

from typing import Any

import numpy as np

from jtruth._random import as_key, seeded, stream
from jtruth._validation import quoted
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
    groups: Any = None,
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    effort: Effort = STANDARD,
) -> Fit:
    """Sample matrices, class shares and classes of labelers who are alike.

    Args:
        labels: the noisy labels.
        groups: (labelers,) the group of each labeler, a name or number; one population if None.
        gold: (samples,) known classes, -1 where unknown.
        prior: (classes,) a known class prior.
        key: a whole number or a JAX key; 0 if None.
        effort: when to stop sampling.

    Returns:
        A `Fit` of posterior means, with `accuracy_interval()`. Its own: `matrices` (labelers, classes,
        classes); `accuracy` (labelers,), sum_c pi[c] psi_t[c, c]; `groups`, their names, ("all",) if there
        are none; `posterior`, the draws, a `JointPosterior`. `log_likelihood` is NaN.

    Raises:
        ValueError: for input that cannot be used, before any sampling.

    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [40, 30, 6, 5], axis=0)
    >>> fit = fit_hierarchical(Labels.from_matrix(z, 2))
    >>> int(fit.accuracy.argmin()), fit.accuracy_interval().shape
    (1, (3, 2))
    """
    known, fixed = gold_and_prior(labels, gold, prior)
    names, number = ("all",), np.zeros(labels.num_labelers, np.int64)
    if groups is not None:
        names, number = named(groups, "group", labels.num_labelers, "labelers", labels.workers)

    def hierarchical(base: LatentModel, rows: Rows) -> Built:
        """The independent model whose rows are alike within each group and class."""
        (labelers,), votes = base.raters, rows.multiplicity @ rows.labels.counts()
        family = number[:, None] * base.num_classes + np.arange(base.num_classes)[None, :]
        alike = alike_raters(votes, number.size)._replace(family=family)
        return independent(base._replace(raters=(labelers._replace(alike=alike),)), rows)

    found = fit_joint(
        labels, key=stream(as_key(key), "hierarchical"), gold=known if (known >= 0).any() else None,
        prior=fixed, dependence=hierarchical, effort=effort,
    )  # fmt: skip
    matrices, accuracy = found.mean_matrices.astype(np.float64), found.labeler_accuracy.mean(axis=0)
    own = {"matrices": matrices, "accuracy": accuracy, "groups": names, "posterior": found}
    shares = found.prior.mean(axis=0) if fixed is None else fixed
    posterior, sweeps = clamp(found.class_posterior, known), int(found.convergence.num_sweeps)
    return Fit(shares, posterior, float("nan"), bool(found.converged), sweeps, found.warnings, own)


def named(
    entries: Any, what: str, size: int, axis: str, names: tuple | None
) -> tuple[tuple[str, ...], np.ndarray]:
    """Distinct names in `entries` (size,), and the number of each entry's.

    Raises:
        ValueError: another shape, or entries without a name.
    """
    values = np.asarray(entries)
    if values.shape != (size,):
        raise ValueError(f"{what}s has shape {values.shape}; give one {what} for each of the {size} {axis}")
    missing = [k for k, name in enumerate(values.tolist()) if name is None or name == "" or name != name]
    if missing:
        called = names or tuple(range(size))
        raise ValueError(f"{axis} without a {what}: {quoted(called[k] for k in missing)}; name one for each")
    found, number = np.unique(values.astype(str), return_inverse=True)
    return tuple(found.tolist()), number.ravel()


@seeded
def fit_domains(
    labels: Labels,
    domains: Any,
    *,
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    effort: Effort = STANDARD,
) -> Fit:
    """Sample matrices of each labeler in each domain, class shares and classes.

    Args:
        labels: the noisy labels.
        domains: (samples,) the domain of each sample, a name or number.
        gold, prior, key, effort: see `fit_hierarchical`.

    Returns:
        As `fit_hierarchical`, with `domains`, their names, and another axis: `matrices` (labelers, domains,
        classes, classes), `accuracy` (labelers, domains). Class shares are those of all domains together; in
        `posterior` labeler t of domain d is labeler t * domains + d.

    Raises:
        ValueError: for input that cannot be used, before any sampling.
    """
    gold_and_prior(labels, gold, prior)
    names, domain = named(domains, "domain", labels.num_samples, "samples", labels.tasks)
    sample, labeler, label = labels.entries()
    size = len(names)
    apart = Labels(
        sample, labeler * size + domain[sample], label, labels.num_samples, labels.num_labelers * size,
        labels.num_classes, classes=labels.classes,
    )  # fmt: skip
    groups = np.repeat(np.arange(labels.num_labelers), size)
    fit = fit_hierarchical(apart, groups=groups, gold=gold, prior=prior, key=key, effort=effort)
    shape = (labels.num_labelers, size)
    matrices = fit.matrices.reshape(*shape, *fit.matrices.shape[1:])
    own = {"matrices": matrices, "accuracy": fit.accuracy.reshape(shape), "domains": names}
    return fit._replace(own=own | {"posterior": fit.posterior})
