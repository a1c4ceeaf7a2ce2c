"""Labelers in several domains: good at one, perhaps at another, and what one domain says of the next.

Samples come from domains (languages, sites, kinds of question), and a labeler may err differently in each.
Fitting each domain alone forgets that a labeler is one person; fitting all together forgets that domains
differ. Between the two, as in the coupled models of Platanios, Dubey and Mitchell (2016), the error rates of
one labeler in different domains have a law in common. There that law is a mixture of clusters (a Dirichlet
process); here it is that of `fit_hierarchical`, rows that are alike, with each labeler a population of
domains: how often the labeler is right, by how much domains differ, and where errors go. A domain in which a
labeler gave two labels then has that labeler's mean matrix and a wide interval. Class shares are one set for
all domains, unlike there.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth.labels import Labels
from jtruth.latent import STANDARD, Effort
from jtruth.learning._given import read_given
from jtruth.learning.joint.hierarchical import fit_hierarchical, named
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.draws import DrawsEstimate


class ByDomain(NamedTuple):
    """Posterior means for each labeler in each domain, and the draws. Arrays are NumPy float64."""

    domains: tuple[str, ...]  # names, in the order of the axis
    prior: Float[np.ndarray, " classes"]  # class shares, of all domains together
    matrices: Float[np.ndarray, "labelers domains classes classes"]  # posterior means; rows: true class
    accuracy: Float[np.ndarray, "labelers domains"]  # posterior mean of sum_c pi[c] psi[c, c]
    class_posterior: Float[np.ndarray, "samples classes"]
    log_likelihood: float  # NaN: nothing is maximised
    converged: bool
    num_steps: int  # sweeps of all chains
    posterior: JointPosterior  # of labels in which labeler t of domain d is labeler t * domains + d
    warnings: tuple[str, ...]

    __repr__ = one_line

    def accuracy_interval(self, level: float = 0.95) -> Float[np.ndarray, "labelers domains 2"]:
        """Shortest interval of each labeler's accuracy in each domain."""
        draws = self.posterior.labeler_accuracy
        ends = np.array([DrawsEstimate(column).interval(level) for column in draws.T])
        return ends.reshape(*self.accuracy.shape, 2)


def fit_domains(
    labels: Labels,
    domains: Any,
    *,
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    effort: Effort = STANDARD,
) -> ByDomain:
    """Sample matrices of each labeler in each domain, class shares and classes.

    Args:
        labels: the noisy labels.
        domains: (samples,) the domain of each sample, a name or number.
        gold, prior, key, effort: see `fit_hierarchical`.

    Raises:
        ValueError: for input that cannot be used, before any sampling.
    """
    read_given(labels, gold, prior)
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
    return ByDomain(
        domains=names,
        prior=fit.prior,
        matrices=fit.matrices.reshape(*shape, labels.num_classes, labels.num_classes),
        accuracy=fit.accuracy.reshape(shape),
        class_posterior=fit.class_posterior,
        log_likelihood=fit.log_likelihood,
        converged=fit.converged,
        num_steps=fit.num_steps,
        posterior=fit.posterior,
        warnings=fit.warnings,
    )
